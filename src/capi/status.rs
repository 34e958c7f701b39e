//! `zt_status`, and the status of each kind of failure.

use crate::error::Cause;

/// Outcome of a call. Numbers never change; treat an unknown one as an error.
#[allow(non_camel_case_types)]
pub type zt_status = i32;

/// The values of zt_status.
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
#[repr(C)]
#[derive(Clone, Copy)]
pub enum zt_status_value {
    /// Success.
    ZT_OK = 0,
    /// An argument is invalid: NULL, an unknown enum value, an index or range that is too large.
    ZT_ERROR_INVALID_ARGUMENT = 1,
    /// The operating system or a callback of the caller failed.
    ZT_ERROR_IO = 2,
    /// The object, component, attribute or name does not exist.
    ZT_ERROR_NOT_FOUND = 3,
    /// The content is not in a format that the library reads.
    ZT_ERROR_UNKNOWN_CONTAINER = 4,
    /// The file breaks a rule of its format; the message names the rule.
    ZT_ERROR_CORRUPT = 5,
    /// The bytes do not match their digest.
    ZT_ERROR_DIGEST_MISMATCH = 6,
    /// The library does not support this: an encoding, a dtype, a version.
    ZT_ERROR_UNSUPPORTED = 7,
    /// A limit is exceeded: manifest size, decoded size, object count, memory, range of a dtype.
    ZT_ERROR_LIMIT = 8,
    /// The caller's memory is too small, or the data does not have the size that its shape needs.
    ZT_ERROR_BUFFER_SIZE = 9,
    /// The bytes cannot be borrowed: compressed, byte-swapped, not aligned, or not in memory.
    ZT_ERROR_NOT_MAPPABLE = 10,
    /// The call is out of order: for example the writer has failed.
    ZT_ERROR_STATE = 11,
    /// An object or component of that name exists already.
    ZT_ERROR_EXISTS = 12,
    /// A callback of the caller stopped the call.
    ZT_ERROR_CANCELLED = 13,
    /// Memory could not be allocated.
    ZT_ERROR_OUT_OF_MEMORY = 14,
    /// A bug of this library; please report the message.
    ZT_ERROR_INTERNAL = 15,
    /// Nothing exists at the path.
    ZT_ERROR_NO_FILE = 16,
    /// The timeout passed.
    ZT_ERROR_TIMEOUT = 17,
    /// Another writer has the file: an append, an edit or a repair that has not ended.
    ZT_ERROR_BUSY = 18,
}

pub(in crate::capi) use zt_status_value as value;

/// The status of a cause.
pub(in crate::capi) fn of(cause: Cause) -> zt_status {
    let value = match cause {
        Cause::InvalidArgument => value::ZT_ERROR_INVALID_ARGUMENT,
        Cause::Io => value::ZT_ERROR_IO,
        Cause::NoFile => value::ZT_ERROR_NO_FILE,
        Cause::NotFound => value::ZT_ERROR_NOT_FOUND,
        Cause::NotZtensor => value::ZT_ERROR_UNKNOWN_CONTAINER,
        Cause::Broken(_) => value::ZT_ERROR_CORRUPT,
        Cause::DigestMismatch => value::ZT_ERROR_DIGEST_MISMATCH,
        Cause::Unsupported => value::ZT_ERROR_UNSUPPORTED,
        Cause::Limit => value::ZT_ERROR_LIMIT,
        Cause::BufferSize => value::ZT_ERROR_BUFFER_SIZE,
        Cause::NotMappable => value::ZT_ERROR_NOT_MAPPABLE,
        Cause::State => value::ZT_ERROR_STATE,
        Cause::Exists => value::ZT_ERROR_EXISTS,
        Cause::Cancelled => value::ZT_ERROR_CANCELLED,
        Cause::Timeout => value::ZT_ERROR_TIMEOUT,
        Cause::Busy => value::ZT_ERROR_BUSY,
        Cause::OutOfMemory => value::ZT_ERROR_OUT_OF_MEMORY,
        Cause::Internal => value::ZT_ERROR_INTERNAL,
        Cause::Caller(status) => return status,
    };
    value as zt_status
}

/// The names of all statuses, by number.
pub(in crate::capi) const NAMES: [&std::ffi::CStr; 19] = [
    c"ZT_OK",
    c"ZT_ERROR_INVALID_ARGUMENT",
    c"ZT_ERROR_IO",
    c"ZT_ERROR_NOT_FOUND",
    c"ZT_ERROR_UNKNOWN_CONTAINER",
    c"ZT_ERROR_CORRUPT",
    c"ZT_ERROR_DIGEST_MISMATCH",
    c"ZT_ERROR_UNSUPPORTED",
    c"ZT_ERROR_LIMIT",
    c"ZT_ERROR_BUFFER_SIZE",
    c"ZT_ERROR_NOT_MAPPABLE",
    c"ZT_ERROR_STATE",
    c"ZT_ERROR_EXISTS",
    c"ZT_ERROR_CANCELLED",
    c"ZT_ERROR_OUT_OF_MEMORY",
    c"ZT_ERROR_INTERNAL",
    c"ZT_ERROR_NO_FILE",
    c"ZT_ERROR_TIMEOUT",
    c"ZT_ERROR_BUSY",
];
