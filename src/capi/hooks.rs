//! Functions of the host's that the library calls for memory and on threads.

use super::arg;
use super::sized::sized_struct;
use crate::error::{fail, Result};
use crate::memory::HostAllocator;
use crate::threads::ThreadHooks;
use std::ffi::c_void;

/// Where memory comes from that is handed out: the bytes of zt_component_load's buffers, of DLPack tensors and what
/// views decode. The functions are called with context, from any thread, several at once, never under a lock of the
/// library; until the last zt_close, and the end of every buffer and DLPack tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_allocator {
    /// sizeof(zt_allocator)
    pub struct_size: usize,
    /// Passed to both functions; may be NULL.
    pub context: *mut c_void,
    /// Returns size bytes, never 0 of them, at a multiple of alignment, a power of two; they need not be zero. NULL
    /// if there are none: the call is ZT_ERROR_OUT_OF_MEMORY; ZT_ERROR_INVALID_ARGUMENT at another place. Not NULL.
    pub allocate:
        Option<unsafe extern "C" fn(context: *mut c_void, size: usize, alignment: usize) -> *mut c_void>,
    /// Takes back what allocate returned for the same size and alignment. Not NULL.
    pub free: Option<
        unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, size: usize, alignment: usize),
    >,
}

/// Functions that are called on each thread that the library starts, never on the caller's: to bind it to processors,
/// to name it, to set up a device. Called with context, several at once, never under a lock of the library, as long as
/// the file, every buffer of it, or the writer is there.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_thread_hooks {
    /// sizeof(zt_thread_hooks)
    pub struct_size: usize,
    /// Passed to both functions; may be NULL.
    pub context: *mut c_void,
    /// The first that the thread does; index: its number among the threads of one call, from 0. May be NULL.
    pub on_start: Option<unsafe extern "C" fn(context: *mut c_void, index: u32)>,
    /// The last that the thread does, with the same index; may be NULL.
    pub on_end: Option<unsafe extern "C" fn(context: *mut c_void, index: u32)>,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_allocator: context, allocate, free);

// SAFETY: as above.
sized_struct!(zt_thread_hooks: context, on_start, on_end);

/// The host's allocator; none for NULL.
///
/// # Safety
/// `allocator` is NULL or of the size it says, and its functions are as its declaration says.
pub(super) unsafe fn allocator(allocator: *const zt_allocator) -> Result<Option<HostAllocator>> {
    if allocator.is_null() {
        return Ok(None);
    }
    // SAFETY: passed on.
    let given = unsafe { arg::options(allocator)? };
    let (Some(allocate), Some(free)) = (given.allocate, given.free) else {
        return Err(fail!(InvalidArgument, "zt_allocator.allocate or zt_allocator.free is NULL"));
    };
    // SAFETY: as declared: from any thread, until nothing of it is left.
    Ok(Some(unsafe { HostAllocator::new(given.context, allocate, free) }))
}

/// The host's functions for threads; for NULL those that do nothing.
///
/// # Safety
/// As [`allocator`].
pub(super) unsafe fn thread_hooks(hooks: *const zt_thread_hooks) -> Result<ThreadHooks> {
    // SAFETY: passed on; the functions as declared.
    unsafe {
        let given = arg::options(hooks)?;
        Ok(ThreadHooks::new(given.context, given.on_start, given.on_end))
    }
}
