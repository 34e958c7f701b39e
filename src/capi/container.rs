//! What files are: containers and their names.

use super::guard::guard_value;
use crate::model::manifest::Container;
use std::ffi::c_char;
use std::ptr::null;

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
    guard_value(null(), || Container::from_number(container).map_or(null(), |c| c.c_name().as_ptr()))
}
