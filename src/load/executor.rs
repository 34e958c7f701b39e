//! Many requests: their jobs in the order of the files, on some threads, and what the callbacks report meanwhile. Short
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
        strategies.push(strategy.map_err(|e| source.owner.in_file(source.bytes, e))?);
    }
    let bounces = sources.iter().map(|s| strategy::bounces(options, &s.profile)).max().unwrap_or(0);
    let state = BatchState {
        options,
        sources: &sources,
        strategies: &strategies,
        queue: Mutex::new(&mut jobs),
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
struct BatchState<'a, 'q, 'b> {
    options: &'a BatchOptions,
    sources: &'a [Source<'b>],
    strategies: &'a [ReadStrategy<'b>],
    /// Jobs that no thread has taken yet.
    queue: Mutex<&'q mut [Job<'b>]>,
    requests: &'a [Request<'b>],
    shared: Shared,
    failure: Mutex<Option<Error>>,
    delivered: Mutex<Delivered>,
    total: u64,
    on_done: &'a OnDone<'a>,
    progress: &'a Progress<'a>,
}

/// Jobs that are done together: how many, and what they read.
struct Extent {
    count: usize,
    /// Where their stored bytes are in the source.
    start: u64,
    end: u64,
    /// Stored bytes of all of them.
    stored: u64,
    /// Those of them that are not for a destination, and take memory.
    temporary: u64,
    how: ReadMany,
}

impl Extent {
    /// A job that reads for itself.
    fn of_one(offset: u64) -> Extent {
        Extent { count: 1, start: offset, end: offset, stored: 0, temporary: 0, how: ReadMany::OneByOne }
    }
}

/// What the callbacks have received so far; they are called by one thread at a time.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    requests: u64,
    digests: u64,
}

impl<'q, 'b> BatchState<'_, 'q, 'b> {
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
        while !self.shared.stop.load(Ordering::Relaxed) {
            let Some((strategy, jobs, extent)) = self.take(bounce.capacity()) else { return };
            self.run_together(strategy, jobs, &extent, &mut bounce);
        }
    }

    /// The next job, and those that may be done with it.
    fn take(&self, capacity: usize) -> Option<(&ReadStrategy<'b>, &'q mut [Job<'b>], Extent)> {
        let mut queue = self.queue.lock();
        let first = queue.first()?;
        let strategy = self.strategies.get(first.source as usize)?;
        let extent = match strategy.coalescing(capacity) {
            Some(many) => adjacent(&queue, &many),
            None => Extent::of_one(first.offset),
        };
        let (jobs, rest) = std::mem::take(&mut *queue).split_at_mut_checked(extent.count)?;
        *queue = rest;
        Some((strategy, jobs, extent))
    }

    fn run_together(
        &self,
        strategy: &ReadStrategy<'_>,
        jobs: &mut [Job<'b>],
        extent: &Extent,
        bounce: &mut Bounce,
    ) {
        let fetched = if extent.count > 1 { fetch(strategy, jobs, extent, bounce).ok() } else { None };
        if fetched.is_some() {
            self.shared.count_stored(extent.stored);
        }
        // Where one read for all fails, each for itself says why.
        let mut fetched = fetched;
        for job in jobs {
            let Some(request) = self.requests.get(job.request as usize) else { continue };
            let size = job.bytes();
            let outcome = match &mut fetched {
                None => Performer { strategy, shared: &self.shared, bounce }.perform(job, request),
                Some(fetched) => fetched
                    .next(job, bounce)
                    .and_then(|bytes| perform::finish(request, job.offset, job.dst, &job.kind, bytes)),
            };
            self.finish(request, size, outcome);
            if self.shared.stop.load(Ordering::Relaxed) {
                return;
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

/// The jobs at the front of the queue that may be done together.
fn adjacent(queue: &[Job<'_>], many: &Coalescing) -> Extent {
    let start = queue.first().map_or(0, |first| first.offset);
    let mut extent = Extent { count: 0, stored: 0, end: start, how: many.how, ..Extent::of_one(start) };
    let source = queue.first().map(|first| first.source);
    for job in queue.iter().take(many.count).take_while(|job| Some(job.source) == source) {
        let Some(stored) = job.coalescable(many.short) else { break };
        let temporary = if job.is_in_place() { 0 } else { stored };
        let next = Extent {
            count: extent.count.saturating_add(1),
            end: extent.end.max(job.offset.saturating_add(stored)),
            stored: extent.stored.saturating_add(stored),
            temporary: extent.temporary.saturating_add(temporary),
            ..extent
        };
        let (size, most_temporary) = match many.how {
            ReadMany::Anywhere => (next.stored, many.capacity),
            ReadMany::OneByOne | ReadMany::Adjacent => (next.end.saturating_sub(start), u64::MAX),
        };
        let fits = size <= many.most && next.temporary <= most_temporary;
        // The first is done in any case.
        if extent.count > 0 && (!fits || job.offset > extent.end.saturating_add(many.gap)) {
            break;
        }
        extent = next;
    }
    match extent.count {
        0 => Extent::of_one(start),
        _ => extent,
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
    fn next<'b>(&mut self, job: &Job<'_>, bounce: &'b Bounce) -> Result<Option<&'b [u8]>> {
        let size = || usize::try_from(job.stored_bytes()).unwrap_or(usize::MAX);
        let from = match self {
            Fetched::Apart(_) if job.is_in_place() => return Ok(None),
            Fetched::Apart(next) => std::mem::replace(next, next.saturating_add(size())),
            Fetched::Together { start, place } => {
                let from = usize::try_from(job.offset.saturating_sub(*start)).unwrap_or(usize::MAX);
                place.saturating_add(from)
            }
        };
        bounce.part(from..from.saturating_add(size())).map(Some)
    }
}

/// Reads the stored bytes of all the jobs.
fn fetch(
    strategy: &ReadStrategy<'_>,
    jobs: &mut [Job<'_>],
    extent: &Extent,
    bounce: &mut Bounce,
) -> Result<Fetched> {
    let Extent { start, end, temporary, how, .. } = *extent;
    let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let route = strategy.route(start, size as u64);
    let scatters = match how {
        ReadMany::Anywhere => true,
        ReadMany::Adjacent => !route.is_direct(),
        ReadMany::OneByOne => false,
    };
    if scatters {
        let gaps = if how == ReadMany::Anywhere { Some(0) } else { gaps_between(jobs, start) };
        if let Some(gaps) = gaps {
            let memory = usize::try_from(temporary.saturating_add(gaps)).unwrap_or(usize::MAX);
            let own = usize::try_from(temporary).unwrap_or(usize::MAX);
            let start = (gaps > 0 || how == ReadMany::Adjacent).then_some(start);
            let mut read = |memory: &mut [u8]| strategy.read_many(&mut scatter(jobs, start, memory, own)?);
            match memory {
                0 => read(&mut [])?,
                _ => bounce.fill(memory, read)?,
            }
            return Ok(Fetched::Apart(0));
        }
    }
    let place = strategy.fetch_place(route, start, size, bounce)?.start;
    Ok(Fetched::Together { start, place })
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
