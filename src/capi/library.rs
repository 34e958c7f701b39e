//! Versions of the library, and the last error.

use crate::capi::arg;
use crate::capi::guard::{self, detail, message};
use crate::capi::status::{zt_status, NAMES};
use std::ffi::{c_char, CStr};

/// Version of this header, first number.
pub const ZT_VERSION_MAJOR: u32 = 1;
/// Second number.
pub const ZT_VERSION_MINOR: u32 = 0;
/// Third number.
pub const ZT_VERSION_PATCH: u32 = 0;

/// The binary interface that this header describes.
pub const ZT_ABI_VERSION: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Returns the version of the loaded library, such as "1.0.0".
#[unsafe(no_mangle)]
pub extern "C" fn zt_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the binary interface of the loaded library. It is compatible if it equals ZT_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn zt_abi_version() -> u32 {
    ZT_ABI_VERSION
}

/// The calling thread's last failure in one line: path, object, component, offset, rule, the expected and
/// found numbers.
///
/// Returns "no error" before the first failure. The string is UTF-8, with names from the file escaped. It is
/// valid until the same thread's next failing call. Read it only after a failure. zt_load_next also sets it
/// if it returns ZT_OK but reports a failure.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_error() -> *const c_char {
    message()
}

/// Returns errno (on Windows GetLastError) of the calling thread's last failure; 0 if the system did not
/// fail.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_os_error() -> i32 {
    detail().os_error
}

/// Returns the short name of the broken rule, such as "range-manifest", if the calling thread's last failure
/// is a broken rule of a format; else "". Names never change their meaning.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_error_rule() -> *const c_char {
    detail().rule.as_ptr()
}

/// Sets the message of the calling thread's failure. For functions of a zt_source, zt_store or zt_sink before
/// they return a failure. message: copied; NULL changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_set_last_error(message: *const c_char) {
    // SAFETY: message is NULL or ends in a NUL.
    let bytes = unsafe { arg::bytes(message) }.unwrap_or_default();
    let text = bytes.utf8_chunks().next().map_or("", |first| first.valid());
    if !text.is_empty() {
        guard::set_callback_message(text);
    }
}

/// Returns the name of a status as this header spells it; "ZT_ERROR_UNKNOWN" for an unknown number. Never
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zt_status_name(status: zt_status) -> *const c_char {
    let known = usize::try_from(status).ok().and_then(|at| NAMES.get(at));
    known.copied().unwrap_or(c"ZT_ERROR_UNKNOWN").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_package() {
        let numbers = format!("{ZT_VERSION_MAJOR}.{ZT_VERSION_MINOR}.{ZT_VERSION_PATCH}");
        assert_eq!(numbers, env!("CARGO_PKG_VERSION"));
        assert_eq!(VERSION.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
