//! Edits of the existing objects of a file that is appended to.

use crate::capi::arg;
use crate::capi::finding::object::zt_object;
use crate::capi::handle_table::zt_file;
use crate::capi::status::zt_status;
use crate::capi::writing::writer::{copied_name, with_writer, zt_writer};
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
    with_writer(writer, |writer| {
        // SAFETY: name has name_length bytes, or ends in a NUL if that is 0.
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
    with_writer(writer, |writer| {
        // SAFETY: as for zt_write_remove.
        let name = unsafe { arg::sized_text(name, name_length, "name")? };
        // SAFETY: likewise.
        writer.rename_object(name, unsafe { arg::sized_text(new_name, new_name_length, "new_name")? })
    })
}

/// Makes an open zTensor 2 file a shard of the zTensor 2 file that is written. Its bytes are read for their
/// XXH3. Add its objects with zt_write_link.
///
/// name, name_length: 1 to 64 letters, digits, ".", "_" and "-", not beginning with ".". Readers look for
/// shard NAME of STEM.zt as STEM-NAME.zt beside it. file: may be closed when its objects are linked. Objects
/// of its own shards cannot be linked.
/// Returns ZT_ERROR_UNSUPPORTED if either file is not zTensor 2, for an append, and for an invalid name;
/// ZT_ERROR_EXISTS if the name is taken; ZT_ERROR_LIMIT above 65,536 shards; ZT_ERROR_INVALID_ARGUMENT in
/// canonical form; ZT_ERROR_STATE if an object is open or the writer has failed; ZT_ERROR_CANCELLED,
/// ZT_ERROR_IO. Spec 2 section 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_shard(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    file: Option<&zt_file>,
) -> zt_status {
    with_writer(writer, |writer| {
        let file = arg::required(file, "file")?.file();
        // SAFETY: name has name_length bytes, or ends in a NUL if that is 0.
        writer.add_shard(unsafe { arg::sized_text(name, name_length, "name")? }, file)
    })
}

/// Adds an object of a shard: its shape, format, attributes and digests; the bytes stay in the shard.
///
/// object: of the handle that was given to zt_write_shard. new_name: NULL for the object's name.
/// Returns ZT_ERROR_INVALID_ARGUMENT if its file is not a shard, ZT_ERROR_UNSUPPORTED if a component is in a
/// shard of that file, ZT_ERROR_EXISTS if the name is taken, ZT_ERROR_STATE if an object is open or the
/// writer has failed. Spec 2 section 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_link(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    new_name: *const c_char,
    new_name_length: usize,
) -> zt_status {
    with_writer(writer, |writer| {
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: new_name has new_name_length bytes, or ends in a NUL if that is 0.
        let name = unsafe { copied_name(&object, new_name, new_name_length)? };
        writer.link(&object, name)
    })
}
