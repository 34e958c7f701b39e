//! Attribute values: the CBOR data model, read-only.

use self::zt_value_kind_value as kind;
use super::arg;
use super::guard::{guard, guard_value};
use super::status::zt_status;
use super::types::{self, zt_dtype};
use super::value_record::{address, at as record, required, zt_value};
use crate::error::{fail, Error, Result};
use crate::model::numbers;
use crate::model::value::{Array, Kind, Value};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// What kind of thing an attribute value is: one of the ZT_VALUE_ values. RFC 7049 section 2.
pub type zt_value_kind = i32;

/// The values of zt_value_kind.
#[repr(C)]
pub enum zt_value_kind_value {
    /// null; also what zt_value_get_kind says of NULL.
    ZT_VALUE_KIND_NULL = 0,
    /// true or false.
    ZT_VALUE_KIND_BOOL = 1,
    /// An integer from -2^64 to 2^64-1.
    ZT_VALUE_KIND_INT = 2,
    /// A float.
    ZT_VALUE_KIND_FLOAT = 3,
    /// UTF-8 text.
    ZT_VALUE_KIND_STRING = 4,
    /// A byte string.
    ZT_VALUE_KIND_BYTES = 5,
    /// A sequence of values.
    ZT_VALUE_KIND_ARRAY = 6,
    /// Pairs of key and value; keys may be of any kind.
    ZT_VALUE_KIND_MAP = 7,
    /// A number and one value, at index 0.
    ZT_VALUE_KIND_TAG = 8,
    /// CBOR's undefined, or a simple value without a meaning of its own.
    ZT_VALUE_KIND_OTHER = 9,
}

#[cold]
fn not_a(kind: &str) -> Error {
    fail!(InvalidArgument, "the value is no {kind}, or does not fit")
}

/// What kind of thing a value is; ZT_VALUE_KIND_NULL for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_kind(value: *const zt_value) -> zt_value_kind {
    // SAFETY: "a value".
    (match unsafe { record(value) }.map(Value::kind) {
        None | Some(Kind::Null) => kind::ZT_VALUE_KIND_NULL,
        Some(Kind::Bool(_)) => kind::ZT_VALUE_KIND_BOOL,
        Some(Kind::Unsigned(_) | Kind::Negative(_)) => kind::ZT_VALUE_KIND_INT,
        Some(Kind::Float(_)) => kind::ZT_VALUE_KIND_FLOAT,
        Some(Kind::Text(_)) => kind::ZT_VALUE_KIND_STRING,
        Some(Kind::Bytes(_)) => kind::ZT_VALUE_KIND_BYTES,
        Some(Kind::Array(_)) => kind::ZT_VALUE_KIND_ARRAY,
        Some(Kind::Map(_)) => kind::ZT_VALUE_KIND_MAP,
        Some(Kind::Tag(..)) => kind::ZT_VALUE_KIND_TAG,
        Some(Kind::Simple(_)) => kind::ZT_VALUE_KIND_OTHER,
    }) as zt_value_kind
}

/// The truth of a bool.
/// out: receives 0 or 1, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_bool(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<i32>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(out, "out")?;
        // SAFETY: "a value".
        match unsafe { required(value)? }.kind() {
            Kind::Bool(truth) => out.write(i32::from(truth)),
            _ => return Err(not_a("bool")),
        };
        Ok(())
    })
}

/// The number of an integer that fits an int64_t.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind or does not fit, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_i64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<i64>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(out, "out")?;
        // SAFETY: "a value".
        out.write(unsafe { required(value)? }.as_i64().ok_or_else(|| not_a("int64_t"))?);
        Ok(())
    })
}

/// The number of an integer that fits a uint64_t.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind or does not fit, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_u64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(out, "out")?;
        // SAFETY: "a value".
        out.write(unsafe { required(value)? }.as_u64().ok_or_else(|| not_a("uint64_t"))?);
        Ok(())
    })
}

