//! Keeps slices of models that are larger than memory, in slots of one size. Slices are pinned while they are
//! used, prefetched, and evicted for others.
//!
//! ```text
//! get        a slice is ready, or read by the caller, or waited for      get.rs
//! threads    read what is queued                                         shared.rs
//! table      what is in which slot, and what is queued                   table.rs, entry.rs
//! policy     what is evicted                                             policy.rs
//! ```
//!
//! The caller's [`slice::Slice`] defines slices and how to read them. Slices are read and dropped without the
//! lock. After `Cache::new` the cache only allocates during reads, and for error messages.

mod entry;
mod get;
mod policy;
mod shared;
mod slice;
mod table;
#[cfg(test)]
mod tests;

pub use policy::Policy;
pub use slice::{Key, Pinned, Slice};
pub use table::Stats;

use crate::error::{fail, Result};
use crate::memory::{try_box, Slot, SlotMemory};
use crate::threads::{ThreadGroup, ThreadHooks, Work};
use shared::Shared;
use std::time::Duration;
use table::Table;

/// Where the slots are.
pub enum Memory {
    /// The library's memory: at most this many bytes for slots and tables together.
    Budget(u64),
    /// The caller's memory, with these slots.
    OfCaller(SlotMemory, Vec<Slot>),
}

/// Slices in slots, and the threads that prefetch.
pub struct Cache<S: Slice>(ThreadGroup<Shared<S>>);

/// Most slots: their numbers have 32 bits.
const MAX_SLOTS: u64 = 1 << 24;

/// The most memory that a cache takes besides its slots and tables.
const FIXED_OVERHEAD: u64 = 4096;

impl<S: Slice> Cache<S> {
    /// Makes a cache with slots of `slot_size` bytes and `threads` threads that prefetch.
    pub fn new(
        memory: Memory,
        slot_size: usize,
        threads: usize,
        hooks: ThreadHooks,
        policy: Policy,
    ) -> Result<Cache<S>> {
        let stride = SlotMemory::stride(slot_size)?;
        let (memory, slots) = match memory {
            Memory::OfCaller(memory, slots) => (memory, slots),
            Memory::Budget(budget) => {
                let each = (stride as u64).saturating_add(Table::<S>::OVERHEAD as u64);
                let count =
                    budget.saturating_sub(FIXED_OVERHEAD).checked_div(each).unwrap_or(0).min(MAX_SLOTS);
                SlotMemory::allocate(stride, usize::try_from(count).unwrap_or(usize::MAX))?
            }
        };
        if slots.is_empty() {
            let each = stride.saturating_add(Table::<S>::OVERHEAD);
            return Err(fail!(
                Limit,
                "the budget is too small for one slot of {slot_size} bytes: it takes {each} with its \
                 tables, and {FIXED_OVERHEAD} more"
            ));
        }
        if slots.len() as u64 > MAX_SLOTS {
            let count = slots.len();
            return Err(fail!(
                Limit,
                "memory of {count} slots of {slot_size} bytes: a cache has at most {MAX_SLOTS}"
            ));
        }
        let shared = Shared::new(Table::new(slots, policy)?, memory, slot_size);
        Ok(Cache(ThreadGroup::start(try_box(Work::new(shared, hooks, Shared::work))?, threads)))
    }

    fn shared(&self) -> &Shared<S> {
        self.0.value()
    }

    fn has_threads(&self) -> bool {
        self.0.threads() > 0
    }

    /// Pins a slice. If it is not ready, `make` makes it, and it is read. With a `timeout`, which limits the
    /// wait, a thread of the cache reads it; otherwise the calling thread does. If another thread is reading
    /// it already, the call waits for that thread.
    pub fn get(
        &self,
        key: &Key,
        timeout: Option<Duration>,
        make: &mut dyn FnMut() -> Result<S>,
    ) -> Result<Pinned> {
        self.shared().get(key, timeout, self.has_threads(), make)
    }

    /// Queues a slice to be read by a thread of the cache, if the queue has space. A slice that is ready
    /// becomes the most recently used one.
    pub fn prefetch(&self, key: &Key, make: impl FnOnce() -> Result<S>) -> Result<()> {
        if self.shared().table.lock().touch(key) {
            return Ok(());
        }
        let slice = self.shared().check_fits(make()?)?;
        let is_read = self.has_threads() && !slice.is_callers_thread();
        let mut table = self.shared().table.lock();
        let rest = match is_read {
            true if table.touch(key) => Some(slice), // another thread was faster
            true => table.prefetch(key, slice),
            false => {
                table.stats.prefetches_dropped += 1;
                Some(slice)
            }
        };
        self.shared().unlock(table);
        drop(rest);
        Ok(())
    }

    /// Gives a pin back.
    pub fn unpin(&self, number: u64) -> Result<()> {
        let mut table = self.shared().table.lock();
        let dropped = table.unpin(number)?;
        self.shared().unlock(table);
        drop(dropped);
        Ok(())
    }

    /// Drops a slice: at once, or when its last pin is given back.
    pub fn forget(&self, key: &Key) {
        let mut table = self.shared().table.lock();
        let dropped = table.entries.find(key).and_then(|at| table.forget(at));
        self.shared().unlock(table);
        drop(dropped);
    }

    /// Drops all slices that are not pinned, and all that are queued.
    pub fn forget_all(&self) {
        self.drop_each(Table::forget_one);
    }

    /// Drops all prefetches that no thread has started.
    pub fn cancel(&self) {
        self.drop_each(Table::cancel_one);
    }

    /// Drops each slice that `next` returns, outside the lock.
    fn drop_each(&self, next: impl Fn(&mut Table<S>) -> Option<S>) {
        loop {
            let mut table = self.shared().table.lock();
            let dropped = next(&mut table);
            self.shared().unlock(table);
            if dropped.is_none() {
                return;
            }
        }
    }

    /// Returns what the cache has done so far, and its state.
    pub fn stats(&self) -> Stats {
        self.shared().table.lock().stats()
    }
}

impl<S: Slice> Drop for Cache<S> {
    fn drop(&mut self) {
        // A child of fork has none of the threads, and one of them may have held the lock.
        if self.0.is_here() {
            self.shared().stop();
        }
    }
}
