//! How a file's bytes are reached, and all of them at once.

use super::arg;
use super::guard::guard;
use super::mode::{self, zt_mode};
use super::open::zt_file;
use super::status::zt_status;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// The file's mode, never ZT_MODE_AUTO: you get the mode that AUTO chose. ZT_MODE_MAP for a file in memory;
/// ZT_MODE_READ for a zt_source and for a model whose parts differ.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_mode(file: Option<&zt_file>) -> zt_mode {
    file.map_or(0, |f| mode::mode_number(f.file().mode()))
}

/// Lends all bytes of a part of the file, from its first to its last, as they are stored: its mapping, or the memory
/// that zt_open_memory was given. zt_component_info.offset counts from the first of them. For registering a whole mapping
/// with a device, advice of one's own, or sending a file as it is.
///
/// part: 0; of a model, below zt_part_count. ptr: receives a pointer that lives until the last zt_close; at a
/// page border if the file was opened by path, else as zt_open_fd and zt_open_memory say. size: receives
/// the bytes, as many as zt_part_info.size; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_NOT_MAPPABLE if it is neither mapped nor in memory, ZT_ERROR_INVALID_ARGUMENT if there is no such part.
/// The bytes are read-only, writing to them is a fault, but see ZT_MODE_PRIVATE; see ZT_MODE_MAP for what a file that
/// changes under us does. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_bytes(
    file: Option<&zt_file>,
    part: usize,
    ptr: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let file = arg::required(file, "file")?;
        let ptr = arg::required(ptr, "ptr")?;
        let bytes = arg::open_part(file.file(), part)?.borrow()?;
        ptr.write(bytes.as_ptr().cast());
        if let Some(size) = size {
            size.write(bytes.len() as u64);
        }
        Ok(())
    })
}
