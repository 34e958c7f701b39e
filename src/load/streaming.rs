//! A load delivers requests while others are still being read, to their own memory or in the slots of a ring.
//! A slot is filled again only after the consumer has given it back. So a slow consumer needs no more memory
//! than the ring.

use super::destination::{Destination, Ring};
use super::executor::{Executor, Listener, Scratch, SourceStats};
use super::jobs::Task;
use super::progress::{Event, Pending, Placed, Report};
use super::request::{BatchOptions, BatchStats, Request};
use super::slots::{self, Order, SplitRequests};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::memory::with_capacity;
use crate::source::ByteSource;
use crate::threads::ThreadHooks;
use std::sync::atomic::Ordering;
use std::sync::Condvar;
use std::time::{Duration, Instant};

/// How many requests get a place in the ring at a time, so that their reads may be coalesced.
const MAX_STAGED: usize = 512;

#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    pub batch: BatchOptions,
    pub order: Order,
}

/// What [`Load::next`] returns.
pub enum Next {
    /// Bytes of a request that are ready, or its failure.
    Event(Event),
    /// No event came within the timeout.
    TimedOut,
    /// There will be no more events.
    Done(Result<()>),
}

/// Requests that are being read. The owner runs [`Load::work`] on some threads.
pub struct Load<'a> {
    // Declared before the ring, so that it is dropped first: its jobs point into the ring's memory.
    executor: Executor<'a>,
    /// Pieces; each is a separate request.
    requests: Vec<Request<'a>>,
    ring: Option<Ring<'a>>,
    wanted_threads: usize,
    pending: Mutex<Pending>,
    /// Workers wait here for something to do.
    workers: Condvar,
    /// Consumers wait here for an event.
    consumers: Condvar,
    started: Instant,
}

/// The result of a worker's step.
enum Step {
    Worked,
    /// There is nothing to do at the moment.
    Idle,
    /// There will be nothing to do any more.
    Finished,
}