/// The number of a float, or of an integer, which is rounded if it has to be.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
#[allow(clippy::cast_precision_loss, reason = "said in the doc")]
pub unsafe extern "C" fn zt_value_get_f64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<f64>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(out, "out")?;
        // SAFETY: "a value".
        match unsafe { required(value)? }.kind() {
            Kind::Float(v) => out.write(v),
            Kind::Unsigned(v) => out.write(v as f64),
            // Of 128 bits, so that it is rounded once.
            Kind::Negative(n) => out.write(-(u128::from(n).saturating_add(1) as f64)),
            _ => return Err(not_a("number")),
        };
        Ok(())
    })
}

/// The text of a string, UTF-8 and NUL-ended; it may hold a NUL itself.
/// text: receives a string that lives until the last zt_close. length: receives its bytes without the NUL at the end;
/// may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_string(
    value: *const zt_value,
    text: Option<&mut MaybeUninit<*const c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(text, "text")?;
        // SAFETY: "a value".
        let Kind::Text(text) = unsafe { required(value)? }.kind() else { return Err(not_a("string")) };
        out.write(text.as_c_bytes().as_ptr().cast());
        if let Some(length) = length {
            length.write(text.as_bytes().len());
        }
        Ok(())
    })
}

/// The content of a byte string.
/// bytes: receives a pointer that lives until the last zt_close; a NUL stands behind them. size: receives the number
/// of bytes; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_bytes(
    value: *const zt_value,
    bytes: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(bytes, "bytes")?;
        // SAFETY: "a value".
        let Kind::Bytes(bytes) = unsafe { required(value)? }.kind() else { return Err(not_a("byte string")) };
        out.write(bytes.as_ptr().cast());
        if let Some(size) = size {
            size.write(bytes.len());
        }
        Ok(())
    })
}

/// The numbers of an array, all at once, or one alone: the content of a dtype, or an error.
///
/// value: an array, or a number or bool, which is as an array of one. dtype: of the elements in dst. BOOL takes
/// bools, integers take integers in their range, floats take floats and integers that they hold without rounding.
/// What zt_value_dtype says gives each element bit for bit.
/// dst: receives zt_value_count elements, of a number or bool one, in the host's byte order, of any alignment;
/// untouched on failure. count: elements that dst has room for.
/// Returns ZT_ERROR_BUFFER_SIZE if count is smaller than that, ZT_ERROR_INVALID_ARGUMENT, with the element in the
/// message, if one is another thing or would be rounded, and for other kinds.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_read_numbers(
    value: *const zt_value,
    dtype: zt_dtype,
    dst: *mut c_void,
    count: usize,
) -> zt_status {
    guard(|| {
        let dtype = types::dtype(dtype)?;
        // SAFETY: "a value".
        let found = unsafe { required(value)? };
        let items = match found.kind() {
            // SAFETY: "a value".
            Kind::Array(_) => unsafe { array_that_fits(value, count)? }.len(),
            Kind::Bool(_) | Kind::Unsigned(_) | Kind::Negative(_) | Kind::Float(_) if count == 0 => {
                return Err(fail!(BufferSize, "the value is a number, there is room for none"));
            }
            Kind::Bool(_) | Kind::Unsigned(_) | Kind::Negative(_) | Kind::Float(_) => 1,
            _ => return Err(not_a("array of numbers, and no number")),
        };
        // What fits in memory is below what would overflow.
        // SAFETY: "dst: room for count elements".
        let dst = unsafe { arg::bytes_mut(dst, items.saturating_mul(dtype.size()), "dst")? };
        numbers::read(found, dtype, dst)
    })
}

