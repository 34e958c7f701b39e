//! The bytes' way from the disk: through the page cache, or past it where they are not in memory.
//!
//! Fast path: direct reads of what is not in memory. 2.05 GiB that were evicted come in 1.25 s, by buffered reads in 2.88.
//! They are not for batches of less than 16 MiB, for short reads, for bytes that are in memory, nor where the file system does
//! not say that it has them; then all goes through the page cache.

use super::request::{BatchOptions, Direct, Placed};
use super::split::MAX_SHORT_READ;
use crate::error::{fail, Result};
use crate::source::direct::{Bounce, DirectFile, BOUNCE_SIZE};
use crate::source::{ByteSource, PageCache, Profile, ReadMany, ReadRange};
use foldhash::fast::SeedableRandomState;
use std::ffi::CStr;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A batch of fewer stored bytes is not worth the second handle; it is also more likely to be read again.
const MIN_DIRECT_BATCH: u64 = 16 << 20;

/// Shorter reads than this go through the page cache.
const MIN_DIRECT_READ: u64 = 128 << 10;

/// Most short reads that are done as one: with what is between them, as many pieces as one call of Linux takes.
const FEW: usize = 512;

/// Most short reads that are done as one where a request takes longer than to look at so many.
const MANY: usize = 4096;

/// Places of the batch that are looked at to estimate how much of it is in memory: one in each mebibyte, of a large
/// batch so many.
const RESIDENCY_SAMPLES: u64 = 48;

/// What of a batch is in memory, by the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residency {
    /// Next to nothing.
    Nothing,
    /// Some: each part has to be looked at.
    Some,
    /// Next to everything.
    All,
    /// Not asked, or not reported: the page cache is the safe guess.
    Unknown,
}

/// How the threads of one batch read the stored bytes of one source.
pub struct ReadStrategy<'a> {
    source: &'a dyn ByteSource,
    direct: Option<DirectReads>,
    always: bool,
    /// Whether the callers' memory is pinned and contiguous.
    pinned: bool,
    in_memory: Residency,
    refused: AtomicBool,
    stored_bytes: AtomicU64,
    direct_bytes: AtomicU64,
    cached_bytes: AtomicU64,
    /// Why no direct read was tried.
    no_direct_reason: &'static CStr,
}

/// The handle for them, and what places are drawn by that are looked at.
struct DirectReads {
    file: DirectFile,
    random: SeedableRandomState,
}

/// Which reads are done together.
#[derive(Clone, Copy, Debug)]
pub struct Coalescing {
    /// Bytes of the longest read that is done with others.
    pub short: u64,
    /// Bytes between two of them that are rather read than skipped.
    pub gap: u64,
    /// Bytes of all of them: with what is between, where that is read, too.
    pub most: u64,
    /// Bytes of what is read that may be for no destination.
    pub capacity: u64,
    /// Bytes that all of them deliver: to decode many takes longer than a read, and other threads may want some.
    pub delivered: u64,
    /// Reads.
    pub count: usize,
    /// How.
    pub how: ReadMany,
}

impl<'a> ReadStrategy<'a> {
    /// Through the page cache.
    pub fn cached(source: &'a dyn ByteSource) -> ReadStrategy<'a> {
        ReadStrategy {
            source,
            direct: None,
            always: false,
            pinned: false,
            in_memory: Residency::Unknown,
            refused: AtomicBool::new(false),
            stored_bytes: AtomicU64::new(0),
            direct_bytes: AtomicU64::new(0),
            cached_bytes: AtomicU64::new(0),
            no_direct_reason: c"page cache: as asked",
        }
    }

    /// For reads of these places, which are all of the source.
    pub fn new(
        source: &'a dyn ByteSource,
        options: &BatchOptions,
        places: &[impl Placed],
    ) -> Result<ReadStrategy<'a>> {
        let cache = source.page_cache();
        let direct_file = || cache.map_or(Ok(None), PageCache::direct);
        let via_cache = |reason| ReadStrategy { no_direct_reason: reason, ..ReadStrategy::cached(source) };
        let (file, always) = match options.direct {
            Direct::Never => return Ok(ReadStrategy::cached(source)),
            Direct::Auto if stored_bytes(places) < MIN_DIRECT_BATCH => {
                return Ok(via_cache(c"page cache: too few bytes for direct reads"));
            }
            Direct::Auto => match direct_file()?.filter(DirectFile::is_reported) {
                Some(file) => (file, false),
                None => {
                    return Ok(via_cache(c"page cache: the source does not say that it has direct reads"));
                }
            },
            Direct::Always => match direct_file()? {
                Some(file) => (file, true),
                None => {
                    return Err(fail!(
                        Unsupported,
                        "direct reads were asked for, but the file system, the platform or the source has none"
                    ));
                }
            },
        };
        let random = crate::hash::state();
        let (in_memory, no_direct_reason) = match always {
            true => (Residency::Unknown, c"direct: as asked"),
            false => match sample(cache, places, &random) {
                None => return Ok(via_cache(c"page cache: the system does not report what is in memory")),
                Some(Residency::All) => {
                    let reason = c"page cache: the bytes were in memory";
                    return Ok(ReadStrategy { in_memory: Residency::All, ..via_cache(reason) });
                }
                Some(found) => (found, c"page cache: every part was short"),
            },
        };
        let direct = Some(DirectReads { file, random });
        Ok(ReadStrategy { direct, always, pinned: options.pinned, in_memory, ..via_cache(no_direct_reason) })
    }

