//! Decides whether a read goes through the page cache or bypasses it. It bypasses the cache if the bytes are
//! not there.
//!
//! Fast path: bytes that are not in the page cache are read directly. 2.05 GiB that were evicted take 1.25 s,
//! with buffered reads 2.88 s. Direct reads are not used for batches below 16 MiB, for short reads, for bytes
//! that are in memory, or if the file system does not report what is in memory.

use super::jobs::{StoredSpan, MAX_SHORT_READ};
use super::request::{BatchOptions, Direct};
use crate::error::{fail, Result};
use crate::source::direct::{Bounce, DirectFile, BOUNCE_SIZE};
use crate::source::{ByteSource, PageCache, Profile, ReadMany, ReadRange};
use foldhash::fast::SeedableRandomState;
use std::ffi::CStr;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// For a smaller batch, opening a second handle does not pay. Also, a small batch is more likely to be read
/// again.
const MIN_DIRECT_BATCH: u64 = 16 << 20;

/// Shorter reads than this go through the page cache.
const MIN_DIRECT_READ: u64 = 128 << 10;

/// The most short reads that are coalesced. With the gaps between them, these are as many ranges as one
/// system call of Linux takes.
const MAX_COALESCED: usize = 512;

/// The most short reads that are coalesced for a slow source, where a request takes longer than checking this
/// many jobs.
const MAX_COALESCED_SLOW: usize = 4096;

/// How many places of a large batch are sampled to estimate how much of it is in memory. In a small batch,
/// one place in each mebibyte is sampled.
const RESIDENCY_SAMPLES: u64 = 48;

/// How much of a batch is in memory, as estimated from the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residency {
    /// Almost nothing.
    Nothing,
    /// A part, so each read is sampled.
    Some,
    /// Almost everything.
    All,
    /// Not sampled, or the system does not report it.
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
    /// Why no direct read is tried.
    no_direct_reason: &'static CStr,
}

/// The handle for direct reads, and the state of the random numbers that choose where to sample.
struct DirectReads {
    file: DirectFile,
    random: SeedableRandomState,
}

/// The limits of reads that are coalesced.
#[derive(Clone, Copy, Debug)]
pub struct Coalescing {
    /// The longest read that is coalesced, in bytes.
    pub max_short: u64,
    /// The largest gap between two reads that is read rather than skipped.
    pub max_gap: u64,
    /// The limit for the sum of all reads, including the gaps if they are read.
    pub max_total: u64,
    /// The limit for bytes that go to temporary memory instead of a destination.
    pub max_temporary: u64,
    /// The limit for the bytes that all of them deliver. Decoding may take longer than reading, and should be
    /// left to several threads.
    pub max_delivered: u64,
    pub max_count: usize,
    pub read_many: ReadMany,
}

