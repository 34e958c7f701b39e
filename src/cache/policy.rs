//! The rules of eviction: which slice gives its slot to another.

use super::entry::{Entries, List, NONE};

/// A rule of eviction. Slices that were used often are protected. Unprotected slices are evicted first; among
/// equals, the one that was unpinned longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How often a slice has to be got after its read to be protected.
    uses: u64,
    /// At most this many fifths of the slots have protected slices, so that others get a chance to become
    /// protected.
    fifths: usize,
}

impl Policy {
    /// Evicts the least recently used slice.
    pub const LRU: Policy = Policy { uses: u64::MAX, fifths: 0 };
    /// Segmented LRU: a scan does not evict slices that are used again and again.
    pub const SLRU: Policy = Policy { uses: 2, fifths: 4 };
}

/// The ready slices without a pin.
pub struct Unpinned {
    policy: Policy,
    most_protected: usize,
    /// Slices without protection, which are evicted first. Both lists begin with the least recently used
    /// slice.
    probation: List,
    protected: List,
}

impl Unpinned {
    pub fn new(policy: Policy, slots: usize) -> Unpinned {
        let most_protected = slots.saturating_mul(policy.fifths) / 5;
        Unpinned { policy, most_protected, probation: List::EMPTY, protected: List::EMPTY }
    }

    pub fn count(&self) -> usize {
        self.probation.count + self.protected.count
    }

    /// The slice that is evicted next.
    pub fn first(&self) -> Option<u32> {
        [self.probation.first, self.protected.first].into_iter().find(|at| *at != NONE)
    }

    /// Adds a slice, as the most recently used one.
    pub fn push<S>(&mut self, entries: &mut Entries<S>, at: u32) {
        let entry = entries.get_mut(at);
        entry.is_protected = entry.uses >= self.policy.uses;
        if !entry.is_protected {
            return self.probation.push(entries, at);
        }
        self.protected.push(entries, at);
        if self.protected.count > self.most_protected {
            let oldest = self.protected.first;
            self.remove(entries, oldest);
            entries.get_mut(oldest).is_protected = false;
            self.probation.push(entries, oldest);
        }
    }

    pub fn remove<S>(&mut self, entries: &mut Entries<S>, at: u32) {
        match entries.get(at).is_protected {
            true => self.protected.remove(entries, at),
            false => self.probation.remove(entries, at),
        }
    }
}