    /// Which reads are done together, by one of so many threads that read `capacity` bytes of a bounce at once at most;
    /// none where each may as well be its own.
    pub fn coalescing(&self, capacity: usize, threads: usize) -> Option<Coalescing> {
        let profile = self.source.profile();
        let Profile { gap, largest_request, read_many: how, .. } = profile;
        let capacity = capacity as u64;
        let most = largest_request.min(capacity);
        let short = MAX_SHORT_READ as u64;
        let usual = Coalescing { short, gap, most, capacity, delivered: most, count: FEW, how };
        Some(match how {
            _ if largest_request == 0 => return None,
            // A disk wants longer ones than memory does, and where they go past the page cache, most are copied to their
            // place anyway.
            _ if self.may_go_direct() => Coalescing { short: 1 << 20, ..usual },
            // What is longer comes nearly as well alone.
            _ if profile.gathers() && how != ReadMany::Anywhere => {
                Coalescing { short: most / 4, delivered: u64::MAX, count: MANY, ..usual }
            }
            ReadMany::OneByOne | ReadMany::Adjacent => usual,
            ReadMany::Anywhere => {
                let (short, most, delivered) = (largest_request, profile.bytes_at_once(threads), u64::MAX);
                Coalescing { short, gap: u64::MAX, most, delivered, count: MANY, ..usual }
            }
        })
    }

    /// Whether reads may go past the page cache.
    pub fn may_go_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Whether reads went past the page cache.
    pub fn went_direct(&self) -> bool {
        self.direct_bytes() > 0 || (self.always && !self.refused.load(Ordering::Relaxed))
    }

    /// Counts stored bytes that are read for a job.
    pub fn count_stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Those that were counted.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that were read past the page cache.
    pub fn direct_bytes(&self) -> u64 {
        self.direct_bytes.load(Ordering::Relaxed)
    }

