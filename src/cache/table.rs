//! Which slices are in which slots, which are wanted, and which goes for another. No lock, no thread, no read: what one
//! thread does to it at a time.

use super::entry::{Entries, Phase};
use super::key::Key;
use super::list::{List, NONE};
use super::slice::{Candidate, Choose, Pinned, Slice};
use super::stats::Stats;
use crate::error::{fail, Error, Result};
use crate::memory::{Slot, SlotMemory};

pub struct Table<S> {
    pub entries: Entries<S>,
    /// Entries that nobody uses.
    pub(super) unused: List,
    /// Wanted slices, the most urgent first, the first wanted of those before the others.
    pub(super) queue: List,
    /// Ready slices without a pin, those first that were longest not used.
    pub(super) unpinned: List,
    pub(super) free_slots: Vec<Slot>,
    pub(super) slot_count: usize,
    pub(super) choose: Option<Box<Choose>>,
    pub(super) candidates: Vec<Candidate>,
    /// Where the candidates are.
    pub(super) places: Vec<u32>,
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
    pub(super) fn pin(&mut self, at: u32) {
        if self.entries.get(at).pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
        }
        self.use_once(at, 1);
    }

    pub(super) fn use_once(&mut self, at: u32, pins: u64) {
        let entry = self.entries.get_mut(at);
        entry.pins += pins;
        entry.uses += pins;
        if pins > 0 {
            entry.priority = None;
            self.stats.prefetches_used += u64::from(std::mem::take(&mut entry.is_prefetched));
        }
    }

    /// What a caller gets of a slice that is pinned.
    pub fn pinned(&self, at: u32, memory: &SlotMemory) -> Result<Pinned> {
        let entry = self.entries.get(at);
        let (Some(slot), Some(slice)) = (&entry.slot, &entry.slice) else {
            return Err(fail!(Internal, "a slice is pinned that is not there"));
        };
        // The entry, and which one at that place.
        let number = (u64::from(entry.generation) << 32) | (u64::from(at) + 1);
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

    /// An entry for a slice that is not there. None where all are used.
    pub(super) fn add(&mut self, key: &Key, slice: S) -> std::result::Result<u32, S> {
        let at = self.unused.first;
        if at == NONE {
            return Err(slice);
        }
        self.unused.remove(&mut self.entries, at);
        self.entries.list(at, key);
        let entry = self.entries.get_mut(at);
        (entry.slice, entry.priority, entry.uses) = (Some(slice), None, 0);
        entry.is_prefetched = false;
        Ok(at)
    }

    /// Ends an entry that is in no list. What the slice was.
    pub(super) fn free(&mut self, at: u32) -> Option<S> {
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

    /// The slice leaves its entry for the thread that reads it.
    pub fn begin(&mut self, at: u32) -> (Key, Option<S>) {
        let entry = self.entries.get_mut(at);
        let (key, slice) = (entry.key, entry.slice.take());
        if let Phase::Queued = std::mem::replace(&mut entry.phase, Phase::Reading) {
            self.queue.remove(&mut self.entries, at);
        }
        (key, slice)
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
