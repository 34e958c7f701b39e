//! The part of libztensor's C interface that is used here, as in ztensor.h. `tests/layout.rs` compares it
//! with the header.

use std::ffi::{c_char, c_void};

/// Outcome of a call that can fail.
pub type zt_status = i32;

/// The values of zt_status that are used here.
pub mod status {
    use super::zt_status;
    pub const OK: zt_status = 0;
    pub const INVALID_ARGUMENT: zt_status = 1;
    pub const IO: zt_status = 2;
    pub const NOT_FOUND: zt_status = 3;
    pub const UNSUPPORTED: zt_status = 7;
    pub const LIMIT: zt_status = 8;
    pub const BUFFER_SIZE: zt_status = 9;
    pub const OUT_OF_MEMORY: zt_status = 14;
    pub const INTERNAL: zt_status = 15;
    pub const NO_FILE: zt_status = 16;
}

/// An open file.
#[repr(C)]
pub struct zt_file {
    opaque: [u8; 0],
}

/// Options for opening a file, which are passed on unchanged.
#[repr(C)]
pub struct zt_open_options {
    opaque: [u8; 0],
}

/// A range that a source has to read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_source_range {
    pub offset: u64,
    pub dst: *mut c_void,
    pub size: usize,
}

/// Functions that read the bytes of a file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_source {
    pub struct_size: usize,
    pub context: *mut c_void,
    pub size: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> zt_status>,
    pub read_at: Option<unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> zt_status>,
    pub close: Option<unsafe extern "C" fn(*mut c_void)>,
    pub read_many: Option<unsafe extern "C" fn(*mut c_void, *const zt_source_range, usize) -> zt_status>,
    pub name: *const c_char,
    pub gap: u64,
    pub largest_request: u64,
    pub concurrency: u32,
    pub callers_thread: u32,
    pub identity: u64,
}

/// Receives a name.
pub type zt_name_callback = Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> zt_status>;

/// Functions that open the files of a model.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_store {
    pub struct_size: usize,
    pub context: *mut c_void,
    pub open: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut zt_source) -> zt_status>,
    pub list:
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, zt_name_callback, *mut c_void) -> zt_status>,
}

#[link(name = "ztensor")]
unsafe extern "C" {
    pub fn zt_open_model_from(
        store: *const zt_store,
        name: *const c_char,
        options: *const zt_open_options,
        file: *mut *mut zt_file,
    ) -> zt_status;
    pub fn zt_set_last_error(message: *const c_char);
}
