//! Copies into a writer: objects with another encoding, digest or dtype, and the attributes of a file.

use super::arg;
use super::guard::guard;
use super::handle_table::zt_file;
use super::object::zt_object;
use super::status::zt_status;
use super::types::{self, zt_dtype, zt_encoding};
use super::writer::{copied_name, open, zt_writer};
use super::writer_options::{self, zt_digest};
use crate::writer::Recode;
use std::ffi::c_char;

/// Copies an object as zt_write_copy does, with another encoding, digest or dtype: the bytes are decoded and
/// encoded again, a part at a time.
///
/// encoding: ZT_ENCODING_DEFAULT for the one that each component has. digest: ZT_DIGEST_DEFAULT for the kind that
/// it has, or the writer's if it has none.
/// floats: the dtype of the data of a dense object of f64, f32, f16, bf16 or an f8 type; ZT_DTYPE_OTHER for the one that
/// it has. If finite numbers would become infinite in it, the call is ZT_ERROR_LIMIT, and the message gives the object
/// and the count; to have them so, read with zt_read_request.lossy and write the result. A component of an unknown
/// dtype or encoding stays as it is stored. All else: as zt_write_copy.
/// Threads: one at a time for writer, any for object. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_copy_as(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    new_name: *const c_char,
    new_name_length: usize,
    encoding: zt_encoding,
    digest: zt_digest,
    floats: zt_dtype,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: "All else: as zt_write_copy".
        let name = unsafe { copied_name(&object, new_name, new_name_length)? };
        let floats = if floats == 0 { None } else { Some(types::dtype(floats)?) };
        let recode = Recode {
            encoding: types::encoding(encoding)?,
            digest: writer_options::digest(digest)?,
            floats,
            lossy: false,
        };
        writer.copy_as(object, name, &recode)
    })
}

/// Sets all attributes of the file to those of an open file; of another container also "ztensor.origin", by which
/// zt convert makes that file of the copy again (docs/formats.md).
/// file: not NULL. Attributes that were set before are gone.
/// Returns ZT_ERROR_STATE if the writer has failed, ZT_ERROR_UNSUPPORTED if the version has no attributes of the file.
/// Threads: one at a time for writer, any for file. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_copy_attributes(
    writer: Option<&mut zt_writer>,
    file: Option<&zt_file>,
) -> zt_status {
    guard(|| open(writer)?.copy_attributes(arg::required(file, "file")?.file()))
}
