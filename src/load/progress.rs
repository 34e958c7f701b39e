//! The state of a load: which pieces are started, done, reported and given back. [`super::streaming`] has the
//! threads and the reads.

use super::destination::Ring;
use super::executor::Listener;
use super::jobs::{JobEnd, Task};
use super::request::{BatchStats, Request};
use super::slots::{place_in_slot, Piece};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::memory::{collected, filled};
use std::collections::VecDeque;

/// Bytes of a request that are ready, or its failure.
pub struct Event {
    /// The caller's name for the request.
    pub tag: u64,
    /// An error if there are no bytes.
    pub outcome: Result<()>,
    pub address: usize,
    pub size: usize,
    /// The position of the first byte in the request.
    pub offset: u64,
    /// Whether this is the last event of the request.
    pub last: bool,
    /// The slot that has the bytes; `None` if the request has its own memory.
    pub slot: Option<u32>,
    /// The piece, for [`Pending::release`].
    pub piece: u32,
}

/// A piece that has a place in the ring.
pub struct Placed {
    pub piece: u32,
    /// If the piece is copied from an oversized request: that request's number, and the piece's offset in it.
    pub oversized: Option<(u32, u64)>,
    pub slot: u32,
    pub at: usize,
}

/// The state of a load that changes while it runs.
pub struct Pending {
    pieces: Vec<Piece>,
    /// The pieces that go into the ring, in the order in which they are started.
    order: Vec<u32>,
    started: usize,
    /// For each slot, how many of its pieces were not given back.
    slots: Vec<usize>,
    free: Vec<u32>,
    /// The slot that gets the next pieces, and how many of its bytes are used.
    open: Option<(u32, usize)>,
    /// The first piece of the oversized request that uses the temporary memory. There is only one at a time.
    oversized_request: Option<u32>,
    /// How many threads are making jobs for pieces at the moment.
    staging: usize,
    /// Events that no consumer has taken: a piece's number, and its error if it failed.
    events: VecDeque<(u32, Option<Error>)>,
    /// How many pieces are not done.
    undone: usize,
    failure: Option<Error>,
    /// Whether a consumer has taken an event.
    is_event_taken: bool,
    /// Whether the load has ended and no event is added any more.
    is_closed: bool,
    /// The number of working threads; if it is 0, the consumers work.
    pub threads: usize,
    pub stats: BatchStats,
}

impl Pending {
    /// `order` are the pieces that go into the ring.
    pub fn new(pieces: Vec<Piece>, order: Vec<u32>, slots: usize) -> Result<Pending> {
        let mut pending = Pending {
            order,
            started: 0,
            slots: filled(0, slots)?,
            free: collected(slots, (0..slots).rev().filter_map(|slot| u32::try_from(slot).ok()))?,
            open: None,
            oversized_request: None,
            staging: 0,
            events: VecDeque::new(),
            undone: pieces.len(),
            failure: None,
            is_event_taken: false,
            is_closed: false,
            threads: 0,
            stats: BatchStats::default(),
            pieces,
        };
        // Each piece has exactly one event.
        pending.events.try_reserve_exact(pending.pieces.len())?;
        Ok(pending)
    }

    /// Whether no event will be added.
    pub fn is_done(&self) -> bool {
        self.is_closed || self.undone == 0
    }

    /// How the load ended, or its first failure so far.
    pub fn outcome(&self) -> Result<()> {
        self.failure.as_ref().map_or(Ok(()), |error| Err(error.again()))
    }

