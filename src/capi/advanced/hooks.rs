//! Functions of the calling program: to allocate memory, and to run on the library's threads.

use crate::capi::arg;
use crate::capi::sized::sized_struct;
use crate::error::{fail, Result};
use crate::memory::HostAllocator;
use crate::threads::ThreadHooks;
use std::ffi::c_void;

/// Allocates memory that is handed out: buffers of zt_component_load, DLPack tensors, decoded views. Any
/// thread may call the functions, several at once, never under a lock of the library. They are used until the
/// last zt_close and the end of every buffer and DLPack tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_allocator {
    /// sizeof(zt_allocator)
    pub struct_size: usize,
    /// Passed to both functions.
    pub context: *mut c_void,
    /// Returns size bytes (at least 1) at a multiple of alignment, a power of two. The bytes need not be
    /// zero. NULL is ZT_ERROR_OUT_OF_MEMORY, a wrong alignment ZT_ERROR_INVALID_ARGUMENT.
    pub allocate:
        Option<unsafe extern "C" fn(context: *mut c_void, size: usize, alignment: usize) -> *mut c_void>,
    /// Frees what allocate returned for the same size and alignment.
    pub free: Option<
        unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, size: usize, alignment: usize),
    >,
}

/// Functions that run on each thread that the library starts, to name it, bind it to processors or set up a
/// device. Several threads may call them at once, never under a lock of the library. They are used as long as
/// the file, its buffers or the writer exist.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_thread_hooks {
    /// sizeof(zt_thread_hooks)
    pub struct_size: usize,
    /// Passed to both functions.
    pub context: *mut c_void,
    /// Called first on the thread; index numbers the threads of one call from 0. May be NULL.
    pub on_start: Option<unsafe extern "C" fn(context: *mut c_void, index: u32)>,
    /// Called last on the thread, with the same index. May be NULL.
    pub on_end: Option<unsafe extern "C" fn(context: *mut c_void, index: u32)>,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct! {
    zt_allocator: context, allocate, free;
    zt_thread_hooks: context, on_start, on_end;
}

/// The caller's allocator; `None` for NULL.
///
/// # Safety
/// `allocator` is NULL or has the size it gives, and its functions are as its declaration demands.
pub(in crate::capi) unsafe fn allocator(allocator: *const zt_allocator) -> Result<Option<HostAllocator>> {
    if allocator.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller ensures this.
    let given = unsafe { arg::options(allocator)? };
    let (Some(allocate), Some(free)) = (given.allocate, given.free) else {
        return Err(fail!(InvalidArgument, "zt_allocator.allocate or zt_allocator.free is NULL"));
    };
    // SAFETY: as declared, any thread may call the functions until all their memory is freed.
    Ok(Some(unsafe { HostAllocator::new(given.context, allocate, free) }))
}

/// The caller's functions for threads. For NULL, functions that do nothing.
///
/// # Safety
/// As for [`allocator`].
pub(in crate::capi) unsafe fn thread_hooks(hooks: *const zt_thread_hooks) -> Result<ThreadHooks> {
    // SAFETY: the caller ensures this; the functions are as declared.
    unsafe {
        let given = arg::options(hooks)?;
        Ok(ThreadHooks::new(given.context, given.on_start, given.on_end))
    }
}
