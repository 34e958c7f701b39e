//! The bytes' way from the disk: through the page cache, or past it where they are not in memory.

use super::job::Job;
use super::{BatchOptions, Direct};
use crate::error::{fail, Result};
use crate::io::direct::{Bounce, DirectFile};
use crate::io::ByteSource;
use foldhash::fast::SeedableRandomState;
use std::ffi::CStr;
use std::hash::BuildHasher;
use std::io::IoSliceMut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A batch of fewer stored bytes is not worth the second handle; it is also more likely to be read again.
const WORTH: u64 = 16 << 20;

/// Shorter reads than this go through the page cache.
const SHORT: u64 = 128 << 10;

/// Places of the batch that are looked at to tell how much of it is in memory: one in each mebibyte, of a large
/// batch so many.
const SAMPLES: u64 = 48;

/// What of a batch is in memory, by the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Next to nothing.
    Nothing,
    /// Some: each part has to be looked at.
    Some,
    /// Next to everything.
    All,
    /// Nobody was asked, or nobody tells: the page cache is the safe guess.
    Untold,
}

/// How the threads of one batch read stored bytes.
pub struct Road<'a> {
    source: &'a dyn ByteSource,
    direct: Option<DirectFile>,
    always: bool,
    /// Whether the callers' memory is pinned and contiguous.
    pinned: bool,
    in_memory: Memory,
    random: SeedableRandomState,
    refused: AtomicBool,
    past: AtomicU64,
    through: AtomicU64,
    /// Why no direct read was tried.
    without: &'static CStr,
}

/// The memory that a thread's reads go through: its share of what all may use.
pub fn bounce(options: &BatchOptions) -> Bounce {
    let share = options.in_flight.checked_div(options.threads as u64).unwrap_or(0);
    Bounce::new(share.min(options.chunk_size))
}