    /// Stops the load with a failure that belongs to no request.
    pub fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.is_closed = true;
    }

    /// Stops the load. Returns whether there was something to stop. Events that were not taken count, unless
    /// the load is `ending`.
    pub fn cancel(&mut self, ending: bool) -> bool {
        let stops = !self.is_done() || (!ending && !self.events.is_empty());
        if stops {
            let (left, all) = (self.undone, self.pieces.len());
            self.fail(fail!(Cancelled, "the load was cancelled with {left} of {all} pieces left"));
            self.events.clear();
        }
        stops
    }

    /// Whether jobs were made for all pieces.
    pub fn are_all_started(&self) -> bool {
        self.started == self.order.len() && self.staging == 0
    }

    /// Whether there is room for the next piece.
    pub fn has_space(&self, ring: &Ring<'_>, requests: &[Request<'_>]) -> bool {
        let next = self.order.get(self.started).and_then(|piece| requests.get(*piece as usize));
        next.filter(|_| !self.waits_for_oversized())
            .is_some_and(|next| !self.free.is_empty() || self.place_in_open_slot(ring, next).is_some())
    }

    /// Whether the next piece belongs to an oversized request, but another oversized request uses the
    /// temporary memory.
    fn waits_for_oversized(&self) -> bool {
        let next = self.order.get(self.started).and_then(|piece| self.pieces.get(*piece as usize));
        next.filter(|next| next.oversized.is_some())
            .is_some_and(|next| self.oversized_request.is_some_and(|made| made != next.first))
    }

    fn place_in_open_slot(&self, ring: &Ring<'_>, request: &Request<'_>) -> Option<(u32, usize)> {
        let (slot, used) = self.open?;
        place_in_slot(ring, slot as usize, used, request).map(|at| (slot, at))
    }

    /// Gives the next pieces a place in the ring, as many as the ring and the capacity of `placed` allow.
    /// Returns false if no piece fits. The caller makes their jobs, then calls [`Pending::staging_ended`].
    pub fn give_places(
        &mut self,
        ring: &Ring<'_>,
        requests: &[Request<'_>],
        placed: &mut Vec<Placed>,
    ) -> bool {
        while placed.len() < placed.capacity() {
            let Some(piece) = self.order.get(self.started).copied() else { break };
            let Some(request) = requests.get(piece as usize) else { break };
            if self.waits_for_oversized() {
                break;
            }
            let Some((slot, at)) =
                self.place_in_open_slot(ring, request).or_else(|| self.place_in_next_slot(ring, request))
            else {
                break;
            };
            let size = usize::try_from(request.size()).unwrap_or(usize::MAX);
            self.open = Some((slot, at.saturating_add(size)));
            self.started = self.started.saturating_add(1);
            let slots = self.slots.get_mut(slot as usize).zip(self.pieces.get_mut(piece as usize));
            let Some((in_slot, entry)) = slots else { break };
            *in_slot = in_slot.saturating_add(1);
            entry.slot = Some(slot);
            entry.address =
                ring.address(slot as usize, at, size).map_or(0, |place| place.as_ptr().expose_provenance());
            let oversized = entry.oversized.map(|number| (number, entry.offset));
            if oversized.is_some() {
                self.oversized_request = Some(entry.first);
            }
            placed.push(Placed { piece, oversized, slot, at });
        }
        if placed.is_empty() {
            return false;
        }
        self.staging = self.staging.saturating_add(1);
        true
    }

    /// Is called when the jobs of the placed pieces were made.
    pub fn staging_ended(&mut self) {
        self.staging = self.staging.saturating_sub(1);
    }

    /// A place in the next slot if that is free; it becomes the open slot.
    fn place_in_next_slot(&mut self, ring: &Ring<'_>, request: &Request<'_>) -> Option<(u32, usize)> {
        let slot = self.free.last().copied()?;
        let at = place_in_slot(ring, slot as usize, 0, request)?;
        self.free.pop();
        // The slot that was open has pieces: an empty slot would have had space.
        self.open = Some((slot, 0));
        Some((slot, at))
    }

    /// Returns the next event.
    pub fn next_event(&mut self, requests: &[Request<'_>]) -> Option<Event> {
        let (number, failure) = self.events.pop_front()?;
        self.is_event_taken = true;
        let request = requests.get(number as usize)?;
        let is_failure = failure.is_some();
        let piece = self.pieces.get_mut(number as usize)?;
        let (first, offset, address, slot) = (piece.first, piece.offset, piece.address, piece.slot);
        piece.is_held = !is_failure && slot.is_some();
        let of_request = self.pieces.get_mut(first as usize)?;
        of_request.unreported = of_request.unreported.saturating_sub(1);
        Some(Event {
            tag: request.wanted.tag,
            outcome: failure.map_or(Ok(()), Err),
            address: if is_failure { 0 } else { address },
            size: if is_failure { 0 } else { usize::try_from(request.size()).unwrap_or(usize::MAX) },
            offset,
            last: is_failure || of_request.unreported == 0,
            slot: slot.filter(|_| !is_failure),
            piece: number,
        })
    }

    /// The consumer gives back a piece in that slot. Returns whether a thread may be waiting for the space.
    pub fn release(&mut self, piece: u32, slot: u32) -> bool {
        let piece = self.pieces.get_mut(piece as usize);
        let Some(piece) = piece.filter(|piece| piece.is_held && piece.slot == Some(slot)) else {
            return false;
        };
        piece.is_held = false;
        self.leave_slot(slot)
    }

    /// Lowers the piece count of a slot by one. Returns whether a thread may be waiting for the space.
    fn leave_slot(&mut self, slot: u32) -> bool {
        let Some(pieces) = self.slots.get_mut(slot as usize) else { return false };
        *pieces = pieces.saturating_sub(1);
        if *pieces > 0 {
            return false;
        }
        match self.open {
            Some((open, _)) if open == slot => self.open = Some((slot, 0)), // the slot is empty again
            _ => self.free.push(slot),                                      // within what was reserved
        }
        self.started < self.order.len()
    }

    /// Records that jobs of a piece were done, and adds its event.
    fn record(&mut self, done: Done, keep_going: bool, notifications: &mut Notifications) {
        let Done { piece: number, end, failure } = done;
        let Some(piece) = self.pieces.get(number as usize) else { return };
        let (first, slot) = (piece.first, piece.slot);
        let Some(of_request) = self.pieces.get_mut(first as usize) else { return };
        if let Some(error) = failure.filter(|_| !of_request.failed && !self.is_closed) {
            of_request.failed = true;
            self.stats.failed = self.stats.failed.saturating_add(1);
            self.failure.get_or_insert(error.again());
            self.events.push_back((number, Some(error))); // within what was reserved
            notifications.events = notifications.events.saturating_add(1);
            notifications.is_stopped |= !keep_going;
            self.is_closed |= !keep_going;
        }
        if !end.is_last || self.is_closed {
            return;
        }
        self.undone = self.undone.saturating_sub(1);
        notifications.is_last |= self.undone == 0;
        of_request.undone = of_request.undone.saturating_sub(1);
        let is_whole = of_request.undone == 0;
        if is_whole && self.oversized_request == Some(first) {
            self.oversized_request = None;
            notifications.has_freed = true;
        }
        if of_request.failed || end.is_failed {
            notifications.has_freed |= slot.is_some_and(|slot| self.leave_slot(slot));
            // This may have been the last event.
            notifications.events = notifications.events.saturating_add(1);
            return;
        }
        if is_whole {
            self.stats.requests = self.stats.requests.saturating_add(1);
        }
        self.stats.digests_verified = self.stats.digests_verified.saturating_add(u64::from(end.has_digest));
        self.events.push_back((number, None)); // within what was reserved
        notifications.events = notifications.events.saturating_add(1);
    }
}

/// Collects what a thread did, and records all of it under one lock.
pub struct Report<'p> {
    pending: &'p Mutex<Pending>,
    keep_going: bool,
    bytes: u64,
    done: Vec<Done>,
    notifications: Notifications,
}

