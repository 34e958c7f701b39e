//! Many requests: their jobs in the order of the files, on some threads, and what the caller is told meanwhile.

use super::blob::Owner;
use super::coalesce;
use super::job::Job;
use super::perform::{self, Performer, Shared};
use super::request::{BatchOptions, BatchStats, OnDone, Progress, Request};
use super::split;
use super::strategy::{self, Coalescing, ReadStrategy};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::source::direct::{Bounce, BLOCK};
use crate::source::{ByteSource, Profile};
use crate::threads;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    if options.chunk_size < BLOCK {
        return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
    }
    let mut sources = sources(requests)?;
    // Whole blocks: a piece never cuts an element.
    let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
    let threads = sources.iter().map(|s| s.profile.threads(options.threads)).min().unwrap_or(1);
    let options = &BatchOptions { chunk_size, threads, ..*options };
    for source in &mut sources {
        source.capacity = strategy::bounce(options, &source.profile).capacity();
    }
    let mut jobs = plan(requests, &sources, options)?;
    // The disk likes them in its own order; so does the kernel's readahead.
    jobs.sort_unstable_by_key(|job| (job.source, job.offset, job.request));
    let total = jobs.iter().map(Job::bytes).fold(0, u64::saturating_add);
    let threads = options.threads.min(jobs.len()).max(1);
    stats.threads = u32::try_from(threads).unwrap_or(u32::MAX);
    let mut strategies = Vec::new();
    strategies.try_reserve_exact(sources.len())?;
    let mut rest = jobs.as_slice();
    for (number, source) in sources.iter().enumerate() {
        // None, where all that is read of it is empty.
        let count = rest.partition_point(|job| job.source as usize <= number);
        let (of_source, others) = rest.split_at(count);
        rest = others;
        let strategy = ReadStrategy::new(source.bytes, options, of_source);
        strategies.push(strategy.map_err(|e| source.owner.in_file(e))?);
    }
    let bounces = sources.iter().map(|s| strategy::bounces(options, &s.profile)).max().unwrap_or(0);
    let state = BatchState {
        options,
        sources: &sources,
        strategies: &strategies,
        queue: Mutex::new(jobs.into_iter()),
        requests,
        shared: Shared::new(options.in_flight.saturating_sub(bounces)),
        failure: Mutex::new(None),
        delivered: Mutex::new(Delivered::default()),
        total,
        on_done,
        progress,
    };
    let hooks = sources.first().map(|source| source.owner.thread_hooks()).unwrap_or_default();
    threads::run(threads, hooks, &|| state.work());
    stats.direct = strategies.iter().any(ReadStrategy::went_direct);
    // Of several sources, that of one whose reads went past the page cache.
    let reason = strategies.iter().find(|s| s.went_direct()).or(strategies.first());
    stats.reason = reason.map_or(c"", ReadStrategy::reason);
    state.report(stats)
}

/// A source of a batch.
struct Source<'s> {
    bytes: &'s dyn ByteSource,
    owner: &'s dyn Owner,
    profile: Profile,
    /// Bytes that are read together at most.
    capacity: usize,
}

/// The sources of the requests, each of which is told which is its own.
fn sources<'a>(requests: &mut [Request<'a>]) -> Result<Vec<Source<'a>>> {
    let mut sources: Vec<Source<'a>> = Vec::new();
    for request in requests {
        let bytes = request.blob.source;
        let is_same = |source: &Source<'_>| std::ptr::addr_eq(source.bytes, bytes);
        // Requests of one file mostly follow each other.
        request.source = match sources.iter().rposition(is_same) {
            Some(known) => known,
            None => {
                sources.try_reserve(1)?;
                sources.push(Source {
                    bytes,
                    owner: request.blob.owner,
                    profile: bytes.profile(),
                    capacity: 0,
                });
                sources.len().saturating_sub(1)
            }
        };
    }
    Ok(sources)
}

/// The jobs of all requests, which are checked before.
fn plan<'a>(
    requests: &mut [Request<'a>],
    sources: &[Source<'a>],
    options: &BatchOptions,
) -> Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    jobs.try_reserve(requests.len())?;
    let too_many = |_| fail!(Limit, "a batch of more than 2^32 requests");
    for (at, request) in requests.iter_mut().enumerate() {
        let number = u32::try_from(at).map_err(too_many)?;
        let source = u32::try_from(request.source).map_err(too_many)?;
        let capacity = sources.get(request.source).map_or(0, |source| source.capacity);
        let before = jobs.len();
        let mut push = |offset, dst, kind| -> Result<()> {
            jobs.try_reserve(1)?;
            jobs.push(Job { source, request: number, offset, dst, kind });
            Ok(())
        };
        let has_digest = split::check(request)
            .and_then(|dst| split::split(request, dst, options, capacity, &mut push))
            .map_err(|e| request.blob.named(e))?;
        request.has_digest = has_digest;
        request.left = AtomicUsize::new(jobs.len().saturating_sub(before));
    }
    Ok(jobs)
}

