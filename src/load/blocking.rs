//! Reads that are done when the call returns.
//!
//! [`run`] runs many requests on several threads: their jobs are sorted by file and offset, and callbacks
//! report the progress. [`run_one`] runs one request on the caller's thread. It runs each job immediately, so
//! it needs neither a queue nor memory for jobs.

use super::component::StoredComponent;
use super::executor::{Executor, Listener};
use super::job_reader::{JobReader, Shared};
use super::jobs::{self, Job, Task};
use super::request::{BatchOptions, BatchStats, Direct, OnDone, Part, Progress, Request};
use super::strategy::ReadStrategy;
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::memory::with_capacity;
use crate::model::dtype::Dtype;
use crate::model::sort::sort_by_key;
use crate::source::direct::{Bounce, BOUNCE_SIZE};
use crate::threads;
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Runs all requests and returns the first failure. The first failure stops the rest, unless the options say
/// to keep going. `stats` is filled on failure, too.
pub fn run(
    requests: &mut [Request<'_>],
    options: &BatchOptions,
    on_done: &OnDone<'_>,
    progress: &Progress<'_>,
    stats: &mut BatchStats,
) -> Result<()> {
    let started = Instant::now();
    let mut read = || {
        let mut executor = Executor::new(requests, options)?;
        let mut jobs = with_capacity(requests.len())?;
        let mut refused = Delivered::default();
        for (at, (request, task)) in requests.iter_mut().zip(&executor.tasks).enumerate() {
            let number = u32::try_from(at).map_err(|_| fail!(Limit, "a batch of more than 2^32 requests"))?;
            let dst = request.take_destination().map_err(|e| request.component.named(e))?;
            match executor.add_jobs(&mut jobs, number, request, task, dst) {
                Err(error) if options.keep_going => {
                    refused.count_failure(request.wanted.tag, error, on_done);
                }
                added => added?,
            }
        }
        // Disks and the kernel's readahead are fastest if the offsets ascend.
        sort_by_key(&mut jobs, |job| (job.source, job.offset, job.request));
        let total = jobs.iter().map(Job::bytes).fold(0, u64::saturating_add);
        executor.decide(&jobs, Job::span)?;
        let threads = executor.threads(options.threads).min(jobs.len()).max(1);
        executor.set_jobs(jobs);
        let delivered = Mutex::new(refused);
        let batch = Batch { executor: &executor, requests, delivered: &delivered, total, on_done, progress };
        threads::run(threads, executor.thread_hooks(), &|| batch.work());
        let delivered = delivered.into_inner();
        *stats = delivered.stats;
        stats.threads = u32::try_from(threads).unwrap_or(u32::MAX);
        executor.set_stats(stats);
        delivered.failure.map_or(Ok(()), Err)
    };
    let outcome = read();
    stats.nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    outcome
}

/// What the threads of one batch share.
struct Batch<'r, 'b> {
    executor: &'r Executor<'b>,
    requests: &'r [Request<'b>],
    delivered: &'r Mutex<Delivered>,
    total: u64,
    on_done: &'r OnDone<'r>,
    progress: &'r Progress<'r>,
}

/// What was reported to the callbacks so far. One thread at a time calls them.
#[derive(Default)]
struct Delivered {
    stats: BatchStats,
    /// Bytes that were reported for jobs that are still running, or that failed.
    underway: u64,
    failure: Option<Error>,
}

impl Delivered {
    /// Reports a request that failed.
    fn count_failure(&mut self, tag: u64, error: Error, on_done: &OnDone<'_>) {
        let outcome = Err(error);
        on_done(tag, &outcome);
        self.stats.failed = self.stats.failed.saturating_add(1);
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }
}

impl Batch<'_, '_> {
    /// The loop of one thread: runs jobs until none is left or the batch is stopped.
    fn work(&self) {
        let Some(mut scratch) = self.executor.scratch() else { return };
        let mut worker = Worker { batch: self, of_job: Cell::new(0) };
        while !self.executor.is_stopped() {
            match self.executor.step(self.requests, &mut scratch, &mut worker) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => self.fail(&mut self.delivered.lock(), error),
            }
        }
    }

    fn stop(&self) {
        self.executor.shared.stop.store(true, Ordering::Relaxed);
    }

    fn fail(&self, delivered: &mut Delivered, error: Error) {
        self.stop();
        delivered.failure.get_or_insert(error);
    }

    /// Calls the progress callback. If it returns false, the batch is cancelled.
    #[inline]
    fn ask(&self, delivered: &mut Delivered) {
        let bytes = delivered.stats.bytes.saturating_add(delivered.underway);
        if !(self.progress)(bytes, self.total) {
            self.fail(delivered, fail!(Cancelled, "stopped after {bytes} of {} bytes", self.total));
        }
    }
}

