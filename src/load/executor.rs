//! Jobs that wait in a queue, and the step by which a thread takes the next ones and does them: the one way of all reads
//! that are more than a single one.

use super::bounce_memory;
use super::coalesce::{adjacent, fetch, Extent};
use super::oversized::Oversized;
use super::perform::{finish, Performer, Shared};
use super::request::{BatchOptions, Job, JobKind, Placed, Request};
use super::split::{self, Source};
use super::strategy::ReadStrategy;
use crate::error::{fail, Result};
use crate::lock::Mutex;
use crate::source::direct::{Bounce, BLOCK};
use crate::threads::ThreadHooks;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// Reads past the page cache that are under way at once, where the caller leaves it to us: a disk wants more of them than
/// there may be processors.
const MIN_DIRECT_THREADS: usize = 4;

/// What the threads of one batch or load share.
pub struct Executor<'a> {
    pub options: BatchOptions,
    pub sources: Vec<Source<'a>>,
    strategies: Vec<ReadStrategy<'a>>,
    /// Jobs that no thread has taken yet: the next one is the last.
    queue: Mutex<Vec<Job<'a>>>,
    pub shared: Shared,
    /// Requests that are handed out piece by piece.
    pub oversized: Vec<Oversized<'a>>,
}

/// How one source was read so far.
pub struct SourceStats {
    pub stored_bytes: u64,
    pub direct_bytes: u64,
    /// Why so.
    pub reason: &'static CStr,
}

/// Who hears what becomes of the jobs of a thread.
pub trait Listener {
    /// So many bytes of a job that is not done are there.
    fn goes_on(&self, bytes: u64);

    /// A job of that request, so many bytes, was done.
    fn is_done(&mut self, number: u32, request: &Request<'_>, bytes: u64, outcome: Result<()>);
}

/// What a thread keeps from one step to the next.
pub struct Tools<'a> {
    bounce: Bounce,
    taken: Vec<Job<'a>>,
}

