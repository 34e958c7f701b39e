//! Memory whose allocation can fail without aborting: zeroed bytes, with 64-byte alignment if they are
//! decoded; decoded components that are kept until the file is closed; a single value in a box.

use super::host::{HostAllocator, HostMemory};
use super::huge_pages::Pages;
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_map::{Entry, HashMap};
use std::alloc::{alloc, alloc_zeroed, Layout};
use std::ops::Range;

/// A cache line, which is also the alignment in the specifications.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The alignment of all such memory.
pub(super) const ALIGNMENT: usize = align_of::<Line>();

/// From this size on, memory comes directly from the system: its pages are already zero, and may be huge
/// pages.
const FROM_SYSTEM: usize = 1 << 20;

enum Backing {
    Heap(Vec<Line>),
    Host(HostMemory),
    System(Pages),
}

/// Zeroed memory at a multiple of 64 bytes.
pub struct AlignedBuffer {
    memory: Backing,
    size: usize,
}

impl AlignedBuffer {
    /// `size` zero bytes.
    pub fn zeroed(size: usize) -> Result<Self> {
        if size >= FROM_SYSTEM {
            return Ok(AlignedBuffer { memory: Backing::System(Pages::map(size)?), size });
        }
        let lines = size.div_ceil(size_of::<Line>());
        let mut heap: Vec<Line> = Vec::new();
        heap.try_reserve_exact(lines).map_err(|_| Error::out_of_memory(size))?;
        heap.resize(lines, Line([0; 64]));
        Ok(AlignedBuffer { memory: Backing::Heap(heap), size })
    }

    /// `size` bytes that will be filled and given to the caller. They come from the caller's allocator if
    /// there is one; then they are not zeroed.
    pub fn handed_out(size: usize, allocator: Option<HostAllocator>) -> Result<Self> {
        match allocator.filter(|_| size > 0) {
            None => AlignedBuffer::zeroed(size),
            Some(of) => Ok(AlignedBuffer { memory: Backing::Host(of.allocate(size, ALIGNMENT)?), size }),
        }
    }

    /// Keeps the first `size` bytes and returns the rest to the system, if that needs no copy. Returns
    /// whether it did.
    pub fn shrink(&mut self, size: usize) -> bool {
        let Backing::System(pages) = &mut self.memory else { return false };
        let done = pages.shrink(size);
        self.size = if done { size.min(self.size) } else { self.size };
        done
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.memory {
            Backing::System(pages) => pages.as_slice(),
            Backing::Host(memory) => memory.as_slice(),
            // SAFETY: `heap` owns `heap.len() * 64 >= size` initialised bytes, and every byte is a valid u8.
            Backing::Heap(heap) => unsafe { std::slice::from_raw_parts(heap.as_ptr().cast(), self.size) },
        }
    }

    /// The bytes, for changes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Backing::System(pages) => pages.as_mut_slice(),
            Backing::Host(memory) => memory.as_mut_slice(),
            // SAFETY: as above, and `&mut self` ensures that nothing else accesses them.
            Backing::Heap(heap) => unsafe {
                std::slice::from_raw_parts_mut(heap.as_mut_ptr().cast(), self.size)
            },
        }
    }
}

/// Zeroed bytes. The allocation may fail without aborting.
pub fn zeroed(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Error::out_of_memory(size))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// An empty vector with space for `count` items. The allocation may fail without aborting, here and below.
pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count)?;
    Ok(items)
}

/// A vector of these items, but not more than `most`.
pub fn collected<T>(most: usize, items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = with_capacity(most)?;
    all.extend(items.into_iter().take(most));
    Ok(all)
}

/// A copy of a slice.
pub fn copied<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut all = with_capacity(items.len())?;
    all.extend_from_slice(items);
    Ok(all)
}

/// `count` copies of an item.
pub fn filled<T: Clone>(item: T, count: usize) -> Result<Vec<T>> {
    let mut all = with_capacity(count)?;
    all.resize(count, item);
    Ok(all)
}

