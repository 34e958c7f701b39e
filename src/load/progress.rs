//! What of a load is begun, done, reported and given back. No thread, no read: [`super::streaming`] does those.

use super::executor::Listener;
use super::pieces::{place, Piece};
use super::request::{BatchStats, Request};
use super::ring::Ring;
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Bytes of a request, or its failure.
pub struct Event {
    /// The caller's name for the request.
    pub tag: u64,
    /// Whether the bytes are there.
    pub outcome: Result<()>,
    /// Where they are: an address.
    pub address: usize,
    /// How many.
    pub size: usize,
    /// The first one, counted in the request.
    pub offset: u64,
    /// Whether nothing more comes of the request.
    pub last: bool,
    /// The slot that they are in; none in memory of the request's own.
    pub slot: Option<u32>,
    /// What [`Pending::release`] takes.
    pub piece: u32,
}

/// A piece that has a place in the ring.
pub struct Placed {
    pub piece: u32,
    pub slot: u32,
    pub at: usize,
}

/// What changes in the course of a load.
pub struct Pending {
    pieces: Vec<Piece>,
    /// Those that go into the ring, in the order in which they are begun, and how many were.
    order: Vec<u32>,
    begun: usize,
    /// How many pieces are in each slot that were not given back.
    slots: Vec<usize>,
    free: Vec<u32>,
    /// The slot that is given out at the moment, and how much of it was.
    open: Option<(u32, usize)>,
    /// The first piece of the request that is in temporary memory: there is one at a time.
    made_whole: Option<u32>,
    /// Threads that make jobs of pieces just now.
    staging: usize,
    /// What the consumer has to hear, of which piece.
    events: VecDeque<(u32, Option<Error>)>,
    /// Pieces that are not done.
    undone: usize,
    failure: Option<Error>,
    /// Whether an event was taken.
    is_heard: bool,
    /// Nothing is reported any more.
    is_closed: bool,
    /// Threads that work; where there are none, the consumers do.
    pub threads: usize,
    pub stats: BatchStats,
}

impl Pending {
    /// `order` are the pieces that go into the ring.
    pub fn new(pieces: Vec<Piece>, order: Vec<u32>, slots: usize) -> Result<Pending> {
        let mut pending = Pending {
            order,
            begun: 0,
            slots: Vec::new(),
            free: Vec::new(),
            open: None,
            made_whole: None,
            staging: 0,
            events: VecDeque::new(),
            undone: pieces.len(),
            failure: None,
            is_heard: false,
            is_closed: false,
            threads: 0,
            stats: BatchStats::default(),
            pieces,
        };
        pending.slots.try_reserve_exact(slots)?;
        pending.slots.resize(slots, 0);
        pending.free.try_reserve_exact(slots)?;
        pending.free.extend((0..slots).rev().filter_map(|slot| u32::try_from(slot).ok()));
        // A piece has one event: its bytes, or its failure.
        pending.events.try_reserve_exact(pending.pieces.len())?;
        Ok(pending)
    }

    /// Whether there will be no event any more, once those that are there were taken.
    pub fn is_done(&self) -> bool {
        self.is_closed || self.undone == 0
    }

    /// How it ended, or goes.
    pub fn outcome(&self) -> Result<()> {
        self.failure.as_ref().map_or(Ok(()), |error| Err(error.again()))
    }