/// What the threads of one batch share.
struct BatchState<'a, 'b> {
    options: &'a BatchOptions,
    sources: &'a [Source<'b>],
    strategies: &'a [ReadStrategy<'b>],
    queue: Mutex<std::vec::IntoIter<Job<'b>>>,
    requests: &'a [Request<'b>],
    shared: Shared,
    failure: Mutex<Option<Error>>,
    delivered: Mutex<Delivered>,
    total: u64,
    on_done: &'a OnDone<'a>,
    progress: &'a Progress<'a>,
}

/// What the callbacks have received so far; they are called by one thread at a time.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    requests: u64,
    digests: u64,
}

impl<'b> BatchState<'_, 'b> {
    /// What was done, once all threads are.
    fn report(self, stats: &mut BatchStats) -> Result<()> {
        let delivered = self.delivered.into_inner();
        stats.bytes = delivered.bytes;
        stats.requests = delivered.requests;
        stats.digests_verified = delivered.digests;
        stats.stored_bytes = self.shared.stored_bytes.into_inner();
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// One thread: jobs, until there are no more or one has failed.
    fn work(&self) {
        let bounces = self.sources.iter().map(|source| strategy::bounce(self.options, &source.profile));
        let Some(mut bounce) = bounces.max_by_key(Bounce::capacity) else { return };
        let mut jobs = Vec::new();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let Some(first) = self.queue.lock().next() else { return };
            let Some(strategy) = self.strategies.get(first.source as usize) else { return };
            let many = strategy.coalescing(bounce.capacity());
            let many = many.filter(|many| first.coalescable_end(many.short).is_some());
            // Without that memory each read is its own.
            match many.filter(|many| jobs.try_reserve_exact(many.count).is_ok()) {
                Some(many) => self.run_coalesced(strategy, first, &many, &mut jobs, &mut bounce),
                None => self.run_job(strategy, first, &mut bounce),
            }
        }
    }

    fn run_job(&self, strategy: &ReadStrategy<'_>, job: Job<'b>, bounce: &mut Bounce) {
        let Some(request) = self.requests.get(job.request as usize) else { return };
        let bytes = job.bytes();
        let outcome = Performer { strategy, shared: &self.shared, bounce }.perform(job, request);
        self.finish(request, bytes, outcome);
    }

    /// Does a short job, and those that `many` lets be done with it.
    fn run_coalesced(
        &self,
        strategy: &ReadStrategy<'_>,
        first: Job<'b>,
        many: &Coalescing,
        jobs: &mut Vec<Job<'b>>,
        bounce: &mut Bounce,
    ) {
        let start = first.offset;
        jobs.push(first); // within what was reserved
        let end = coalesce::take_adjacent(&mut self.queue.lock(), jobs, many);
        let fetched = match jobs.len() {
            0 | 1 => None,
            _ => coalesce::fetch(strategy, jobs, start..end, many.how, bounce).ok(),
        };
        // Where one read for all fails, each for itself says why.
        let Some(mut fetched) = fetched else {
            return jobs.drain(..).for_each(|job| self.run_job(strategy, job, bounce));
        };
        for job in jobs.drain(..) {
            let Some(request) = self.requests.get(job.request as usize) else { continue };
            let Job { offset, ref kind, .. } = job;
            let size = job.bytes();
            self.shared.count_stored(job.stored_bytes());
            let stored = fetched.next(&job, bounce);
            let outcome = stored.and_then(|bytes| perform::finish(request, offset, job.dst, kind, bytes));
            self.finish(request, size, outcome);
            if self.shared.stop.load(Ordering::Relaxed) {
                return; // those that are left go with the drain
            }
        }
    }

    /// Books a job, and the request with its last one; calls the callbacks.
    fn finish(&self, request: &Request<'_>, bytes: u64, outcome: Result<()>) {
        let outcome = outcome.map_err(|e| request.blob.named(e));
        let last = request.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let mut delivered = self.delivered.lock();
        if outcome.is_ok() {
            delivered.bytes = delivered.bytes.saturating_add(bytes);
        }
        if (last && !request.failed.load(Ordering::Relaxed)) || outcome.is_err() {
            let first_report = !request.failed.swap(outcome.is_err(), Ordering::Relaxed);
            if outcome.is_ok() {
                delivered.requests = delivered.requests.saturating_add(1);
                delivered.digests = delivered.digests.saturating_add(u64::from(request.has_digest));
            }
            if first_report {
                (self.on_done)(request.tag, &outcome);
            }
        }
        match outcome {
            Err(error) => self.fail(error),
            Ok(()) if !(self.progress)(delivered.bytes, self.total) => {
                self.fail(fail!(Cancelled, "stopped after {} of {} bytes", delivered.bytes, self.total));
            }
            Ok(()) => {}
        }
    }

    fn fail(&self, error: Error) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.failure.lock().get_or_insert(error);
    }
}
