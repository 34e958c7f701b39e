//! The load plan: many reads at once. Requests become jobs, jobs are sorted by their place in the
//! file, threads take them one by one and fill the caller's memory directly where the encoding allows.

mod job;

use super::slice::Hyperslab;
use super::{Component, File};
use crate::error::{fail, Error, Result};
use crate::io::direct::{DirectFile, BLOCK};
use crate::io::AlignedBuffer;
use crate::lock::Lock;
use crate::model::manifest::Encoding;
use crate::threads;
use job::{Job, Work};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Condvar;
use std::time::Instant;

/// Whether to go past the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// The library decides.
    #[default]
    Auto,
    /// Through the page cache.
    Never,
    /// Past the page cache.
    Always,
}

/// How to read a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Whether to go past the page cache.
    pub direct: Direct,
    /// Bytes that a thread reads at a time.
    pub chunk_size: u64,
    /// Most bytes of temporary memory at once.
    pub in_flight: u64,
    /// Check the digests of components that are read whole.
    pub verify: bool,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            threads: 0,
            direct: Direct::Auto,
            chunk_size: 4 << 20,
            in_flight: 256 << 20,
            verify: false,
        }
    }
}

/// What of a component is read.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// All of it.
    Whole,
    /// A range of its decoded bytes.
    Range {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A hyperslab of a dense object's data.
    Slab(Hyperslab<'a>),
}

/// One read.
pub struct BatchRequest<'a> {
    /// What to read.
    pub component: Component<'a>,
    /// Which part of it.
    pub part: Part<'a>,
    /// Where it goes.
    pub dst: &'a mut [u8],
    /// The caller's name for it.
    pub tag: u64,
}

/// Told about bytes done and in all; false stops the batch.
pub type Progress<'a> = dyn Fn(u64, u64) -> bool + Sync + 'a;
/// Told about each request that is done.
pub type OnDone<'a> = dyn Fn(u64, &Result<()>) + Sync + 'a;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStats {
    /// Bytes delivered.
    pub bytes: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// Requests done.
    pub requests: u64,
    /// Digests that agree.
    pub digests_verified: u64,
    /// Time.
    pub nanoseconds: u64,
    /// Threads used.
    pub threads: u32,
    /// Reads went past the page cache.
    pub direct: bool,
    /// Why they went the way that they went.
    pub reason: &'static CStr,
}

/// Temporary memory, counted: one job may always have what it alone needs.
struct Budget {
    most: u64,
    used: Lock<u64>,
    freed: Condvar,
}

impl Budget {
    fn take(&self, bytes: u64) -> Taken<'_> {
        let mut used = self.used.hold();
        while *used > 0 && used.saturating_add(bytes) > self.most {
            used = used.wait(&self.freed);
        }
        *used = used.saturating_add(bytes);
        Taken { budget: self, bytes }
    }
}

struct Taken<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.used.hold();
        *used = used.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

/// What the threads of one batch share.
struct Shared<'a, 'b> {
    options: &'a BatchOptions,
    queue: Lock<std::vec::IntoIter<Job<'b>>>,
    requests: &'a [job::Request<'b>],
    direct: Option<DirectFile>,
    budget: Budget,
    stop: AtomicBool,
    failure: Lock<Option<Error>>,
    stored_bytes: AtomicU64,
    told: Lock<Told>,
    total: u64,
    on_done: &'a OnDone<'a>,
    go_on: &'a Progress<'a>,
}

/// What the callbacks were told so far; they are called by one thread at a time.
#[derive(Default)]
struct Told {
    bytes: u64,
    requests: u64,
    digests: u64,
}

