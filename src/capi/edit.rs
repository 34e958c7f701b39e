//! Changes of the objects that a file has to which is appended.

use super::arg;
use super::guard::guard;
use super::status::zt_status;
use super::writer::{open, zt_writer};
use std::ffi::c_char;

/// Takes away an object of the file that zt_write_append opened. Its name is free then: to replace an object, remove
/// it and write another one of that name, in any way. The new one stands behind the others.
///
/// An edit is part of the append: the file is as it was until zt_write_finish, and a crash leaves the old file or
/// the new one. What is not edited stays as it is encoded. The bytes of a removed object stay in the file, where
/// ZT_VERIFY_PADDING counts them; copying to a new file leaves them out.
/// name, name_length: UTF-8 of name_length bytes, NUL-ended if that is 0; not NULL.
/// Returns ZT_ERROR_NOT_FOUND if the file has no such object, ZT_ERROR_STATE if this writer wrote it, if an object is
/// open or the writer has failed, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time.
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

/// Gives an object of the file that zt_write_append opened another name; it keeps its place among the others. May be
/// called again, so that two objects can exchange their names by a third one.
/// name, name_length, new_name, new_name_length: as for zt_write_remove.
/// Returns ZT_ERROR_EXISTS if new_name is taken, ZT_ERROR_LIMIT if it is over 64 KiB, else as zt_write_remove.
/// Threads: one at a time.
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
