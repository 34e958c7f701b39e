//! A growing table of plain entries. A large table is on huge pages: small pages are mapped one by one when
//! they are touched. With huge pages, a file with 100,000 objects opens 1.7 times as fast. The standard
//! library's `Vec` has no stable way to choose its memory.

use super::buffer::{AlignedBuffer, ALIGNMENT};
use super::huge_pages::HUGE_PAGE;
use crate::error::{Error, Result};
use std::fmt::{Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Contiguous entries that do not need to be dropped.
pub struct HugeVec<T: Copy> {
    /// The address of the first entry; dangling if there is no memory.
    first: NonNull<T>,
    filled: usize,
    capacity: usize,
    /// Owns the memory at `first`.
    memory: Option<AlignedBuffer>,
}

// SAFETY: it owns its entries like a vector.
unsafe impl<T: Copy + Send> Send for HugeVec<T> {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl<T: Copy + Sync> Sync for HugeVec<T> {}

impl<T: Copy> HugeVec<T> {
    const SIZE: usize = {
        assert!(size_of::<T>() > 0 && align_of::<T>() <= ALIGNMENT, "an entry is aligned in such memory");
        size_of::<T>()
    };

    /// How many entries fit in its memory.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Reserves memory for `more` entries. If the table has to grow, at least doubles it.
    pub fn try_reserve(&mut self, more: usize) -> Result<()> {
        match self.capacity.saturating_sub(self.filled) >= more {
            true => Ok(()),
            false => self.try_reserve_exact(more.max(self.capacity).max(4)),
        }
    }

    /// Reserves memory for `more` entries, and for few others.
    pub fn try_reserve_exact(&mut self, more: usize) -> Result<()> {
        if self.capacity.saturating_sub(self.filled) >= more {
            return Ok(());
        }
        let size = self.filled.checked_add(more).and_then(|n| n.checked_mul(Self::SIZE)).and_then(|size| {
            // If at least half of a huge page is filled, use a whole one.
            let halves = size > HUGE_PAGE && size % HUGE_PAGE >= HUGE_PAGE / 2;
            if halves {
                size.checked_next_multiple_of(HUGE_PAGE)
            } else {
                Some(size)
            }
        });
        let mut memory = AlignedBuffer::zeroed(size.ok_or_else(|| Error::out_of_memory(usize::MAX))?)?;
        let capacity = memory.as_slice().len() / Self::SIZE;
        let first = NonNull::from(memory.as_mut_slice()).cast::<T>();
        // SAFETY: both have space for this many entries, are aligned for them, and do not overlap.
        unsafe { first.copy_from_nonoverlapping(self.first, self.filled) };
        (self.first, self.capacity, self.memory) = (first, capacity, Some(memory));
        Ok(())
    }

    /// Appends an entry. Cannot fail if memory was reserved.
    #[inline(always)]
    pub fn push(&mut self, entry: T) -> Result<()> {
        if self.filled >= self.capacity {
            self.try_reserve(1)?;
        }
        // SAFETY: the table owns aligned space for one more entry after the filled ones.
        unsafe { self.first.add(self.filled).write(entry) };
        self.filled = self.filled.saturating_add(1);
        Ok(())
    }

    /// Appends entries. Cannot fail if memory was reserved.
    #[inline]
    pub fn extend(&mut self, entries: &[T]) -> Result<()> {
        self.extend_joined([entries])
    }

    /// Appends the entries of several slices, in order. Cannot fail if memory was reserved.
    #[inline(always)]
    pub fn extend_joined<const SLICES: usize>(&mut self, slices: [&[T]; SLICES]) -> Result<()> {
        let count = slices.iter().map(|entries| entries.len()).fold(0, usize::saturating_add);
        if self.capacity.saturating_sub(self.filled) < count {
            self.try_reserve(count)?;
        }
        let mut end = self.filled;
        for entries in slices {
            // SAFETY: the table owns space for all of them after the filled ones. The borrowed slices cannot
            // be there.
            unsafe {
                NonNull::from(entries).cast().copy_to_nonoverlapping(self.first.add(end), entries.len())
            };
            end = end.saturating_add(entries.len());
        }
        self.filled = end;
        Ok(())
    }

    /// Returns unused memory to the system, if that needs no copy. Returns whether it did.
    pub fn shrink(&mut self) -> bool {
        let size = self.filled.saturating_mul(Self::SIZE);
        let Some(memory) = self.memory.as_mut() else { return false };
        let done = memory.shrink(size);
        if done {
            (self.first, self.capacity) = (NonNull::from(memory.as_mut_slice()).cast(), self.filled);
        }
        done
    }

    /// Appends `count` copies of an entry. Cannot fail if memory was reserved.
    pub fn extend_filled(&mut self, count: usize, entry: T) -> Result<()> {
        if self.capacity.saturating_sub(self.filled) < count {
            self.try_reserve(count)?;
        }
        let (first, end) = (self.first, self.filled.saturating_add(count));
        // SAFETY: the table owns aligned space for this many entries after the filled ones.
        (self.filled..end).for_each(|at| unsafe { first.add(at).write(entry) });
        self.filled = end;
        Ok(())
    }

    /// Removes everything after the first `count` entries.
    pub fn truncate(&mut self, count: usize) {
        self.filled = self.filled.min(count);
    }
}

impl<T: Copy> Deref for HugeVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: this many contiguous entries were written, in memory that the table owns. An empty table
        // has an aligned pointer, which is enough for an empty slice.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.filled) }
    }
}

