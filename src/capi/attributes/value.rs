//! Attribute values: the CBOR data model, read-only.

use self::zt_value_kind_value as kind;
use crate::capi::arg;
use crate::capi::guard::{guard, guard_value};
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, dtype_number, zt_dtype};
use crate::error::{boundary, fail, Error, Result};
use crate::model::numbers;
use crate::model::value::{bytes_of_size, record_size, Value, ValueKind};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The kind of a value.
pub type zt_value_kind = i32;

/// The values of zt_value_kind.
#[repr(C)]
pub enum zt_value_kind_value {
    /// null; also the kind of NULL.
    ZT_VALUE_KIND_NULL = 0,
    /// True or false.
    ZT_VALUE_KIND_BOOL = 1,
    /// An integer from -2^64 to 2^64-1.
    ZT_VALUE_KIND_INT = 2,
    /// A float.
    ZT_VALUE_KIND_FLOAT = 3,
    /// UTF-8 text.
    ZT_VALUE_KIND_STRING = 4,
    /// A byte string.
    ZT_VALUE_KIND_BYTES = 5,
    /// A list of values.
    ZT_VALUE_KIND_ARRAY = 6,
    /// Pairs of key and value; keys may have any kind.
    ZT_VALUE_KIND_MAP = 7,
    /// A number and one value, at index 0.
    ZT_VALUE_KIND_TAG = 8,
    /// CBOR's undefined, or another simple value.
    ZT_VALUE_KIND_OTHER = 9,
}

#[cold]
fn not_a(kind: &str) -> Error {
    fail!(InvalidArgument, "the value is not {kind}")
}

/// The kind of a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_kind(value: *const zt_value) -> zt_value_kind {
    // SAFETY: value is NULL or a value of an open file.
    (match unsafe { at(value) }.map(Value::kind) {
        None | Some(ValueKind::Null) => kind::ZT_VALUE_KIND_NULL,
        Some(ValueKind::Bool(_)) => kind::ZT_VALUE_KIND_BOOL,
        Some(ValueKind::Unsigned(_) | ValueKind::Negative(_)) => kind::ZT_VALUE_KIND_INT,
        Some(ValueKind::Float(_)) => kind::ZT_VALUE_KIND_FLOAT,
        Some(ValueKind::Text(_)) => kind::ZT_VALUE_KIND_STRING,
        Some(ValueKind::Bytes(_)) => kind::ZT_VALUE_KIND_BYTES,
        Some(ValueKind::Array(_)) => kind::ZT_VALUE_KIND_ARRAY,
        Some(ValueKind::Map(_)) => kind::ZT_VALUE_KIND_MAP,
        Some(ValueKind::Tag(..)) => kind::ZT_VALUE_KIND_TAG,
        Some(ValueKind::Simple(_)) => kind::ZT_VALUE_KIND_OTHER,
    }) as zt_value_kind
}

/// Gives a bool as 0 or 1. Like all zt_value_get_ functions it returns ZT_ERROR_INVALID_ARGUMENT if the value
/// has another kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_bool(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<i32>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        arg::put(out, "out", || match unsafe { required(value)? }.kind() {
            ValueKind::Bool(truth) => Ok(i32::from(truth)),
            _ => Err(not_a("a bool")),
        })
    })
}

/// Gives an integer; ZT_ERROR_INVALID_ARGUMENT if it does not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_i64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<i64>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        let value = || unsafe { required(value) };
        arg::put(out, "out", || value()?.as_i64().ok_or_else(|| not_a("an integer that int64_t holds")))
    })
}

/// Gives an integer; ZT_ERROR_INVALID_ARGUMENT if it does not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_u64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        let value = || unsafe { required(value) };
        arg::put(out, "out", || value()?.as_u64().ok_or_else(|| not_a("an integer that uint64_t holds")))
    })
}

/// Gives a float; an integer becomes the nearest double.
#[unsafe(no_mangle)]
#[allow(clippy::cast_precision_loss, reason = "said in the doc")]
pub unsafe extern "C" fn zt_value_get_f64(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<f64>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        arg::put(out, "out", || match unsafe { required(value)? }.kind() {
            ValueKind::Float(v) => Ok(v),
            ValueKind::Unsigned(v) => Ok(v as f64),
            // With 128 bits, it is only rounded once.
            ValueKind::Negative(n) => Ok(-(u128::from(n).saturating_add(1) as f64)),
            _ => Err(not_a("a number")),
        })
    })
}

/// Gives a text, NUL-ended; it may contain a NUL. length: receives its bytes without the NUL at the end; may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_string(
    value: *const zt_value,
    text: Option<&mut MaybeUninit<*const c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(text, "text")?;
        // SAFETY: value is NULL or a value of an open file.
        let ValueKind::Text(text) = unsafe { required(value)? }.kind() else { return Err(not_a("a string")) };
        out.write(text.as_c_bytes().as_ptr().cast());
        arg::put_optional(length, text.as_bytes().len());
        Ok(())
    })
}

