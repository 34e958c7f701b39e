//! Texts of operating system errors, and whether the system rejected a call. The standard library allocates
//! these texts and aborts if that fails, and the C library returns them in the user's language. So they are
//! in a table here.

use std::{fmt, io};

/// An error with the text of `std::io::Error`, "No such file or directory (os error 2)", but without an
/// allocation. All messages show system errors with this.
pub(crate) struct SystemText<'e>(pub &'e io::Error);

impl fmt::Display for SystemText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.0.raw_os_error() else {
            return fmt::Display::fmt(self.0, f); // the text exists already
        };
        match text(code) {
            Some(text) => write!(f, "{text} (os error {code})"),
            None => write!(f, "{} (os error {code})", self.0.kind()),
        }
    }
}

/// The errors of calls for files, mappings, memory and threads.
#[cfg(unix)]
fn text(code: i32) -> Option<&'static str> {
    Some(match code {
        libc::EPERM => "Operation not permitted",
        libc::ENOENT => "No such file or directory",
        libc::ESRCH => "No such process",
        libc::EINTR => "Interrupted system call",
        libc::EIO => "Input/output error",
        libc::ENXIO => "No such device or address",
        libc::E2BIG => "Argument list too long",
        libc::EBADF => "Bad file descriptor",
        libc::EAGAIN => "Resource temporarily unavailable",
        libc::ENOMEM => "Cannot allocate memory",
        libc::EACCES => "Permission denied",
        libc::EFAULT => "Bad address",
        libc::EBUSY => "Device or resource busy",
        libc::EEXIST => "File exists",
        libc::EXDEV => "Invalid cross-device link",
        libc::ENODEV => "No such device",
        libc::ENOTDIR => "Not a directory",
        libc::EISDIR => "Is a directory",
        libc::EINVAL => "Invalid argument",
        libc::ENFILE => "Too many open files in system",
        libc::EMFILE => "Too many open files",
        libc::ENOTTY => "Inappropriate ioctl for device",
        libc::ETXTBSY => "Text file busy",
        libc::EFBIG => "File too large",
        libc::ENOSPC => "No space left on device",
        libc::ESPIPE => "Illegal seek",
        libc::EROFS => "Read-only file system",
        libc::EMLINK => "Too many links",
        libc::EPIPE => "Broken pipe",
        libc::ERANGE => "Numerical result out of range",
        libc::EDEADLK => "Resource deadlock avoided",
        libc::ENAMETOOLONG => "File name too long",
        libc::ENOLCK => "No locks available",
        libc::ENOSYS => "Function not implemented",
        libc::ENOTEMPTY => "Directory not empty",
        libc::ELOOP => "Too many levels of symbolic links",
        libc::EPROTO => "Protocol error",
        libc::EBADMSG => "Bad message",
        libc::EOVERFLOW => "Value too large for defined data type",
        libc::EILSEQ => "Invalid or incomplete multibyte or wide character",
        libc::EOPNOTSUPP => "Operation not supported",
        libc::ENETDOWN => "Network is down",
        libc::ENETUNREACH => "Network is unreachable",
        libc::ECONNABORTED => "Software caused connection abort",
        libc::ECONNRESET => "Connection reset by peer",
        libc::ENOBUFS => "No buffer space available",
        libc::ENOTCONN => "Transport endpoint is not connected",
        libc::ETIMEDOUT => "Connection timed out",
        libc::ECONNREFUSED => "Connection refused",
        libc::EHOSTDOWN => "Host is down",
        libc::EHOSTUNREACH => "No route to host",
        libc::ESTALE => "Stale file handle",
        libc::EDQUOT => "Disk quota exceeded",
        libc::ECANCELED => "Operation canceled",
        _ => return of_linux(code),
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_linux(code: i32) -> Option<&'static str> {
    Some(match code {
        libc::ENODATA => "No data available",
        libc::EUCLEAN => "Structure needs cleaning",
        libc::EREMOTEIO => "Remote I/O error",
        libc::ENOMEDIUM => "No medium found",
        libc::EMEDIUMTYPE => "Wrong medium type",
        libc::ENOKEY => "Required key not available",
        libc::EKEYREJECTED => "Key was rejected by service",
        #[cfg(target_os = "linux")] // the crate libc has none for Android
        libc::EHWPOISON => "Memory page has hardware error",
        _ => return None,
    })
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn of_linux(_code: i32) -> Option<&'static str> {
    None
}

/// The English text of a Windows error for which the standard library has no kind.
#[cfg(windows)]
fn text(code: i32) -> Option<&'static str> {
    use windows_sys::Win32::Foundation as w;
    Some(match u32::try_from(code).ok()? {
        w::ERROR_INVALID_FUNCTION => "Incorrect function",
        w::ERROR_TOO_MANY_OPEN_FILES => "The system cannot open the file",
        w::ERROR_INVALID_HANDLE => "The handle is invalid",
        w::ERROR_NOT_READY => "The device is not ready",
        w::ERROR_CRC => "Data error (cyclic redundancy check)",
        w::ERROR_SHARING_VIOLATION => {
            "The process cannot access the file because it is being used by another process"
        }
        w::ERROR_LOCK_VIOLATION => {
            "The process cannot access the file because another process has locked a portion of the file"
        }
        w::ERROR_HANDLE_EOF => "Reached the end of the file",
        w::ERROR_NOT_SUPPORTED => "The request is not supported",
        w::ERROR_NOT_LOCKED => "The segment is already unlocked",
        w::ERROR_OFFSET_ALIGNMENT_VIOLATION => "The offset is not aligned to the file's storage",
        w::ERROR_NOACCESS => "Invalid access to memory location",
        w::ERROR_IO_DEVICE => "The request could not be performed because of an I/O device error",
        w::ERROR_USER_MAPPED_FILE => {
            "The requested operation cannot be performed on a file with a user-mapped section open"
        }
        w::ERROR_FILE_CORRUPT => "The file or directory is corrupted and unreadable",
        w::ERROR_NO_SYSTEM_RESOURCES => {
            "Insufficient system resources exist to complete the requested service"
        }
        w::ERROR_WORKING_SET_QUOTA => "Insufficient quota to complete the requested service",
        w::ERROR_COMMITMENT_LIMIT => "The paging file is too small for this operation to complete",
        _ => return None,
    })
}

