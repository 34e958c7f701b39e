//! The queue of slices to read, for threads that wait and for prefetches; and what each thread reads next.

use super::entry::{Phase, URGENT};
use super::evict::Claim;
use super::key::Key;
use super::list::NONE;
use super::slice::Slice;
use super::table::Table;

/// What a thread of the cache does next.
pub enum Next<S> {
    /// Read this entry.
    Read(u32, Claim<S>),
    /// Drop this prefetch, for which there is no slot, and ask again.
    Dropped(S),
    /// Wait.
    Wait,
}

/// What a thread that gets a slice does next.
pub enum Step<S> {
    /// Take it: it is ready, and pinned.
    Ready(u32),
    /// Read it into this slot.
    Read(u32, Claim<S>),
    /// Wait for another thread that reads it.
    Join(u32),
    /// Make the slice, and ask again.
    Make,
    /// Wait for a slot.
    Full,
}

/// The entry of a slice that was queued, and the prefetch that had to leave the queue for it; or the slice
/// itself, if there was no place for it.
pub type Queued<S> = std::result::Result<(u32, Option<S>), S>;

impl<S: Slice> Table<S> {
    /// What the calling thread does to get a slice. `made` is the slice, if it was made; on return it is what
    /// has to be dropped. `caller_reads`: the calling thread reads the slice if it has to be read.
    pub fn step(&mut self, key: &Key, made: &mut Option<S>, caller_reads: bool) -> Step<S> {
        if let Some(at) = self.pin_if_ready(key) {
            return Step::Ready(at);
        }
        if let Some(at) = self.entries.find(key) {
            let is_queued = matches!(self.entries.get(at).phase, Phase::Queued);
            if !is_queued {
                self.stats.joined += 1;
                return Step::Join(at);
            }
            if !caller_reads {
                self.count_get_of_queued(at);
                self.enqueue(at, URGENT);
                return Step::Join(at);
            }
            let Some(claim) = self.claim(URGENT) else { return Step::Full };
            self.count_get_of_queued(at);
            self.entries.get_mut(at).priority = None;
            return Step::Read(at, claim);
        }
        let Some(slice) = made.take() else { return Step::Make };
        let step = match caller_reads {
            true if self.unused.first != NONE => match self.claim(URGENT) {
                Some(claim) => self.add(key, slice).map(|at| Step::Read(at, claim)),
                None => Err(slice),
            },
            true => Err(slice),
            false => self.queue_slice(key, slice, URGENT).map(|(at, left_out)| {
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

    /// Counts a get of a queued slice: the first one is a miss.
    fn count_get_of_queued(&mut self, at: u32) {
        match self.entries.get(at).priority {
            Some(URGENT) => self.stats.joined += 1,
            _ => self.stats.misses += 1,
        }
    }

    /// Queues a slice that has no entry.
    pub fn queue_slice(&mut self, key: &Key, slice: S, priority: u64) -> Queued<S> {
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

    /// Raises the priority of a slice that has an entry; false if it has none.
    pub fn reprioritize(&mut self, key: &Key, priority: u64) -> bool {
        let Some(at) = self.entries.find(key) else { return false };
        match self.entries.get(at).phase {
            Phase::Queued => self.enqueue(at, priority),
            Phase::Ready => self.protect(at, priority),
            _ => {}
        }
        true
    }

    /// Protects a ready slice from reads of a lower priority, as if it had just been prefetched.
    fn protect(&mut self, at: u32, priority: u64) {
        if self.entries.get(at).pins == 0 {
            self.unpinned.remove(&mut self.entries, at);
            self.unpinned.push(&mut self.entries, at);
            let entry = self.entries.get_mut(at);
            entry.priority = entry.priority.max(Some(priority));
        }
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

    /// Takes a prefetch that was not started out of the queue, and frees its entry.
    pub(super) fn drop_queued(&mut self, at: u32) -> Option<S> {
        self.queue.remove(&mut self.entries, at);
        self.stats.prefetches_dropped += 1;
        self.free(at)
    }

    /// Drops the last entry of the queue, if it is a prefetch.
    pub fn cancel_one(&mut self) -> Option<S> {
        let last = self.queue.last;
        let is_prefetch = last != NONE && self.entries.get(last).priority != Some(URGENT);
        is_prefetch.then(|| self.drop_queued(last)).flatten()
    }

    /// A thread stops waiting for an entry, which becomes a prefetch if no other thread waits for it.
    pub fn stop_waiting(&mut self, at: u32) {
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
            return Next::Wait;
        }
        let priority = self.entries.get(at).priority.unwrap_or(0);
        if priority != URGENT && self.starving > 0 {
            return Next::Wait;
        }
        match self.claim(priority) {
            Some(claim) => {
                let is_prefetch = priority != URGENT;
                self.entries.get_mut(at).is_prefetched = is_prefetch;
                self.stats.prefetches += u64::from(is_prefetch);
                Next::Read(at, claim)
            }
            None if priority == URGENT => Next::Wait,
            None => self.drop_queued(at).map_or(Next::Wait, Next::Dropped),
        }
    }
}