/// A job that failed, or the last job of a piece.
struct Done {
    piece: u32,
    end: JobEnd,
    /// The piece's first failure.
    failure: Option<Error>,
}

/// Which threads to wake after a report.
#[derive(Clone, Copy, Default)]
pub struct Notifications {
    /// How many consumers to wake: for an event, or for the end.
    pub events: usize,
    /// No more jobs will run.
    pub is_stopped: bool,
    /// Space in the ring became free.
    pub has_freed: bool,
    /// Nothing is left to do, so every consumer has to be woken.
    pub is_last: bool,
    /// No consumer has taken an event yet.
    pub no_event_taken: bool,
}

impl<'p> Report<'p> {
    pub fn new(pending: &'p Mutex<Pending>, keep_going: bool) -> Report<'p> {
        Report { pending, keep_going, bytes: 0, done: Vec::new(), notifications: Notifications::default() }
    }

    /// Records everything that was collected.
    pub fn deliver(mut self) -> Notifications {
        if self.bytes > 0 || !self.done.is_empty() {
            let mut pending = self.pending.lock();
            pending.stats.bytes = pending.stats.bytes.saturating_add(self.bytes);
            for done in std::mem::take(&mut self.done) {
                pending.record(done, self.keep_going, &mut self.notifications);
            }
            self.notifications.no_event_taken = !pending.is_event_taken;
        }
        self.notifications
    }
}

impl Listener for Report<'_> {
    fn on_progress(&self, _bytes: u64) {}

    fn on_job_done(&mut self, piece: u32, _: &Request<'_>, task: &Task, bytes: u64, outcome: Result<()>) {
        if outcome.is_ok() {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        let end = task.job_ended(&outcome);
        let failure = outcome.err().filter(|_| end.is_first_failure);
        if !end.is_last && failure.is_none() {
            return;
        }
        let done = Done { piece, end, failure };
        match self.done.try_reserve(1) {
            Ok(()) => self.done.push(done),
            Err(_) => self.pending.lock().record(done, self.keep_going, &mut self.notifications),
        }
    }
}
