//! Names of the numbers of types, formats and encodings.

use super::arg;
use super::guard::{guard, guard_value};
use super::status::zt_status;
use super::types::{self, zt_dtype, zt_encoding, zt_format, zt_type};
use crate::error::fail;
use crate::model::dtype::{Dtype, Logical};
use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The name of a dtype in spec 1.2, "bf16"; NULL for ZT_DTYPE_OTHER and numbers that are none.
///
/// The string lives as long as the library.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_dtype_name(dtype: zt_dtype) -> *const c_char {
    guard_value(null(), || types::dtype(dtype).map_or(null(), |d| static_name(d.name())))
}

/// The dtype of a name in spec 1.2, such as "bf16"; 0.1's names ("bfloat16") are taken too.
///
/// name: NUL-ended, not NULL. dtype: receives the number, untouched on failure, not NULL.
/// Returns ZT_ERROR_NOT_FOUND for an unknown name, ZT_ERROR_INVALID_ARGUMENT for NULL.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_dtype_from_name(
    name: *const c_char,
    dtype: Option<&mut MaybeUninit<zt_dtype>>,
) -> zt_status {
    guard(|| {
        let dtype = arg::required(dtype, "dtype")?;
        // SAFETY: "name: NUL-ended".
        let name = unsafe { arg::text(name, "name")? };
        let found = Dtype::from_name(name).or_else(|| Dtype::from_old_name(name));
        let found = found.ok_or_else(|| fail!(NotFound, "there is no dtype {name:?}"))?;
        dtype.write(found as zt_dtype);
        Ok(())
    })
}

/// Bytes of one element of a dtype; 0 for ZT_DTYPE_OTHER and numbers that this version does not know.
///
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_dtype_size(dtype: zt_dtype) -> usize {
    guard_value(0, || types::dtype(dtype).map_or(0, Dtype::size))
}

/// The name of a logical type in spec 1.2, "f8_e4m3fn"; NULL for ZT_TYPE_NONE and ZT_TYPE_OTHER.
///
/// The string lives as long as the library.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_type_name(r#type: zt_type) -> *const c_char {
    guard_value(null(), || match types::logical(r#type) {
        Ok(Some(logical)) => static_name(logical.name()),
        _ => null(),
    })
}

/// The logical type of a name in spec 1.2, such as "f8_e4m3fn".
///
/// name: NUL-ended, not NULL. type: receives the number, untouched on failure, not NULL.
/// Returns ZT_ERROR_NOT_FOUND for an unknown name, ZT_ERROR_INVALID_ARGUMENT for NULL.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_type_from_name(
    name: *const c_char,
    r#type: Option<&mut MaybeUninit<zt_type>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(r#type, "type")?;
        // SAFETY: "name: NUL-ended".
        let name = unsafe { arg::text(name, "name")? };
        let found = Logical::from_name(name);
        let found = found.ok_or_else(|| fail!(NotFound, "there is no logical type {name:?}"))?;
        out.write(found as zt_type);
        Ok(())
    })
}

/// The name of a format in the spec, "sparse_csr"; NULL for ZT_FORMAT_OTHER.
///
/// The string lives as long as the library.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_format_name(format: zt_format) -> *const c_char {
    guard_value(null(), || match types::format_name(format) {
        Ok(Some(name)) => static_name(name),
        _ => null(),
    })
}

/// The name of an encoding in the spec, "zstd"; NULL for ZT_ENCODING_DEFAULT and ZT_ENCODING_OTHER.
///
/// The string lives as long as the library.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub extern "C" fn zt_encoding_name(encoding: zt_encoding) -> *const c_char {
    match encoding {
        1 => c"raw".as_ptr(),
        2 => c"zstd".as_ptr(),
        _ => null(),
    }
}

/// The spec's names, NUL-ended.
const STATIC_NAMES: [&CStr; 23] = [
    c"f64",
    c"f32",
    c"f16",
    c"bf16",
    c"i64",
    c"i32",
    c"i16",
    c"i8",
    c"u64",
    c"u32",
    c"u16",
    c"u8",
    c"bool",
    c"f8_e4m3fn",
    c"f8_e5m2",
    c"f8_e4m3fnuz",
    c"f8_e5m2fnuz",
    c"complex64",
    c"complex128",
    c"dense",
    c"sparse_csr",
    c"sparse_coo",
    c"quantized_group",
];

/// One of the spec's names as C wants it; NULL if it is none.
pub(super) fn static_name(name: &str) -> *const c_char {
    let found = STATIC_NAMES.iter().find(|c| c.to_bytes() == name.as_bytes());
    found.map_or(null(), |c| c.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_spec_is_there_for_c() {
        for d in Dtype::ALL {
            assert!(!static_name(d.name()).is_null(), "{}", d.name());
        }
        for t in Logical::ALL {
            assert!(!static_name(t.name()).is_null(), "{}", t.name());
        }
    }
}
