//! The state of a cache: which slices are in which slots, which are queued, and which is evicted next. It has
//! no lock and no threads; `shared.rs` has them.

use super::entry::{Entries, Phase};
use super::key::Key;
use super::list::{List, NONE};
use super::slice::{Candidate, Choose, Pinned, Slice};
use super::stats::Stats;
use crate::error::{fail, Error, Result};
use crate::memory::{Slot, SlotMemory};

pub struct Table<S> {
    pub entries: Entries<S>,
    /// Free entries.
    pub(super) unused: List,
    /// Slices to read, by priority; equal ones in the order in which they were asked for.
    pub(super) queue: List,
    /// Ready slices without a pin, the least recently used first.
    pub(super) unpinned: List,
    pub(super) free_slots: Vec<Slot>,
    pub(super) slot_count: usize,
    pub(super) choose: Option<Box<Choose>>,
    pub(super) candidates: Vec<Candidate>,
    /// The entries of the candidates.
    pub(super) positions: Vec<u32>,
    pub stats: Stats,
    /// How many threads wait for a slot. Prefetches get none before them.
    pub starving: usize,
    /// Threads that wait for anything.
    pub waiting: usize,
    /// The threads of the cache are to end.
    pub is_stopped: bool,
}

impl<S: Slice> Table<S> {
    /// Bytes of tables for each slot: entries for the slice in it and for one in the queue.
    pub const OVERHEAD: usize = Entries::<S>::memory(2)
        + 4 * size_of::<u32>()
        + size_of::<Slot>()
        + size_of::<Candidate>()
        + size_of::<u32>();

