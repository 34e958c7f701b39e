//! Changes of the objects that a file has to which is appended.

use super::arg;
use super::guard::guard;
use super::status::zt_status;
use super::writer::{open, zt_writer};
use std::ffi::c_char;

/// Removes an object of the file that zt_write_append opened. To replace an object, remove it and write
/// another of that name.
///
/// The edit takes effect in zt_write_finish. The object's bytes stay in the file as padding; copying to a new
/// file leaves them out.
/// Returns ZT_ERROR_NOT_FOUND if the file has no such object, ZT_ERROR_STATE if this writer wrote it, an
/// object is open, or the writer has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_remove(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: "name_length bytes, NUL-ended if that is 0".
        writer.remove_object(unsafe { arg::sized_text(name, name_length, "name")? })
    })
}

/// Renames an object of the file that zt_write_append opened; it keeps its place.
/// Returns ZT_ERROR_EXISTS if new_name is taken, ZT_ERROR_LIMIT if it exceeds 64 KiB, else as
/// zt_write_remove.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_rename(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    new_name: *const c_char,
    new_name_length: usize,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: as for zt_write_remove.
        let name = unsafe { arg::sized_text(name, name_length, "name")? };
        // SAFETY: likewise.
        writer.rename_object(name, unsafe { arg::sized_text(new_name, new_name_length, "new_name")? })
    })
}