impl<'a> Road<'a> {
    /// For a batch of these jobs.
    pub fn new(source: &'a dyn ByteSource, options: &BatchOptions, jobs: &[Job<'_>]) -> Result<Road<'a>> {
        let always = options.direct == Direct::Always;
        let bytes = jobs.iter().map(Job::stored_bytes).fold(0, u64::saturating_add);
        let random = crate::hash::state();
        let mut in_memory = Memory::Untold;
        let (direct, without) = match options.direct {
            Direct::Never => (None, c"page cache: as asked"),
            Direct::Auto if bytes < WORTH => (None, c"page cache: too few bytes for direct reads"),
            Direct::Auto => match source.direct()?.filter(DirectFile::is_told) {
                None => (None, c"page cache: the source does not say that it has direct reads"),
                direct => match sample(source, jobs, bytes, &random) {
                    None => (None, c"page cache: nobody tells what is in memory"),
                    Some(Memory::All) => {
                        in_memory = Memory::All;
                        (None, c"page cache: the bytes were in memory")
                    }
                    Some(found) => {
                        in_memory = found;
                        (direct, c"page cache: every part was short")
                    }
                },
            },
            Direct::Always => match source.direct()? {
                Some(direct) => (Some(direct), c"direct: as asked"),
                None => {
                    return Err(fail!(
                        Unsupported,
                        "direct reads were asked for, but the file system, the platform or the source has none"
                    ));
                }
            },
        };
        Ok(Road {
            source,
            direct,
            always,
            pinned: options.pinned,
            in_memory,
            random,
            refused: AtomicBool::new(false),
            past: AtomicU64::new(0),
            through: AtomicU64::new(0),
            without,
        })
    }

    /// Whether reads of this road are reads of a file, each of which costs.
    pub fn is_file(&self) -> bool {
        self.source.is_file()
    }

    /// Whether reads may go past the page cache.
    pub fn may_go_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Whether reads went past the page cache.
    pub fn went_direct(&self) -> bool {
        self.past.load(Ordering::Relaxed) > 0 || (self.always && !self.refused.load(Ordering::Relaxed))
    }

    /// Why they went the way that they went.
    pub fn reason(&self) -> &'static CStr {
        let (past, through) = (self.past.load(Ordering::Relaxed), self.through.load(Ordering::Relaxed));
        match (past > 0, through > 0) {
            _ if self.refused.load(Ordering::Relaxed) => {
                self.direct.as_ref().map_or(self.without, DirectFile::refusal)
            }
            _ if self.direct.is_none() => self.without,
            _ if self.always => self.without,
            (true, false) => c"direct: the bytes were not in memory",
            (true, true) => c"direct and page cache: part of the bytes was in memory",
            (false, true) => c"page cache: the bytes were in memory",
            (false, false) => self.without,
        }
    }

    /// The way of a job's bytes: a handle for direct reads of them, or none and the page cache. To be asked once for
    /// each, as it looks at memory and keeps count.
    pub fn way(&self, offset: u64, size: u64) -> Way<'_> {
        let direct = self.direct.as_ref().filter(|_| !self.refused.load(Ordering::Relaxed));
        let through = |in_memory| Way { direct: None, in_memory };
        let past = |direct| Way { direct: Some(direct), in_memory: false };
        let in_memory = || {
            let places = (0..3).map(|k| place_in(offset, size, self.random.hash_one((offset, k))));
            places.filter(|at| self.source.resident(*at) == Some(false)).count() < 2
        };
        match direct {
            None => through(self.in_memory == Memory::All),
            Some(direct) if self.always => past(direct),
            _ if size < SHORT => through(false),
            _ if self.in_memory != Memory::Nothing && in_memory() => {
                self.through.fetch_add(size, Ordering::Relaxed);
                through(true)
            }
            Some(direct) => past(direct),
        }
    }

    /// The handle of a way; once a direct read was refused, no other is tried.
    fn still<'w>(&self, way: Way<'w>) -> Option<&'w DirectFile> {
        way.direct.filter(|_| !self.refused.load(Ordering::Relaxed))
    }

    /// Books a direct read; the first that is refused is the last that is tried.
    fn book(&self, size: u64, done: bool) {
        match done {
            true => _ = self.past.fetch_add(size, Ordering::Relaxed),
            false => self.refused.store(true, Ordering::Relaxed),
        }
    }

    /// Fills `dst` with the bytes from `offset` on.
    pub fn read(&self, way: Way<'_>, offset: u64, dst: &mut [u8], bounce: &mut Bounce) -> Result<()> {
        if let Some(direct) = self.still(way) {
            let done = direct.read_at(offset, dst, self.pinned, bounce)?;
            self.book(dst.len() as u64, done);
            if done {
                return Ok(());
            }
        }
        self.source.read_at(offset, dst)
    }

    /// Fills pieces of memory one after the other with the bytes from `offset` on, through the page cache; false
    /// where the source does not do that.
    pub fn scatter(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
        self.source.read_scattered(offset, pieces)
    }

    /// The bytes from `offset` on where they lie, if they can be lent and no disk has to be waited for: who needs a few
    /// of each page is spared a call for them, or a copy of the rest. Of a file that is a mapping, which
    /// [`crate::io::map`] is wary of: the last byte is always asked for, as a file that was cut short has it no more.
    pub fn lent(&self, way: Way<'_>, offset: u64, size: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(size)?;
        let bytes = self.source.slice(offset..end)?;
        let here = |at| self.source.resident(at) == Some(true);
        let in_memory = || !way.is_direct() && here(end.saturating_sub(1)) && (way.in_memory || here(offset));
        (!self.is_file() || in_memory()).then_some(bytes)
    }

    /// The bytes from `offset` on, in the bounce, whose [`Bounce::room`] they fit.
    pub fn fetch<'b>(
        &self,
        way: Way<'_>,
        offset: u64,
        size: usize,
        bounce: &'b mut Bounce,
    ) -> Result<&'b [u8]> {
        if let Some(direct) = self.still(way) {
            let place = direct.fetch(offset, size, bounce)?;
            self.book(size as u64, place.is_some());
            if let Some(place) = place {
                return bounce.part(place);
            }
        }
        bounce.fill(size, |memory| self.source.read_at(offset, memory))?;
        bounce.part(0..size)
    }
}

/// What [`Road::way`] decided for some bytes.
#[derive(Clone, Copy)]
pub struct Way<'r> {
    direct: Option<&'r DirectFile>,
    /// Whether they were found to be in memory.
    pub in_memory: bool,
}

impl Way<'_> {
    /// Whether it goes past the page cache.
    pub fn is_direct(self) -> bool {
        self.direct.is_some()
    }
}

/// Somewhere in a range. Not always at the same place: asking may make the kernel read the page that is asked for.
fn place_in(offset: u64, size: u64, random: u64) -> u64 {
    offset.saturating_add(random.checked_rem(size).unwrap_or(0))
}

/// How much of the `bytes` that the jobs read is in memory, by places evenly spaced; none where nobody tells.
fn sample(
    source: &dyn ByteSource,
    jobs: &[Job<'_>],
    bytes: u64,
    random: &SeedableRandomState,
) -> Option<Memory> {
    let (mut there, mut told) = (0u64, 0u64);
    let step = bytes.checked_div(SAMPLES).unwrap_or(0).max(1 << 20);
    let (mut next, mut before) = (place_in(0, step, random.hash_one(0)), 0u64);
    for job in jobs {
        let after = before.saturating_add(job.stored_bytes());
        while next < after {
            let found = source.resident(job.place.saturating_add(next.saturating_sub(before)));
            told = told.saturating_add(u64::from(found.is_some()));
            there = there.saturating_add(u64::from(found == Some(true)));
            next = next.saturating_add(step);
        }
        before = after;
    }
    match there.saturating_mul(8) {
        _ if told == 0 => None,
        eighths if eighths <= told => Some(Memory::Nothing),
        eighths if eighths >= told.saturating_mul(7) => Some(Memory::All),
        _ => Some(Memory::Some),
    }
}
