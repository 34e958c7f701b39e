//! Names of the numbers of types, formats and encodings.

use crate::capi::arg;
use crate::capi::guard::guard;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{
    self as types, zt_dtype, zt_encoding, zt_format, zt_type, zt_type_value,
};
use crate::error::fail;
use crate::model::dtype::{ggml_type_from_number, ggml_type_number, Dtype, Logical};
use crate::model::manifest::{Container, Encoding, Format};
use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The name of a dtype, "bf16"; NULL if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn zt_dtype_name(dtype: zt_dtype) -> *const c_char {
    pointer(Dtype::from_number(dtype).map(Dtype::c_name))
}

/// The dtype of a name such as "bf16" or, of 0.1, "bfloat16". Returns ZT_ERROR_NOT_FOUND for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_dtype_from_name(
    name: *const c_char,
    dtype: Option<&mut MaybeUninit<zt_dtype>>,
) -> zt_status {
    guard(|| {
        arg::put(dtype, "dtype", || {
            // SAFETY: name ends in a NUL.
            let name = unsafe { arg::text(name, "name")? };
            let found = Dtype::from_name(name).or_else(|| Dtype::from_old_name(name));
            found.map(Dtype::number).ok_or_else(|| fail!(NotFound, "no dtype is called {name:?}"))
        })
    })
}

/// Bytes of one element; 0 for ZT_DTYPE_OTHER and unknown numbers.
#[unsafe(no_mangle)]
pub extern "C" fn zt_dtype_size(dtype: zt_dtype) -> usize {
    Dtype::from_number(dtype).map_or(0, Dtype::size)
}

/// The name of a logical type, "f8_e4m3fn", "gguf.q4_0"; NULL if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn zt_type_name(r#type: zt_type) -> *const c_char {
    pointer(Logical::from_number(r#type).map(Logical::c_name))
}

/// The logical type of a name. Returns ZT_ERROR_NOT_FOUND for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_type_from_name(
    name: *const c_char,
    r#type: Option<&mut MaybeUninit<zt_type>>,
) -> zt_status {
    guard(|| {
        arg::put(r#type, "type", || {
            // SAFETY: name ends in a NUL.
            let name = unsafe { arg::text(name, "name")? };
            let found = Logical::from_name(name).map(Logical::number);
            found.ok_or_else(|| fail!(NotFound, "no logical type is called {name:?}"))
        })
    })
}

/// How many elements of a type lie in how many bytes: 2 in 1 for ZT_TYPE_F4_E2M1, 32 in 18 for
/// ZT_TYPE_GGUF_Q4_0, 1 in 8 for ZT_TYPE_COMPLEX64. elements, bytes: either may be NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT for ZT_TYPE_NONE, ZT_TYPE_OTHER and unknown numbers.
#[unsafe(no_mangle)]
pub extern "C" fn zt_type_block(
    r#type: zt_type,
    elements: Option<&mut MaybeUninit<usize>>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let none = || arg::unknown("zt_type that has a block", r#type);
        let block = types::logical(r#type)?.ok_or_else(none)?.block();
        for (out, number) in [(elements, block.elements), (bytes, block.bytes)] {
            arg::put_optional(out, usize::try_from(number).unwrap_or(usize::MAX));
        }
        Ok(())
    })
}

/// ggml's number (enum ggml_type) of a type: 2 for ZT_TYPE_GGUF_Q4_0, 0 for ZT_DTYPE_F32 with ZT_TYPE_NONE.
/// Returns ZT_ERROR_NOT_FOUND if ggml has no such type.
#[unsafe(no_mangle)]
pub extern "C" fn zt_type_ggml(
    dtype: zt_dtype,
    r#type: zt_type,
    ggml_type: Option<&mut MaybeUninit<i32>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(ggml_type, "ggml_type")?;
        let (dtype, logical) = (types::dtype(dtype)?, types::logical(r#type)?);
        let of_dtype = logical.is_none_or(|logical| logical.dtype() == dtype);
        let number =
            ggml_type_number(dtype, logical).filter(|_| of_dtype).and_then(|n| i32::try_from(n).ok());
        let name = logical.map_or(dtype.name(), Logical::name);
        out.write(
            number
                .ok_or_else(|| fail!(NotFound, "ggml has no type for {name} stored as {}", dtype.name()))?,
        );
        Ok(())
    })
}

/// The dtype and type of ggml's number; either may be NULL. Returns ZT_ERROR_NOT_FOUND for a number that the
/// library does not know.
#[unsafe(no_mangle)]
pub extern "C" fn zt_type_from_ggml(
    ggml_type: i32,
    dtype: Option<&mut MaybeUninit<zt_dtype>>,
    r#type: Option<&mut MaybeUninit<zt_type>>,
) -> zt_status {
    guard(|| {
        let found = u32::try_from(ggml_type).ok().and_then(ggml_type_from_number);
        let (stored, logical) = found.ok_or_else(|| fail!(NotFound, "ggml type {ggml_type} is unknown"))?;
        arg::put_optional(dtype, stored.number());
        arg::put_optional(r#type, logical.map_or(zt_type_value::ZT_TYPE_NONE as zt_type, Logical::number));
        Ok(())
    })
}

/// The name of a format, "sparse_csr"; NULL for ZT_FORMAT_OTHER and ZT_FORMAT_BLOCKS.
#[unsafe(no_mangle)]
pub extern "C" fn zt_format_name(format: zt_format) -> *const c_char {
    pointer(types::format(format).and_then(Format::c_name))
}

/// The name of an encoding, "zstd"; NULL for ZT_ENCODING_DEFAULT and ZT_ENCODING_OTHER.
#[unsafe(no_mangle)]
pub extern "C" fn zt_encoding_name(encoding: zt_encoding) -> *const c_char {
    pointer(Encoding::from_number(encoding).and_then(Encoding::c_name))
}

/// A name for C; NULL for `None`.
fn pointer(name: Option<&'static CStr>) -> *const c_char {
    name.map_or(null(), CStr::as_ptr)
}

/// How a file is laid out.
pub type zt_container = i32;

/// The values of zt_container, detected by content. docs/formats.md lists what is read.
#[repr(C)]
pub enum zt_container_value {
    /// No file.
    ZT_CONTAINER_NONE = 0,
}

/// The name of a container, "safetensors"; NULL for ZT_CONTAINER_NONE and unknown numbers.
#[unsafe(no_mangle)]
pub extern "C" fn zt_container_name(container: zt_container) -> *const c_char {
    pointer(Container::from_number(container).map(Container::c_name))
}
