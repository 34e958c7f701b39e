//! Whether the system refused a call as such: because of a filter of system calls, a policy, or a kernel or
//! file system that does not have it. The caller then tries another call, if there is one.

/// Whether an error says that the call is not to be had.
#[cfg(unix)]
pub fn is_refusal(error: &std::io::Error) -> bool {
    const REFUSALS: [libc::c_int; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::EOPNOTSUPP, libc::ENODEV];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// Whether an error says that the call is not to be had. Not ERROR_INVALID_FUNCTION, which says of a handle
/// that it is no file's.
#[cfg(windows)]
pub fn is_refusal(error: &std::io::Error) -> bool {
    use windows_sys::Win32::Foundation::{
        ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED,
    };
    const REFUSALS: [u32; 3] = [ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&(number as u32)))
}

/// Here no such thing is known.
#[cfg(not(any(unix, windows)))]
pub fn is_refusal(_error: &std::io::Error) -> bool {
    false
}
