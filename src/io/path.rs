//! Paths, copied and resolved in memory that is asked for fallibly.

use crate::error::Result;
use std::path::{Path, PathBuf};

/// A copy of `path`.
pub fn copy(path: &Path) -> Result<PathBuf> {
    let mut copy = PathBuf::new();
    copy.try_reserve(path.as_os_str().len())?;
    copy.as_mut_os_string().push(path.as_os_str());
    Ok(copy)
}

/// Bytes of the longest path, with its NUL.
#[cfg(unix)]
const ROOM: usize = libc::PATH_MAX as usize;

/// The path as the system wants it: ended by a NUL, of which there is no other.
#[cfg(unix)]
pub(super) fn ended(path: &Path) -> std::io::Result<[u8; ROOM]> {
    use std::os::unix::ffi::OsStrExt;
    let text = path.as_os_str().as_bytes();
    let mut ended = [0; ROOM];
    match ended.get_mut(..text.len()) {
        _ if text.contains(&0) => Err(std::io::ErrorKind::InvalidInput.into()),
        Some(place) if text.len() < ROOM => {
            place.copy_from_slice(text);
            Ok(ended)
        }
        _ => Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
    }
}

/// The path without symbolic links, of a file that is there.
#[cfg(unix)]
pub fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;
    let given = ended(path)?;
    let mut found: [std::ffi::c_char; ROOM] = [0; ROOM];
    // SAFETY: a string that ends within its array, and room for the PATH_MAX bytes that may come back,
    // which then end in NUL.
    let found = unsafe {
        if libc::realpath(given.as_ptr().cast(), found.as_mut_ptr()).is_null() {
            return Err(std::io::Error::last_os_error());
        }
        CStr::from_ptr(found.as_ptr())
    };
    copy(Path::new(OsStr::from_bytes(found.to_bytes()))).map_err(|_| std::io::ErrorKind::OutOfMemory.into())
}

/// The path without symbolic links, of a file that is there.
#[cfg(not(unix))]
pub fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize()
}