/// The texts of an array of strings, all at once. A byte string is given as it is: GGUF files have vocabularies with
/// some tokens that are no UTF-8.
///
/// strings: receives zt_value_count pointers, each to bytes with a NUL behind them, that live until the last zt_close.
/// lengths: receives their bytes without that NUL; may be NULL. Both are untouched on failure. count: elements that
/// each has room for.
/// Returns ZT_ERROR_BUFFER_SIZE if count is smaller than zt_value_count, ZT_ERROR_INVALID_ARGUMENT if an item is no
/// string, and for other kinds.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_read_strings(
    value: *const zt_value,
    strings: *mut *const c_char,
    lengths: *mut usize,
    count: usize,
) -> zt_status {
    guard(|| {
        // SAFETY: "a value".
        let items = unsafe { array_that_fits(value, count)? };
        // SAFETY: "strings: room for count elements".
        let strings = unsafe { arg::output_slice(strings, items.len(), "strings")? };
        let counted = if lengths.is_null() { 0 } else { items.len() };
        // SAFETY: "lengths: room for count elements".
        let lengths = unsafe { arg::output_slice(lengths, counted, "lengths")? };
        if let Some(at) = items.iter().position(|item| bytes_with_nul(item).is_none()) {
            return Err(fail!(InvalidArgument, "element {at} of the array is no string"));
        }
        let mut lengths = lengths.iter_mut();
        for (place, item) in strings.iter_mut().zip(items.iter()) {
            let Some((first, count)) = bytes_with_nul(item) else { continue };
            place.write(first.cast());
            if let Some(length) = lengths.next() {
                length.write(count);
            }
        }
        Ok(())
    })
}

/// Where the bytes of a text or a byte string are, behind which a NUL is, and how many.
fn bytes_with_nul(value: Value<'_>) -> Option<(*const u8, usize)> {
    if let Some(text) = value.text() {
        return Some((text.as_c_bytes().as_ptr(), text.as_bytes().len()));
    }
    match value.kind() {
        Kind::Bytes(bytes) => Some((bytes.as_ptr(), bytes.len())),
        _ => None,
    }
}

/// The items of an array, which have to fit `count` elements of output.
///
/// # Safety
/// As [`required`].
unsafe fn array_that_fits<'a>(value: *const zt_value, count: usize) -> Result<Array<'a>> {
    // SAFETY: passed on.
    let Kind::Array(items) = unsafe { required(value)? }.kind() else { return Err(not_a("array")) };
    match items.len() <= count {
        true => Ok(items),
        false => Err(fail!(BufferSize, "the array has {} elements, there is room for {count}", items.len())),
    }
}

/// The number of a tag; the tagged value is zt_value_at (value, 0).
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_tag(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(out, "out")?;
        // SAFETY: "a value".
        let Kind::Tag(tag, _) = unsafe { required(value)? }.kind() else { return Err(not_a("tag")) };
        out.write(tag);
        Ok(())
    })
}

/// Number of items of an array, of pairs of a map, 1 for a tag; 0 for all else, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_count(value: *const zt_value) -> usize {
    // SAFETY: "a value".
    match unsafe { record(value) }.map(Value::kind) {
        Some(Kind::Array(items)) => items.len(),
        Some(Kind::Map(pairs)) => pairs.len(),
        Some(Kind::Tag(..)) => 1,
        _ => 0,
    }
}

/// The item of an array, the value of a map's pair, or what a tag tags (index 0), in the file's order.
/// Returns a value that lives until the last zt_close; NULL if index is not below zt_value_count, and for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_at(value: *const zt_value, index: usize) -> *const zt_value {
    // SAFETY: "a value".
    address(match unsafe { record(value) }.map(Value::kind) {
        Some(Kind::Array(items)) => items.get(index),
        Some(Kind::Map(pairs)) => pairs.get(index).map(|(_, v)| v),
        Some(Kind::Tag(_, inner)) => Some(inner).filter(|_| index == 0),
        _ => None,
    })
}

/// The key of a map's pair, in the file's order.
/// Returns a value that lives until the last zt_close; NULL if index is not below zt_value_count, and for other kinds.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_key_at(value: *const zt_value, index: usize) -> *const zt_value {
    // SAFETY: "a value".
    let pairs = unsafe { record(value) }.and_then(Value::as_map);
    address(pairs.and_then(|p| p.get(index)).map(|(k, _)| k))
}

/// What a map has under a text key; the pairs are looked at one after the other.
/// key: NUL-ended; NULL finds nothing. Returns a value that lives until the last zt_close; NULL if there is none.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_find(value: *const zt_value, key: *const c_char) -> *const zt_value {
    // SAFETY: "a value".
    let Some(value) = (unsafe { record(value) }) else { return null() };
    guard_value(null(), || {
        // SAFETY: "key: NUL-ended".
        let Ok(key) = (unsafe { arg::text(key, "key") }) else { return null() };
        address(value.get(key))
    })
}
