//! Chooses the slice that is evicted for another.

use super::list::NONE;
use super::slice::{Candidate, Slice};
use super::table::Table;
use crate::memory::Slot;

/// A slot for a read, and the slice that was in it, which is dropped without the lock.
pub struct Claim<S> {
    pub slot: Slot,
    pub evicted: Option<S>,
}

impl<S: Slice> Table<S> {
    /// A slot for a read of that priority: a free one, or that of a slice that nobody has pinned.
    pub(super) fn claim(&mut self, priority: u64) -> Option<Claim<S>> {
        if let Some(slot) = self.free_slots.pop() {
            return Some(Claim { slot, evicted: None });
        }
        let victim = self.victim(priority)?;
        self.unpinned.remove(&mut self.entries, victim);
        self.stats.evictions += 1;
        let slot = self.entries.get_mut(victim).slot.take()?;
        Some(Claim { slot, evicted: self.free(victim) })
    }

    /// The slice to evict: the caller's choice, or the least recently used one.
    fn victim(&mut self, priority: u64) -> Option<u32> {
        let Some(choose) = &self.choose else {
            return self.evictable(self.unpinned.first, priority);
        };
        self.candidates.clear();
        self.positions.clear();
        let mut next = self.evictable(self.unpinned.first, priority);
        while let Some(at) = next {
            let entry = self.entries.get(at);
            let (tag, size) = entry.slice.as_ref().map_or((0, 0), |slice| (slice.tag(), slice.size()));
            self.candidates.push(Candidate { tag, size: size as u64, uses: entry.uses });
            self.positions.push(at);
            next = self.evictable(self.entries.links_of(at).after, priority);
        }
        let first = *self.positions.first()?;
        Some(self.positions.get(choose(&self.candidates)).copied().unwrap_or(first))
    }

    /// The first entry from `at` on that a read of that priority may evict.
    fn evictable(&self, mut at: u32, priority: u64) -> Option<u32> {
        while at != NONE && self.entries.get(at).priority > Some(priority) {
            at = self.entries.links_of(at).after;
        }
        (at != NONE).then_some(at)
    }
}
