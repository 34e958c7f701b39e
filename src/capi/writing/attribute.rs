//! Attributes of the file and of the open object.

use self::zt_attribute_kind_value as kind;
use crate::capi::arg;
use crate::capi::attributes::value;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype};
use crate::capi::writing::writer::{with_writer, zt_writer};
use crate::error::{fail, Result};
use crate::model::numbers;
use crate::model::value::{Element, OwnedValue, ValueBuilder};
use std::ffi::{c_char, c_void};

/// What a zt_attribute holds.
pub type zt_attribute_kind = i32;

/// The values of zt_attribute_kind, and the fields that each uses.
#[repr(C)]
pub enum zt_attribute_kind_value {
    /// null; no field.
    ZT_ATTRIBUTE_KIND_NULL = 0,
    /// i64: 0 or 1.
    ZT_ATTRIBUTE_KIND_BOOL = 1,
    /// i64; dtype.
    ZT_ATTRIBUTE_KIND_I64 = 2,
    /// u64; dtype.
    ZT_ATTRIBUTE_KIND_U64 = 3,
    /// f64, also infinity and NaN; dtype.
    ZT_ATTRIBUTE_KIND_F64 = 4,
    /// data: UTF-8 of size bytes, NUL-ended if size is 0.
    ZT_ATTRIBUTE_KIND_STRING = 5,
    /// data: size bytes.
    ZT_ATTRIBUTE_KIND_BYTES = 6,
    /// data: JSON text of size bytes, NUL-ended if size is 0; at most 64 levels. Forms such as
    /// {"$bytes":...}: see zt_value_to_json. Numbers with a fraction or exponent become floats.
    ZT_ATTRIBUTE_KIND_JSON = 7,
    /// An array. data: count elements of dtype, of any alignment.
    ZT_ATTRIBUTE_KIND_NUMBERS = 8,
    /// An array. data: count pointers to UTF-8 texts of lengths[i] bytes, NUL-ended if lengths is NULL.
    ZT_ATTRIBUTE_KIND_STRINGS = 9,
    /// data: a const zt_value * of an open file.
    ZT_ATTRIBUTE_KIND_VALUE = 10,
    /// Removes the attribute; ZT_ERROR_NOT_FOUND if it does not exist.
    ZT_ATTRIBUTE_KIND_REMOVE = 11,
}

/// The value of an attribute to set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_attribute {
    /// sizeof(zt_attribute)
    pub struct_size: usize,
    /// Which of the fields below are used.
    pub kind: zt_attribute_kind,
    /// The dtype of the elements of ZT_ATTRIBUTE_KIND_NUMBERS. For one number set 0, or a dtype that holds
    /// the number exactly.
    pub dtype: zt_dtype,
    /// A bool or signed integer.
    pub i64: i64,
    /// An unsigned integer.
    pub u64: u64,
    /// A float.
    pub f64: f64,
    /// Text, bytes, elements, pointers to texts, or a zt_value.
    pub data: *const c_void,
    /// Bytes of a text or byte string.
    pub size: usize,
    /// Elements of an array.
    pub count: usize,
    /// Bytes of each text; NULL: all are NUL-ended.
    pub lengths: *const usize,
    /// Bytes of the key; 0 if it is NUL-ended.
    pub key_length: usize,
}

// SAFETY: all zeros mean null, numbers of 0 and null pointers.
sized_struct!(zt_attribute: kind, dtype, i64, u64, f64, data, size, count, lengths, key_length);

