//! The library itself: versions, the last error.

use super::guard::{self, detail, message};
use super::status::{zt_status, NAMES};
use std::ffi::{c_char, CStr};

/// Version of this header, first number.
pub const ZT_VERSION_MAJOR: u32 = 0;
/// Version of this header, second number.
pub const ZT_VERSION_MINOR: u32 = 9;
/// Version of this header, third number.
pub const ZT_VERSION_PATCH: u32 = 0;

/// What zt_abi_version gave when this header was made.
pub const ZT_ABI_VERSION: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of the library that is loaded, "0.9.0".
/// Compare with ZT_VERSION_MAJOR and its neighbours, which are those of the header.
/// Returns a string that is never NULL and lives as long as the library.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The version of the binary interface that is loaded. It moves only when programs have to be compiled anew.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_abi_version() -> u32 {
    ZT_ABI_VERSION
}

/// The calling thread's last failure in one line: path, object, component, offset, rule, the numbers that disagree.
/// Only a failing call changes it, and zt_load_next with a failure; any other call that succeeds leaves it as it was.
/// Returns a string that is never NULL ("no error" before the first failure). It is valid until the same thread's
/// next failing call; copy it to keep it. It is UTF-8; names from the file are escaped.
/// Threads: any; each has its own.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_error() -> *const c_char {
    message()
}

/// The system's error in the calling thread's last failure: errno, on Windows GetLastError; 0 if there was none.
/// Threads: any; each has its own.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_os_error() -> i32 {
    detail().os_error
}

/// The rule of the format that the file broke in the calling thread's last failure, by its short name,
/// "range-manifest"; "" if it broke none. For programs: a name never changes its meaning.
/// Returns a string that is never NULL and lives as long as the library.
/// Threads: any; each has its own.
#[unsafe(no_mangle)]
pub extern "C" fn zt_last_error_rule() -> *const c_char {
    detail().rule.as_ptr()
}

/// Sets what zt_last_error gives to the calling thread: for libraries on top of this one, and for functions of yours
/// that this one calls. If such a function sets a message and returns a failure, the call that fails gives this message,
/// after the names of the file and the object.
/// message: NUL-ended UTF-8, copied: up to 2,048 bytes of it, or to what is no UTF-8; line breaks become spaces. NULL
/// and "" do nothing. zt_last_os_error is 0 after it, zt_last_error_rule "".
/// Threads: any; each has its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_set_last_error(message: *const c_char) {
    if message.is_null() {
        return;
    }
    // SAFETY: "NUL-ended".
    let bytes = unsafe { std::ffi::CStr::from_ptr(message) }.to_bytes();
    let text = bytes.utf8_chunks().next().map_or("", |first| first.valid());
    if !text.is_empty() {
        guard::set_callback_message(text);
    }
}

/// The name of a status as it stands in this header, "ZT_ERROR_CORRUPT".
/// Returns a string that is never NULL and lives as long as the library; "ZT_ERROR_UNKNOWN" for a number that this
/// version does not know.
/// Threads: any.
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
