//! Lists the names in a folder. Allocations may fail without aborting.

use super::path::SystemPath;
use crate::error::Result;
use std::ffi::OsStr;
use std::path::Path;

/// Calls `body` with the name of each entry, in any order. Returns false if the path is not a folder that can
/// be listed.
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
    pub struct Folder(NonNull<libc::DIR>);

    impl Drop for Folder {
        fn drop(&mut self) {
            // SAFETY: opendir made it, and nothing uses it any more.
            unsafe { libc::closedir(self.0.as_ptr()) };
        }
    }

    pub fn for_each_name(path: &SystemPath, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        match Folder::open(path)? {
            Some(mut folder) => folder.for_each_name(body).map(|()| true),
            None => Ok(false), // opening the path reports the error
        }
    }

    impl Folder {
        /// `None` if the path is not a folder that can be listed.
        pub fn open(path: &SystemPath) -> Result<Option<Folder>> {
            // SAFETY: the string is local and ends in a NUL.
            let opened = unsafe { libc::opendir(path.as_ptr()) };
            if let Some(folder) = NonNull::new(opened) {
                return Ok(Some(Folder(folder)));
            }
            match std::io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::ENOMEM) => Err(Error::io("could not list it", &e)),
                _ => Ok(None),
            }
        }

        pub fn for_each_name(&mut self, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<()> {
            #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
            use libc::readdir;
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            // On 32-bit processors, the other function cannot represent every file number.
            use libc::readdir64 as readdir;
            loop {
                clear_os_error();
                // SAFETY: the folder is open, and no other thread uses it.
                let entry = unsafe { readdir(self.0.as_ptr()) };
                let Some(entry) = NonNull::new(entry) else {
                    // At the end of the folder, errno is still 0.
                    return match std::io::Error::last_os_error() {
                        e if e.raw_os_error() == Some(0) => Ok(()),
                        e => Err(Error::io("could not list all of it", &e)),
                    };
                };
                // SAFETY: the entry is valid until the next call; its name ends in a NUL.
                let name = unsafe { CStr::from_ptr((&raw const (*entry.as_ptr()).d_name).cast()) };
                body(OsStr::from_bytes(name.to_bytes()))?;
            }
        }

        #[cfg(test)]
        pub fn descriptor(&self) -> libc::c_int {
            // SAFETY: an open folder.
            unsafe { libc::dirfd(self.0.as_ptr()) }
        }
    }

    fn clear_os_error() {
        #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
        use libc::__errno as place;
        #[cfg(any(
            target_os = "linux",
            target_os = "emscripten",
            target_os = "redox",
            target_os = "hurd"
        ))]
        use libc::__errno_location as place;
        #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
        use libc::__error as place;
        // SAFETY: the calling thread's own errno.
        unsafe { *place() = 0 };
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{OsStr, Result, SystemPath};
    use crate::error::Error;

    pub fn for_each_name(path: &SystemPath, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let Ok(entries) = std::fs::read_dir(path.as_path()) else { return Ok(false) };
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("could not list all of it", &e))?;
            body(&entry.file_name())?;
        }
        Ok(true)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::platform::Folder;
    use super::*;
    use crate::error::Cause;
    use std::os::fd::AsRawFd;

    /// The descriptor of an open folder is replaced by a file, so that reading the folder fails.
    #[test]
    fn what_fails_in_the_middle_is_not_the_end() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut names = 0;
        let mut count = |_: &OsStr| {
            names += 1;
            Ok(())
        };
        assert!(for_each_name(here, &mut count).unwrap());
        assert!(!for_each_name(&here.join("Cargo.toml"), &mut count).unwrap());
        let mut folder = Folder::open(&SystemPath::new(here).unwrap()).unwrap().unwrap();
        let other = std::fs::File::open(here.join("Cargo.toml")).unwrap();
        // SAFETY: both are open here.
        assert!(unsafe { libc::dup2(other.as_raw_fd(), folder.descriptor()) } >= 0);
        let error = folder.for_each_name(&mut |_| panic!("a name in no folder")).unwrap_err();
        assert_eq!((error.cause(), error.os_error()), (Cause::Io, Some(libc::ENOTDIR)));
        assert!(names > 5 && error.message().contains("could not list all of it"));
    }
}
