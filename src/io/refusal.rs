//! Whether the system said no to a call as such: a filter of system calls, a policy, a kernel or a file system that does
//! not have it. What failed so is tried in another way, where there is one.

/// Whether an error says that the call is not to be had.
#[cfg(unix)]
pub fn is_refusal(error: &std::io::Error) -> bool {
    const REFUSALS: [libc::c_int; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::EOPNOTSUPP, libc::ENODEV];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// Here no such thing is known.
#[cfg(not(unix))]
pub fn is_refusal(_error: &std::io::Error) -> bool {
    false
}