impl<'a> ReadStrategy<'a> {
    /// A strategy that always reads through the page cache.
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
            no_direct_reason: c"page cache: as requested",
        }
    }

    /// The strategy for these reads. They are all reads of the batch from this source.
    pub fn new<T>(
        source: &'a dyn ByteSource,
        options: &BatchOptions,
        places: &[T],
        span: &dyn Fn(&T) -> StoredSpan,
    ) -> Result<ReadStrategy<'a>> {
        let cache = source.page_cache();
        let direct_file = || cache.map_or(Ok(None), PageCache::direct);
        let via_cache = |reason| ReadStrategy { no_direct_reason: reason, ..ReadStrategy::cached(source) };
        let (file, always) = match options.direct {
            Direct::Never => return Ok(ReadStrategy::cached(source)),
            Direct::Auto if stored_bytes(places, span) < MIN_DIRECT_BATCH => {
                return Ok(via_cache(c"page cache: too few bytes for direct reads"));
            }
            Direct::Auto => match direct_file()?.filter(DirectFile::is_reported) {
                Some(file) => (file, false),
                None => {
                    return Ok(via_cache(c"page cache: the source does not report direct reads"));
                }
            },
            Direct::Always => match direct_file()? {
                Some(file) => (file, true),
                None => {
                    return Err(fail!(
                        Unsupported,
                        "direct reads were requested, but the file system, the platform or the source has \
                         none"
                    ));
                }
            },
        };
        let random = crate::hash::state();
        let (in_memory, no_direct_reason) = match always {
            true => (Residency::Unknown, c"direct: as asked"),
            false => match sample(cache, places, span, &random) {
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

    /// The limits for coalesced reads by one of `threads` threads, with a bounce buffer of `capacity` bytes.
    /// `None` if coalescing does not help.
    pub fn coalescing(&self, capacity: usize, threads: usize) -> Option<Coalescing> {
        let profile = self.source.profile();
        let Profile { gap: max_gap, largest_request, read_many, .. } = profile;
        let max_temporary = capacity as u64;
        let max_total = largest_request.min(max_temporary);
        let usual = Coalescing {
            max_short: MAX_SHORT_READ as u64,
            max_gap,
            max_total,
            max_temporary,
            max_delivered: max_total,
            max_count: MAX_COALESCED,
            read_many,
        };
        let slow = Coalescing { max_delivered: u64::MAX, max_count: MAX_COALESCED_SLOW, ..usual };
        Some(match read_many {
            _ if largest_request == 0 => return None,
            // Coalescing also helps longer reads here: a disk is slower than memory, and most direct reads go
            // through the bounce buffer anyway.
            _ if self.may_go_direct() => Coalescing { max_short: 1 << 20, ..usual },
            // A longer read takes almost as long alone.
            _ if profile.gathers() && read_many != ReadMany::Anywhere => {
                Coalescing { max_short: max_total / 4, ..slow }
            }
            ReadMany::OneByOne | ReadMany::Adjacent => usual,
            ReadMany::Anywhere => {
                let max_total = profile.bytes_at_once(threads);
                Coalescing { max_short: largest_request, max_gap: u64::MAX, max_total, ..slow }
            }
        })
    }

    pub fn may_go_direct(&self) -> bool {
        self.direct.is_some()
    }

    pub fn went_direct(&self) -> bool {
        self.direct_bytes() > 0 || (self.always && !self.refused.load(Ordering::Relaxed))
    }

    pub fn count_stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes.load(Ordering::Relaxed)
    }

    pub fn direct_bytes(&self) -> u64 {
        self.direct_bytes.load(Ordering::Relaxed)
    }

    /// Why reads were direct or not.
    pub fn reason(&self) -> &'static CStr {
        let cached_bytes = self.cached_bytes.load(Ordering::Relaxed);
        match (self.direct_bytes() > 0, cached_bytes > 0) {
            _ if self.refused.load(Ordering::Relaxed) => {
                self.direct.as_ref().map_or(self.no_direct_reason, |direct| direct.file.refusal())
            }
            _ if self.direct.is_none() || self.always => self.no_direct_reason,
            (true, false) => c"direct: the bytes were not in memory",
            (true, true) => c"direct and page cache: part of the bytes was in memory",
            (false, true) => c"page cache: the bytes were in memory",
            (false, false) => self.no_direct_reason,
        }
    }

    /// Decides whether a job's bytes are read directly or through the page cache. Call it once for each job,
    /// because it samples what is in memory and counts.
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

    /// Samples three places of a range. Returns false only if at least two of them are known not to be in
    /// memory.
    fn seems_resident(&self, direct: &DirectReads, offset: u64, size: u64) -> bool {
        let places = (0..3).map(|k| random_offset(offset, size, direct.random.hash_one((offset, k))));
        places.filter(|at| self.resident(*at) == Some(false)).count() < 2
    }

    /// The handle of a direct route. After a direct read was refused, no other is tried.
    fn direct_handle<'w>(&self, route: Route<'w>) -> Option<&'w DirectFile> {
        route.direct.filter(|_| !self.refused.load(Ordering::Relaxed))
    }

    /// Counts a direct read, or remembers that it was refused.
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

    /// How many bytes of a long component to read at a time: `hot`, which stay in the processor's cache until
    /// they are used. If a short read from the source takes as long as a long one, it is more.
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

    /// Borrows the bytes from `offset` on if they are in memory. This saves a caller that needs a few bytes
    /// of each page a call and a copy. The last byte is always checked: if the mapped file was truncated, it
    /// does not exist any more (see [`crate::source::map`]).
    pub fn borrow_resident(&self, route: Route<'_>, offset: u64, size: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(size)?;
        let bytes = self.source.slice(offset..end)?;
        let here = |at| self.resident(at) == Some(true);
        let in_memory =
            || !route.is_direct() && here(end.saturating_sub(1)) && (route.in_memory || here(offset));
        (self.source.page_cache().is_none() || in_memory()).then_some(bytes)
    }

    /// Reads the bytes from `offset` on into the bounce buffer, where they fit ([`Bounce::capacity`]).
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

    /// Like `fetch`, but returns the position of the bytes in the bounce buffer.
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

/// How [`ReadStrategy::route`] decided to read some bytes.
#[derive(Clone, Copy)]
pub struct Route<'r> {
    direct: Option<&'r DirectFile>,
    /// Whether the sample found the bytes in memory.
    pub in_memory: bool,
}

impl Route<'_> {
    pub fn is_direct(self) -> bool {
        self.direct.is_some()
    }
}

/// A random offset in a range. A fixed one would not do: asking whether a page is in memory may make the
/// kernel read it.
fn random_offset(offset: u64, size: u64, random: u64) -> u64 {
    offset.saturating_add(random.checked_rem(size).unwrap_or(0))
}

/// The sum of the stored bytes that are read.
fn stored_bytes<T>(places: &[T], span: &dyn Fn(&T) -> StoredSpan) -> u64 {
    places.iter().map(|place| span(place).size).fold(0, u64::saturating_add)
}

/// Estimates how much of these bytes is in memory from evenly spaced samples; `None` if the system does not
/// report it.
fn sample<T>(
    cache: Option<&dyn PageCache>,
    places: &[T],
    span: &dyn Fn(&T) -> StoredSpan,
    random: &SeedableRandomState,
) -> Option<Residency> {
    let (mut resident, mut answered) = (0u64, 0u64);
    let step = stored_bytes(places, span).checked_div(RESIDENCY_SAMPLES).unwrap_or(0).max(1 << 20);
    let (mut next, mut before) = (random_offset(0, step, random.hash_one(0)), 0u64);
    for place in places.iter().map(span) {
        let after = before.saturating_add(place.size);
        while next < after {
            let at = place.offset.saturating_add(next.saturating_sub(before));
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
