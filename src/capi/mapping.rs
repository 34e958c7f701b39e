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

/// Borrows all bytes of a part as they are stored: to register the mapping with a device, to lock it in
/// memory, or to send the file.
///
/// ptr: receives a pointer, at a page border if the file was opened by path. zt_component_info.offset counts
/// from it. size: receives the bytes; may be NULL. The bytes are read-only, except in ZT_MODE_PRIVATE.
/// Returns ZT_ERROR_NOT_MAPPABLE if the part is neither mapped nor in memory.
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
