//! A zt_value: the address of a record, made from one and turned back into it. No other file does that.

use super::arg;
use crate::error::Result;
use crate::model::value::{bytes_of_size, record_size, Value};
use std::ptr::null;

/// A value of an attribute.
pub struct zt_value {
    _tag: u8,
}

/// The address of a record, for C to look at; NULL for none.
pub(super) fn address(value: Option<Value<'_>>) -> *const zt_value {
    value.map_or(null(), |value| value.record().as_ptr().cast())
}

/// The value at an address, which is of a record; None for NULL.
///
/// # Safety
/// The address is NULL or one that [`address`] gave, of a record that is still there.
pub(super) unsafe fn at<'a>(value: *const zt_value) -> Option<Value<'a>> {
    let record = value.cast::<u8>();
    if record.is_null() {
        return None;
    }
    // SAFETY: a record has its tag, and then as many bytes as its size takes, which says how many there are in all.
    unsafe {
        let head = std::slice::from_raw_parts(record, bytes_of_size(*record));
        let whole = std::slice::from_raw_parts(record, record_size(head).unwrap_or(head.len()));
        Some(Value::first_of(whole))
    }
}

/// As [`at`], but NULL is refused.
///
/// # Safety
/// As [`at`].
pub(super) unsafe fn required<'a>(value: *const zt_value) -> Result<Value<'a>> {
    // SAFETY: passed on.
    arg::required(unsafe { at(value) }, "value")
}
