//! Copies into a writer: objects with another encoding, digest or dtype, and the attributes of a file.

use super::arg;
use super::guard::guard;
use super::handle_table::zt_file;
use super::object::zt_object;
use super::sized::sized_struct;
use super::status::zt_status;
use super::types::{self, zt_dtype, zt_encoding, zt_type};
use super::writer::{copied_name, open, zt_writer};
use super::writer_options::{self, zt_digest};
use crate::error::fail;
use crate::writer::Recode;
use std::ffi::c_char;

/// How to copy an object. All fields zero (but struct_size) copy it as it is stored, under its name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_copy_options {
    /// sizeof (zt_copy_options)
    pub struct_size: usize,
    /// The name of the copy, UTF-8; NULL for the object's name.
    pub name: *const c_char,
    /// Bytes of the name, which may hold a NUL then; 0 if it is NUL-ended.
    pub name_length: usize,
    /// The encoding; ZT_ENCODING_DEFAULT for the one that each component has.
    pub encoding: zt_encoding,
    /// The digest; ZT_DIGEST_DEFAULT for the kind that each component has, or the writer's if it has none.
    pub digest: zt_digest,
    /// The dtype of the data of a dense object of f64, f32, f16, bf16 or an f8 type; ZT_DTYPE_OTHER for the one that
    /// it has. If finite numbers would become infinite, the message gives the object and the count; to have them so,
    /// read with zt_read_request.lossy and write the result. A component of an unknown dtype or encoding stays as it is
    /// stored.
    pub dtype: zt_dtype,
    /// The logical type to convert to: ZT_TYPE_NONE, as this version converts to no other (ZT_ERROR_UNSUPPORTED).
    pub r#type: zt_type,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct!(zt_copy_options: name, name_length, encoding, digest, dtype, r#type);

/// Copies an object of an open file. Without options it is copied as it is stored: its bytes are not decoded, its digests
/// and attributes stay. If options ask for another encoding, digest or dtype, the bytes are decoded and encoded again, a
/// part at a time. What
/// the version to be written cannot represent as it stands is decoded and written anew, with a digest of the same
/// kind: big-endian data, bools of 0.1 that are neither 0 nor 1, sparse indices that are not u64 where 1.2 is written
/// or appended to, and, before 1.2, compressed bytes whose size neither a shape nor their frames give. Components
/// that are the same bytes of the file (tied weights) are read once for each, and share their bytes in the copy, too.
///
/// All of the object is checked, and what will be decoded is decoded once, before a byte is written: an object that
/// is refused leaves the writer as it was. The checks are also those of the source: digests, the CRC-32 of an archive's
/// member (of the whole member, once for all of its tensors), the checksums in compressed frames. Bytes that do not
/// agree are refused, or copied without a new digest if zt_write_options.allow_damaged is set. A component without a
/// digest gets the digest of the writer's options. So the bytes of the source are read twice.
/// object: of an open file of any container; not NULL. Blocks of GGUF get the attributes "elems_per_block" and
/// "block_bytes". options: NULL for a copy of the same name as it is stored; nothing is kept after the call.
/// Bools, bits behind the last element and the positions of sparse objects are checked as those of a new object are.
/// Returns ZT_ERROR_UNSUPPORTED if the version to be written cannot represent it (an unknown encoding in 0.1, an unknown
/// type in zTensor 2, whose elements nobody can read or check) or it
/// has a name that is no UTF-8, an unknown ggml type or big-endian blocks, ZT_ERROR_CORRUPT also for a negative index
/// that would become another number, ZT_ERROR_DIGEST_MISMATCH or ZT_ERROR_CORRUPT if the bytes do not agree with a
/// digest or checksum, ZT_ERROR_LIMIT if finite numbers would become infinite in options.dtype, else as zt_write_dense and
/// zt_component_read.
/// Threads: one at a time for writer, any for object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_copy(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    options: *const zt_copy_options,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: options NULL or of the size it says.
        let options: zt_copy_options = unsafe { arg::options(options)? };
        // SAFETY: "0 if it is NUL-ended".
        let name = unsafe { copied_name(&object, options.name, options.name_length)? };
        let recode = Recode {
            encoding: types::encoding(options.encoding)?,
            digest: writer_options::digest(options.digest)?,
            floats: if options.dtype == 0 { None } else { Some(types::dtype(options.dtype)?) },
            lossy: false,
        };
        if options.r#type != 0 {
            types::logical(options.r#type)?;
            return Err(fail!(
                Unsupported,
                "zt_copy_options.type: elements cannot be converted to a logical type"
            ));
        }
        if recode.encoding.is_none() && recode.digest.is_none() && recode.floats.is_none() {
            return writer.copy(object, name);
        }
        writer.copy_as(object, name, &recode)
    })
}

/// Sets all attributes of the file to those of an open file; of another container also "ztensor.origin", by which
/// zt convert makes that file of the copy again (docs/formats.md).
/// file: not NULL. Attributes that were set before are gone.
/// Returns ZT_ERROR_STATE if the writer has failed, ZT_ERROR_UNSUPPORTED if the version has no attributes of the file.
/// Threads: one at a time for writer, any for file.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_copy_attributes(
    writer: Option<&mut zt_writer>,
    file: Option<&zt_file>,
) -> zt_status {
    guard(|| open(writer)?.copy_attributes(arg::required(file, "file")?.file()))
}
