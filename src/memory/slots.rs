//! One block of memory in slots of equal size. Each slot has one owner.

use super::buffer::{collected, AlignedBuffer, ALIGNMENT};
use crate::error::{fail, Error, Result};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory in slots: each begins at a multiple of 64 bytes.
pub struct SlotMemory {
    first: NonNull<u8>,
    stride: usize,
    count: usize,
    /// Distinguishes its slots from the slots of another memory.
    id: u64,
    /// `None` if the memory is the caller's.
    _own: Option<AlignedBuffer>,
}

// SAFETY: the bytes are only reached through slots, and each slot has one owner.
unsafe impl Send for SlotMemory {}
// SAFETY: as above.
unsafe impl Sync for SlotMemory {}

/// The right to access a slot's bytes. There is one for each slot.
pub struct Slot {
    memory: u64,
    number: usize,
}

impl SlotMemory {
    /// The distance between two slots.
    pub fn stride(slot_size: usize) -> Result<usize> {
        slot_size.max(1).checked_next_multiple_of(ALIGNMENT).ok_or_else(|| Error::out_of_memory(slot_size))
    }

    /// Allocates memory for `count` slots. If it is large, the system provides pages when they are first
    /// written.
    pub fn allocate(stride: usize, count: usize) -> Result<(SlotMemory, Vec<Slot>)> {
        let size = stride.checked_mul(count).ok_or_else(|| Error::out_of_memory(usize::MAX))?;
        let mut own = AlignedBuffer::zeroed(size)?;
        let first = NonNull::from(own.as_mut_slice()).cast();
        SlotMemory::new(first, stride, count, Some(own))
    }

    /// Uses memory of the caller for `count` slots.
    ///
    /// # Safety
    /// `first` has `stride * count` writable bytes. Until this is dropped, only this and the caller of
    /// [`SlotMemory::address`] use them.
    pub unsafe fn of_caller(
        first: NonNull<u8>,
        stride: usize,
        count: usize,
    ) -> Result<(SlotMemory, Vec<Slot>)> {
        match first.addr().get() % ALIGNMENT {
            0 => SlotMemory::new(first, stride, count, None),
            _ => Err(fail!(InvalidArgument, "the memory at {first:p} is not aligned to {ALIGNMENT} bytes")),
        }
    }

    fn new(
        first: NonNull<u8>,
        stride: usize,
        count: usize,
        own: Option<AlignedBuffer>,
    ) -> Result<(SlotMemory, Vec<Slot>)> {
        static MEMORIES: AtomicU64 = AtomicU64::new(0);
        let id = MEMORIES.fetch_add(1, Ordering::Relaxed);
        let slots = collected(count, (0..count).rev().map(|number| Slot { memory: id, number }))?;
        Ok((SlotMemory { first, stride, count, id, _own: own }, slots))
    }

    /// The address of a slot. Reads there must be synchronised with the owner's writes.
    pub fn address(&self, slot: &Slot) -> NonNull<u8> {
        assert!(slot.memory == self.id && slot.number < self.count, "a slot of another memory");
        // SAFETY: the slot is in this memory.
        unsafe { self.first.add(slot.number.saturating_mul(self.stride)) }
    }

    /// A slot's bytes, for changes. Their content is undefined.
    pub fn bytes<'a>(&'a self, slot: &'a mut Slot) -> &'a mut [u8] {
        // SAFETY: the bytes exist, and can only be reached through this borrowed slot. Their content does not
        // matter: memory from C counts as initialised here.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot).as_ptr(), self.stride) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_bytes_of_its_own() {
        let stride = SlotMemory::stride(65).unwrap();
        assert_eq!((stride, SlotMemory::stride(0).unwrap()), (128, 64));
        let (memory, mut slots) = SlotMemory::allocate(stride, 9).unwrap();
        for (at, slot) in slots.iter_mut().enumerate() {
            assert_eq!(memory.address(slot).addr().get() % 64, 0);
            memory.bytes(slot).fill(at as u8);
        }
        for (at, slot) in slots.iter_mut().enumerate() {
            assert!(memory.bytes(slot) == [at as u8; 128]);
        }
        assert!(SlotMemory::stride(usize::MAX).is_err() && SlotMemory::allocate(usize::MAX, 2).is_err());
        let (other, _) = SlotMemory::allocate(stride, 9).unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| other.address(&slots[0])));
        assert!(outcome.is_err(), "a slot belongs to one memory");
    }

    #[test]
    fn the_callers_memory_is_used_where_it_is() {
        let mut own = AlignedBuffer::zeroed(256).unwrap();
        let first = NonNull::from(own.as_mut_slice()).cast::<u8>();
        // SAFETY: it has this many bytes, and they are only read after the slots are gone.
        let (memory, mut slots) = unsafe { SlotMemory::of_caller(first, 128, 2) }.unwrap();
        slots.iter_mut().for_each(|slot| memory.bytes(slot).fill(7));
        assert!(slots.iter().any(|slot| memory.address(slot) == first));
        drop((memory, slots));
        assert!(own.as_slice() == [7; 256]);
        // SAFETY: the result is not used.
        assert!(unsafe { SlotMemory::of_caller(first.add(1), 64, 1) }.is_err());
    }
}