    /// Stops with a failure that is no request's.
    pub fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.is_closed = true;
    }

    /// Whether there was something to stop: events that nobody will take are, too, unless the load is `ending`.
    pub fn cancel(&mut self, ending: bool) -> bool {
        let stops = !self.is_done() || (!ending && !self.events.is_empty());
        if stops {
            let (left, all) = (self.undone, self.pieces.len());
            self.fail(fail!(Cancelled, "the load was cancelled with {left} of {all} pieces left"));
            self.events.clear();
        }
        stops
    }

    /// Whether all jobs were made that there will be.
    pub fn is_all_begun(&self) -> bool {
        self.begun == self.order.len() && self.staging == 0
    }

    /// Whether there is room for the next piece.
    pub fn has_space(&self, ring: &Ring<'_>, requests: &[Request<'_>]) -> bool {
        let next = self.order.get(self.begun).and_then(|piece| requests.get(*piece as usize));
        next.filter(|next| !self.has_to_wait(next))
            .is_some_and(|next| !self.free.is_empty() || self.in_open(ring, next).is_some())
    }

    /// Whether the next piece is of a request that needs temporary memory which another has.
    fn has_to_wait(&self, next: &Request<'_>) -> bool {
        let first = self.order.get(self.begun).and_then(|piece| self.pieces.get(*piece as usize));
        next.piece.is_some()
            && self.made_whole.is_some_and(|made| first.is_none_or(|piece| piece.first != made))
    }

    fn in_open(&self, ring: &Ring<'_>, request: &Request<'_>) -> Option<(u32, usize)> {
        let (slot, used) = self.open?;
        place(ring, slot as usize, used, request).map(|at| (slot, at))
    }

    /// Gives the next pieces a place, as many as there is room for and `placed` was reserved for; false for none. Until
    /// [`Pending::staging_ended`] their jobs are still to come.
    pub fn give_places(
        &mut self,
        ring: &Ring<'_>,
        requests: &[Request<'_>],
        placed: &mut Vec<Placed>,
    ) -> bool {
        while placed.len() < placed.capacity() {
            let Some(piece) = self.order.get(self.begun).copied() else { break };
            let Some(request) = requests.get(piece as usize) else { break };
            if self.has_to_wait(request) {
                break;
            }
            let Some((slot, at)) = self.in_open(ring, request).or_else(|| self.in_next(ring, request)) else {
                break;
            };
            let size = usize::try_from(request.size()).unwrap_or(usize::MAX);
            self.open = Some((slot, at.saturating_add(size)));
            self.begun = self.begun.saturating_add(1);
            if let (Some(in_slot), Some(entry)) =
                (self.slots.get_mut(slot as usize), self.pieces.get_mut(piece as usize))
            {
                *in_slot = in_slot.saturating_add(1);
                if request.piece.is_some() {
                    self.made_whole = Some(entry.first);
                }
                entry.slot = Some(slot);
                entry.address = ring
                    .address(slot as usize, at, size)
                    .map_or(0, |place| place.as_ptr().expose_provenance());
            }
            placed.push(Placed { piece, slot, at });
        }
        if placed.is_empty() {
            return false;
        }
        self.staging = self.staging.saturating_add(1);
        true
    }

    /// The jobs of the pieces are there.
    pub fn staging_ended(&mut self) {
        self.staging = self.staging.saturating_sub(1);
    }

    /// A place in the next slot; what was open is full.
    fn in_next(&mut self, ring: &Ring<'_>, request: &Request<'_>) -> Option<(u32, usize)> {
        let slot = self.free.last().copied()?;
        let at = place(ring, slot as usize, 0, request)?;
        self.free.pop();
        // It has pieces in it: an empty one would have had room.
        self.open = Some((slot, 0));
        Some((slot, at))
    }

    /// Takes the next event.
    pub fn next_event(&mut self, requests: &[Request<'_>]) -> Option<Event> {
        let (number, failure) = self.events.pop_front()?;
        self.is_heard = true;
        let request = requests.get(number as usize)?;
        let is_failure = failure.is_some();
        let piece = self.pieces.get_mut(number as usize)?;
        let (first, offset, address, slot) = (piece.first, piece.offset, piece.address, piece.slot);
        piece.is_held = !is_failure && slot.is_some();
        let of_request = self.pieces.get_mut(first as usize)?;
        of_request.unheard = of_request.unheard.saturating_sub(1);
        Some(Event {
            tag: request.wanted.tag,
            outcome: failure.map_or(Ok(()), Err),
            address: if is_failure { 0 } else { address },
            size: if is_failure { 0 } else { usize::try_from(request.size()).unwrap_or(usize::MAX) },
            offset,
            last: is_failure || of_request.unheard == 0,
            slot: slot.filter(|_| !is_failure),
            piece: number,
        })
    }

    /// The consumer gives a piece back, which is in that slot; whether somebody may have waited for that.
    pub fn release(&mut self, piece: u32, slot: u32) -> bool {
        let piece = self.pieces.get_mut(piece as usize);
        let Some(piece) = piece.filter(|piece| piece.is_held && piece.slot == Some(slot)) else {
            return false;
        };
        piece.is_held = false;
        match piece.slot {
            Some(slot) => self.leave(slot),
            None => false,
        }
    }

    /// One piece less in a slot; whether somebody may have waited for that.
    fn leave(&mut self, slot: u32) -> bool {
        let Some(pieces) = self.slots.get_mut(slot as usize) else { return false };
        *pieces = pieces.saturating_sub(1);
        if *pieces > 0 {
            return false;
        }
        match self.open {
            Some((open, _)) if open == slot => self.open = Some((slot, 0)), // filled from its start again
            _ => self.free.push(slot),                                      // within what was reserved
        }
        self.begun < self.order.len()
    }

    /// A job was done, `last` of its piece's.
    fn book(&mut self, done: Done, keep_going: bool, reported: &mut Reported) {
        let Done { piece: number, last, is_failed, has_digest, failure } = done;
        let Some(piece) = self.pieces.get(number as usize) else { return };
        let (first, slot) = (piece.first, piece.slot);
        let Some(of_request) = self.pieces.get_mut(first as usize) else { return };
        if let Some(error) = failure.filter(|_| !of_request.failed && !self.is_closed) {
            of_request.failed = true;
            self.failure.get_or_insert(error.again());
            self.events.push_back((number, Some(error))); // within what was reserved
            reported.events = reported.events.saturating_add(1);
            reported.stops |= !keep_going;
            self.is_closed |= !keep_going;
        }
        if !last || self.is_closed {
            return;
        }
        self.undone = self.undone.saturating_sub(1);
        reported.ends |= self.undone == 0;
        of_request.undone = of_request.undone.saturating_sub(1);
        let is_whole = of_request.undone == 0;
        if is_whole && self.made_whole == Some(first) {
            self.made_whole = None;
            reported.freed = true;
        }
        if of_request.failed || is_failed {
            reported.freed |= slot.is_some_and(|slot| self.leave(slot));
            reported.events = reported.events.saturating_add(1); // it may have been the last
            return;
        }
        if is_whole {
            self.stats.requests = self.stats.requests.saturating_add(1);
        }
        self.stats.digests_verified = self.stats.digests_verified.saturating_add(u64::from(has_digest));
        self.events.push_back((number, None)); // within what was reserved
        reported.events = reported.events.saturating_add(1);
    }
}

/// What a thread did that the consumers do not know yet.
pub struct Report<'p> {
    pending: &'p Mutex<Pending>,
    keep_going: bool,
    bytes: u64,
    done: Vec<Done>,
    reported: Reported,
}

