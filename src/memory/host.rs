//! Memory from the caller's allocator.

use crate::error::{fail, Error, Result};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Allocates this many bytes with this alignment; NULL on failure.
pub type AllocateCallback =
    unsafe extern "C" fn(context: *mut c_void, size: usize, alignment: usize) -> *mut c_void;
/// Frees memory from the other callback, with the same size and alignment.
pub type FreeCallback =
    unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, size: usize, alignment: usize);

/// The caller's functions. Memory from them keeps a copy.
#[derive(Clone, Copy, Debug)]
pub struct HostAllocator {
    context: *mut c_void,
    allocate: AllocateCallback,
    free: FreeCallback,
}

// SAFETY: the contract of `new`; this type never dereferences the pointer.
unsafe impl Send for HostAllocator {}
// SAFETY: as above.
unsafe impl Sync for HostAllocator {}

impl HostAllocator {
    /// # Safety
    /// Any thread may call both with `context`, several at once, as long as a copy of this or its memory
    /// exists. Neither unwinds. Nothing else uses the result of `allocate` until `free`.
    pub unsafe fn new(context: *mut c_void, allocate: AllocateCallback, free: FreeCallback) -> HostAllocator {
        HostAllocator { context, allocate, free }
    }

    /// `size` bytes, at least one, at a multiple of `alignment`. Their content is undefined.
    pub(super) fn allocate(self, size: usize, alignment: usize) -> Result<HostMemory> {
        // SAFETY: the contract of `new`.
        let memory = unsafe { (self.allocate)(self.context, size, alignment) };
        let memory = NonNull::new(memory.cast::<u8>()).ok_or_else(|| Error::out_of_memory(size))?;
        let memory = HostMemory { memory, size, alignment, of: self };
        match memory.memory.addr().get() % alignment {
            0 => Ok(memory),
            _ => Err(fail!(
                InvalidArgument,
                "the caller's allocator gave {:p}, which is not a multiple of {alignment}",
                memory.memory
            )),
        }
    }
}

/// Memory from the caller's allocator, which frees it.
pub(super) struct HostMemory {
    memory: NonNull<u8>,
    size: usize,
    alignment: usize,
    of: HostAllocator,
}

// SAFETY: it owns its bytes, and any thread may call the allocator.
unsafe impl Send for HostMemory {}
// SAFETY: through a shared reference, they are only read.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: it owns `size` bytes. Their first content does not matter: they are written before they are
        // used, and memory from C counts as initialised here.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.size) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` ensures that nothing else accesses them.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.size) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the contract of `HostAllocator::new`. It is freed once, with its size and alignment.
        unsafe { (self.of.free)(self.of.context, self.memory.as_ptr().cast(), self.size, self.alignment) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::memory::AlignedBuffer;
    use std::alloc::{alloc, dealloc, Layout};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The allocations in use, how far each is shifted from its correct alignment, and whether there is any
    /// memory.
    #[derive(Default)]
    struct Host {
        held: AtomicUsize,
        shift: usize,
        is_empty: bool,
    }

    unsafe extern "C" fn allocate(host: *mut c_void, size: usize, alignment: usize) -> *mut c_void {
        // SAFETY: `allocator_of` was given this.
        let host = unsafe { &*host.cast::<Host>() };
        if host.is_empty {
            return std::ptr::null_mut();
        }
        host.held.fetch_add(size, Ordering::Relaxed);
        let layout = Layout::from_size_align(size + host.shift, alignment).unwrap();
        // SAFETY: the layout is not empty, and has space for the shift.
        unsafe { alloc(layout).add(host.shift).cast() }
    }

    unsafe extern "C" fn free(host: *mut c_void, memory: *mut c_void, size: usize, alignment: usize) {
        // SAFETY: `allocator_of` was given this.
        let host = unsafe { &*host.cast::<Host>() };
        host.held.fetch_sub(size, Ordering::Relaxed);
        let layout = Layout::from_size_align(size + host.shift, alignment).unwrap();
        // SAFETY: the same layout and shift as for the allocation.
        unsafe { dealloc(memory.cast::<u8>().sub(host.shift), layout) }
    }

    fn allocator_of(host: &Host) -> Option<HostAllocator> {
        // SAFETY: `host` lives longer than everything that is made with it.
        Some(unsafe { HostAllocator::new(std::ptr::from_ref(host).cast_mut().cast(), allocate, free) })
    }

    #[test]
    fn memory_goes_back_to_where_it_came_from() {
        let host = Host::default();
        let held = || host.held.load(Ordering::Relaxed);
        let mut one = AlignedBuffer::handed_out(5, allocator_of(&host)).unwrap();
        let two = AlignedBuffer::handed_out(3 << 20, allocator_of(&host)).unwrap();
        one.as_mut_slice().copy_from_slice(b"bytes");
        assert_eq!((one.as_slice(), two.as_slice().len(), held()), (&b"bytes"[..], 3 << 20, 5 + (3 << 20)));
        drop(one);
        assert_eq!(held(), 3 << 20);
        assert_eq!(std::thread::spawn(move || two.as_slice().len()).join().unwrap(), 3 << 20);
        assert_eq!(held(), 0);
        let none = AlignedBuffer::handed_out(0, allocator_of(&host)).unwrap();
        assert!(none.as_slice().is_empty() && none.as_slice().as_ptr().addr() % 64 == 0);
        assert!(AlignedBuffer::handed_out(7, None).unwrap().as_slice() == [0; 7]);
    }

    #[test]
    fn no_memory_and_memory_at_the_wrong_place_are_errors() {
        let none = Host { is_empty: true, ..Host::default() };
        let outcome = AlignedBuffer::handed_out(9, allocator_of(&none));
        assert_eq!(outcome.err().map(|e| e.cause()), Some(Cause::OutOfMemory));
        let moved = Host { shift: 8, ..Host::default() };
        let outcome = AlignedBuffer::handed_out(9, allocator_of(&moved));
        assert_eq!(outcome.err().map(|e| e.cause()), Some(Cause::InvalidArgument));
        assert_eq!(moved.held.load(Ordering::Relaxed), 0, "it has it back");
    }
}
