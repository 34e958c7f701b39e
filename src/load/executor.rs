//! Many requests: their jobs in the order of the files, on some threads, and what the caller is told meanwhile. Short
//! jobs that lie near each other are done together: one read fetches the stored bytes of all.

use super::perform::{self, Performer, Shared};
use super::request::{BatchOptions, BatchStats, Job, OnDone, Progress, Request};
use super::split::{self, Source};
use super::strategy::{self, Coalescing, ReadStrategy};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::source::direct::{Bounce, BLOCK};
use crate::source::{ReadMany, ReadRange};
use crate::threads;
use std::ops::Range;
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
    if options.chunk_size < BLOCK {
        return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
    }
    let mut sources = split::sources(requests)?;
    // Whole blocks: a piece never cuts an element.
    let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
    let threads = sources.iter().map(|s| s.profile.threads(options.threads)).min().unwrap_or(1);
    let options = &BatchOptions { chunk_size, threads, ..*options };
    for source in &mut sources {
        source.capacity = strategy::bounce(options, &source.profile).capacity();
    }
    let mut jobs = split::plan(requests, &sources, options)?;
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
        let end = take_adjacent(&mut self.queue.lock(), jobs, many);
        let fetched = match jobs.len() {
            0 | 1 => None,
            _ => fetch(strategy, jobs, start..end, many.how, bounce).ok(),
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

/// Takes the jobs from `queue` that may be done with the first one, which is in `jobs` already; where the last of their
/// bytes is.
fn take_adjacent<'b>(
    queue: &mut std::vec::IntoIter<Job<'b>>,
    jobs: &mut Vec<Job<'b>>,
    many: &Coalescing,
) -> u64 {
    let Some(first) = jobs.first() else { return 0 };
    let (source, start, mut wanted) = (first.source, first.offset, first.stored_bytes());
    let mut end = start.saturating_add(wanted);
    let mut temporary = temporary(first);
    while jobs.len() < many.count {
        let next = queue.as_slice().first().filter(|job| job.source == source);
        let Some((job, its_end)) = next.and_then(|job| Some((job, job.coalescable_end(many.short)?))) else {
            break;
        };
        let all = its_end.max(end);
        let more = wanted.saturating_add(job.stored_bytes());
        let more_temporary = temporary.saturating_add(self::temporary(job));
        let (size, most_temporary) = match many.how {
            ReadMany::Anywhere => (more, many.capacity),
            ReadMany::OneByOne | ReadMany::Adjacent => (all.saturating_sub(start), u64::MAX),
        };
        if job.offset > end.saturating_add(many.gap) || size > many.most || more_temporary > most_temporary {
            break;
        }
        jobs.extend(queue.next()); // within what was reserved
        (end, wanted, temporary) = (all, more, more_temporary);
    }
    end
}

/// Bytes of memory that its stored bytes take, which are not for its destination.
fn temporary(job: &Job<'_>) -> u64 {
    if job.is_in_place() {
        0
    } else {
        job.stored_bytes()
    }
}

/// Where the stored bytes of jobs were put.
enum Fetched {
    /// All in the bounce from `place` on, as they are in the source from `start` on.
    Together { start: u64, place: usize },
    /// In the destinations; those that are for none one after the other in the bounce.
    Apart(usize),
}

impl Fetched {
    /// The stored bytes of the next job, if they are not in its destination.
    pub fn next<'b>(&mut self, job: &Job<'_>, bounce: &'b Bounce) -> Result<Option<&'b [u8]>> {
        let size = usize::try_from(job.stored_bytes()).unwrap_or(usize::MAX);
        let from = match self {
            Fetched::Together { start, place } => {
                let from = usize::try_from(job.offset.saturating_sub(*start)).unwrap_or(usize::MAX);
                place.saturating_add(from)
            }
            Fetched::Apart(_) if job.is_in_place() => return Ok(None),
            Fetched::Apart(next) => std::mem::replace(next, next.saturating_add(size)),
        };
        bounce.part(from..from.saturating_add(size)).map(Some)
    }
}

/// Reads the stored bytes of all the jobs, which are in `range`.
fn fetch(
    strategy: &ReadStrategy<'_>,
    jobs: &mut [Job<'_>],
    range: Range<u64>,
    how: ReadMany,
    bounce: &mut Bounce,
) -> Result<Fetched> {
    let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let route = strategy.route(range.start, size as u64);
    let scatters = match how {
        ReadMany::Anywhere => true,
        ReadMany::Adjacent => !route.is_direct(),
        ReadMany::OneByOne => false,
    };
    if scatters {
        let gaps = if how == ReadMany::Anywhere { Some(0) } else { gaps_between(jobs, range.start) };
        if let Some(gaps) = gaps {
            let own = jobs.iter().map(temporary).fold(0, u64::saturating_add);
            let memory = usize::try_from(own.saturating_add(gaps)).unwrap_or(usize::MAX);
            let own = usize::try_from(own).unwrap_or(usize::MAX);
            let start = (gaps > 0 || how == ReadMany::Adjacent).then_some(range.start);
            let mut read = |memory: &mut [u8]| strategy.read_many(&mut scatter(jobs, start, memory, own)?);
            match memory {
                0 => read(&mut [])?,
                _ => bounce.fill(memory, read)?,
            }
            return Ok(Fetched::Apart(0));
        }
    }
    let place = strategy.fetch_place(route, range.start, size, bounce)?.start;
    Ok(Fetched::Together { start: range.start, place })
}

/// Bytes between the jobs from `start` on; none where two want the same bytes.
fn gaps_between(jobs: &[Job<'_>], start: u64) -> Option<u64> {
    let mut at = start;
    jobs.iter().try_fold(0u64, |sum, job| {
        let gap = job.offset.checked_sub(at)?;
        at = job.offset.saturating_add(job.stored_bytes());
        Some(sum.saturating_add(gap))
    })
}

/// The places of the jobs' bytes: their destinations, or the first `own` bytes of `memory`. With what is between them
/// from `start` on, for which the rest of `memory` is, where that is read, too.
fn scatter<'m>(
    jobs: &'m mut [Job<'_>],
    start: Option<u64>,
    memory: &'m mut [u8],
    own: usize,
) -> Result<Vec<ReadRange<'m>>> {
    let outside = || fail!(Internal, "coalesced reads take more memory than was counted");
    let mut ranges = Vec::new();
    ranges.try_reserve_exact(jobs.len().saturating_mul(2))?;
    let (mut own, mut gaps) = memory.split_at_mut_checked(own).ok_or_else(outside)?;
    let mut at = start;
    for job in jobs {
        let stored = job.stored_bytes();
        let gap = at.map_or(0, |at| job.offset.saturating_sub(at));
        if gap > 0 {
            let dst = split_front(&mut gaps, gap).ok_or_else(outside)?;
            ranges.push(ReadRange { offset: job.offset.saturating_sub(gap), dst });
        }
        at = at.map(|_| job.offset.saturating_add(stored));
        let dst = match job.is_in_place() {
            true => &mut *job.dst,
            false => split_front(&mut own, stored).ok_or_else(outside)?,
        };
        ranges.push(ReadRange { offset: job.offset, dst });
    }
    Ok(ranges)
}

fn split_front<'m>(memory: &mut &'m mut [u8], size: u64) -> Option<&'m mut [u8]> {
    let (front, rest) = std::mem::take(memory).split_at_mut_checked(usize::try_from(size).ok()?)?;
    *memory = rest;
    Some(front)
}
