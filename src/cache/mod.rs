//! Slices of models that are larger than memory, in slots of one size: pinned while they are used, read ahead, evicted for
//! others.
//!
//! ```text
//! get        a slice is there, or read by the caller, or waited for      get.rs
//! threads    read what is queued                                         shared.rs
//! table      what is in which slot, what is wanted, what goes            table.rs, queue.rs, evict.rs
//! ```
//!
//! What a slice is and how it is read is the caller's [`Slice`]. Slices are read and dropped without the lock; after
//! [`Cache::new`] the cache asks for no memory but what a read takes while it lasts, and a message of a failure.

mod entry;
mod evict;
mod get;
mod key;
mod list;
mod queue;
mod shared;
mod stats;
mod table;
#[cfg(test)]
mod tests;

pub use key::Key;
pub use stats::Stats;

use crate::error::{fail, Result};
use crate::memory::{try_box, Slot, SlotMemory};
use crate::threads::{ThreadGroup, ThreadHooks, Work};
use shared::Shared;
use std::ptr::NonNull;
use std::time::Duration;
use table::Table;

/// What a slot can hold.
pub trait Slice: Send + 'static {
    /// Bytes of it.
    fn size(&self) -> usize;

    /// The caller's name for it.
    fn tag(&self) -> u64;

    /// Whether only threads that call the library may read it.
    fn is_callers_thread(&self) -> bool;

    /// Fills all of `dst`, which has its size.
    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()>;
}

/// A slice that may be evicted.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Candidate {
    /// The caller's name for it.
    pub tag: u64,
    /// Bytes of it.
    pub size: u64,
    /// How often it was got since it was read.
    pub uses: u64,
}

/// Chooses which of them is evicted; any other number leaves it to the cache, which takes the first.
pub type Choose = dyn Fn(&[Candidate]) -> usize + Send;

/// A slice that stays where it is until it is unpinned.
pub struct Pinned {
    /// Where its bytes are.
    pub data: NonNull<u8>,
    /// How many.
    pub size: usize,
    /// What [`Cache::unpin`] wants.
    pub number: u64,
}

/// Where the slots are.
pub enum Memory {
    /// Memory of the library's: with the tables at most so many bytes.
    Budget(u64),
    /// These slots.
    Given(SlotMemory, Vec<Slot>),
}

/// Slices in slots, and the threads that read ahead.
pub struct Cache<S: Slice>(ThreadGroup<Shared<S>>);

/// Most slots: their numbers have 32 bits.
const MAX_SLOTS: u64 = 1 << 24;

/// What a cache takes beside its slots and their tables, at most.
const FIXED: u64 = 4096;

impl<S: Slice> Cache<S> {
    /// A cache whose slots have `slot_size` bytes, with so many threads that read ahead.
    pub fn new(
        memory: Memory,
        slot_size: usize,
        threads: usize,
        hooks: ThreadHooks,
        choose: Option<Box<Choose>>,
    ) -> Result<Cache<S>> {
        let stride = SlotMemory::stride(slot_size)?;
        let (memory, slots) = match memory {
            Memory::Given(memory, slots) => (memory, slots),
            Memory::Budget(budget) => {
                let each = (stride as u64).saturating_add(Table::<S>::OVERHEAD as u64);
                let count = budget.saturating_sub(FIXED).checked_div(each).unwrap_or(0).min(MAX_SLOTS);
                SlotMemory::allocate(stride, usize::try_from(count).unwrap_or(usize::MAX))?
            }
        };
        if slots.is_empty() {
            let each = stride.saturating_add(Table::<S>::OVERHEAD);
            return Err(fail!(
                Limit,
                "the budget is too small for one slot of {slot_size} bytes: it takes {each} with its tables, and {FIXED} more"
            ));
        }
        if slots.len() as u64 > MAX_SLOTS {
            let count = slots.len();
            return Err(fail!(
                Limit,
                "memory of {count} slots of {slot_size} bytes: a cache has at most {MAX_SLOTS}"
            ));
        }
        let shared = Shared::new(Table::new(slots, choose)?, memory, slot_size);
        Ok(Cache(ThreadGroup::start(try_box(Work::new(shared, hooks, Shared::work))?, threads)))
    }

    fn shared(&self) -> &Shared<S> {
        self.0.value()
    }

    fn has_threads(&self) -> bool {
        self.0.threads() > 0
    }

    /// Pins a slice: one that is there, or reads it, or waits for whoever reads it; that long and no longer, or as long as
    /// it takes. With a time a thread of the cache reads, otherwise the caller's. `make` is called where it is not there.
    pub fn get(
        &self,
        key: &Key,
        timeout: Option<Duration>,
        make: &mut dyn FnMut() -> Result<S>,
    ) -> Result<Pinned> {
        self.shared().get(key, timeout, self.has_threads(), make)
    }

    /// Has a slice read ahead by a thread of the cache, unless it is there or there is no place for it.
    pub fn prefetch(&self, key: &Key, priority: u32, make: impl FnOnce() -> Result<S>) -> Result<()> {
        let priority = u64::from(priority);
        if self.shared().table.lock().want_again(key, priority) {
            return Ok(());
        }
        let slice = self.shared().fitting(make()?)?;
        let is_read = self.has_threads() && !slice.is_callers_thread();
        let mut table = self.shared().table.lock();
        let rest = match is_read {
            true if table.want_again(key, priority) => Some(slice), // another thread was faster
            true => table.want(key, slice, priority).err(),
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
        let gone = table.unpin(number)?;
        self.shared().unlock(table);
        drop(gone);
        Ok(())
    }

    /// Drops a slice: now, or when nobody has it any more.
    pub fn forget(&self, key: &Key) {
        let mut table = self.shared().table.lock();
        let gone = table.entries.find(key).and_then(|at| table.forget(at));
        self.shared().unlock(table);
        drop(gone);
    }

    /// Drops all slices that nobody has, and what is to be read ahead.
    pub fn forget_all(&self) {
        self.each(Table::forget_one);
    }

    /// Drops what is to be read ahead and was not begun.
    pub fn cancel(&self) {
        self.each(Table::cancel_one);
    }

    /// Drops what `next` takes out until there is no more.
    fn each(&self, next: impl Fn(&mut Table<S>) -> Option<S>) {
        loop {
            let mut table = self.shared().table.lock();
            let gone = next(&mut table);
            self.shared().unlock(table);
            if gone.is_none() {
                return;
            }
        }
    }

    /// What it did, and what it has.
    pub fn stats(&self) -> Stats {
        self.shared().table.lock().now()
    }
}

impl<S: Slice> Drop for Cache<S> {
    fn drop(&mut self) {
        // In a child of fork there is no thread to stop, and the lock may be one's that is not there.
        if self.0.is_here() {
            self.shared().stop();
        }
    }
}