/// Slices as one vector, one after the other.
pub fn joined<const SLICES: usize>(slices: [&[u8]; SLICES]) -> Result<Vec<u8>> {
    let mut all = with_capacity(slices.iter().fold(0, |sum, slice| slice.len().saturating_add(sum)))?;
    slices.iter().for_each(|slice| all.extend_from_slice(slice));
    Ok(all)
}

/// A copy of a text.
pub fn owned_text(text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())?;
    copy.push_str(text);
    Ok(copy)
}

/// Adds an item.
#[inline]
pub fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    items.try_reserve(1)?;
    items.push(item);
    Ok(())
}

/// Adds copies of items.
pub fn append<T: Copy>(items: &mut Vec<T>, more: &[T]) -> Result<()> {
    items.try_reserve(more.len())?;
    items.extend_from_slice(more);
    Ok(())
}

/// Replaces the content by `size` bytes 0. Keeps the memory for the next time.
pub fn refill(bytes: &mut Vec<u8>, size: usize) -> Result<()> {
    bytes.clear();
    bytes.try_reserve(size)?;
    bytes.resize(size, 0);
    Ok(())
}

/// A size as `usize`, or an error if it does not fit.
pub fn in_memory(size: u64) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| fail!(Unsupported, "{size} bytes do not fit this process's address space"))
}

/// The bytes `range` of `bytes`; `None` if it exceeds them.
pub fn part<'b>(bytes: &'b [u8], range: &Range<u64>) -> Option<&'b [u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Removes the first `size` bytes from a slice and returns them.
pub fn take_front<'m>(slice: &mut &'m mut [u8], size: u64) -> Result<&'m mut [u8]> {
    let length = slice.len();
    let split = usize::try_from(size).ok().and_then(|size| std::mem::take(slice).split_at_mut_checked(size));
    let (front, rest) = split.ok_or_else(|| fail!(Internal, "{size} bytes are taken off {length}"))?;
    *slice = rest;
    Ok(front)
}

/// The largest multiple of `unit` up to `size`, but at least one unit.
pub fn whole_units(size: usize, unit: usize) -> usize {
    size.saturating_sub(size.checked_rem(unit).unwrap_or(0)).max(unit)
}

/// Like [`Box::new`], but fails if there is no memory. The box is a normal one, so it can become a `Box<dyn
/// ...>`.
pub fn try_box<T>(value: T) -> Result<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Ok(Box::new(value)); // does not allocate
    }
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc(layout) }.cast::<T>();
    if memory.is_null() {
        return Err(Error::out_of_memory(layout.size()));
    }
    // SAFETY: new memory from the global allocator with the layout of a `T`, which is what a box frees.
    unsafe {
        memory.write(value);
        Ok(Box::from_raw(memory))
    }
}

/// A type for which all zeros are a valid value.
///
/// # Safety
/// All zeros must be a valid value of the type.
pub unsafe trait OfZeros {}

// SAFETY: it has integers, arrays of integers, and an enum of one byte whose `Start` is 0. Its `new` also
// sets all of them to 0.
unsafe impl OfZeros for miniz_oxide::inflate::core::DecompressorOxide {}

/// Makes a value in its final place, so that it needs no stack, however large it is.
pub fn try_box_of_zeros<T: OfZeros>() -> Result<Box<T>> {
    const { assert!(size_of::<T>() > 0) };
    let layout = Layout::new::<T>();
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if memory.is_null() {
        return Err(Error::out_of_memory(layout.size()));
    }
    // SAFETY: new memory from the global allocator with the layout of a `T`, and all zeros are a valid `T`.
    Ok(unsafe { Box::from_raw(memory) })
}

/// Buffers by number. None is removed or changed before the cache is dropped.
pub struct DecodedCache {
    buffers: Mutex<HashMap<usize, AlignedBuffer, SeedableRandomState>>,
}

impl Default for DecodedCache {
    fn default() -> Self {
        DecodedCache { buffers: Mutex::new(HashMap::with_hasher(crate::hash::state())) }
    }
}