/// The value that the struct describes; `None` to remove the attribute.
///
/// # Safety
/// Everything that it points to is as documented.
unsafe fn value(given: &zt_attribute) -> Result<Option<OwnedValue>> {
    let is = |kind: kind| given.kind == kind as zt_attribute_kind;
    if is(kind::ZT_ATTRIBUTE_KIND_REMOVE) {
        return Ok(None);
    }
    if is(kind::ZT_ATTRIBUTE_KIND_JSON) {
        // SAFETY: data has size bytes, or ends in a NUL.
        let text = unsafe { arg::sized_text(given.data.cast(), given.size, "data")? };
        return crate::container::json::parse(text).map(Some);
    }
    OwnedValue::build(|to| {
        if is(kind::ZT_ATTRIBUTE_KIND_NULL) {
            to.null()
        } else if is(kind::ZT_ATTRIBUTE_KIND_BOOL) {
            to.boolean(arg::flag(u32::try_from(given.i64).unwrap_or(u32::MAX), "the bool")?)
        } else if is(kind::ZT_ATTRIBUTE_KIND_I64) {
            number(|to| to.integer(given.i64), given.dtype, to)
        } else if is(kind::ZT_ATTRIBUTE_KIND_U64) {
            number(|to| to.unsigned(given.u64), given.dtype, to)
        } else if is(kind::ZT_ATTRIBUTE_KIND_F64) {
            number(|to| to.float(given.f64), given.dtype, to)
        } else if is(kind::ZT_ATTRIBUTE_KIND_STRING) {
            // SAFETY: data has size bytes, or ends in a NUL.
            to.text(unsafe { arg::sized_text(given.data.cast(), given.size, "data")? })
        } else if is(kind::ZT_ATTRIBUTE_KIND_BYTES) {
            // SAFETY: data has size bytes.
            to.bytes(unsafe { arg::slice(given.data.cast::<u8>(), given.size, "data")? })
        } else if is(kind::ZT_ATTRIBUTE_KIND_NUMBERS) {
            let dtype = types::dtype(given.dtype)?;
            let size = given.count.checked_mul(dtype.size());
            let size =
                size.ok_or_else(|| fail!(InvalidArgument, "{} elements do not fit in memory", given.count))?;
            // SAFETY: data has count elements of dtype, which need no alignment.
            numbers::array(dtype, unsafe { arg::slice(given.data.cast::<u8>(), size, "data")? }, to)
        } else if is(kind::ZT_ATTRIBUTE_KIND_STRINGS) {
            // SAFETY: the caller ensures this.
            unsafe { strings(given, to) }
        } else if is(kind::ZT_ATTRIBUTE_KIND_VALUE) {
            // SAFETY: data is a value of an open file.
            to.copy(arg::required(unsafe { value::at(given.data.cast()) }, "data")?)
        } else {
            Err(arg::unknown("zt_attribute_kind", given.kind))
        }
    })
    .map(Some)
}

/// Sets the dtype of a number, unless it is 0.
fn number(
    plain: impl FnOnce(&mut ValueBuilder<'_>) -> Result<()>,
    dtype: zt_dtype,
    to: &mut ValueBuilder<'_>,
) -> Result<()> {
    match dtype {
        0 => plain(to),
        dtype => numbers::state(OwnedValue::build(plain)?.get(), types::dtype(dtype)?, to),
    }
}

/// # Safety
/// As documented for ZT_ATTRIBUTE_KIND_STRINGS.
unsafe fn strings(given: &zt_attribute, to: &mut ValueBuilder<'_>) -> Result<()> {
    // SAFETY: data has count pointers.
    let texts = unsafe { arg::slice(given.data.cast::<*const c_char>(), given.count, "data")? };
    let counted = if given.lengths.is_null() { 0 } else { given.count };
    // SAFETY: lengths has count numbers, or is NULL.
    let lengths = unsafe { arg::slice(given.lengths, counted, "lengths")? };
    to.begin_array(Element::Text, Some(texts.len() as u64))?;
    for (at, text) in texts.iter().enumerate() {
        let text = match lengths.get(at) {
            // An empty text does not need a NUL.
            Some(0) => Ok(""),
            // SAFETY: the text has lengths[i] bytes.
            Some(length) => unsafe { arg::sized_text(*text, *length, "it") },
            // SAFETY: the text ends in a NUL.
            None => unsafe { arg::text(*text, "it") },
        };
        to.text(text.map_err(|e| e.within(format_args!("string {at}")))?)?;
    }
    to.end().map(drop)
}

/// Sets an attribute of the file or of an object, replaces it, or removes it with ZT_ATTRIBUTE_KIND_REMOVE.
/// In C: zt_write_attribute(w, NULL, 0, "layers", &ZT_ATTRIBUTE_I64(32)). Nothing is kept after the call.
///
/// object, object_length: NULL for the file; else the name of the open object (zt_write_begin) or, after
/// zt_write_append, of an object that the file had before. An object of zt_write_dense is never open: for
/// attributes use zt_write_object. key: UTF-8. Returns ZT_ERROR_STATE if the writer has failed, or if this
/// writer wrote object and it is not open now; ZT_ERROR_NOT_FOUND if the object does not exist;
/// ZT_ERROR_UNSUPPORTED if the version cannot represent the attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute(
    writer: Option<&mut zt_writer>,
    object: *const c_char,
    object_length: usize,
    key: *const c_char,
    attribute: *const zt_attribute,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: attribute is as documented; key ends in a NUL or has key_length bytes.
        let (key, value) = unsafe {
            let given = arg::required_struct(attribute)?;
            (arg::sized_text(key, given.key_length, "key")?, value(&given)?)
        };
        if object.is_null() && object_length == 0 {
            return match value {
                Some(value) => writer.set_attribute(key, value.get()),
                None => writer.remove_attribute(key),
            };
        }
        // SAFETY: object has object_length bytes, or ends in a NUL if that is 0.
        let object = unsafe { arg::sized_text(object, object_length, "object")? };
        match (writer.has_open(object), value) {
            (true, Some(value)) => writer.set_object_attribute(key, value.get()),
            (true, None) => writer.remove_object_attribute(key),
            (false, Some(value)) => writer.set_attribute_of(object, key, value.get()),
            (false, None) => writer.remove_attribute_of(object, key),
        }
    })
}
