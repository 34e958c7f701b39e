//! The queue of jobs. A thread takes the next jobs and runs them. All reads use it except `run_one`.

use super::coalesce::{adjacent, fetch, Extent};
use super::destination::Destination;
use super::finish::finish;
use super::job_reader::{JobReader, Oversized, Shared};
use super::jobs::{self, Job, OwnWork, Source, StoredSpan, Task, Work};
use super::request::{BatchOptions, BatchStats, Request};
use super::strategy::ReadStrategy;
use crate::error::{fail, Result};
use crate::lock::Mutex;
use crate::memory;
use crate::source::direct::{Bounce, BLOCK, MIN_BOUNCE_SIZE};
use crate::source::Profile;
use crate::threads::ThreadHooks;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// The number of concurrent direct reads if the caller does not set it. It may exceed the number of
/// processors, because a disk is only fast with several reads at a time.
const MIN_DIRECT_THREADS: usize = 4;

/// What the threads of one batch or load share.
pub struct Executor<'a> {
    pub options: BatchOptions,
    pub sources: Vec<Source<'a>>,
    pub tasks: Vec<Task>,
    strategies: Vec<ReadStrategy<'a>>,
    /// Jobs that no thread has taken yet. The last one is taken first.
    queue: Mutex<Vec<Job<'a>>>,
    pub shared: Shared,
    pub oversized: Vec<Oversized<'a>>,
}

/// How one source has been read so far.
pub struct SourceStats {
    pub stored_bytes: u64,
    pub direct_bytes: u64,
    pub reason: &'static CStr,
}

/// Is called when a thread's jobs make progress or end.
pub trait Listener {
    /// This many more bytes of a running job were read.
    fn on_progress(&self, bytes: u64);

    /// A job of the request with this number and size ended.
    fn on_job_done(
        &mut self,
        number: u32,
        request: &Request<'_>,
        task: &Task,
        bytes: u64,
        outcome: Result<()>,
    );
}

/// Memory that a thread keeps from one step to the next.
pub struct Scratch<'a> {
    bounce: Bounce,
    taken: Vec<Job<'a>>,
}

