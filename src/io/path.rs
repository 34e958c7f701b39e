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

/// The path without symbolic links, of a file that is there.
#[cfg(unix)]
pub fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;
    const ROOM: usize = libc::PATH_MAX as usize;
    let text = path.as_os_str().as_bytes();
    let mut given = [0; ROOM];
    match given.get_mut(..text.len()) {
        Some(place) if text.len() < ROOM => place.copy_from_slice(text),
        _ => return Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
    }
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

/// Where a symbolic link leads, as it says; none if the path is no link.
#[cfg(unix)]
pub fn link_target(path: &Path) -> std::io::Result<Option<PathBuf>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    const ROOM: usize = libc::PATH_MAX as usize;
    let text = path.as_os_str().as_bytes();
    let mut given = [0; ROOM];
    match given.get_mut(..text.len()) {
        Some(place) if text.len() < ROOM => place.copy_from_slice(text),
        _ => return Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
    }
    let mut found = [0u8; ROOM];
    // SAFETY: a string that ends within its array, and room for as many bytes as are told.
    let size = unsafe { libc::readlink(given.as_ptr().cast(), found.as_mut_ptr().cast(), ROOM) };
    match usize::try_from(size).ok().and_then(|size| found.get(..size)) {
        Some(target) if target.len() < ROOM => copy(Path::new(OsStr::from_bytes(target)))
            .map(Some)
            .map_err(|_| std::io::ErrorKind::OutOfMemory.into()),
        Some(_) => Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
        None => match std::io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Ok(None),
            e => Err(e),
        },
    }
}

/// Where a symbolic link leads, as it says; none if the path is no link.
#[cfg(not(unix))]
pub fn link_target(path: &Path) -> std::io::Result<Option<PathBuf>> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => std::fs::read_link(path).map(Some),
        _ => Ok(None),
    }
}

/// `name` as a process in `folder` would find it.
pub fn join(folder: &Path, name: &Path) -> Result<PathBuf> {
    let mut joined = PathBuf::new();
    let room = folder.as_os_str().len().saturating_add(name.as_os_str().len()).saturating_add(2);
    joined.try_reserve(room)?;
    joined.push(folder); // what follows fits what was reserved
    joined.push(name);
    Ok(joined)
}