impl<T: Copy> DerefMut for HugeVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nothing else uses the table.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.filled) }
    }
}

impl<T: Copy> Default for HugeVec<T> {
    fn default() -> Self {
        HugeVec { first: NonNull::dangling(), filled: 0, capacity: 0, memory: None }
    }
}

impl<T: Copy + Debug> Debug for HugeVec<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Like real entries: fields of several widths, with padding between them.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Entry(u64, Option<u8>, u32);

    fn entry(n: usize) -> Entry {
        Entry(n as u64, u8::try_from(n % 300).ok(), u32::MAX - n as u32)
    }

    #[test]
    fn entries_are_what_was_put_in_however_the_table_grew() {
        const COUNT: usize = 400_000; // more than four huge pages
        let reserve: [fn(&mut HugeVec<Entry>, usize); 4] = [
            |_, _| {},
            |t, n| t.try_reserve(n % 7).unwrap(),
            |t, n| t.try_reserve_exact(if n % 50_000 == 0 { 50_000 } else { 0 }).unwrap(),
            |t, n| t.try_reserve_exact(if n == 0 { COUNT } else { 1 }).unwrap(),
        ];
        for reserve in reserve {
            let mut vec = HugeVec::default();
            assert!(vec.is_empty() && vec.capacity() == 0);
            for n in 0..COUNT {
                reserve(&mut vec, n);
                vec.push(entry(n)).unwrap();
                assert!(vec.len() == n + 1 && vec.capacity() > n);
            }
            assert!(vec.iter().enumerate().all(|(n, found)| *found == entry(n)));
            assert!(vec.capacity() * size_of::<Entry>() < 2 * COUNT * size_of::<Entry>() + HUGE_PAGE);
            vec[5] = entry(9);
            vec.truncate(6);
            vec.truncate(10);
            vec.push(entry(7)).unwrap();
            assert_eq!(vec[..], [0, 1, 2, 3, 4, 9, 7].map(entry));
            let (before, more) = (vec.len(), [entry(1), entry(2), entry(3)]);
            (0..1000).for_each(|n| vec.extend(&more[..n % 4]).unwrap());
            assert!(vec[before..].iter().eq((0..1000).flat_map(|n| &more[..n % 4])));
            let moved = std::thread::spawn(move || std::mem::take(&mut vec)).join().unwrap();
            assert_eq!(format!("{:?}", &moved[6]), format!("{:?}", entry(7)));
        }
    }

    #[test]
    fn a_table_that_shrinks_keeps_its_entries_and_grows_again() {
        for filled in [0, 1, 1000, HUGE_PAGE / 4, HUGE_PAGE + 5] {
            let mut vec = HugeVec::<u32>::default();
            vec.try_reserve_exact(3 * HUGE_PAGE).unwrap();
            let entries: Vec<u32> = (0..filled as u32).collect();
            vec.extend(&entries).unwrap();
            assert_eq!(vec.shrink(), cfg!(target_os = "linux"), "{filled}");
            assert!(vec[..] == entries && vec.capacity() >= filled && !vec.shrink());
            vec.extend_joined([&[7, 8], &[], &entries, &[9]]).unwrap();
            assert!(vec[..] == [&entries[..], &[7, 8], &entries, &[9]].concat());
        }
        assert!(!HugeVec::<u32>::default().shrink(), "there is nothing");
    }

    #[test]
    fn what_was_asked_for_exactly_is_at_most_half_a_huge_page_short() {
        for count in [1, 1000, HUGE_PAGE / 4, HUGE_PAGE / 4 + 1, HUGE_PAGE / 4 * 3 / 2, HUGE_PAGE / 4 * 7 / 4]
        {
            let mut vec = HugeVec::<u32>::default();
            vec.try_reserve_exact(count).unwrap();
            assert!((count..=count + HUGE_PAGE / 8).contains(&vec.capacity()), "{count}");
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error_and_leaves_the_table_as_it_was() {
        let mut vec = HugeVec::default();
        vec.push(entry(3)).unwrap();
        // With 32 bits, half of all addresses may be free, but no allocation is larger than that.
        for more in [usize::MAX, usize::MAX / size_of::<Entry>(), isize::MAX as usize / size_of::<Entry>()] {
            assert!((more as u128 + 1) * size_of::<Entry>() as u128 > isize::MAX as u128);
            assert!(vec.try_reserve_exact(more).is_err() && vec.try_reserve(more).is_err());
        }
        assert_eq!(vec[..], [entry(3)]);
    }
}