/// Borrows a buffer for as long as the cache is borrowed.
///
/// # Safety
/// `buffer` is in the cache that is borrowed for `'s`.
#[allow(unsafe_code)]
unsafe fn borrow<'s>(buffer: &AlignedBuffer) -> &'s [u8] {
    let bytes = buffer.as_slice();
    // SAFETY: a buffer's bytes are on the heap or in a mapping, so they do not move if the map moves the
    // buffer. Nothing in the cache is written, replaced or removed before the cache is dropped, which its
    // borrow for 's prevents.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

impl DecodedCache {
    /// The bytes with that number, if they exist.
    #[allow(unsafe_code)]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        // SAFETY: it is in this cache.
        self.buffers.lock().get(&number).map(|buffer| unsafe { borrow(buffer) })
    }

    /// Inserts a buffer. Returns the bytes with that number: of an earlier buffer, if there is one.
    #[allow(unsafe_code)]
    pub fn insert(&self, number: usize, buffer: AlignedBuffer) -> Result<&[u8]> {
        // A buffer that is not inserted is dropped after the lock is released, because it is a parameter.
        // Freeing it may call the caller's allocator.
        let mut buffers = self.buffers.lock();
        buffers.try_reserve(1).map_err(|_| fail!(OutOfMemory, "could not keep a decoded component"))?;
        let kept = match buffers.entry(number) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(free) => free.insert(buffer),
        };
        // SAFETY: it is in this cache.
        Ok(unsafe { borrow(kept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::huge_pages::HUGE_PAGE;
    use std::fmt::Debug;

    #[test]
    fn memory_is_aligned_zero_and_of_the_size_asked_for() {
        for size in [
            0,
            1,
            63,
            64,
            65,
            4096,
            FROM_SYSTEM - 1,
            FROM_SYSTEM,
            FROM_SYSTEM + 5,
            HUGE_PAGE,
            HUGE_PAGE + 7,
            3 * HUGE_PAGE - 1,
        ] {
            let mut b = AlignedBuffer::zeroed(size).unwrap();
            assert_eq!(b.as_slice().len(), size);
            assert_eq!(b.as_slice().as_ptr() as usize % 64, 0);
            assert!(b.as_slice().iter().all(|x| *x == 0));
            b.as_mut_slice().fill(7);
            assert!(b.as_slice().iter().all(|x| *x == 7));
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        assert!(AlignedBuffer::zeroed(isize::MAX as usize + 1).is_err());
        assert!(AlignedBuffer::zeroed(usize::MAX).is_err());
    }

    #[test]
    fn a_box_holds_its_value_and_drops_it_once() {
        let counted = std::sync::Arc::new(());
        let boxed = try_box((counted.clone(), [7_u64; 5])).unwrap();
        assert_eq!((boxed.1, std::sync::Arc::strong_count(&counted)), ([7; 5], 2));
        drop(boxed);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        let nothing: Box<dyn Debug> = try_box(()).unwrap();
        assert_eq!(format!("{nothing:?}"), "()");
    }
    #[test]
    fn a_box_of_zeros_may_be_larger_than_the_stack() {
        struct Large([u64; 512 << 10]);
        // SAFETY: integers.
        unsafe impl OfZeros for Large {}
        let make = || try_box_of_zeros::<Large>().unwrap().0.iter().all(|value| *value == 0);
        assert!(std::thread::Builder::new().stack_size(128 << 10).spawn(make).unwrap().join().unwrap());
    }

    #[test]
    fn what_is_borrowed_stays_when_more_is_cached() {
        let cache = DecodedCache::default();
        let filled = |size: usize, with: u8| {
            let mut buffer = AlignedBuffer::zeroed(size).unwrap();
            buffer.as_mut_slice().fill(with);
            buffer
        };
        let borrowed: Vec<&[u8]> =
            (0..200).map(|i| cache.insert(i, filled(i * 7, i as u8)).unwrap()).collect();
        assert_eq!(cache.insert(5, filled(3, 9)).unwrap(), [5; 35], "the first stays");
        for (i, bytes) in borrowed.iter().enumerate() {
            assert!(bytes.len() == i * 7 && bytes.iter().all(|b| *b == i as u8));
            assert_eq!(cache.get(i).unwrap().as_ptr(), bytes.as_ptr());
        }
        assert!(cache.get(200).is_none());
    }
}
