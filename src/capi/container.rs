//! What files are: containers and their names.

use super::guard::guard_value;
use crate::model::manifest::Container;
use std::ffi::c_char;
use std::ptr::null;

/// How a file is laid out: one of the ZT_CONTAINER_ values.
pub type zt_container = i32;

/// The values of zt_container, detected by the content of a file, never by its name. What is read: docs/formats.md.
#[repr(C)]
pub enum zt_container_value {
    /// None: no file.
    ZT_CONTAINER_NONE = 0,
}

/// The name of a container, "safetensors"; NULL for ZT_CONTAINER_NONE and numbers that are none. The string lives as
/// long as the library. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_container_name(container: zt_container) -> *const c_char {
    guard_value(null(), || Container::from_number(container).map_or(null(), |c| c.c_name().as_ptr()))
}