/// Gives a byte string; a NUL follows it. size: may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_bytes(
    value: *const zt_value,
    bytes: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let out = arg::required(bytes, "bytes")?;
        // SAFETY: value is NULL or a value of an open file.
        let ValueKind::Bytes(bytes) = unsafe { required(value)? }.kind() else {
            return Err(not_a("a byte string"));
        };
        out.write(bytes.as_ptr().cast());
        arg::put_optional(size, bytes.len());
        Ok(())
    })
}

/// Reads an array of numbers at once, or one number, without rounding.
///
/// dtype: of the elements at dst. BOOL accepts bools. An integer dtype accepts integers in its range. A float
/// dtype accepts numbers that it holds exactly: F32 refuses 0.1. The dtype that zt_value_dtype returns
/// accepts every element, unless it is 0.
/// dst: receives zt_value_count elements (1 for a number or bool), of any alignment. Unchanged on failure.
/// count: elements that fit at dst.
/// Returns ZT_ERROR_BUFFER_SIZE if count is too small, ZT_ERROR_INVALID_ARGUMENT if an element does not fit;
/// the message names it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_read_numbers(
    value: *const zt_value,
    dtype: zt_dtype,
    dst: *mut c_void,
    count: usize,
) -> zt_status {
    guard(|| {
        let dtype = types::dtype(dtype)?;
        // SAFETY: value is NULL or a value of an open file.
        let found = unsafe { required(value)? };
        let items = match found.kind() {
            ValueKind::Array(items) => items.len(),
            ValueKind::Bool(_) | ValueKind::Unsigned(_) | ValueKind::Negative(_) | ValueKind::Float(_) => 1,
            _ => return Err(not_a("a number or an array of numbers")),
        };
        check_count(items, count)?;
        // The product does not overflow, because the items fit in memory.
        // SAFETY: dst has space for count elements.
        let dst = unsafe { arg::bytes_mut(dst, items.saturating_mul(dtype.size()), "dst")? };
        numbers::read(found, dtype, dst)
    })
}

/// Reads an array of strings at once. Byte strings are accepted: some tokens of GGUF vocabularies are not
/// UTF-8.
///
/// strings: receives zt_value_count NUL-ended strings. lengths: receives their bytes without the NUL; may be
/// NULL. count: elements that fit.
/// Returns ZT_ERROR_BUFFER_SIZE if count is too small, ZT_ERROR_INVALID_ARGUMENT if an item is not a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_read_strings(
    value: *const zt_value,
    strings: *mut *const c_char,
    lengths: *mut usize,
    count: usize,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        let ValueKind::Array(items) = unsafe { required(value)? }.kind() else {
            return Err(not_a("an array"));
        };
        check_count(items.len(), count)?;
        // SAFETY: strings has space for count elements.
        let strings = unsafe { arg::output_slice(strings, items.len(), "strings")? };
        let counted = if lengths.is_null() { 0 } else { items.len() };
        // SAFETY: lengths has space for count elements.
        let lengths = unsafe { arg::output_slice(lengths, counted, "lengths")? };
        if let Some(at) = items.iter().position(|item| item.as_bytes().is_none()) {
            return Err(fail!(InvalidArgument, "element {at} of the array is not a string"));
        }
        let mut lengths = lengths.iter_mut();
        for (place, item) in strings.iter_mut().zip(items.iter()) {
            let Some(bytes) = item.as_bytes() else { continue };
            place.write(bytes.as_ptr().cast());
            if let Some(length) = lengths.next() {
                length.write(bytes.len());
            }
        }
        Ok(())
    })
}

/// Refuses values that do not fit in `count` elements of output.
fn check_count(values: usize, count: usize) -> Result<()> {
    match values <= count {
        true => Ok(()),
        false => Err(fail!(BufferSize, "the number of values is {values}, but count is {count}")),
    }
}

/// Gives the number of a tag; zt_value_at(value, 0) is the tagged value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_get_tag(
    value: *const zt_value,
    out: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        arg::put(out, "out", || match unsafe { required(value)? }.kind() {
            ValueKind::Tag(tag, _) => Ok(tag),
            _ => Err(not_a("a tag")),
        })
    })
}

/// Items of an array, pairs of a map, 1 for a tag, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_count(value: *const zt_value) -> usize {
    // SAFETY: value is NULL or a value of an open file.
    match unsafe { at(value) }.map(Value::kind) {
        Some(ValueKind::Array(items)) => items.len(),
        Some(ValueKind::Map(pairs)) => pairs.len(),
        Some(ValueKind::Tag(..)) => 1,
        _ => 0,
    }
}

