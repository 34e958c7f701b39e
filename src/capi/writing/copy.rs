//! Copies objects into a writer, possibly with another encoding, digest or dtype. Copies the attributes of a
//! file.

use crate::capi::arg;
use crate::capi::finding::object::zt_object;
use crate::capi::handle_table::zt_file;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype, zt_encoding, zt_type};
use crate::capi::writing::options::{self, zt_digest};
use crate::capi::writing::writer::{copied_name, with_writer, zt_writer};
use crate::writer::Recode;
use std::ffi::c_char;

/// How to copy an object.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_copy_options {
    /// sizeof(zt_copy_options)
    pub struct_size: usize,
    /// The name of the copy; NULL for the object's name.
    pub name: *const c_char,
    /// Bytes of the name; 0 if it is NUL-ended.
    pub name_length: usize,
    /// The encoding; 0 keeps the encoding of each component.
    pub encoding: zt_encoding,
    /// The digest; 0 for the kind that each component has, or the writer's option if it has none.
    pub digest: zt_digest,
    /// Converts floats, also f8 and quantized ones, to dense f64, f32, f16 or bf16; 0 keeps them.
    pub dtype: zt_dtype,
    /// Quantizes dense floats to the blocks that ggml's C makes: ZT_TYPE_GGUF_Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,
    /// IQ4_NL, MXFP4, TQ1_0 or TQ2_0. ZT_TYPE_NONE to keep them. Not together with dtype.
    pub r#type: zt_type,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct!(zt_copy_options: name, name_length, encoding, digest, dtype, r#type);

/// Copies an object of an open file of any container. Stored bytes are copied with their digests and
/// attributes if the options and the version allow it. Else they are decoded and encoded again, in pieces.
///
/// options: NULL for a copy under the same name. Blocks of GGUF get the attributes "elems_per_block" and
/// "block_bytes". Objects that share bytes (tied weights) share them in the copy, too.
/// The object is checked first (the rules of zt_verify, digests, checksums) and copied then, so its bytes are
/// read twice. If the check fails, nothing is written, and the writer goes on. zt_write_options.allow_damaged
/// copies damaged bytes.
/// Returns ZT_ERROR_DIGEST_MISMATCH or ZT_ERROR_CORRUPT if the object is damaged; ZT_ERROR_UNSUPPORTED if the
/// version cannot represent it, its name is not UTF-8, or it has an unknown type of GGUF or big-endian
/// blocks. ZT_ERROR_LIMIT if options.dtype or type cannot hold a number,
/// ZT_ERROR_INVALID_ARGUMENT if a row is not whole blocks of type; else as zt_write_dense.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_copy(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    options: *const zt_copy_options,
) -> zt_status {
    with_writer(writer, |writer| {
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: options is NULL or has the size it gives.
        let options: zt_copy_options = unsafe { arg::options(options)? };
        // SAFETY: name has name_length bytes, or ends in a NUL if that is 0.
        let name = unsafe { copied_name(&object, options.name, options.name_length)? };
        let recode = Recode {
            encoding: types::encoding(options.encoding)?,
            digest: options::digest(options.digest)?,
            floats: if options.dtype == 0 { None } else { Some(types::dtype(options.dtype)?) },
            lossy: false,
            blocks: types::logical(options.r#type)?,
        };
        writer.copy_as(object, name, &recode)
    })
}

/// Replaces all attributes of the file by those of an open file. If that file has another container, it adds
/// the attribute "ztensor.origin": zt convert makes the original file of it again (docs/formats.md). Returns
/// ZT_ERROR_STATE if the writer has failed, ZT_ERROR_UNSUPPORTED if the version has no attributes of the
/// file.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_copy_attributes(
    writer: Option<&mut zt_writer>,
    file: Option<&zt_file>,
) -> zt_status {
    with_writer(writer, |writer| writer.copy_attributes(arg::required(file, "file")?.file()))
}
