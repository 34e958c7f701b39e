//! The state of a cache: which slices are in which slots, which are queued, and which is evicted next. It has
//! no lock and no threads; `shared.rs` has them.

use super::entry::{Entries, List, Phase, NONE};
use super::policy::{Policy, Unpinned};
use super::slice::{Key, Pinned, Slice};
use crate::error::{fail, Error, Result};
use crate::memory::{Slot, SlotMemory};

/// What a cache has done since it was made, and its state. `zt_cache_stats` says what each number counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub slots: u64,
    pub used: u64,
    pub pinned: u64,
    pub queued: u64,
    pub overhead: u64,
    pub hits: u64,
    pub joined: u64,
    pub misses: u64,
    pub prefetches: u64,
    pub prefetches_used: u64,
    pub prefetches_dropped: u64,
    pub evictions: u64,
    pub failures: u64,
    pub bytes_read: u64,
}

/// A slot for a read, and the slice that was evicted from it. The caller drops that slice outside the lock.
pub struct Claim<S> {
    pub slot: Slot,
    pub evicted: Option<S>,
}

pub struct Table<S> {
    pub entries: Entries<S>,
    /// Free entries.
    unused: List,
    /// Queued slices that callers wait for. They are read first.
    waited: List,
    /// Queued slices that no caller waits for.
    prefetches: List,
    unpinned: Unpinned,
    free_slots: Vec<Slot>,
    slot_count: usize,
    pub stats: Stats,
    /// How many callers wait for a slot. Prefetches get a slot only if none waits.
    pub starving: usize,
    /// How many threads wait for anything.
    pub waiting: usize,
    /// Whether the threads of the cache have to end.
    pub is_stopped: bool,
}

impl<S: Slice> Table<S> {
    /// Bytes of tables for each slot: entries for the slice in it and for a queued one.
    pub const OVERHEAD: usize = Entries::<S>::memory(2) + 4 * size_of::<u32>() + size_of::<Slot>();

    pub fn new(slots: Vec<Slot>, policy: Policy) -> Result<Table<S>> {
        let slot_count = slots.len();
        // One for each slot, one for each place in the queue, and one for a slice that is read into the slot
        // of another.
        let mut entries = Entries::new(slot_count.saturating_mul(2).saturating_add(1))?;
        let mut unused = List::EMPTY;
        (0..entries.count()).for_each(|at| unused.push(&mut entries, at));
        Ok(Table {
            entries,
            unused,
            waited: List::EMPTY,
            prefetches: List::EMPTY,
            unpinned: Unpinned::new(policy, slot_count),
            free_slots: slots,
            slot_count,
            stats: Stats::default(),
            starving: 0,
            waiting: 0,
            is_stopped: false,
        })
    }

    fn add_pins(&mut self, at: u32, pins: u64) {
        let entry = self.entries.get_mut(at);
        entry.pins += pins;
        entry.uses += pins;
        if pins > 0 {
            self.stats.prefetches_used += u64::from(std::mem::take(&mut entry.is_prefetched));
        }
    }

    /// The pin of a pinned slice, as callers get it.
    pub fn pinned(&self, at: u32, memory: &SlotMemory) -> Result<Pinned> {
        let entry = self.entries.get(at);
        let (Some(slot), Some(slice)) = (&entry.slot, &entry.slice) else {
            return Err(fail!(Internal, "the pinned slice is missing"));
        };
        // The position of the entry, and its generation.
        let number = (u64::from(entry.generation) << 32) | (u64::from(at) + 1);
        Ok(Pinned { data: memory.address(slot), size: slice.size(), number })
    }