/// The item of an array, the value of a map's pair, or a tag's value, in file order; NULL if index is not
/// below zt_value_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_at(value: *const zt_value, index: usize) -> *const zt_value {
    // SAFETY: value is NULL or a value of an open file.
    address(match unsafe { at(value) }.map(Value::kind) {
        Some(ValueKind::Array(items)) => items.get(index),
        Some(ValueKind::Map(pairs)) => pairs.get(index).map(|(_, v)| v),
        Some(ValueKind::Tag(_, inner)) => Some(inner).filter(|_| index == 0),
        _ => None,
    })
}

/// The key of a map's pair; NULL if index is not below zt_value_count, and for other kinds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_key_at(value: *const zt_value, index: usize) -> *const zt_value {
    // SAFETY: value is NULL or a value of an open file.
    let pairs = unsafe { at(value) }.and_then(Value::as_map);
    address(pairs.and_then(|p| p.get(index)).map(|(k, _)| k))
}

/// The value of a text key in a map, by linear search (slow for large maps); NULL if absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_find(value: *const zt_value, key: *const c_char) -> *const zt_value {
    // SAFETY: value is NULL or a value of an open file; key ends in a NUL.
    unsafe { find(value, arg::bytes(key)) }
}

/// # Safety
/// As for [`at`].
unsafe fn find(map: *const zt_value, key: Option<&[u8]>) -> *const zt_value {
    // SAFETY: the caller ensures this.
    let found = unsafe { at(map) }.zip(key.and_then(|key| std::str::from_utf8(key).ok()));
    guard_value(null(), || found.map_or(null(), |(map, key)| address(map.get(key))))
}

/// Writes a value as compact JSON. Values that JSON does not have become {"$bytes":"hex"}, {"$float":"nan"}
/// (or "inf", "-inf"), {"$tag":[number,value]}, {"$undefined":true}, {"$simple":number} and, for keys that
/// are not text, {"$map":[[key,value],...]}. Integers are written in full, also above 2^53.
///
/// buf, size: receives the text and a NUL. If size is too small, buf gets the beginning of the text and a
/// NUL, and the call returns ZT_ERROR_BUFFER_SIZE. (NULL, 0) only asks for the size and returns ZT_OK.
/// needed: receives the bytes of the whole text with its NUL; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_to_json(
    value: *const zt_value,
    buf: *mut c_char,
    size: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        // SAFETY: value is NULL or a value of an open file.
        let value = unsafe { required(value)? };
        let only_asks = buf.is_null() && size == 0;
        // SAFETY: buf has size bytes.
        let buf = unsafe { arg::bytes_mut(buf.cast(), size, "buf")? };
        let text = crate::container::json::write(value)?;
        let whole = text.len().saturating_add(1);
        arg::put_optional(needed, whole);
        if only_asks {
            return Ok(());
        }
        let fits = boundary(&text, size.saturating_sub(1));
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
    // SAFETY: value is NULL or a value of an open file; key has length bytes.
    unsafe { find(value, arg::slice(key.cast(), length, "key").ok()) }
}

/// The dtype that the container states for a number or an array's elements (GGUF does), ZT_DTYPE_BOOL for a
/// bool, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_value_dtype(value: *const zt_value) -> zt_dtype {
    // SAFETY: value is NULL or a value of an open file.
    unsafe { at(value) }.map_or(0, |value| dtype_number(value.dtype()))
}

/// A value of an attribute.
pub struct zt_value {
    _tag: u8,
}

/// The address of a record for C; NULL for `None`.
pub(in crate::capi) fn address(value: Option<Value<'_>>) -> *const zt_value {
    value.map_or(null(), |value| value.record().as_ptr().cast())
}

/// The value of the record at an address; `None` for NULL.
///
/// # Safety
/// The address is NULL, or [`address`] returned it for a record that still exists.
pub(in crate::capi) unsafe fn at<'a>(value: *const zt_value) -> Option<Value<'a>> {
    let record = value.cast::<u8>();
    if record.is_null() {
        return None;
    }
    // SAFETY: a record begins with its tag and its size. The size says how many bytes the record has.
    unsafe {
        let head = std::slice::from_raw_parts(record, bytes_of_size(*record));
        let whole = std::slice::from_raw_parts(record, record_size(head).unwrap_or(head.len()));
        Some(Value::first_of(whole))
    }
}

/// Like [`at`], but refuses NULL.
///
/// # Safety
/// As for [`at`].
pub(in crate::capi) unsafe fn required<'a>(value: *const zt_value) -> Result<Value<'a>> {
    // SAFETY: the caller ensures this.
    arg::required(unsafe { at(value) }, "value")
}
