//! Which slices are in which slots, which are wanted, and which goes for another. No lock, no thread, no read: what one
//! thread does to it at a time.

use super::entry::{Entries, Phase};
use super::key::Key;
use super::list::{List, NONE};
use super::stats::Stats;
use super::{Candidate, Choose, Pinned, Slice};
use crate::error::{fail, Error, Result};
use crate::memory::{Slot, SlotMemory};

/// The priority of what a thread waits for.
pub const URGENT: u64 = u64::MAX;

/// A slot for a read, and what was in it, which is dropped without the lock.
pub struct Claim<S> {
    pub slot: Slot,
    pub evicted: Option<S>,
}

/// What a thread that reads is to do.
pub enum Next<S> {
    /// To read this entry.
    Read(u32, Claim<S>),
    /// To drop what was left out for want of a slot, and ask again.
    Dropped(S),
    /// To wait.
    Nothing,
}

/// How a slice that is asked for is got.
pub enum Step<S> {
    /// It is there, and has a pin.
    There(u32),
    /// The thread that asks reads it.
    Read(u32, Claim<S>),
    /// Another thread reads it.
    Join(u32),
    /// It is not known: it has to be made first.
    Make,
    /// No slot can be had.
    Full,
}

/// The entry of a slice that was queued, and what had to leave the queue; or the slice itself, if it is left out.
pub type Want<S> = std::result::Result<(u32, Option<S>), S>;

pub struct Table<S> {
    pub entries: Entries<S>,
    /// Entries that nobody uses.
    unused: List,
    /// Wanted slices, the most urgent first, the first wanted of those before the others.
    queue: List,
    /// Ready slices without a pin, those first that were longest not used.
    unpinned: List,
    free_slots: Vec<Slot>,
    slot_count: usize,
    choose: Option<Box<Choose>>,
    candidates: Vec<Candidate>,
    /// Where the candidates are.
    places: Vec<u32>,
    pub stats: Stats,
    /// Threads that wait for a slot, before which no prefetch gets one.
    pub starving: usize,
    /// Threads that wait for anything.
    pub waiting: usize,
    /// The threads of the cache are to end.
    pub is_stopped: bool,
}

impl<S: Slice> Table<S> {
    /// Bytes of tables for each slot: it may have a slice, and one more be queued.
    pub const OVERHEAD: usize = Entries::<S>::memory(2)
        + 4 * size_of::<u32>()
        + size_of::<Slot>()
        + size_of::<Candidate>()
        + size_of::<u32>();

    pub fn new(slots: Vec<Slot>, choose: Option<Box<Choose>>) -> Result<Table<S>> {
        let slot_count = slots.len();
        // One for each slot, one for each place of the queue, and one that takes the place of what it evicts.
        let mut entries = Entries::new(slot_count.saturating_mul(2).saturating_add(1))?;
        let mut unused = List::EMPTY;
        (0..entries.count()).for_each(|at| unused.push(&mut entries, at));
        let (mut candidates, mut places) = (Vec::new(), Vec::new());
        if choose.is_some() {
            candidates.try_reserve_exact(slot_count)?;
            places.try_reserve_exact(slot_count)?;
        }
        let (queue, unpinned, stats) = (List::EMPTY, List::EMPTY, Stats::default());
        let free_slots = slots;
        Ok(Table {
            entries,
            unused,
            queue,
            unpinned,
            free_slots,
            slot_count,
            choose,
            candidates,
            places,
            stats,
            starving: 0,
            waiting: 0,
            is_stopped: false,
        })
    }