/// A thread of a batch.
struct Worker<'w, 'r, 'b> {
    batch: &'w Batch<'r, 'b>,
    /// Bytes of the current job that were reported so far.
    of_job: Cell<u64>,
}

impl Listener for Worker<'_, '_, '_> {
    fn on_progress(&self, bytes: u64) {
        let mut delivered = self.batch.delivered.lock();
        self.of_job.set(self.of_job.get().saturating_add(bytes));
        delivered.underway = delivered.underway.saturating_add(bytes);
        self.batch.ask(&mut delivered);
    }

    /// Counts a job that ended, and its request if this was the last job; calls the callbacks.
    #[inline]
    fn on_job_done(&mut self, _: u32, request: &Request<'_>, task: &Task, bytes: u64, outcome: Result<()>) {
        let batch = self.batch;
        let end = task.job_ended(&outcome);
        let is_done = end.is_last && !end.is_failed;
        let of_job = self.of_job.take();
        let mut delivered = batch.delivered.lock();
        if outcome.is_ok() {
            delivered.stats.bytes = delivered.stats.bytes.saturating_add(bytes);
            delivered.underway = delivered.underway.saturating_sub(of_job);
        }
        if is_done {
            let stats = &mut delivered.stats;
            stats.requests = stats.requests.saturating_add(1);
            stats.digests_verified = stats.digests_verified.saturating_add(u64::from(end.has_digest));
        }
        match outcome {
            Ok(()) if is_done => (batch.on_done)(request.wanted.tag, &Ok(())),
            Ok(()) => {}
            Err(error) if end.is_first_failure => {
                delivered.count_failure(request.wanted.tag, error, batch.on_done);
                if !batch.executor.options.keep_going {
                    batch.stop();
                    return;
                }
            }
            Err(_) => return,
        }
        batch.ask(&mut delivered);
    }
}

/// Options of one request: read through the page cache, in reads as long as possible.
const ONE_REQUEST: BatchOptions =
    BatchOptions { direct: Direct::Never, chunk_size: u64::MAX, ..BatchOptions::ONE_THREAD };

/// Reads a part of a component into the front of `dst`. If a dtype is given, converts it.
#[inline]
pub fn run_one(
    component: &StoredComponent<'_>,
    part: Part,
    convert: Option<Dtype>,
    dst: &mut [u8],
) -> Result<()> {
    let outcome = match plain_range(component, &part, convert, dst) {
        Some((offset, front)) => component.source.read_at(offset, front),
        None => run_jobs(Request::new(*component, part, convert, dst, 0)?),
    };
    component.unless_changed(outcome)
}

/// The part's offset in the source and the memory it fills, if the fast path can read it.
///
/// Fast path: a whole raw component, or a valid range of one, is read by one call into its destination. That
/// saves half of the instructions of a short read. It does not apply if bytes have to be swapped, checked,
/// decoded, gathered or converted. If they do not fit in `dst`, the usual path reports the error.
fn plain_range<'d>(
    component: &StoredComponent<'_>,
    part: &Part,
    convert: Option<Dtype>,
    dst: &'d mut [u8],
) -> Option<(u64, &'d mut [u8])> {
    let (start, size) = match part {
        Part::Whole => (0, component.size),
        Part::Range { offset, length } => (*offset, *length),
        Part::Slab(_) => return None,
    };
    let plain =
        component.is_raw() && convert.is_none() && !component.entry.swaps() && !component.strict_bools;
    let front = dst.get_mut(..usize::try_from(size).ok()?)?;
    let fits = plain && start.checked_add(size)? <= component.size;
    fits.then(|| (component.entry.offset.saturating_add(start), front))
}

#[inline(never)]
fn run_jobs(mut request: Request<'_>) -> Result<()> {
    let dst = request.take_destination()?;
    let shared = Shared::new(ONE_REQUEST.in_flight);
    let strategy = ReadStrategy::cached(request.component.source);
    let mut bounce = Bounce::new(BOUNCE_SIZE as u64, 0);
    let capacity = bounce.capacity();
    let step = |_| Ok(());
    let (strategy, shared, bounce) = (&strategy, &shared, &mut bounce);
    let is_counted = &AtomicBool::new(false);
    let mut reader = JobReader { strategy, shared, bounce, step: &step, oversized: &[], is_counted };
    let mut do_job =
        |offset, dst, work| reader.read(&mut Job { source: 0, request: 0, offset, dst, work }, &request);
    jobs::split(&request, dst, &ONE_REQUEST, capacity, &mut do_job).map(drop)
}
