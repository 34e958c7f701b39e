//! Which slice goes when another needs its slot.

use super::entry::{Entries, List, NONE};

/// A rule of eviction. Slices that were used often are protected; what is not protected goes first, and of
/// either kind what was unpinned longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A slice is protected once it was got so often since it was read.
    uses: u64,
    /// At most this many of five slots have protected slices: others need a chance to become protected.
    fifths: usize,
}

impl Policy {
    /// What was not used for the longest time goes.
    pub const LRU: Policy = Policy { uses: u64::MAX, fifths: 0 };
    /// Segmented: a scan does not evict what is used again and again.
    pub const SLRU: Policy = Policy { uses: 2, fifths: 4 };
}

/// The ready slices without a pin.
pub struct Unpinned {
    policy: Policy,
    most_protected: usize,
    /// What goes first; in each list the least recently used one is in front.
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

    /// The slice that goes next.
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
