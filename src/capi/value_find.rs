//! Keys that are given with their length, and what a container states of a number.

use super::arg;
use super::guard::guard_value;
use super::types::{dtype_number, zt_dtype};
use super::value_record::{address, at as record, zt_value};
use std::ffi::c_char;
use std::ptr::null;

/// What a map has under a text key that is given with its length, so that it may hold a NUL.
///
/// key, length: that many bytes; (NULL, 0) is the empty key. Returns as zt_value_find.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_find_n(
    value: *const zt_value,
    key: *const c_char,
    length: usize,
) -> *const zt_value {
    // SAFETY: "a value".
    let Some(value) = (unsafe { record(value) }) else { return null() };
    guard_value(null(), || {
        // SAFETY: "that many bytes".
        let Ok(key) = (unsafe { arg::slice(key.cast::<u8>(), length, "key") }) else { return null() };
        std::str::from_utf8(key).map_or(null(), |key| address(value.get(key)))
    })
}

/// The dtype that the container states for a number, or for the elements of an array: GGUF does, CBOR does not. Of a
/// bool ZT_DTYPE_BOOL.
///
/// Returns 0 if none is stated, for other kinds, and for NULL.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_dtype(value: *const zt_value) -> zt_dtype {
    // SAFETY: "a value".
    unsafe { record(value) }.map_or(0, |value| dtype_number(value.dtype()))
}
