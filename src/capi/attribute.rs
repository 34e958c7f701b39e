//! Attributes of the file and of the open object.

use super::arg;
use super::guard::guard;
use super::status::zt_status;
use super::writer::{open, zt_writer};
use crate::error::Result;
use crate::model::value::Value;
use std::ffi::{c_char, c_void};

/// # Safety
/// `key` is NULL or NUL-ended.
unsafe fn set(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: impl FnOnce() -> Result<Value>,
    of_object: bool,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: passed on.
        let key = unsafe { arg::text(key, "key")? };
        let value = value()?;
        match of_object {
            true => writer.set_object_attribute(key, value),
            false => writer.set_attribute(key, value),
        }
    })
}

/// Sets an attribute of the file to a bool; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: 0 or 1.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_bool(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: i32,
) -> zt_status {
    let value = || {
        let truth = arg::flag(u32::try_from(value).unwrap_or(u32::MAX), "value")?;
        Ok(Value::Bool(truth))
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to a signed integer; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_i64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: i64,
) -> zt_status {
    let value = || Ok(Value::integer(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to an unsigned integer; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_u64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: u64,
) -> zt_status {
    let value = || Ok(Value::Unsigned(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to a float; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number, also infinity and NaN.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_f64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: f64,
) -> zt_status {
    let value = || Ok(Value::Float(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to a text; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: UTF-8, NUL-ended, not NULL.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_string(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_char,
) -> zt_status {
    let value = || {
        // SAFETY: "NUL-ended".
        Value::text(unsafe { arg::text(value, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to a byte string; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: size bytes; (NULL, 0) is empty.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_bytes(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_void,
    size: usize,
) -> zt_status {
    let value = || {
        // SAFETY: "size bytes".
        Value::bytes(unsafe { arg::slice(value.cast::<u8>(), size, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the file to a value from JSON text; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: JSON text, NUL-ended.
/// The forms of zt_value_to_json for what JSON lacks are understood; numbers with a fraction or
/// an exponent become floats, others integers.
/// Returns ZT_ERROR_STATE if the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_set_attribute_json(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_char,
) -> zt_status {
    let value = || {
        // SAFETY: "NUL-ended".
        crate::wire::json::parse(unsafe { arg::text(value, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, false) }
}

/// Sets an attribute of the object that is open to a bool; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: 0 or 1.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_bool(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: i32,
) -> zt_status {
    let value = || {
        let truth = arg::flag(u32::try_from(value).unwrap_or(u32::MAX), "value")?;
        Ok(Value::Bool(truth))
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to a signed integer; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_i64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: i64,
) -> zt_status {
    let value = || Ok(Value::integer(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to an unsigned integer; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_u64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: u64,
) -> zt_status {
    let value = || Ok(Value::Unsigned(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to a float; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: any number, also infinity and NaN.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_f64(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: f64,
) -> zt_status {
    let value = || Ok(Value::Float(value));
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to a text; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: UTF-8, NUL-ended, not NULL.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_string(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_char,
) -> zt_status {
    let value = || {
        // SAFETY: "NUL-ended".
        Value::text(unsafe { arg::text(value, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to a byte string; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: size bytes; (NULL, 0) is empty.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_bytes(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_void,
    size: usize,
) -> zt_status {
    let value = || {
        // SAFETY: "size bytes".
        Value::bytes(unsafe { arg::slice(value.cast::<u8>(), size, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}

/// Sets an attribute of the object that is open to a value from JSON text; one of the same key is replaced.
///
/// key: UTF-8, NUL-ended, not NULL. value: JSON text, NUL-ended.
/// The forms of zt_value_to_json for what JSON lacks are understood; numbers with a fraction or
/// an exponent become floats, others integers.
/// Returns ZT_ERROR_STATE if no object is open or the writer has failed,
/// ZT_ERROR_UNSUPPORTED if the version cannot represent it, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_attribute_json(
    writer: Option<&mut zt_writer>,
    key: *const c_char,
    value: *const c_char,
) -> zt_status {
    let value = || {
        // SAFETY: "NUL-ended".
        crate::wire::json::parse(unsafe { arg::text(value, "value")? })
    };
    // SAFETY: "key: NUL-ended".
    unsafe { set(writer, key, value, true) }
}
