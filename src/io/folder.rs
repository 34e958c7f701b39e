//! The names in a folder, in memory that is asked for fallibly.

use super::path::SystemPath;
use crate::error::Result;
use std::ffi::OsStr;
use std::path::Path;

/// Gives `body` the name of each entry, in no particular order; false where the path is no folder that can be listed.
pub fn for_each_name(path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
    platform::for_each_name(&SystemPath::new(path)?, body)
}

#[cfg(unix)]
mod platform {
    use super::{OsStr, Result, SystemPath};
    use crate::error::Error;
    use std::ffi::CStr;
    use std::os::unix::ffi::OsStrExt;
    use std::ptr::NonNull;

    /// An open folder.
    struct Folder(NonNull<libc::DIR>);

    impl Drop for Folder {
        fn drop(&mut self) {
            // SAFETY: from opendir, and nobody has it any more.
            unsafe { libc::closedir(self.0.as_ptr()) };
        }
    }

    pub fn for_each_name(path: &SystemPath, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        // SAFETY: a NUL-ended string that lives here.
        let opened = unsafe { libc::opendir(path.as_ptr()) };
        let Some(folder) = NonNull::new(opened).map(Folder) else {
            return match std::io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::ENOMEM) => Err(Error::io("could not list it", &e)),
                _ => Ok(false), // whoever opens the path says why it cannot be
            };
        };
        loop {
            // SAFETY: an open folder that no other thread has.
            let entry = unsafe { libc::readdir(folder.0.as_ptr()) };
            let Some(entry) = NonNull::new(entry) else { return Ok(true) };
            // SAFETY: an entry, until the next call; its name is NUL-ended.
            let name = unsafe { CStr::from_ptr((&raw const (*entry.as_ptr()).d_name).cast()) };
            body(OsStr::from_bytes(name.to_bytes()))?;
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{OsStr, Result, SystemPath};

    pub fn for_each_name(path: &SystemPath, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let Ok(entries) = std::fs::read_dir(path.as_path()) else { return Ok(false) };
        entries.flatten().try_for_each(|entry| body(&entry.file_name()))?;
        Ok(true)
    }
}