    /// Pins a slice that is ready.
    fn pin(&mut self, at: u32) {
        if self.entries.get(at).pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
        }
        self.use_once(at, 1);
    }

    fn use_once(&mut self, at: u32, pins: u64) {
        let entry = self.entries.get_mut(at);
        entry.pins += pins;
        entry.uses += pins;
        if pins > 0 && entry.priority.take().is_some_and(|priority| priority != URGENT) {
            self.stats.prefetches_used += 1;
        }
    }

    /// What a caller gets of a slice that is pinned.
    pub fn pinned(&self, at: u32, memory: &SlotMemory) -> Result<Pinned> {
        let entry = self.entries.get(at);
        let (Some(slot), Some(slice)) = (&entry.slot, &entry.slice) else {
            return Err(fail!(Internal, "a slice is pinned that is not there"));
        };
        // The entry, and which one at that place.
        let number = u64::from(entry.generation) << 32 | u64::from(at) + 1;
        Ok(Pinned { data: memory.address(slot), size: slice.size(), number })
    }

    /// Pins a slice that is there.
    pub fn pin_if_ready(&mut self, key: &Key) -> Option<u32> {
        let at = self.entries.find(key)?;
        let is_ready = matches!(self.entries.get(at).phase, Phase::Ready);
        is_ready.then(|| {
            self.stats.hits += 1;
            self.pin(at);
            at
        })
    }

    /// Gives a pin back. What the slice was, if it goes.
    pub fn unpin(&mut self, number: u64) -> Result<Option<S>> {
        let at = (number & u64::from(u32::MAX)).wrapping_sub(1);
        let found = self.entries.checked(at);
        let is_pinned = found.is_some_and(|e| u64::from(e.generation) == number >> 32 && e.pins > 0);
        if !is_pinned {
            return Err(fail!(State, "the slice is not pinned, or is of another cache"));
        }
        let entry = self.entries.get_mut(at as u32);
        entry.pins -= 1;
        Ok(match (entry.pins, entry.is_listed) {
            (0, true) => {
                self.unpinned.push(&mut self.entries, at as u32);
                None
            }
            (0, false) => self.free(at as u32),
            _ => None,
        })
    }

    /// How to get a slice, which `made` may have; it has what is to be dropped then. `is_callers`: whether the thread
    /// that asks reads it, if it has to be read.
    pub fn step(&mut self, key: &Key, made: &mut Option<S>, is_callers: bool) -> Step<S> {
        if let Some(at) = self.pin_if_ready(key) {
            return Step::There(at);
        }
        if let Some(at) = self.entries.find(key) {
            let is_queued = matches!(self.entries.get(at).phase, Phase::Queued);
            if !is_queued {
                self.stats.joined += 1;
                return Step::Join(at);
            }
            if !is_callers {
                self.stats.misses += u64::from(self.entries.get(at).priority != Some(URGENT));
                self.enqueue(at, URGENT);
                return Step::Join(at);
            }
            let Some(claim) = self.claim(URGENT) else { return Step::Full };
            self.entries.get_mut(at).priority = None;
            self.stats.misses += 1;
            return Step::Read(at, claim);
        }
        let Some(slice) = made.take() else { return Step::Make };
        let step = match is_callers {
            true if self.unused.first != NONE => match self.claim(URGENT) {
                Some(claim) => self.add(key, slice).map(|at| Step::Read(at, claim)),
                None => Err(slice),
            },
            true => Err(slice),
            false => self.want(key, slice, URGENT).map(|(at, left_out)| {
                *made = left_out;
                Step::Join(at)
            }),
        };
        match step {
            Ok(step) => {
                self.stats.misses += 1;
                step
            }
            Err(slice) => {
                *made = Some(slice);
                Step::Full
            }
        }
    }

    /// An entry for a slice that is not there. None where all are used.
    fn add(&mut self, key: &Key, slice: S) -> std::result::Result<u32, S> {
        let at = self.unused.first;
        if at == NONE {
            return Err(slice);
        }
        self.unused.remove(&mut self.entries, at);
        self.entries.list(at, key);
        let entry = self.entries.get_mut(at);
        (entry.slice, entry.priority, entry.uses) = (Some(slice), None, 0);
        Ok(at)
    }

    /// Ends an entry that is in no list. What the slice was.
    fn free(&mut self, at: u32) -> Option<S> {
        self.entries.unlist(at);
        let entry = self.entries.get_mut(at);
        entry.phase = Phase::Unused;
        entry.generation = entry.generation.wrapping_add(1);
        let slice = entry.slice.take();
        let slot = entry.slot.take();
        self.free_slots.extend(slot); // within what it had at first
        self.unused.push(&mut self.entries, at);
        slice
    }

    /// Puts an entry that is in no list into the queue, or one that is queued to its new place.
    fn enqueue(&mut self, at: u32, priority: u64) {
        let entry = self.entries.get_mut(at);
        let before = entry.priority.replace(priority);
        match std::mem::replace(&mut entry.phase, Phase::Queued) {
            Phase::Queued if before >= Some(priority) => {
                entry.priority = before;
                return;
            }
            Phase::Queued => self.queue.remove(&mut self.entries, at),
            _ => {}
        }
        let mut place = self.queue.last;
        while place != NONE && self.entries.get(place).priority < Some(priority) {
            place = self.entries.links_of(place).before;
        }
        self.queue.insert_after(&mut self.entries, place, at);
    }

    /// Queues a slice that is not there: the entry, or the slice that is left out for want of a place.
    pub fn want(&mut self, key: &Key, slice: S, priority: u64) -> Want<S> {
        let last = self.queue.last;
        let left_out = match self.queue.count < self.slot_count {
            true => None,
            false if self.entries.get(last).priority < Some(priority) => self.drop_queued(last),
            false => {
                self.stats.prefetches_dropped += u64::from(priority != URGENT);
                return Err(slice);
            }
        };
        match self.add(key, slice) {
            Ok(at) => {
                self.enqueue(at, priority);
                Ok((at, left_out))
            }
            Err(slice) => Err(left_out.unwrap_or(slice)), // never: what was left out has left an entry
        }
    }

    /// Whether a slice is there or wanted already; then it is wanted with that priority, too.
    pub fn want_again(&mut self, key: &Key, priority: u64) -> bool {
        let Some(at) = self.entries.find(key) else { return false };
        match self.entries.get(at).phase {
            Phase::Queued => self.enqueue(at, priority),
            Phase::Ready => self.protect(at, priority),
            _ => {}
        }
        true
    }

    /// Takes a prefetch that was not begun out of the queue, and ends it.
    fn drop_queued(&mut self, at: u32) -> Option<S> {
        self.queue.remove(&mut self.entries, at);
        self.stats.prefetches_dropped += 1;
        self.free(at)
    }

    /// The last of the queue, if it is a prefetch: ended.
    pub fn cancel_one(&mut self) -> Option<S> {
        let last = self.queue.last;
        let is_prefetch = last != NONE && self.entries.get(last).priority != Some(URGENT);
        is_prefetch.then(|| self.drop_queued(last)).flatten()
    }

    /// A slice that is there gets the protection of a prefetch, as if it had just been read.
    fn protect(&mut self, at: u32, priority: u64) {
        if self.entries.get(at).pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
            self.unpinned.push(&mut self.entries, at);
            let entry = self.entries.get_mut(at);
            entry.priority = entry.priority.max(Some(priority));
        }
    }

    /// A slot for a read of that priority: a free one, or that of a slice that nobody has pinned.
    fn claim(&mut self, priority: u64) -> Option<Claim<S>> {
        if let Some(slot) = self.free_slots.pop() {
            return Some(Claim { slot, evicted: None });
        }
        let victim = self.victim(priority)?;
        self.unpinned.remove(&mut self.entries, victim);
        self.stats.evictions += 1;
        let slot = self.entries.get_mut(victim).slot.take()?;
        Some(Claim { slot, evicted: self.free(victim) })
    }

    /// Which slice goes: the caller's choice, or the one that was longest not used.
    fn victim(&mut self, priority: u64) -> Option<u32> {
        let Some(choose) = &self.choose else {
            return self.evictable(self.unpinned.first, priority);
        };
        self.candidates.clear();
        self.places.clear();
        let mut next = self.evictable(self.unpinned.first, priority);
        while let Some(at) = next {
            let entry = self.entries.get(at);
            let (tag, size) = entry.slice.as_ref().map_or((0, 0), |slice| (slice.tag(), slice.size()));
            self.candidates.push(Candidate { tag, size: size as u64, uses: entry.uses });
            self.places.push(at);
            next = self.evictable(self.entries.links_of(at).after, priority);
        }
        let first = *self.places.first()?;
        Some(self.places.get(choose(&self.candidates)).copied().unwrap_or(first))
    }

    /// The first from there on that a read of that priority may evict.
    fn evictable(&self, mut at: u32, priority: u64) -> Option<u32> {
        while at != NONE && self.entries.get(at).priority > Some(priority) {
            at = self.entries.links_of(at).after;
        }
        (at != NONE).then_some(at)
    }

    /// The slice leaves its entry for the thread that reads it.
    pub fn begin(&mut self, at: u32) -> (Key, Option<S>) {
        let entry = self.entries.get_mut(at);
        let (key, slice) = (entry.key, entry.slice.take());
        if let Phase::Queued = std::mem::replace(&mut entry.phase, Phase::Reading) {
            self.queue.remove(&mut self.entries, at);
        }
        (key, slice)
    }

    /// A thread that waited has gone. What it waited for is wanted as a prefetch is, if nobody else waits.
    pub fn leave(&mut self, at: u32) {
        let entry = self.entries.get_mut(at);
        entry.waiters -= 1;
        if entry.waiters == 0 {
            if let Phase::Queued = entry.phase {
                entry.priority = None;
                self.enqueue(at, u64::from(u32::MAX));
            }
        }
    }

    /// What a thread of the cache does next.
    pub fn next(&mut self) -> Next<S> {
        let at = self.queue.first;
        if at == NONE {
            return Next::Nothing;
        }
        let priority = self.entries.get(at).priority.unwrap_or(0);
        if priority != URGENT && self.starving > 0 {
            return Next::Nothing;
        }
        match self.claim(priority) {
            Some(claim) => {
                self.stats.prefetches += u64::from(priority != URGENT);
                Next::Read(at, claim)
            }
            None if priority == URGENT => Next::Nothing,
            None => self.drop_queued(at).map_or(Next::Nothing, Next::Dropped),
        }
    }

    /// A read is done: each that waits for it has a pin, or its failure, and `pins` more. What the slice was, if it goes.
    pub fn finish(&mut self, at: u32, slot: Slot, slice: S, outcome: &Result<()>, pins: u64) -> Option<S> {
        let waiters = self.entries.get(at).waiters;
        if let Err(error) = outcome {
            self.stats.failures += 1;
            self.free_slots.push(slot); // it came from there
            self.entries.unlist(at);
            self.entries.get_mut(at).phase = Phase::Failed(error.again());
            if waiters == 0 {
                self.free(at);
            }
            return Some(slice);
        }
        self.stats.bytes_read += slice.size() as u64;
        let entry = self.entries.get_mut(at);
        (entry.phase, entry.slot, entry.slice) = (Phase::Ready, Some(slot), Some(slice));
        let is_listed = entry.is_listed;
        self.use_once(at, pins + u64::from(waiters));
        match (self.entries.get(at).pins, is_listed) {
            (0, true) => {
                self.unpinned.push(&mut self.entries, at);
                None
            }
            (0, false) => self.free(at),
            _ => None,
        }
    }

    /// One that waited has seen a failure.
    pub fn leave_failed(&mut self, at: u32) -> Error {
        let entry = self.entries.get_mut(at);
        let error = match &entry.phase {
            Phase::Failed(error) => error.again(),
            _ => fail!(Internal, "a slice is waited for that is not read"),
        };
        entry.waiters -= 1;
        if entry.waiters == 0 {
            self.free(at);
        }
        error
    }

    /// Forgets a slice: now if it may go, else when the last pin, read or waiter of it ends. What it was.
    pub fn forget(&mut self, at: u32) -> Option<S> {
        let entry = self.entries.get(at);
        match entry.phase {
            Phase::Queued if entry.waiters == 0 => self.drop_queued(at),
            Phase::Ready if entry.pins == 0 => {
                self.unpinned.remove(&mut self.entries, at);
                self.free(at)
            }
            _ => {
                self.entries.unlist(at);
                None
            }
        }
    }

    /// Any slice that nobody has pinned, queued ones first: ended.
    pub fn forget_one(&mut self) -> Option<S> {
        self.cancel_one().or_else(|| match self.unpinned.first {
            NONE => None,
            at => self.forget(at),
        })
    }

    /// The counts of now.
    pub fn now(&self) -> Stats {
        let reading = self.slot_count - self.free_slots.len();
        Stats {
            slots: self.slot_count as u64,
            used: reading as u64,
            pinned: (reading - self.unpinned.count) as u64,
            queued: self.queue.count as u64,
            overhead: self.slot_count.saturating_mul(Self::OVERHEAD) as u64,
            ..self.stats
        }
    }

    /// Whether a thread may have something to do.
    pub fn has_queued(&self) -> bool {
        self.queue.first != NONE
    }
}
