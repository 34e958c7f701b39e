//! Memory in evenly spaced rows, with bytes between them that are another's.

use std::marker::PhantomData;
use std::ptr::NonNull;

/// Rows that are to be filled, one after the other.
pub struct RowsMut<'a> {
    next: NonNull<u8>,
    left: usize,
    length: usize,
    stride: usize,
    _borrowed: PhantomData<&'a mut [u8]>,
}

// SAFETY: lent bytes, as a mutable slice is.
unsafe impl Send for RowsMut<'_> {}
// SAFETY: a shared reference gives sizes and addresses, never bytes.
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// `count` rows of `length` bytes, each `stride` bytes behind the one before.
    ///
    /// # Safety
    /// The rows are memory that is initialised and lent for `'a`, no byte of them is another's, and
    /// `stride >= length`.
    pub unsafe fn new(base: NonNull<u8>, count: usize, length: usize, stride: usize) -> RowsMut<'a> {
        RowsMut { next: base, left: count, length, stride, _borrowed: PhantomData }
    }

    /// Bytes of a row.
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many are left.
    pub fn row_count(&self) -> usize {
        self.left
    }

    /// Bytes of all that are left.
    pub fn size(&self) -> u64 {
        (self.left as u64).saturating_mul(self.length as u64)
    }

    /// Where the rows begin.
    pub fn addresses(&self) -> impl Iterator<Item = usize> {
        let (base, stride) = (self.next.as_ptr().expose_provenance(), self.stride);
        (0..self.left).map(move |row| base.saturating_add(row.saturating_mul(stride)))
    }
}

impl<'a> Iterator for RowsMut<'a> {
    type Item = &'a mut [u8];

    fn next(&mut self) -> Option<&'a mut [u8]> {
        self.left = self.left.checked_sub(1)?;
        let row = self.next;
        if self.left > 0 {
            // SAFETY: the next row, which is there.
            self.next = unsafe { row.add(self.stride) };
        }
        // SAFETY: a row that is lent, and given out once.
        Some(unsafe { std::slice::from_raw_parts_mut(row.as_ptr(), self.length) })
    }
}
