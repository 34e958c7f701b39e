//! What is wanted: asked for by a thread that waits, or to be read ahead; and who reads what next.

use super::entry::{Phase, URGENT};
use super::evict::Claim;
use super::key::Key;
use super::list::NONE;
use super::slice::Slice;
use super::table::Table;

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

impl<S: Slice> Table<S> {
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
                self.count_wanted(at);
                self.enqueue(at, URGENT);
                return Step::Join(at);
            }
            let Some(claim) = self.claim(URGENT) else { return Step::Full };
            self.count_wanted(at);
            self.entries.get_mut(at).priority = None;
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

    /// Counts a get of what is queued: of several that ask for it the first one is a miss.
    fn count_wanted(&mut self, at: u32) {
        match self.entries.get(at).priority {
            Some(URGENT) => self.stats.joined += 1,
            _ => self.stats.misses += 1,
        }
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

    /// A slice that is there gets the protection of a prefetch, as if it had just been read.
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

    /// Takes a prefetch that was not begun out of the queue, and ends it.
    pub(super) fn drop_queued(&mut self, at: u32) -> Option<S> {
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
                let is_prefetch = priority != URGENT;
                self.entries.get_mut(at).is_prefetched = is_prefetch;
                self.stats.prefetches += u64::from(is_prefetch);
                Next::Read(at, claim)
            }
            None if priority == URGENT => Next::Nothing,
            None => self.drop_queued(at).map_or(Next::Nothing, Next::Dropped),
        }
    }
}
