//! `zt_status` and which failure becomes which number.

use crate::error::Cause;

/// Outcome of a call: ZT_OK, or one of the ZT_ERROR_ values. Numbers never change; an unknown one is an error.
#[allow(non_camel_case_types)]
pub type zt_status = i32;

/// The values of zt_status.
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
#[repr(C)]
#[derive(Clone, Copy)]
pub enum zt_status_value {
    /// Done.
    ZT_OK = 0,
    /// No file could make the argument right: NULL, an unknown value.
    ZT_ERROR_INVALID_ARGUMENT = 1,
    /// The operating system or a callback of the caller failed.
    ZT_ERROR_IO = 2,
    /// No such object, component, attribute or key.
    ZT_ERROR_NOT_FOUND = 3,
    /// No container that is read here, by the file's content.
    ZT_ERROR_UNKNOWN_CONTAINER = 4,
    /// The file breaks a rule of the format; the message names the rule.
    ZT_ERROR_CORRUPT = 5,
    /// The bytes do not have the digest that the file gives for them.
    ZT_ERROR_DIGEST_MISMATCH = 6,
    /// Well-formed, but unknown here: an encoding, a dtype, a digest algorithm, a version.
    ZT_ERROR_UNSUPPORTED = 7,
    /// Above a stated limit: of the manifest, of a decoded size, of the number of objects, of the numbers of a dtype.
    ZT_ERROR_LIMIT = 8,
    /// The caller's memory is too small, or given data is not of the shape's size.
    ZT_ERROR_BUFFER_SIZE = 9,
    /// The bytes cannot be lent: compressed, of the other byte order, or not in memory.
    ZT_ERROR_NOT_MAPPABLE = 10,
    /// A call out of order: of a writer that has failed, say.
    ZT_ERROR_STATE = 11,
    /// An object or component of that name is there already.
    ZT_ERROR_EXISTS = 12,
    /// A callback of the caller asked to stop.
    ZT_ERROR_CANCELLED = 13,
    /// Memory could not be had.
    ZT_ERROR_OUT_OF_MEMORY = 14,
    /// A bug of this library; please report the message.
    ZT_ERROR_INTERNAL = 15,
    /// There is nothing at the path.
    ZT_ERROR_NO_FILE = 16,
    /// What was waited for did not happen in the time that was given.
    ZT_ERROR_TIMEOUT = 17,
    /// Another writer has the file: an append, an edit or a repair that has not ended.
    ZT_ERROR_BUSY = 18,
}

pub(super) use zt_status_value as value;

/// The status of a cause; the rule that broke is named in the message.
pub(super) fn of(cause: Cause) -> zt_status {
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
pub(super) const NAMES: [&std::ffi::CStr; 19] = [
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