    /// Why they went the way that they went.
    pub fn reason(&self) -> &'static CStr {
        let cached_bytes = self.cached_bytes.load(Ordering::Relaxed);
        match (self.direct_bytes() > 0, cached_bytes > 0) {
            _ if self.refused.load(Ordering::Relaxed) => {
                self.direct.as_ref().map_or(self.no_direct_reason, |direct| direct.file.refusal())
            }
            _ if self.direct.is_none() => self.no_direct_reason,
            _ if self.always => self.no_direct_reason,
            (true, false) => c"direct: the bytes were not in memory",
            (true, true) => c"direct and page cache: part of the bytes was in memory",
            (false, true) => c"page cache: the bytes were in memory",
            (false, false) => self.no_direct_reason,
        }
    }

    /// The way of a job's bytes: a handle for direct reads of them, or none and the page cache. To be asked once for
    /// each, as it looks at memory and keeps count.
    pub fn route(&self, offset: u64, size: u64) -> Route<'_> {
        let direct = self.direct.as_ref().filter(|_| !self.refused.load(Ordering::Relaxed));
        let via_cache = |in_memory| Route { direct: None, in_memory };
        let via_disk = |direct| Route { direct: Some(direct), in_memory: false };
        match direct {
            None => via_cache(self.in_memory == Residency::All),
            Some(direct) if self.always => via_disk(&direct.file),
            _ if size < MIN_DIRECT_READ => via_cache(false),
            Some(direct)
                if self.in_memory != Residency::Nothing && self.seems_resident(direct, offset, size) =>
            {
                self.cached_bytes.fetch_add(size, Ordering::Relaxed);
                via_cache(true)
            }
            Some(direct) => via_disk(&direct.file),
        }
    }

    /// Whether most of a few places are in memory, or not known not to be.
    fn seems_resident(&self, direct: &DirectReads, offset: u64, size: u64) -> bool {
        let places = (0..3).map(|k| random_offset(offset, size, direct.random.hash_one((offset, k))));
        places.filter(|at| self.resident(*at) == Some(false)).count() < 2
    }

    /// The handle of a way; once a direct read was refused, no other is tried.
    fn direct_handle<'w>(&self, route: Route<'w>) -> Option<&'w DirectFile> {
        route.direct.filter(|_| !self.refused.load(Ordering::Relaxed))
    }

    /// Books a direct read; the first that is refused is the last that is tried.
    fn record_direct(&self, size: u64, done: bool) {
        match done {
            true => _ = self.direct_bytes.fetch_add(size, Ordering::Relaxed),
            false => self.refused.store(true, Ordering::Relaxed),
        }
    }

    /// Fills `dst` with the bytes from `offset` on.
    pub fn read(&self, route: Route<'_>, offset: u64, dst: &mut [u8], bounce: &mut Bounce) -> Result<()> {
        if let Some(direct) = self.direct_handle(route) {
            let done = direct.read_at(offset, dst, self.pinned, bounce)?;
            self.record_direct(dst.len() as u64, done);
            if done {
                return Ok(());
            }
        }
        self.source.read_at(offset, dst)
    }

    /// Bytes of a long component that are read at a time: `hot`, so that the processor has them still, unless a read of so
    /// few takes the source as long as one of many.
    pub fn worth_a_read(&self, route: Route<'_>, hot: usize) -> usize {
        match self.source.profile() {
            _ if route.is_direct() => BOUNCE_SIZE,
            far if far.gathers() => usize::try_from(far.largest_request).unwrap_or(usize::MAX),
            _ => hot,
        }
    }

    /// Fills all of `ranges`, through the page cache.
    pub fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        self.source.read_many(ranges)
    }

    fn resident(&self, offset: u64) -> Option<bool> {
        self.source.page_cache().and_then(|cache| cache.resident(offset))
    }

    /// The bytes from `offset` on where they lie, if they can be lent and no disk has to be waited for: who needs a few
    /// of each page is spared a call for them, or a copy of the rest. Of a file that is a mapping, which
    /// [`crate::source::map`] is wary of: the last byte is always asked for, as a file that was cut short has it no more.
    pub fn borrow_resident(&self, route: Route<'_>, offset: u64, size: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(size)?;
        let bytes = self.source.slice(offset..end)?;
        let here = |at| self.resident(at) == Some(true);
        let in_memory =
            || !route.is_direct() && here(end.saturating_sub(1)) && (route.in_memory || here(offset));
        (self.source.page_cache().is_none() || in_memory()).then_some(bytes)
    }

    /// The bytes from `offset` on, in the bounce, whose [`Bounce::capacity`] they fit.
    pub fn fetch<'b>(
        &self,
        route: Route<'_>,
        offset: u64,
        size: usize,
        bounce: &'b mut Bounce,
    ) -> Result<&'b [u8]> {
        let place = self.fetch_place(route, offset, size, bounce)?;
        bounce.part(place)
    }

    /// Puts the bytes from `offset` on into the bounce, whose [`Bounce::capacity`] they fit, and says where they are in it.
    pub fn fetch_place(
        &self,
        route: Route<'_>,
        offset: u64,
        size: usize,
        bounce: &mut Bounce,
    ) -> Result<Range<usize>> {
        if let Some(direct) = self.direct_handle(route) {
            let place = direct.fetch(offset, size, bounce)?;
            self.record_direct(size as u64, place.is_some());
            if let Some(place) = place {
                return Ok(place);
            }
        }
        bounce.fill(size, |memory| self.source.read_at(offset, memory))?;
        Ok(0..size)
    }
}

/// What [`ReadStrategy::route`] decided for some bytes.
#[derive(Clone, Copy)]
pub struct Route<'r> {
    direct: Option<&'r DirectFile>,
    /// Whether they were found to be in memory.
    pub in_memory: bool,
}

impl Route<'_> {
    /// Whether it goes past the page cache.
    pub fn is_direct(self) -> bool {
        self.direct.is_some()
    }
}

/// Somewhere in a range. Not always at the same place: asking may make the kernel read the page that is asked for.
fn random_offset(offset: u64, size: u64, random: u64) -> u64 {
    offset.saturating_add(random.checked_rem(size).unwrap_or(0))
}

/// Stored bytes that are read.
fn stored_bytes(places: &[impl Placed]) -> u64 {
    places.iter().map(Placed::stored_bytes).fold(0, u64::saturating_add)
}

/// How much of the bytes at these places is in memory, by samples evenly spaced; none where the system does not report it.
fn sample(
    cache: Option<&dyn PageCache>,
    places: &[impl Placed],
    random: &SeedableRandomState,
) -> Option<Residency> {
    let (mut resident, mut answered) = (0u64, 0u64);
    let step = stored_bytes(places).checked_div(RESIDENCY_SAMPLES).unwrap_or(0).max(1 << 20);
    let (mut next, mut before) = (random_offset(0, step, random.hash_one(0)), 0u64);
    for place in places {
        let after = before.saturating_add(place.stored_bytes());
        while next < after {
            let at = place.offset().saturating_add(next.saturating_sub(before));
            let found = cache.and_then(|cache| cache.resident(at));
            answered = answered.saturating_add(u64::from(found.is_some()));
            resident = resident.saturating_add(u64::from(found == Some(true)));
            next = next.saturating_add(step);
        }
        before = after;
    }
    match resident.saturating_mul(8) {
        _ if answered == 0 => None,
        eighths if eighths <= answered => Some(Residency::Nothing),
        eighths if eighths >= answered.saturating_mul(7) => Some(Residency::All),
        _ => Some(Residency::Some),
    }
}
