//! The memory that requests fill: bytes, rows with foreign bytes between them, and the slots of a ring, which
//! are filled again after use.

use crate::error::{fail, Result};
use crate::memory::AlignedBuffer;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The memory that a request fills.
pub enum Destination<'a> {
    /// The request fills the front of these bytes.
    Bytes(&'a mut [u8]),
    /// Evenly spaced rows.
    Rows(RowsMut<'a>),
}

/// Rows that are filled one after the other.
pub struct RowsMut<'a> {
    next: NonNull<u8>,
    left: usize,
    length: usize,
    stride: usize,
    _borrowed: PhantomData<&'a mut [u8]>,
}

// SAFETY: the rows are borrowed bytes, like a mutable slice.
unsafe impl Send for RowsMut<'_> {}
// SAFETY: a shared reference gives sizes and addresses, never bytes.
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// Makes `count` rows of `length` bytes. A row begins `stride` bytes behind the start of the row before.
    ///
    /// # Safety
    /// For all of `'a`, the rows are initialised memory that nothing else accesses. `stride >= length`.
    pub unsafe fn new(base: NonNull<u8>, count: usize, length: usize, stride: usize) -> RowsMut<'a> {
        RowsMut { next: base, left: count, length, stride, _borrowed: PhantomData }
    }

    /// Bytes of a row.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes from the start of a row to the start of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many rows are left.
    pub fn row_count(&self) -> usize {
        self.left
    }

    /// The size of all rows that are left.
    pub fn size(&self) -> u64 {
        (self.left as u64).saturating_mul(self.length as u64)
    }

    /// The address of the first row that is left.
    pub fn address(&self) -> usize {
        self.next.as_ptr().expose_provenance()
    }
}

impl<'a> Iterator for RowsMut<'a> {
    type Item = &'a mut [u8];

    fn next(&mut self) -> Option<&'a mut [u8]> {
        self.left = self.left.checked_sub(1)?;
        let row = self.next;
        if self.left > 0 {
            // SAFETY: the next row, which exists.
            self.next = unsafe { row.add(self.stride) };
        }
        // SAFETY: the row is borrowed for `'a` and is returned only once.
        Some(unsafe { std::slice::from_raw_parts_mut(row.as_ptr(), self.length) })
    }
}

/// The size of a slot is a multiple of this.
pub(super) const PAGE: usize = 4096;

/// The memory of all slots.
pub struct Ring<'a> {
    base: NonNull<u8>,
    slot_size: usize,
    slots: usize,
    /// The slots, if the library allocated them. Unused as long as `base` is set.
    _own: Option<AlignedBuffer>,
    _given: PhantomData<&'a mut [u8]>,
}

// SAFETY: only `slice_mut` reaches the bytes, and its callers ensure that each byte is used by one thread.
unsafe impl Send for Ring<'_> {}
// SAFETY: as above.
unsafe impl Sync for Ring<'_> {}

impl<'a> Ring<'a> {
    /// How many bytes alignment may cost for each request.
    pub fn padding_per_request() -> u64 {
        PAGE as u64
    }

    /// A ring with slots that the library allocates.
    pub fn new(slot_size: usize, slots: usize) -> Result<Ring<'a>> {
        let too_large = || fail!(InvalidArgument, "{slots} slots of {slot_size} bytes do not fit in memory");
        let slot_size = slot_size.checked_next_multiple_of(PAGE).ok_or_else(too_large)?;
        let mut own = AlignedBuffer::zeroed(slot_size.checked_mul(slots).ok_or_else(too_large)?)?;
        let base = NonNull::from(own.as_mut_slice()).cast();
        Ok(Ring { base, slot_size, slots, _own: Some(own), _given: PhantomData })
    }

    /// A ring with slots in the caller's memory.
    pub fn of(memory: &'a mut [u8], slot_size: usize) -> Ring<'a> {
        let slots = memory.len().checked_div(slot_size).unwrap_or(0);
        let base = NonNull::from(memory).cast();
        Ring { base, slot_size, slots, _own: None, _given: PhantomData }
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    pub fn slot_size(&self) -> usize {
        self.slot_size
    }

    /// The address of a byte of a slot, if `size` bytes from there on are in the slot.
    pub fn address(&self, slot: usize, at: usize, size: usize) -> Option<NonNull<u8>> {
        let end = at.checked_add(size)?;
        let start = slot.checked_mul(self.slot_size)?.checked_add(at)?;
        // SAFETY: within the memory, because the slot exists and the bytes end inside it.
        (slot < self.slots && end <= self.slot_size).then(|| unsafe { self.base.add(start) })
    }

    /// Some bytes of a slot, which the caller fills.
    ///
    /// # Safety
    /// While this slice exists, there is no other reference to any of its bytes. The slice is dropped before
    /// the ring.
    pub unsafe fn slice_mut(&self, slot: usize, at: usize, size: usize) -> Option<&'a mut [u8]> {
        let start = self.address(slot, at, size)?;
        // SAFETY: the memory has that many bytes from there on. It is initialised: memory from C counts as
        // such. The caller ensures that there is no other reference.
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), size) })
    }
}