impl<'a> Load<'a> {
    /// Checks the requests as far as the manifests allow. Nothing is read before [`Load::work`] is called.
    pub fn new(
        requests: Vec<Request<'a>>,
        ring: Option<Ring<'a>>,
        options: &LoadOptions,
    ) -> Result<Load<'a>> {
        let (slots, slot_size) =
            ring.as_ref().map_or((0, usize::MAX), |ring| (ring.slots(), ring.slot_size()));
        if slots == 0 && requests.iter().any(|request| request.in_ring) {
            return Err(fail!(InvalidArgument, "requests need a ring, but it has no slots"));
        }
        let SplitRequests { mut requests, pieces, oversized } =
            slots::split_requests(requests, slot_size, &options.batch)?;
        let mut executor = Executor::new(&requests, &options.batch)?;
        executor.oversized = oversized;
        executor.decide(&slots::stored_spans(&requests, &executor.tasks)?, |span| *span)?;
        let order = slots::ring_order(&requests, &executor.tasks, &pieces, options.order)?;
        let (jobs, refused) = slots::own_jobs(&mut requests, &executor, options.order)?;
        executor.set_jobs(jobs);
        let load = Load {
            executor,
            requests,
            ring,
            wanted_threads: options.batch.threads,
            pending: Mutex::new(Pending::new(pieces, order, slots)?),
            workers: Condvar::new(),
            consumers: Condvar::new(),
            started: Instant::now(),
        };
        for (number, error) in refused {
            if !options.batch.keep_going {
                return Err(error);
            }
            load.report_to(|report| load.refuse(report, number, error));
        }
        Ok(load)
    }

    /// How many threads should run [`Load::work`]. 0 if only the consumers may read a source.
    pub fn threads(&self) -> usize {
        match self.executor.needs_calling_thread() || self.requests.is_empty() {
            true => 0,
            false => self.executor.threads(self.wanted_threads),
        }
    }

    /// The hooks that each started thread calls, unless the options say otherwise.
    pub fn thread_hooks(&self) -> ThreadHooks {
        self.executor.thread_hooks()
    }

    /// Sets how many threads work. If it is 0, [`Load::next`] does the work.
    pub fn set_threads(&self, threads: usize) {
        self.pending.lock().threads = threads;
        self.consumers.notify_all();
    }

    /// The loop of a worker, until nothing is left to do.
    pub fn work(&self) {
        let guard = PanicGuard(self);
        if let Some(mut scratch) = self.executor.scratch() {
            loop {
                match self.step(&mut scratch) {
                    Step::Worked => {}
                    Step::Finished => break,
                    Step::Idle => {
                        let pending = self.pending.lock();
                        if !self.is_workable(&pending) && !self.is_finished(&pending) {
                            drop(pending.wait(&self.workers));
                        }
                    }
                }
            }
        }
        std::mem::forget(guard);
    }

    /// Waits for the next event, at most for `timeout`. Any number of threads may wait.
    pub fn next(&self, timeout: Option<Duration>) -> Next {
        let started = Instant::now();
        let (mut scratch, mut has_worked) = (None, false);
        loop {
            let mut pending = self.pending.lock();
            if let Some(event) = pending.next_event(&self.requests) {
                self.hand_over_work(&pending);
                drop(pending);
                return Next::Event(event);
            }
            if pending.is_done() {
                return Next::Done(pending.outcome());
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            let is_late = left == Some(Duration::ZERO);
            if pending.threads == 0 && self.is_workable(&pending) && !(has_worked && is_late) {
                drop(pending);
                has_worked = true;
                scratch = scratch.or_else(|| self.executor.scratch());
                match &mut scratch {
                    Some(scratch) => {
                        let guard = PanicGuard(self);
                        self.step(scratch);
                        std::mem::forget(guard);
                    }
                    None => self.fail(fail!(Internal, "a load of no source")),
                }
                continue;
            }
            match left {
                None => drop(pending.wait(&self.consumers)),
                Some(_) if is_late => {
                    self.hand_over_work(&pending);
                    return Next::TimedOut;
                }
                Some(left) => drop(pending.wait_for(&self.consumers, left)),
            }
        }
    }

    /// Called when a consumer that ran jobs returns. If there are no workers, another waiting consumer takes
    /// over.
    fn hand_over_work(&self, pending: &Pending) {
        if pending.threads == 0 && self.is_workable(pending) {
            self.consumers.notify_one();
        }
    }

    /// Gives a piece back, so that its memory in that slot may be filled again. A piece that is not in use is
    /// ignored.
    pub fn release(&self, piece: u32, slot: u32) {
        let mut pending = self.pending.lock();
        let wakes = pending.release(piece, slot);
        let threads = pending.threads;
        drop(pending);
        if wakes {
            self.workers.notify_all();
            if threads == 0 {
                self.consumers.notify_all();
            }
        }
    }

    /// Stops the load: no job is started any more, and all waiting threads are woken. Finished pieces stay
    /// valid.
    pub fn cancel(&self) {
        self.stop(false);
    }

    /// Stops because the load is dropped. Events that were not taken do not make it count as cancelled.
    pub fn end(&self) {
        self.stop(true);
    }

    fn stop(&self, ending: bool) {
        if self.pending.lock().cancel(ending) {
            self.executor.shared.stop.store(true, Ordering::Relaxed);
        }
        self.wake_all();
    }

    /// The statistics so far, and how the load ended.
    pub fn report(&self, stats: &mut BatchStats) -> Result<()> {
        let pending = self.pending.lock();
        *stats = pending.stats;
        stats.threads = u32::try_from(pending.threads.max(1)).unwrap_or(u32::MAX);
        self.executor.set_stats(stats);
        stats.nanoseconds = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        pending.outcome()
    }

    /// The sources that are read; the first has number 0.
    pub fn sources(&self) -> impl Iterator<Item = &'a dyn ByteSource> + '_ {
        self.executor.sources.iter().map(|source| source.bytes)
    }

    /// How the source with this number was read so far.
    pub fn source_stats(&self, number: usize) -> Option<SourceStats> {
        self.executor.source_stats(number)
    }

    fn wake_all(&self) {
        self.workers.notify_all();
        self.consumers.notify_all();
    }

    /// Stops the load with a failure that belongs to no request.
    fn fail(&self, error: Error) {
        self.executor.shared.stop.store(true, Ordering::Relaxed);
        self.pending.lock().fail(error);
        self.wake_all();
    }

    /// Whether no job is left, and none will be made. The caller holds the lock of `pending`, because a stop
    /// changes the state under that lock before it wakes the waiting threads.
    fn is_finished(&self, pending: &Pending) -> bool {
        pending.is_done()
            || self.executor.is_stopped()
            || (pending.are_all_started() && self.executor.next_request().is_none())
    }

    /// Whether there is a job, or a piece for which there is space.
    fn is_workable(&self, pending: &Pending) -> bool {
        self.executor.next_request().is_some()
            || self.ring.as_ref().is_some_and(|ring| pending.has_space(ring, &self.requests))
    }

    fn step(&self, scratch: &mut Scratch<'a>) -> Step {
        if self.executor.is_stopped() {
            return Step::Finished;
        }
        // Start pieces for the ring first: all other jobs can run while the ring waits for its consumer.
        let next = self.executor.next_request().and_then(|next| self.requests.get(next as usize));
        let staged = match &self.ring {
            Some(ring) if next.is_none_or(|next| !next.in_ring) => self.stage(ring),
            _ => Ok(false),
        };
        let done = staged.and_then(|staged| {
            let mut done = Ok(false);
            self.report_to(|report| {
                done = self.executor.step(&self.requests, scratch, report);
            });
            done.map(|done| done || staged)
        });
        match done {
            Ok(true) => Step::Worked,
            Ok(false) if self.is_finished(&self.pending.lock()) => Step::Finished,
            Ok(false) => Step::Idle,
            Err(error) => {
                self.fail(error);
                Step::Finished
            }
        }
    }

    /// Makes jobs for the next pieces that fit in the ring; false if none fits.
    fn stage(&self, ring: &Ring<'a>) -> Result<bool> {
        let mut placed = with_capacity(MAX_STAGED.min(self.requests.len()))?;
        if !self.pending.lock().give_places(ring, &self.requests, &mut placed) {
            return Ok(false);
        }
        let outcome = self.make_jobs(ring, &placed);
        self.pending.lock().staging_ended();
        self.wake_all();
        outcome.map(|()| true)
    }

    fn make_jobs(&self, ring: &Ring<'a>, placed: &[Placed]) -> Result<()> {
        let mut jobs = Vec::new();
        let mut outcome = Ok(());
        self.report_to(|report| {
            for Placed { piece, oversized, slot, at } in placed {
                let Some((request, task)) = self.piece(*piece) else { continue };
                let size = usize::try_from(request.size()).unwrap_or(usize::MAX);
                // SAFETY: this place was given to this piece alone. The slot is filled again only after the
                // piece was given back, which is after all of its jobs are done.
                let dst = unsafe { ring.slice_mut(*slot as usize, *at, size) };
                let Some(dst) = dst else {
                    outcome = Err(fail!(Internal, "a piece is in no slot"));
                    continue;
                };
                let made = match oversized {
                    Some(of) => self.executor.add_piece(&mut jobs, *piece, request, task, *of, dst),
                    None => self.executor.add_jobs(&mut jobs, *piece, request, task, Destination::Bytes(dst)),
                };
                if let Err(error) = made {
                    self.refuse(report, *piece, error);
                }
            }
        });
        outcome.and_then(|()| self.executor.push_front(&mut jobs))
    }

    fn piece(&self, number: u32) -> Option<(&Request<'a>, &Task)> {
        self.requests.get(number as usize).zip(self.executor.tasks.get(number as usize))
    }

    /// Reports a piece that could not be cut into jobs.
    fn refuse(&self, report: &mut Report<'_>, piece: u32, error: Error) {
        if let Some((request, task)) = self.piece(piece) {
            report.on_job_done(piece, request, task, 0, Err(error));
        }
    }

    /// Records the report that `body` makes, and wakes the consumers and workers that it concerns.
    fn report_to(&self, body: impl FnOnce(&mut Report<'_>)) {
        let mut report = Report::new(&self.pending, self.executor.options.keep_going);
        body(&mut report);
        let notifications = report.deliver();
        if notifications.is_stopped {
            self.executor.shared.stop.store(true, Ordering::Relaxed);
        }
        match notifications.events {
            _ if notifications.is_stopped || notifications.has_freed || notifications.is_last => {
                self.wake_all()
            }
            0 => {}
            1 => self.consumers.notify_one(),
            _ => self.consumers.notify_all(),
        }
        // If every processor is busy with reads, the woken consumer would otherwise wait for the end of a
        // time slice.
        if notifications.events > 0 && notifications.no_event_taken && !notifications.is_last {
            std::thread::yield_now();
        }
    }
}

/// Fails the load if a thread panics, so that no other thread waits for that thread's jobs.
struct PanicGuard<'l, 'a>(&'l Load<'a>);

impl Drop for PanicGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.fail(fail!(Internal, "a bug of this library, please report it: a thread of a load panicked"));
    }
}
