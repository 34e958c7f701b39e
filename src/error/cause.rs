//! Why an operation failed, for the program.

use super::rule::Rule;

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The caller passed something that no file could make right.
    InvalidArgument,
    /// The operating system, or a caller's callback, failed.
    Io,
    /// There is nothing at the path.
    NoFile,
    /// No such object, component or attribute.
    NotFound,
    /// The file is of no container that is read here, by its content.
    NotZtensor,
    /// The file breaks this rule of the format.
    Broken(Rule),
    /// The bytes do not have the digest that the manifest gives.
    DigestMismatch,
    /// Well-formed, but this version cannot do it.
    Unsupported,
    /// A stated limit would be passed.
    Limit,
    /// The caller's memory has the wrong size.
    BufferSize,
    /// These bytes cannot be lent as they are.
    NotMappable,
    /// A call out of order.
    State,
    /// The name is taken.
    Exists,
    /// The caller's callback asked to stop.
    Cancelled,
    /// What was waited for did not happen in the time that the caller gave.
    Timeout,
    /// Another writer holds the lock on the file.
    Busy,
    /// Memory could not be had.
    OutOfMemory,
    /// A bug of this library.
    Internal,
    /// A function of the caller failed and gave this `zt_status`, which is the caller's to explain.
    Caller(i32),
}
