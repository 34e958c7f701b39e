//! The table and its lock, a read that is recorded even if its thread panics, and the loop of the cache's
//! threads.

use super::slice::{Key, Pinned, Slice};
use super::table::{Claim, Table};
use crate::error::{fail, Result};
use crate::lock::{Mutex, MutexGuard};
use crate::memory::{Slot, SlotMemory};
use std::sync::Condvar;

/// What a thread of the cache does next.
pub enum Next<S> {
    /// Read this entry.
    Read(u32, Claim<S>),
    /// Drop this prefetch, because there is no slot for it, and ask again.
    Dropped(S),
    /// Wait.
    Wait,
}

impl<S: Slice> Table<S> {
    pub fn next(&mut self) -> Next<S> {
        let Some((at, is_prefetch)) = self.first_queued() else { return Next::Wait };
        if is_prefetch && self.starving > 0 {
            return Next::Wait;
        }
        match self.claim() {
            Some(claim) => {
                self.entries.get_mut(at).is_prefetched = is_prefetch;
                self.stats.prefetches += u64::from(is_prefetch);
                Next::Read(at, claim)
            }
            None if is_prefetch => self.drop_queued(at).map_or(Next::Wait, Next::Dropped),
            None => Next::Wait,
        }
    }
}

/// What all threads share.
pub struct Shared<S> {
    pub table: Mutex<Table<S>>,
    pub memory: SlotMemory,
    slot_size: usize,
    /// Callers wait here until a slice is ready or has failed, or there may be a slot.
    pub changed: Condvar,
    /// The threads of the cache wait here until a slice is queued, there may be a slot, or they have to end.
    pub work: Condvar,
}

impl<S: Slice> Shared<S> {
    pub fn new(table: Table<S>, memory: SlotMemory, slot_size: usize) -> Shared<S> {
        let (changed, work) = (Condvar::new(), Condvar::new());
        Shared { table: Mutex::new(table), memory, slot_size, changed, work }
    }

    /// Returns the slice, or an error if it does not fit a slot.
    pub fn check_fits(&self, slice: S) -> Result<S> {
        let (size, most) = (slice.size(), self.slot_size);
        match size <= most {
            true => Ok(slice),
            false => Err(fail!(Limit, "a slice of {size} bytes does not fit the cache's slots of {most}")),
        }
    }

    /// Unlocks the table after a change, and wakes the threads that the change concerns.
    pub fn unlock(&self, table: MutexGuard<'_, Table<S>>) {
        let (is_awaited, has_work) = (table.waiting > 0, table.has_queued());
        drop(table);
        if is_awaited {
            self.changed.notify_all();
        }
        if has_work {
            self.work.notify_one();
        }
    }

    /// Starts the read of an entry by the calling thread.
    pub fn begin(&self, table: &mut Table<S>, at: u32, claim: Claim<S>) -> PendingRead<'_, S> {
        let (key, slice) = table.begin(at);
        PendingRead { shared: self, at, key, slot: Some(claim.slot), slice, evicted: claim.evicted }
    }

    /// The loop of a thread of the cache.
    pub fn work(&self) {
        let mut table = self.table.lock();
        while !table.is_stopped {
            match table.next() {
                Next::Wait => {
                    table = table.wait(&self.work);
                    continue;
                }
                Next::Dropped(slice) => {
                    drop(table);
                    drop(slice);
                }
                Next::Read(at, claim) => {
                    let reading = self.begin(&mut table, at, claim);
                    self.unlock(table); // another thread may take the next slice
                    drop(reading.run(0)); // a failure is reported to the threads that wait for the slice

                    // If every processor is busy with reads, the woken thread would otherwise wait for the
                    // end of a time slice.
                    std::thread::yield_now();
                }
            }
            table = self.table.lock();
        }
    }

    /// Ends the threads of the cache. Each finishes its current read first.
    pub fn stop(&self) {
        self.table.lock().is_stopped = true;
        self.work.notify_all();
    }
}

/// A read that was started. If it is dropped without a result, for example by a panic, it is recorded as
/// failed.
pub struct PendingRead<'c, S: Slice> {
    shared: &'c Shared<S>,
    at: u32,
    key: Key,
    slot: Option<Slot>,
    slice: Option<S>,
    evicted: Option<S>,
}

impl<S: Slice> PendingRead<'_, S> {
    /// Reads the slice, and pins it `pins` times. Returns one of these pins, if there are any.
    pub fn run(mut self, pins: u64) -> Result<Option<Pinned>> {
        drop(self.evicted.take());
        let outcome = match (&mut self.slot, &self.slice) {
            (Some(slot), Some(slice)) => match self.shared.memory.bytes(slot).get_mut(..slice.size()) {
                Some(bytes) => slice.read(&self.key, bytes),
                None => Err(fail!(Internal, "the slice being read does not fit a slot")),
            },
            _ => Err(fail!(Internal, "a slice is read twice")),
        };
        self.end(outcome, pins)
    }

    fn end(&mut self, outcome: Result<()>, pins: u64) -> Result<Option<Pinned>> {
        let (Some(slot), Some(slice)) = (self.slot.take(), self.slice.take()) else {
            return outcome.map(|()| None);
        };
        let mut table = self.shared.table.lock();
        let dropped = table.finish(self.at, slot, slice, &outcome, pins);
        let pinned = match pins > 0 && outcome.is_ok() {
            true => Some(table.pinned(self.at, &self.shared.memory)),
            false => None,
        };
        self.shared.unlock(table);
        drop(dropped);
        outcome.and_then(|()| pinned.transpose())
    }
}

impl<S: Slice> Drop for PendingRead<'_, S> {
    fn drop(&mut self) {
        if self.slot.is_some() {
            let stopped = Err(fail!(Internal, "the thread that read the slice stopped"));
            drop(self.end(stopped, 0));
        }
    }
}