    pub fn pin_if_ready(&mut self, key: &Key) -> Option<u32> {
        let at = self.entries.find(key)?;
        let entry = self.entries.get(at);
        if !matches!(entry.phase, Phase::Ready) {
            return None;
        }
        if entry.pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
        }
        self.stats.hits += 1;
        self.add_pins(at, 1);
        Some(at)
    }

    /// Gives a pin back. Returns the slice if it is removed from the cache.
    pub fn unpin(&mut self, number: u64) -> Result<Option<S>> {
        let at = (number & u64::from(u32::MAX)).wrapping_sub(1);
        let found = self.entries.checked(at);
        let is_pinned = found.is_some_and(|e| u64::from(e.generation) == number >> 32 && e.pins > 0);
        if !is_pinned {
            return Err(fail!(State, "the slice is not pinned, or belongs to another cache"));
        }
        self.entries.get_mut(at as u32).pins -= 1;
        Ok(self.keep_or_free(at as u32))
    }

    /// Called when a ready slice has no pin any more: it may be evicted from now on. If it was dropped
    /// meanwhile, it is freed.
    fn keep_or_free(&mut self, at: u32) -> Option<S> {
        let entry = self.entries.get(at);
        match (entry.pins, entry.has_key) {
            (0, true) => {
                self.unpinned.push(&mut self.entries, at);
                None
            }
            (0, false) => self.free(at),
            _ => None,
        }
    }

    pub fn unused(&self) -> Option<u32> {
        (self.unused.first != NONE).then_some(self.unused.first)
    }

    /// Uses a free entry for a slice.
    pub fn add(&mut self, at: u32, key: &Key, slice: Option<S>) {
        self.unused.remove(&mut self.entries, at);
        self.entries.insert_key(at, key);
        let entry = self.entries.get_mut(at);
        (entry.slice, entry.uses, entry.is_prefetched) = (slice, 0, false);
    }

    /// A slot for a read: a free one, or the slot of an unpinned slice.
    pub fn claim(&mut self) -> Option<Claim<S>> {
        if let Some(slot) = self.free_slots.pop() {
            return Some(Claim { slot, evicted: None });
        }
        let victim = self.unpinned.first()?;
        self.unpinned.remove(&mut self.entries, victim);
        self.stats.evictions += 1;
        let slot = self.entries.get_mut(victim).slot.take()?;
        Some(Claim { slot, evicted: self.free(victim) })
    }

    /// Frees an entry that is in no list, and returns its slice.
    fn free(&mut self, at: u32) -> Option<S> {
        self.entries.remove_key(at);
        let entry = self.entries.get_mut(at);
        entry.phase = Phase::Unused;
        entry.generation = entry.generation.wrapping_add(1);
        let slice = entry.slice.take();
        let slot = entry.slot.take();
        self.free_slots.extend(slot); // within its initial capacity
        self.unused.push(&mut self.entries, at);
        slice
    }

    /// Moves the slice out of its entry, for the thread that reads it.
    pub fn begin(&mut self, at: u32) -> (Key, Option<S>) {
        let entry = self.entries.get_mut(at);
        let (key, slice) = (entry.key, entry.slice.take());
        if let Phase::Queued = std::mem::replace(&mut entry.phase, Phase::Reading) {
            self.leave_queue(at);
        }
        (key, slice)
    }

    /// Ends a read. On success, pins the slice once for each waiting thread and `pins` times more; on
    /// failure, keeps the error for them. Returns the slice if it is removed from the cache.
    pub fn finish(&mut self, at: u32, slot: Slot, slice: S, outcome: &Result<()>, pins: u64) -> Option<S> {
        let waiters = self.entries.get(at).waiters;
        if let Err(error) = outcome {
            self.stats.failures += 1;
            self.free_slots.push(slot); // the slot was taken from there
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
        self.add_pins(at, pins + u64::from(waiters));
        self.keep_or_free(at)
    }

    /// Returns the error of an entry to one of the threads that waited for it.
    pub fn take_failure(&mut self, at: u32) -> Error {
        let entry = self.entries.get_mut(at);
        let error = match &entry.phase {
            Phase::Failed(error) => error.again(),
            _ => fail!(Internal, "a thread waits for a slice that is not being read"),
        };
        entry.waiters -= 1;
        if entry.waiters == 0 {
            self.free(at);
        }
        error
    }

    /// Drops a slice. If it is pinned, being read or waited for, only removes its key: it is dropped later.
    /// Returns the slice if it is removed from the cache now.
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

    /// Drops one slice that is not pinned; queued ones first.
    pub fn forget_one(&mut self) -> Option<S> {
        self.cancel_one().or_else(|| self.unpinned.first().and_then(|at| self.forget(at)))
    }

    /// The statistics, with the current counts.
    pub fn stats(&self) -> Stats {
        let reading = self.slot_count - self.free_slots.len();
        Stats {
            slots: self.slot_count as u64,
            used: reading as u64,
            pinned: (reading - self.unpinned.count()) as u64,
            queued: self.queued() as u64,
            overhead: self.slot_count.saturating_mul(Self::OVERHEAD) as u64,
            ..self.stats
        }
    }

    fn queued(&self) -> usize {
        self.waited.count + self.prefetches.count
    }

    /// The queue has as many places as there are slots.
    pub fn is_queue_full(&self) -> bool {
        self.queued() >= self.slot_count
    }

    /// Whether there may be something to do for a thread.
    pub fn has_queued(&self) -> bool {
        self.queued() > 0
    }

    /// The queued slice to read next, and whether no thread waits for it.
    pub fn first_queued(&self) -> Option<(u32, bool)> {
        let of = |list: &List, is_prefetch| (list.first != NONE).then_some((list.first, is_prefetch));
        of(&self.waited, false).or_else(|| of(&self.prefetches, true))
    }

    /// Whether there is an entry for a slice that is to be prefetched. A ready slice becomes the most
    /// recently used one.
    pub fn touch(&mut self, key: &Key) -> bool {
        let Some(at) = self.entries.find(key) else { return false };
        let entry = self.entries.get(at);
        if matches!(entry.phase, Phase::Ready) && entry.pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
            self.unpinned.push(&mut self.entries, at);
        }
        true
    }

    /// Queues a slice in a free entry, after all others.
    pub fn enqueue(&mut self, at: u32, key: &Key, slice: Option<S>) {
        self.add(at, key, slice);
        self.entries.get_mut(at).phase = Phase::Queued;
        self.prefetches.push(&mut self.entries, at);
    }

    /// Queues a slice that has no entry. Returns it if the queue is full.
    pub fn prefetch(&mut self, key: &Key, slice: S) -> Option<S> {
        match self.unused() {
            Some(at) if !self.is_queue_full() => self.enqueue(at, key, Some(slice)),
            _ => {
                self.stats.prefetches_dropped += 1;
                return Some(slice);
            }
        }
        None
    }

    /// A thread begins to wait for an entry. If it is queued, it will be read before all prefetches.
    pub fn start_waiting(&mut self, at: u32) {
        let entry = self.entries.get_mut(at);
        entry.waiters += 1;
        if matches!(entry.phase, Phase::Queued) && entry.waiters == 1 {
            self.prefetches.remove(&mut self.entries, at);
            self.waited.push(&mut self.entries, at);
        }
    }

    /// A thread stops waiting for an entry. If it was the last one and the slice is queued, the slice becomes
    /// the first prefetch.
    pub fn stop_waiting(&mut self, at: u32) {
        let entry = self.entries.get_mut(at);
        if matches!(entry.phase, Phase::Queued) && entry.waiters == 1 {
            self.waited.remove(&mut self.entries, at);
            self.prefetches.insert_after(&mut self.entries, NONE, at);
        }
        self.entries.get_mut(at).waiters -= 1;
    }

    fn leave_queue(&mut self, at: u32) {
        let list = match self.entries.get(at).waiters {
            0 => &mut self.prefetches,
            _ => &mut self.waited,
        };
        list.remove(&mut self.entries, at);
    }

    /// Removes a prefetch that was not started from the queue, and frees its entry.
    pub fn drop_queued(&mut self, at: u32) -> Option<S> {
        self.leave_queue(at);
        self.stats.prefetches_dropped += 1;
        self.free(at)
    }

    /// Drops the last prefetch of the queue.
    pub fn cancel_one(&mut self) -> Option<S> {
        match self.prefetches.last {
            NONE => None,
            last => self.drop_queued(last),
        }
    }
}
