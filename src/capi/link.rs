//! Files that become shards of the one that is written, and objects whose bytes stay in them.

use super::arg;
use super::guard::guard;
use super::handle_table::zt_file;
use super::object::zt_object;
use super::status::zt_status;
use super::writer::{copied_name, open, zt_writer};
use std::ffi::c_char;

/// Makes an open file of zTensor 2 a shard of the file of zTensor 2 that is written: its name, its size and the XXH3 of
/// all of its bytes, which are read for that, go into the table of shards. No object is added: zt_write_link does.
///
/// name, name_length: 1 to 64 letters, digits, ".", "_" and "-", the first no "."; NUL-ended if name_length is 0; not NULL.
/// Readers look for the shard NAME of STEM.zt as STEM-NAME.zt next to it. file: not NULL; one file, as zt_open opens
/// it, or a root, of whose own shards no object can be linked. It may be closed once its objects are linked.
/// Returns ZT_ERROR_UNSUPPORTED if the version that is written or the file is not zTensor 2, of an append, and of a
/// name that no shard has (zt_last_error_rule: ShardName); ZT_ERROR_EXISTS if a shard of that name is there;
/// ZT_ERROR_LIMIT if there are 65,536; ZT_ERROR_INVALID_ARGUMENT in canonical form; ZT_ERROR_STATE if an object is
/// open or the writer has failed; ZT_ERROR_CANCELLED if progress stops it; ZT_ERROR_IO.
/// Threads: one at a time for writer, any for file. Spec 2 section 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_shard(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    file: Option<&zt_file>,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        let file = arg::required(file, "file")?.file();
        // SAFETY: "NUL-ended if name_length is 0".
        writer.add_shard(unsafe { arg::sized_text(name, name_length, "name")? }, file)
    })
}

/// Adds an object of a file that zt_write_shard made a shard, with its shape, format, attributes and digests; its
/// bytes stay where they are. Files of several shards, and overlays whose objects are partly those of a base model, are
/// made of such objects and others.
///
/// object: of the very handle that was made a shard; not NULL. If that was made several, of the first. new_name: NULL
/// for the same name. new_name_length: its bytes; 0 if it is NUL-ended.
/// Returns ZT_ERROR_INVALID_ARGUMENT if its file was not made a shard, ZT_ERROR_UNSUPPORTED if a component is in a shard
/// of that file, ZT_ERROR_EXISTS if the name is taken, ZT_ERROR_STATE if an object is open or the writer has failed.
/// Threads: one at a time for writer, any for object. Spec 2 section 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_link(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    new_name: *const c_char,
    new_name_length: usize,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: "its bytes; 0 if it is NUL-ended".
        let name = unsafe { copied_name(&object, new_name, new_name_length)? };
        writer.link(&object, name)
    })
}