impl File {
    /// Reads all requests; `stats` is filled also on failure. The first failure stops the rest.
    pub fn read_batch(
        &self,
        requests: &mut [BatchRequest<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        go_on: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        let started = Instant::now();
        let outcome = self.run_batch(requests, options, on_done, go_on, stats);
        stats.nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        outcome
    }

    fn run_batch(
        &self,
        requests: &mut [BatchRequest<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        go_on: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        if options.chunk_size < BLOCK {
            return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
        }
        let direct = self.direct_handle(options, stats)?;
        stats.direct = direct.is_some();
        // Whole blocks: a piece never cuts an element.
        let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
        let options = &BatchOptions { chunk_size, ..*options };
        let (plan, mut jobs) = job::plan(requests, options)?;
        // The disk likes them in its own order; so does the kernel's readahead.
        jobs.sort_by_key(|j| j.place);
        let threads = threads::count(options.threads).min(jobs.len()).max(1);
        stats.threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let total = jobs.iter().map(|j| j.bytes()).fold(0, u64::saturating_add);
        let shared = Shared {
            options,
            queue: Lock::new(jobs.into_iter()),
            requests: &plan,
            direct,
            budget: Budget { most: options.in_flight, used: Lock::new(0), freed: Condvar::new() },
            stop: AtomicBool::new(false),
            failure: Lock::new(None),
            stored_bytes: AtomicU64::new(0),
            told: Lock::new(Told::default()),
            total,
            on_done,
            go_on,
        };
        threads::run(threads, &|| shared.work());
        let told = shared.told.into_inner();
        stats.bytes = told.bytes;
        stats.requests = told.requests;
        stats.digests_verified = told.digests;
        stats.stored_bytes = shared.stored_bytes.into_inner();
        match shared.failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn direct_handle(&self, options: &BatchOptions, stats: &mut BatchStats) -> Result<Option<DirectFile>> {
        if options.direct != Direct::Always {
            stats.reason = match options.direct {
                Direct::Never => c"page cache: as asked",
                _ => c"page cache: direct reads are used only when asked for",
            };
            return Ok(None);
        }
        stats.reason = c"direct: as asked";
        match self.source().direct()? {
            Some(direct) => Ok(Some(direct)),
            None => Err(self.in_file(fail!(
                Unsupported,
                "direct reads were asked for, but the file system, the platform or the source has none"
            ))),
        }
    }
}

impl Shared<'_, '_> {
    /// One thread: jobs, until there are no more or one has failed.
    fn work(&self) {
        let mut bounce: Option<AlignedBuffer> = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some(job) = self.queue.hold().next() else { return };
            let Some(request) = self.requests.get(job.request) else { return };
            let bytes = job.bytes();
            let outcome = self.perform(job.work, request, &mut bounce).map_err(|e| request.component.wrap(e));
            self.finish(request, bytes, outcome);
        }
    }

    /// Books a job, and the request with its last one; tells the callbacks.
    fn finish(&self, request: &job::Request<'_>, bytes: u64, outcome: Result<()>) {
        let last = request.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let mut told = self.told.hold();
        if outcome.is_ok() {
            told.bytes = told.bytes.saturating_add(bytes);
        }
        if (last && !request.failed.load(Ordering::Relaxed)) || outcome.is_err() {
            let first_word = !request.failed.swap(outcome.is_err(), Ordering::Relaxed);
            if outcome.is_ok() {
                told.requests = told.requests.saturating_add(1);
                told.digests = told.digests.saturating_add(u64::from(request.has_digest()));
            }
            if first_word {
                (self.on_done)(request.tag, &outcome);
            }
        }
        match outcome {
            Err(error) => self.fail(error),
            Ok(()) if !(self.go_on)(told.bytes, self.total) => {
                self.fail(fail!(Cancelled, "stopped after {} of {} bytes", told.bytes, self.total));
            }
            Ok(()) => {}
        }
    }

    fn fail(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        self.failure.hold().get_or_insert(error);
    }

    fn perform(
        &self,
        work: Work<'_>,
        request: &job::Request<'_>,
        bounce: &mut Option<AlignedBuffer>,
    ) -> Result<()> {
        let component = request.component;
        match work {
            Work::Copy { offset, dst } => {
                self.read_stored(offset, dst, bounce)?;
                component.finish_piece(dst)
            }
            Work::Hash { offset, dst, digest } => {
                // Read and hash a cache's worth at a time, so that the bytes are hot when hashed.
                const HOT: usize = 256 << 10;
                let mut hasher = crate::payload::digest::Hasher::new(digest);
                let mut at = offset;
                for piece in dst.chunks_mut(HOT) {
                    self.read_stored(at, piece, bounce)?;
                    hasher.update(piece);
                    at = at.saturating_add(piece.len() as u64);
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(fail!(Cancelled, "stopped"));
                    }
                }
                request.check_digest(&hasher.finish())?;
                component.finish_piece(dst)
            }
            Work::Frames { stored, frames, dst } => {
                self.note_stored(frames.iter().map(|f| f.stored.len() as u64).sum());
                job::decode_frames(stored, &frames, dst)?;
                component.finish_piece(dst)
            }
            Work::Other { part, dst } => {
                let needed = component.temporary_memory();
                let _taken = self.budget.take(needed);
                if let Some(algorithm) = request.algorithm() {
                    request.check_digest(&component.hash_stored(algorithm)?)?;
                }
                let raw = component.encoding() == Encoding::Raw;
                let read = match part {
                    Part::Whole => component.read_inner(dst).map(|()| component.stored_size())?,
                    Part::Range { offset, length } => {
                        let size = usize::try_from(length).unwrap_or(usize::MAX);
                        component.read_range_inner(offset, dst.get_mut(..size).unwrap_or_default())?;
                        if raw {
                            length
                        } else {
                            component.stored_size()
                        }
                    }
                    Part::Slab(slab) => component.read_slab_inner(&slab, dst)?,
                };
                self.note_stored(read);
                Ok(())
            }
        }
    }

    fn note_stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn read_stored(&self, offset: u64, dst: &mut [u8], bounce: &mut Option<AlignedBuffer>) -> Result<()> {
        self.note_stored(dst.len() as u64);
        let Some(request_source) = self.requests.first().map(|r| r.component.file.source()) else {
            return Ok(());
        };
        let Some(direct) = &self.direct else { return request_source.read_at(offset, dst) };
        let buffer = match bounce {
            Some(buffer) => buffer,
            None => {
                // At least a mebibyte, which is page-aligned as direct reads want it.
                let size = self.options.chunk_size.saturating_add(BLOCK).clamp(1 << 20, 16 << 20);
                bounce.insert(AlignedBuffer::zeroed(usize::try_from(size).unwrap_or(usize::MAX))?)
            }
        };
        direct.read_at(offset, dst, buffer)
    }
}