impl<'a> Executor<'a> {
    pub fn new(requests: &[Request<'a>], options: &BatchOptions) -> Result<Executor<'a>> {
        if options.chunk_size < BLOCK {
            return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
        }
        let (mut sources, tasks) = jobs::sources(requests)?;
        // A multiple of the block size, so that a piece never cuts an element.
        let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
        let threads = sources.iter().map(|s| s.profile.threads(options.threads)).min().unwrap_or(1);
        let threads = match options.threads {
            0 => threads.min(threads_within(options.in_flight)),
            _ => threads,
        };
        let options = BatchOptions { chunk_size, threads, ..*options };
        for source in &mut sources {
            source.capacity = bounce_of_thread(&options, &source.profile).capacity();
        }
        let bounces = sources.iter().map(|s| bounces_size(&options, &s.profile)).max().unwrap_or(0);
        Ok(Executor {
            options,
            sources,
            tasks,
            strategies: Vec::new(),
            queue: Mutex::new(Vec::new()),
            shared: Shared::new(options.in_flight.saturating_sub(bounces)),
            oversized: Vec::new(),
        })
    }

    /// Decides how each source is read. `places` are all stored bytes that will be read, sorted by source;
    /// `span` gives the position of each.
    pub fn decide<T>(&mut self, places: &[T], span: impl Fn(&T) -> StoredSpan) -> Result<()> {
        self.strategies.try_reserve_exact(self.sources.len())?;
        let mut rest = places;
        for (number, source) in self.sources.iter().enumerate() {
            // The count is 0 if everything that is read from this source is empty.
            let count = rest.partition_point(|place| span(place).source as usize <= number);
            let (of_source, others) = rest.split_at(count);
            rest = others;
            let strategy = ReadStrategy::new(source.bytes, &self.options, of_source, &span);
            self.strategies.push(strategy.map_err(|e| source.owner.in_file(source.bytes, e))?);
        }
        Ok(())
    }

    /// The number of reading threads if the caller asks for `wanted`. If that is 0, the library decides.
    pub fn threads(&self, wanted: usize) -> usize {
        match self.options.threads {
            few if wanted == 0
                && few < MIN_DIRECT_THREADS
                && !self.needs_calling_thread()
                && self.strategies.iter().any(ReadStrategy::may_go_direct) =>
            {
                MIN_DIRECT_THREADS
            }
            threads => threads,
        }
    }

    /// Whether there is a source that only threads of the caller may read.
    pub fn needs_calling_thread(&self) -> bool {
        self.sources.iter().any(|source| source.profile.callers_thread)
    }

    pub fn thread_hooks(&self) -> ThreadHooks {
        self.sources.first().map(|source| source.owner.thread_hooks()).unwrap_or_default()
    }

    /// Adds the jobs that fill `dst` for the request with this number. If they cannot be made, the request
    /// counts as one job that failed.
    pub fn add_jobs(
        &self,
        jobs: &mut Vec<Job<'a>>,
        number: u32,
        request: &Request<'a>,
        task: &Task,
        dst: Destination<'a>,
    ) -> Result<()> {
        let capacity = self.sources.get(task.source as usize).map_or(0, |source| source.capacity);
        let before = jobs.len();
        let mut push = |offset, dst, work| -> Result<()> {
            memory::push(jobs, Job { source: task.source, request: number, offset, dst, work })
        };
        match jobs::split(request, dst, &self.options, capacity, &mut push) {
            Ok(has_digest) => {
                task.set_jobs(jobs.len().saturating_sub(before), has_digest);
                Ok(())
            }
            Err(error) => {
                jobs.truncate(before);
                task.set_jobs(1, false);
                Err(request.component.named(error))
            }
        }
    }

    /// Adds the job for a piece of an oversized request. `offset` is the piece's first byte in the request.
    pub fn add_piece(
        &self,
        jobs: &mut Vec<Job<'a>>,
        number: u32,
        request: &Request<'a>,
        task: &Task,
        (of, offset): (u32, u64),
        dst: &'a mut [u8],
    ) -> Result<()> {
        // The digest is checked once, with the first piece.
        task.set_jobs(1, request.wanted.verify && offset == 0);
        jobs.try_reserve(1).map_err(|e| request.component.named(e.into()))?;
        let (place, work) = (request.component.entry.offset, Work::Own(OwnWork::Piece { of, offset }));
        jobs.push(Job { source: task.source, request: number, offset: place, dst, work });
        Ok(())
    }

    /// Sets the jobs. They run in this order.
    pub fn set_jobs(&mut self, mut jobs: Vec<Job<'a>>) {
        jobs.reverse();
        self.queue = Mutex::new(jobs);
    }

    /// Adds jobs that run before all others.
    pub fn push_front(&self, jobs: &mut Vec<Job<'a>>) -> Result<()> {
        let mut queue = self.queue.lock();
        queue.try_reserve(jobs.len())?;
        queue.extend(jobs.drain(..).rev());
        Ok(())
    }

    pub fn next_request(&self) -> Option<u32> {
        self.queue.lock().last().map(|job| job.request)
    }

    /// Whether threads should end, because a job failed or the caller cancelled.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Memory for a thread, or `None` if there are no sources.
    pub fn scratch(&self) -> Option<Scratch<'a>> {
        let bounces = self.sources.iter().map(|source| bounce_of_thread(&self.options, &source.profile));
        bounces.max_by_key(Bounce::capacity).map(|bounce| Scratch { bounce, taken: Vec::new() })
    }

    /// Runs the next job, and the jobs coalesced with it; false if none is left. Calls `listener` for each.
    pub fn step(
        &self,
        requests: &[Request<'a>],
        scratch: &mut Scratch<'a>,
        listener: &mut impl Listener,
    ) -> Result<bool> {
        let Some((strategy, extent)) = self.take_next(scratch)? else { return Ok(false) };
        let Scratch { bounce, taken } = scratch;
        let mut fetched = if extent.count > 1 { fetch(strategy, taken, &extent, bounce).ok() } else { None };
        // If the coalesced read failed, or the file was changed, read each job by itself: then the error
        // names the request that failed.
        let first = taken.first().and_then(|job| requests.get(job.request as usize));
        fetched =
            fetched.filter(|_| first.is_none_or(|first| first.component.unless_changed(Ok(())).is_ok()));
        if fetched.is_some() {
            strategy.count_stored(extent.stored);
        }
        for job in taken.iter_mut() {
            let number = job.request;
            let of_job = (requests.get(number as usize), self.tasks.get(number as usize));
            let (Some(request), Some(task)) = of_job else { continue };
            let size = job.bytes();
            let outcome = match (&mut fetched, &job.work) {
                (Some(fetched), Work::Range(what)) => {
                    let _reservation = self.shared.budget.reserve(what.extra_memory(request));
                    fetched
                        .next(job, bounce)
                        .and_then(|bytes| finish(request, job.offset, job.dst, what, bytes, &|_| Ok(())))
                }
                _ => {
                    let step = |bytes| {
                        listener.on_progress(bytes);
                        match self.is_stopped() {
                            true => Err(fail!(Cancelled, "stopped")),
                            false => Ok(()),
                        }
                    };
                    let (shared, oversized) = (&self.shared, &self.oversized[..]);
                    let is_counted = &task.is_counted;
                    let mut reader =
                        JobReader { strategy, shared, bounce, step: &step, oversized, is_counted };
                    request.component.unless_changed(reader.read(job, request))
                }
            };
            let outcome = outcome.map_err(|e| request.component.named(e));
            listener.on_job_done(number, request, task, size, outcome);
            if self.is_stopped() {
                break;
            }
        }
        taken.clear(); // after this, others may use the memory that the jobs filled
        Ok(true)
    }

    /// Moves the next job, and the jobs that run with it, into `scratch`.
    fn take_next(&self, scratch: &mut Scratch<'a>) -> Result<Option<(&ReadStrategy<'a>, Extent)>> {
        let mut queue = self.queue.lock();
        let Some(first) = queue.last() else { return Ok(None) };
        let Some(strategy) = self.strategies.get(first.source as usize) else { return Ok(None) };
        let extent = match strategy.coalescing(scratch.bounce.capacity(), self.options.threads) {
            Some(limits) => adjacent(first, queue.iter().rev(), &limits),
            None => Extent::of_one(first.offset),
        };
        scratch.taken.try_reserve(extent.count)?;
        let left = queue.len().saturating_sub(extent.count);
        scratch.taken.extend(queue.drain(left..).rev());
        Ok(Some((strategy, extent)))
    }

    /// Sets how much was read, whether reads bypassed the page cache, and the reason. If several sources were
    /// read, one that bypassed it is preferred.
    pub fn set_stats(&self, stats: &mut BatchStats) {
        let direct = self.strategies.iter().find(|s| s.went_direct());
        stats.direct = direct.is_some();
        stats.reason = direct.or(self.strategies.first()).map_or(c"", ReadStrategy::reason);
        let bytes = self.strategies.iter().map(ReadStrategy::stored_bytes);
        stats.stored_bytes = bytes.fold(0, u64::saturating_add);
    }

    /// How much was read from the source with this number, and how.
    pub fn source_stats(&self, number: usize) -> Option<SourceStats> {
        self.strategies.get(number).map(|strategy| SourceStats {
            stored_bytes: strategy.stored_bytes(),
            direct_bytes: strategy.direct_bytes(),
            reason: strategy.reason(),
        })
    }
}

/// How many threads can have a bounce buffer within `in_flight` bytes of temporary memory.
fn threads_within(in_flight: u64) -> usize {
    let bounce_and_its_half = 2 * MIN_BOUNCE_SIZE as u64;
    usize::try_from(in_flight / bounce_and_its_half).unwrap_or(usize::MAX).max(1)
}

/// How much temporary memory the bounce buffers of all threads take.
fn bounces_size(options: &BatchOptions, profile: &Profile) -> u64 {
    match profile.gathers() {
        true => (bounce_of_thread(options, profile).size() as u64).saturating_mul(options.threads as u64),
        false => 0, // a huge page each, which does not count
    }
}

/// The bounce buffer of a thread. Its size is the thread's share of the temporary memory.
fn bounce_of_thread(options: &BatchOptions, profile: &Profile) -> Bounce {
    let share = options.in_flight.checked_div(options.threads as u64).unwrap_or(0);
    match profile.gathers() {
        // The other half is for decoding compressed components.
        true => Bounce::new((share / 2).min(profile.largest_request), profile.largest_request),
        false => Bounce::new(share.min(options.chunk_size), 0),
    }
}
