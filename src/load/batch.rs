//! Many requests in one call: their jobs in the order of the files, on some threads, and what the callbacks
//! report meanwhile.

use super::executor::{Executor, Listener};
use super::job::{Job, Task};
use super::request::{BatchOptions, BatchStats, OnDone, Progress, Request};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::model::sort::sort_by_key;
use crate::threads;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Does all requests; `stats` is filled also on failure. The first failure stops the rest.
pub fn run(
    requests: &mut [Request<'_>],
    options: &BatchOptions,
    on_done: &OnDone<'_>,
    progress: &Progress<'_>,
    stats: &mut BatchStats,
) -> Result<()> {
    let started = Instant::now();
    let outcome = run_untimed(requests, options, on_done, progress, stats);
    stats.nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    outcome
}

fn run_untimed(
    requests: &mut [Request<'_>],
    options: &BatchOptions,
    on_done: &OnDone<'_>,
    progress: &Progress<'_>,
    stats: &mut BatchStats,
) -> Result<()> {
    let mut executor = Executor::new(requests, options)?;
    let mut jobs = Vec::new();
    jobs.try_reserve(requests.len())?;
    for (at, request) in requests.iter_mut().enumerate() {
        let number = u32::try_from(at).map_err(|_| fail!(Limit, "a batch of more than 2^32 requests"))?;
        let dst = request.take_destination().map_err(|e| request.blob.named(e))?;
        executor.add_jobs(&mut jobs, number, request, dst)?;
    }
    // The disk likes them in its own order; so does the kernel's readahead.
    sort_by_key(&mut jobs, |job| (job.source, job.offset, job.request));
    let total = jobs.iter().map(Job::bytes).fold(0, u64::saturating_add);
    executor.decide(&jobs)?;
    let threads = executor.threads(options.threads).min(jobs.len()).max(1);
    stats.threads = u32::try_from(threads).unwrap_or(u32::MAX);
    executor.set_jobs(jobs);
    let delivered = Mutex::new(Delivered::default());
    let batch = Batch { executor: &executor, requests, delivered: &delivered, total, on_done, progress };
    threads::run(threads, executor.thread_hooks(), &|| batch.work());
    (stats.direct, stats.reason) = executor.route_taken();
    stats.stored_bytes = executor.stored_bytes();
    let delivered = delivered.into_inner();
    stats.bytes = delivered.bytes;
    stats.requests = delivered.requests;
    stats.digests_verified = delivered.digests;
    delivered.failure.map_or(Ok(()), Err)
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

/// What the callbacks have received so far; they are called by one thread at a time.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    /// Bytes of jobs that are not done, or failed.
    underway: u64,
    requests: u64,
    digests: u64,
    failure: Option<Error>,
}

impl Batch<'_, '_> {
    /// One thread: jobs, until there are no more or one has failed.
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

    fn fail(&self, delivered: &mut Delivered, error: Error) {
        self.executor.shared.stop.store(true, Ordering::Relaxed);
        delivered.failure.get_or_insert(error);
    }

    /// Asks whether to go on.
    #[inline]
    fn ask(&self, delivered: &mut Delivered) {
        let bytes = delivered.bytes.saturating_add(delivered.underway);
        if !(self.progress)(bytes, self.total) {
            self.cancel(delivered, bytes);
        }
    }

    #[cold]
    fn cancel(&self, delivered: &mut Delivered, bytes: u64) {
        self.fail(delivered, fail!(Cancelled, "stopped after {bytes} of {} bytes", self.total));
    }
}

/// A thread of a batch.
struct Worker<'w, 'r, 'b> {
    batch: &'w Batch<'r, 'b>,
    /// Bytes of the job that goes on which were reported.
    of_job: Cell<u64>,
}

impl Listener for Worker<'_, '_, '_> {
    fn on_progress(&self, bytes: u64) {
        let mut delivered = self.batch.delivered.lock();
        self.of_job.set(self.of_job.get().saturating_add(bytes));
        delivered.underway = delivered.underway.saturating_add(bytes);
        self.batch.ask(&mut delivered);
    }

    /// Books a job, and the request with its last one; calls the callbacks.
    #[inline]
    fn on_job_done(&mut self, _: u32, request: &Request<'_>, task: &Task, bytes: u64, outcome: Result<()>) {
        let batch = self.batch;
        let end = task.job_ended(&outcome);
        let is_done = end.is_last && !end.is_failed;
        let of_job = self.of_job.take();
        let mut delivered = batch.delivered.lock();
        if outcome.is_ok() {
            delivered.bytes = delivered.bytes.saturating_add(bytes);
            delivered.underway = delivered.underway.saturating_sub(of_job);
        }
        if is_done {
            delivered.requests = delivered.requests.saturating_add(1);
            delivered.digests = delivered.digests.saturating_add(u64::from(end.has_digest));
        }
        if is_done || end.is_first_failure {
            (batch.on_done)(request.wanted.tag, &outcome);
        }
        match outcome {
            Err(error) => batch.fail(&mut delivered, error),
            Ok(()) => batch.ask(&mut delivered),
        }
    }
}