impl<'a> Executor<'a> {
    /// For requests, which learn which of its sources is theirs.
    pub fn new(requests: &mut [Request<'a>], options: &BatchOptions) -> Result<Executor<'a>> {
        if options.chunk_size < BLOCK {
            return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
        }
        let mut sources = split::sources(requests)?;
        // Whole blocks: a piece never cuts an element.
        let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
        let threads = sources.iter().map(|s| s.profile.threads(options.threads)).min().unwrap_or(1);
        let threads = match options.threads {
            0 => threads.min(bounce_memory::threads_within(options.in_flight)),
            _ => threads,
        };
        let options = BatchOptions { chunk_size, threads, ..*options };
        for source in &mut sources {
            source.capacity = bounce_memory::bounce(&options, &source.profile).capacity();
        }
        let bounces = sources.iter().map(|s| bounce_memory::bounces(&options, &s.profile)).max().unwrap_or(0);
        Ok(Executor {
            options,
            sources,
            strategies: Vec::new(),
            queue: Mutex::new(Vec::new()),
            shared: Shared::new(options.in_flight.saturating_sub(bounces)),
            oversized: Vec::new(),
        })
    }

    /// Decides how each source is read. `places` are all that will be, by source.
    pub fn decide(&mut self, places: &[impl Placed]) -> Result<()> {
        self.strategies.try_reserve_exact(self.sources.len())?;
        let mut rest = places;
        for (number, source) in self.sources.iter().enumerate() {
            // None, where all that is read of it is empty.
            let count = rest.partition_point(|place| place.source() as usize <= number);
            let (of_source, others) = rest.split_at(count);
            rest = others;
            let strategy = ReadStrategy::new(source.bytes, &self.options, of_source);
            self.strategies.push(strategy.map_err(|e| source.owner.in_file(source.bytes, e))?);
        }
        Ok(())
    }

    /// Threads that read, where the caller wants so many.
    pub fn threads(&self, wanted: usize) -> usize {
        match self.options.threads {
            few if wanted == 0
                && few < MIN_DIRECT_THREADS
                && !self.is_callers()
                && self.strategies.iter().any(ReadStrategy::may_go_direct) =>
            {
                MIN_DIRECT_THREADS
            }
            threads => threads,
        }
    }

    /// Whether sources want to be read by the threads that call the library, and no other.
    pub fn is_callers(&self) -> bool {
        self.sources.iter().any(|source| source.profile.callers_thread)
    }

    /// What is called on the threads that are started.
    pub fn thread_hooks(&self) -> ThreadHooks {
        self.sources.first().map(|source| source.owner.thread_hooks()).unwrap_or_default()
    }

    /// Jobs that are done when all that are there already were taken.
    pub fn fill(&mut self, mut jobs: Vec<Job<'a>>) {
        jobs.reverse();
        self.queue = Mutex::new(jobs);
    }

    /// Jobs that are done before all that are there already.
    pub fn put_first(&self, jobs: &mut Vec<Job<'a>>) -> Result<()> {
        let mut queue = self.queue.lock();
        queue.try_reserve(jobs.len())?;
        queue.extend(jobs.drain(..).rev());
        Ok(())
    }

    /// The request of the next job.
    pub fn next_request(&self) -> Option<u32> {
        self.queue.lock().last().map(|job| job.request)
    }

    /// Whether to end: a job failed, or the caller asked for it.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// What a thread needs.
    pub fn tools(&self) -> Option<Tools<'a>> {
        let bounces = self.sources.iter().map(|source| bounce_memory::bounce(&self.options, &source.profile));
        bounces.max_by_key(Bounce::capacity).map(|bounce| Tools { bounce, taken: Vec::new() })
    }

    /// Does the next job, and those that may be done with it; false if there is none. `listener` hears of each.
    pub fn step(
        &self,
        requests: &[Request<'a>],
        tools: &mut Tools<'a>,
        listener: &mut impl Listener,
    ) -> Result<bool> {
        let Some((strategy, extent)) = self.take(tools)? else { return Ok(false) };
        let Tools { bounce, taken } = tools;
        let fetched = if extent.count > 1 { fetch(strategy, taken, &extent, bounce).ok() } else { None };
        if fetched.is_some() {
            strategy.count_stored(extent.stored);
        }
        // Where one read for all fails, each for itself says why.
        let mut fetched = fetched;
        for job in taken.iter_mut() {
            let Some(request) = requests.get(job.request as usize) else { continue };
            let size = job.bytes();
            let outcome = match &mut fetched {
                None => {
                    let step = |bytes| {
                        listener.goes_on(bytes);
                        match self.is_stopped() {
                            true => Err(fail!(Cancelled, "stopped")),
                            false => Ok(()),
                        }
                    };
                    let mut performer = Performer { strategy, shared: &self.shared, bounce, step: &step };
                    match job.kind {
                        JobKind::Piece { of, offset } => match self.oversized.get(of as usize) {
                            Some(whole) => whole.fill(&mut performer, offset, job.dst),
                            None => Err(fail!(Internal, "a piece of no request")),
                        },
                        _ => performer.perform(job, request),
                    }
                }
                Some(fetched) => {
                    let _reservation = self.shared.budget.take(job.kind.extra(request));
                    fetched
                        .next(job, bounce)
                        .and_then(|bytes| finish(request, job.offset, job.dst, &job.kind, bytes, &|_| Ok(())))
                }
            };
            listener.is_done(job.request, request, size, outcome.map_err(|e| request.blob.named(e)));
            if self.is_stopped() {
                break;
            }
        }
        taken.clear(); // what they filled is another's now
        Ok(true)
    }

    /// The next job, and those that may be done with it, among the tools.
    fn take(&self, tools: &mut Tools<'a>) -> Result<Option<(&ReadStrategy<'a>, Extent)>> {
        let mut queue = self.queue.lock();
        let Some(first) = queue.last() else { return Ok(None) };
        let Some(strategy) = self.strategies.get(first.source as usize) else { return Ok(None) };
        let extent = match strategy.coalescing(tools.bounce.capacity(), self.options.threads) {
            Some(many) => adjacent(first, queue.iter().rev(), &many),
            None => Extent::of_one(first.offset),
        };
        tools.taken.try_reserve(extent.count)?;
        let left = queue.len().saturating_sub(extent.count);
        tools.taken.extend(queue.drain(left..).rev());
        Ok(Some((strategy, extent)))
    }

    /// Whether reads went past the page cache, and why they went the way that they went. Of several sources, that of one
    /// whose reads did.
    pub fn route_taken(&self) -> (bool, &'static CStr) {
        let direct = self.strategies.iter().find(|s| s.went_direct());
        let reason = direct.or(self.strategies.first()).map_or(c"", ReadStrategy::reason);
        (direct.is_some(), reason)
    }

    /// Stored bytes that were read.
    pub fn stored_bytes(&self) -> u64 {
        self.strategies.iter().map(ReadStrategy::stored_bytes).fold(0, u64::saturating_add)
    }

    /// What was read of the source of that number, and how.
    pub fn source_stats(&self, number: usize) -> Option<SourceStats> {
        self.strategies.get(number).map(|strategy| SourceStats {
            stored_bytes: strategy.stored_bytes(),
            direct_bytes: strategy.direct_bytes(),
            reason: strategy.reason(),
        })
    }
}