/// The kind of the error is enough here.
#[cfg(not(any(unix, windows)))]
fn text(_code: i32) -> Option<&'static str> {
    None
}

/// Whether the system refused the call itself, because of a filter of system calls, a policy, or a kernel or
/// file system that does not support it. The caller then tries another call, if there is one.
#[cfg(unix)]
pub(crate) fn is_refusal(error: &std::io::Error) -> bool {
    const REFUSALS: [libc::c_int; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::EOPNOTSUPP, libc::ENODEV];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// Whether the system refused the call itself. ERROR_INVALID_FUNCTION is not included: it means that a handle
/// is not a file's.
#[cfg(windows)]
pub(crate) fn is_refusal(error: &std::io::Error) -> bool {
    use windows_sys::Win32::Foundation::{
        ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED,
    };
    const REFUSALS: [u32; 3] = [ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&(number as u32)))
}

/// No such errors are known here.
#[cfg(not(any(unix, windows)))]
pub(crate) fn is_refusal(_error: &std::io::Error) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_that_of_the_c_library() {
        let mut known = 0;
        // These are the texts of glibc; musl has shorter ones.
        let has_these_texts =
            io::Error::from_raw_os_error(libc::EIO).to_string().starts_with("Input/output error ");
        for code in 0..200 {
            let error = io::Error::from_raw_os_error(code);
            let shown = SystemText(&error).to_string();
            assert!(shown.ends_with(&format!(" (os error {code})")), "{shown}");
            if text(code).is_some() {
                assert!(!has_these_texts || shown == error.to_string(), "{shown}, not {error}");
                known += 1;
            }
        }
        assert_eq!(known, 62);
    }

    #[test]
    fn what_is_no_number_is_shown_as_it_is() {
        let error = io::Error::from(io::ErrorKind::WriteZero);
        assert_eq!(SystemText(&error).to_string(), error.to_string());
        let unknown = io::Error::from_raw_os_error(4095);
        assert_eq!(SystemText(&unknown).to_string(), format!("{} (os error 4095)", unknown.kind()));
    }
}