    pub fn new(slots: Vec<Slot>, choose: Option<Box<Choose>>) -> Result<Table<S>> {
        let slot_count = slots.len();
        // One for each slot, one for each place of the queue, and one for a slice that evicts another.
        let mut entries = Entries::new(slot_count.saturating_mul(2).saturating_add(1))?;
        let mut unused = List::EMPTY;
        (0..entries.count()).for_each(|at| unused.push(&mut entries, at));
        let (mut candidates, mut positions) = (Vec::new(), Vec::new());
        if choose.is_some() {
            candidates.try_reserve_exact(slot_count)?;
            positions.try_reserve_exact(slot_count)?;
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
            positions,
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
        self.add_pins(at, 1);
    }

    pub(super) fn add_pins(&mut self, at: u32, pins: u64) {
        let entry = self.entries.get_mut(at);
        entry.pins += pins;
        entry.uses += pins;
        if pins > 0 {
            entry.priority = None;
            self.stats.prefetches_used += u64::from(std::mem::take(&mut entry.is_prefetched));
        }
    }

    /// The pin of a pinned slice, for a caller.
    pub fn pinned(&self, at: u32, memory: &SlotMemory) -> Result<Pinned> {
        let entry = self.entries.get(at);
        let (Some(slot), Some(slice)) = (&entry.slot, &entry.slice) else {
            return Err(fail!(Internal, "a slice is pinned that is not there"));
        };
        // The position of the entry, and its generation.
        let number = (u64::from(entry.generation) << 32) | (u64::from(at) + 1);
        Ok(Pinned { data: memory.address(slot), size: slice.size(), number })
    }

    /// Pins a slice if it is ready.
    pub fn pin_if_ready(&mut self, key: &Key) -> Option<u32> {
        let at = self.entries.find(key)?;
        let is_ready = matches!(self.entries.get(at).phase, Phase::Ready);
        is_ready.then(|| {
            self.stats.hits += 1;
            self.pin(at);
            at
        })
    }

    /// Gives a pin back. Returns the slice if it leaves the cache.
    pub fn unpin(&mut self, number: u64) -> Result<Option<S>> {
        let at = (number & u64::from(u32::MAX)).wrapping_sub(1);
        let found = self.entries.checked(at);
        let is_pinned = found.is_some_and(|e| u64::from(e.generation) == number >> 32 && e.pins > 0);
        if !is_pinned {
            return Err(fail!(State, "the slice is not pinned, or is of another cache"));
        }
        let entry = self.entries.get_mut(at as u32);
        entry.pins -= 1;
        Ok(match (entry.pins, entry.has_key) {
            (0, true) => {
                self.unpinned.push(&mut self.entries, at as u32);
                None
            }
            (0, false) => self.free(at as u32),
            _ => None,
        })
    }

    /// Makes an entry for a slice, or returns the slice if all entries are used.
    pub(super) fn add(&mut self, key: &Key, slice: S) -> std::result::Result<u32, S> {
        let at = self.unused.first;
        if at == NONE {
            return Err(slice);
        }
        self.unused.remove(&mut self.entries, at);
        self.entries.insert_key(at, key);
        let entry = self.entries.get_mut(at);
        (entry.slice, entry.priority, entry.uses) = (Some(slice), None, 0);
        entry.is_prefetched = false;
        Ok(at)
    }

    /// Frees an entry that is in no list. Returns its slice.
    pub(super) fn free(&mut self, at: u32) -> Option<S> {
        self.entries.remove_key(at);
        let entry = self.entries.get_mut(at);
        entry.phase = Phase::Unused;
        entry.generation = entry.generation.wrapping_add(1);
        let slice = entry.slice.take();
        let slot = entry.slot.take();
        self.free_slots.extend(slot); // within what it had at first
        self.unused.push(&mut self.entries, at);
        slice
    }

    /// Takes the slice out of its entry, for the thread that reads it.
    pub fn begin(&mut self, at: u32) -> (Key, Option<S>) {
        let entry = self.entries.get_mut(at);
        let (key, slice) = (entry.key, entry.slice.take());
        if let Phase::Queued = std::mem::replace(&mut entry.phase, Phase::Reading) {
            self.queue.remove(&mut self.entries, at);
        }
        (key, slice)
    }

    /// Ends a read: pins the slice once for each thread that waits and `pins` times more, or keeps the
    /// failure for them.
    /// Returns the slice if it leaves the cache.
    pub fn finish(&mut self, at: u32, slot: Slot, slice: S, outcome: &Result<()>, pins: u64) -> Option<S> {
        let waiters = self.entries.get(at).waiters;
        if let Err(error) = outcome {
            self.stats.failures += 1;
            self.free_slots.push(slot); // it came from there
            self.entries.remove_key(at);
            self.entries.get_mut(at).phase = Phase::Failed(error.again());
            if waiters == 0 {
                self.free(at);
            }
            return Some(slice);
        }
        self.stats.bytes_read += slice.size() as u64;
        let entry = self.entries.get_mut(at);
        (entry.phase, entry.slot, entry.slice) = (Phase::Ready, Some(slot), Some(slice));
        let has_key = entry.has_key;
        self.add_pins(at, pins + u64::from(waiters));
        match (self.entries.get(at).pins, has_key) {
            (0, true) => {
                self.unpinned.push(&mut self.entries, at);
                None
            }
            (0, false) => self.free(at),
            _ => None,
        }
    }

    /// Gives the failure of an entry to one of the threads that waited.
    pub fn take_failure(&mut self, at: u32) -> Error {
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

    /// Drops a slice, or takes its key if it is pinned, read or waited for, so that it is dropped after that.
    /// Returns the slice if it leaves the cache now.
    pub fn forget(&mut self, at: u32) -> Option<S> {
        let entry = self.entries.get(at);
        match entry.phase {
            Phase::Queued if entry.waiters == 0 => self.drop_queued(at),
            Phase::Ready if entry.pins == 0 => {
                self.unpinned.remove(&mut self.entries, at);
                self.free(at)
            }
            _ => {
                self.entries.remove_key(at);
                None
            }
        }
    }

    /// Drops one slice that is not pinned, queued ones first.
    pub fn forget_one(&mut self) -> Option<S> {
        self.cancel_one().or_else(|| match self.unpinned.first {
            NONE => None,
            at => self.forget(at),
        })
    }

    /// The statistics, with the current counts.
    pub fn stats(&self) -> Stats {
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