/// A job that failed, or the last one of its piece.
struct Done {
    piece: u32,
    last: bool,
    /// A job of the piece failed: this one or another.
    is_failed: bool,
    has_digest: bool,
    /// The piece's first failure.
    failure: Option<Error>,
}

/// What became of a report.
#[derive(Clone, Copy, Default)]
pub struct Reported {
    /// Events, or the end.
    pub events: usize,
    /// No more is to be done.
    pub stops: bool,
    /// There is room in the ring.
    pub freed: bool,
    /// Nothing is left to be done: of that every consumer has to hear.
    pub ends: bool,
    /// No consumer has taken an event yet.
    pub unheard: bool,
}

impl<'p> Report<'p> {
    pub fn new(pending: &'p Mutex<Pending>, keep_going: bool) -> Report<'p> {
        Report { pending, keep_going, bytes: 0, done: Vec::new(), reported: Reported::default() }
    }

    /// Books all of it.
    pub fn deliver(mut self) -> Reported {
        if self.bytes > 0 || !self.done.is_empty() {
            let mut pending = self.pending.lock();
            pending.stats.bytes = pending.stats.bytes.saturating_add(self.bytes);
            for done in std::mem::take(&mut self.done) {
                pending.book(done, self.keep_going, &mut self.reported);
            }
            self.reported.unheard = !pending.is_heard;
        }
        self.reported
    }
}

impl Listener for Report<'_> {
    fn on_progress(&self, _bytes: u64) {}

    fn on_job_done(&mut self, piece: u32, request: &Request<'_>, bytes: u64, outcome: Result<()>) {
        if outcome.is_ok() {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        // The failure in front of the count: who does the last job has to see it.
        let failure = outcome.err().filter(|_| !request.failed.swap(true, Ordering::Relaxed));
        let last = request.left.fetch_sub(1, Ordering::AcqRel) == 1;
        if !last && failure.is_none() {
            return;
        }
        let is_failed = request.failed.load(Ordering::Relaxed);
        let has_digest = request.has_digest.load(Ordering::Relaxed);
        let done = Done { piece, last, is_failed, has_digest, failure };
        match self.done.try_reserve(1) {
            Ok(()) => self.done.push(done),
            Err(_) => self.pending.lock().book(done, self.keep_going, &mut self.reported),
        }
    }
}
