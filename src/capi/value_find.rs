//! Values as JSON text, keys that are given with their length, and what a container states of a number.

use super::arg;
use super::guard::{guard, guard_value};
use super::status::zt_status;
use super::types::{dtype_number, zt_dtype};
use super::value_record::{address, at as record, required, zt_value};
use crate::error::fail;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::null;

/// Writes a value as compact JSON. What JSON lacks becomes {"$bytes":"hex"}, {"$float":"nan"} (or "inf",
/// "-inf"), {"$tag":[number,value]}, {"$undefined":true}, {"$simple":number} and, for keys that are not text,
/// {"$map":[[key,value],...]}. Integers are written in full, also above 2^53.
///
/// buf, size: receives the text and a NUL, cut at size; (NULL, 0) only asks for the size. needed: receives
/// the bytes of the whole text with its NUL; may be NULL.
/// Returns ZT_ERROR_BUFFER_SIZE if size is too small, but ZT_OK for (NULL, 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_to_json(
    value: *const zt_value,
    buf: *mut c_char,
    size: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        // SAFETY: "a value".
        let value = unsafe { required(value)? };
        let only_asks = buf.is_null() && size == 0;
        // SAFETY: "buf, size".
        let buf = unsafe { arg::bytes_mut(buf.cast(), size, "buf")? };
        let text = crate::container::json::write(value)?;
        let whole = text.len().saturating_add(1);
        if let Some(needed) = needed {
            needed.write(whole);
        }
        if only_asks {
            return Ok(());
        }
        let space = text.len().min(size.saturating_sub(1));
        let fits = (0..=space).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        buf.get_mut(..fits)
            .unwrap_or_default()
            .copy_from_slice(text.as_bytes().get(..fits).unwrap_or_default());
        if let Some(end) = buf.get_mut(fits) {
            *end = 0;
        }
        if whole > size {
            return Err(fail!(BufferSize, "the JSON text takes {whole} bytes, the buffer has {size}"));
        }
        Ok(())
    })
}

/// As zt_value_find, for a key of length bytes.
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

/// The dtype that the container states for a number or an array's elements (GGUF does), ZT_DTYPE_BOOL for a
/// bool, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_dtype(value: *const zt_value) -> zt_dtype {
    // SAFETY: "a value".
    unsafe { record(value) }.map_or(0, |value| dtype_number(value.dtype()))
}
