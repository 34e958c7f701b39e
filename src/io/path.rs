//! Paths and system calls with them. Allocations may fail without aborting: the standard library would abort
//! if it cannot copy a long path.

use crate::error::Result;
use std::path::{Path, PathBuf};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading, without waiting for the writer of a FIFO.
    Read,
    /// For writing.
    Write,
    /// For reading and writing.
    ReadWrite,
    /// For writing a file that does not exist yet.
    CreateNew,
    /// For writing a file that does not exist yet, and that only its owner may open.
    CreatePrivate,
}

/// A copy of `path`.
pub fn copy(path: &Path) -> Result<PathBuf> {
    let mut copy = PathBuf::new();
    copy.try_reserve(path.as_os_str().len())?;
    copy.as_mut_os_string().push(path.as_os_str());
    Ok(copy)
}

pub use platform::SystemPath;

#[cfg(unix)]
mod platform {
    use super::{copy, Access, Path, PathBuf, Result};
    use crate::error::fail;
    use std::ffi::{c_char, c_int, CStr, OsStr};
    use std::fs::{File, Permissions};
    use std::io::{Error, ErrorKind};
    use std::os::fd::FromRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    // These functions also handle large files on 32-bit machines.
    #[cfg(not(target_env = "gnu"))]
    use libc::open;
    #[cfg(target_env = "gnu")]
    use libc::open64 as open;

    /// A path for the system, with a NUL at the end.
    pub struct SystemPath(Vec<u8>);

    /// Repeats a call that a signal interrupted.
    fn uninterrupted(call: impl Fn() -> c_int) -> std::io::Result<c_int> {
        loop {
            match call() {
                -1 => match Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
                result => return Ok(result),
            }
        }
    }

    /// The outcome of a call that returns 0 if it succeeds.
    fn done(result: c_int) -> std::io::Result<()> {
        match result {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    impl SystemPath {
        /// A copy of `path`.
        pub fn new(path: &Path) -> Result<SystemPath> {
            let bytes = path.as_os_str().as_bytes();
            if bytes.contains(&0) {
                return Err(fail!(InvalidArgument, "a path cannot hold a NUL"));
            }
            let mut text = Vec::new();
            text.try_reserve_exact(bytes.len().saturating_add(1))?;
            text.extend_from_slice(bytes);
            text.push(0);
            Ok(SystemPath(text))
        }

        /// The string, with a NUL at the end.
        pub fn as_ptr(&self) -> *const c_char {
            self.0.as_ptr().cast()
        }

        /// Opens the file.
        pub fn open(&self, access: Access) -> std::io::Result<File> {
            let flags = match access {
                Access::Read => libc::O_RDONLY | libc::O_NONBLOCK,
                Access::Write => libc::O_WRONLY,
                Access::ReadWrite => libc::O_RDWR,
                Access::CreateNew | Access::CreatePrivate => libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL,
            };
            let mode: libc::c_uint = if access == Access::CreatePrivate { 0o600 } else { 0o666 };
            // SAFETY: the string is local and ends in a NUL.
            let fd = uninterrupted(|| unsafe { open(self.as_ptr(), flags | libc::O_CLOEXEC, mode) })?;
            // SAFETY: it was just opened, and nothing else owns it.
            Ok(unsafe { File::from_raw_fd(fd) })
        }

        /// Sets its permissions.
        pub fn set_permissions(&self, permissions: &Permissions) -> std::io::Result<()> {
            let mode = permissions.mode() as libc::mode_t;
            // SAFETY: the string is local and ends in a NUL.
            uninterrupted(|| unsafe { libc::chmod(self.as_ptr(), mode & 0o7777) }).map(drop)
        }

        /// The path for the standard library.
        pub fn as_path(&self) -> &Path {
            Path::new(OsStr::from_bytes(self.0.strip_suffix(&[0]).unwrap_or_default()))
        }

        /// Renames the file. Replaces an existing file.
        pub fn rename_to(&self, to: &SystemPath) -> std::io::Result<()> {
            // SAFETY: the strings are local and end in a NUL.
            done(unsafe { libc::rename(self.as_ptr(), to.as_ptr()) })
        }

        /// Gives the file a second name, which must not exist.
        pub fn link_to(&self, to: &SystemPath) -> std::io::Result<()> {
            // SAFETY: the strings are local and end in a NUL.
            done(unsafe { libc::link(self.as_ptr(), to.as_ptr()) })
        }

        /// Removes the file.
        pub fn remove(&self) -> std::io::Result<()> {
            // SAFETY: the string is local and ends in a NUL.
            done(unsafe { libc::unlink(self.as_ptr()) })
        }

        /// The path of an existing file without symbolic links.
        pub fn resolved(&self) -> std::io::Result<PathBuf> {
            // SAFETY: the string is local and ends in a NUL; the result is NULL or memory that the C library
            // has allocated.
            let found = unsafe { libc::realpath(self.as_ptr(), std::ptr::null_mut()) };
            if found.is_null() {
                return Err(Error::last_os_error());
            }
            // SAFETY: it is not NULL, and ends in a NUL.
            let text = unsafe { CStr::from_ptr(found) };
            let copied = copy(Path::new(OsStr::from_bytes(text.to_bytes())));
            // SAFETY: realpath made it, and it is not used any more.
            unsafe { libc::free(found.cast()) };
            copied.map_err(|_| ErrorKind::OutOfMemory.into())
        }

        /// The target of a symbolic link, unresolved; `None` if the path is not a link.
        pub fn link_target(&self) -> std::io::Result<Option<PathBuf>> {
            const MAX_LINK_SIZE: usize = libc::PATH_MAX as usize;
            let mut found: Vec<u8> = Vec::new();
            found.try_reserve_exact(MAX_LINK_SIZE).map_err(|_| Error::from(ErrorKind::OutOfMemory))?;
            found.resize(MAX_LINK_SIZE, 0); // within what was reserved

            // SAFETY: the string is local and ends in a NUL, and the memory has the size that the call may
            // write.
            let size = unsafe { libc::readlink(self.as_ptr(), found.as_mut_ptr().cast(), MAX_LINK_SIZE) };
            match usize::try_from(size).ok().and_then(|size| found.get(..size)) {
                Some(target) if target.len() < MAX_LINK_SIZE => copy(Path::new(OsStr::from_bytes(target)))
                    .map(Some)
                    .map_err(|_| ErrorKind::OutOfMemory.into()),
                Some(_) => Err(Error::from_raw_os_error(libc::ENAMETOOLONG)),
                None => match Error::last_os_error() {
                    e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Ok(None),
                    e => Err(e),
                },
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{copy, Access, Path, PathBuf, Result};
    use std::fs::{File, OpenOptions, Permissions};

    /// A path for the system.
    pub struct SystemPath(PathBuf);

    impl SystemPath {
        /// A copy of `path`.
        pub fn new(path: &Path) -> Result<SystemPath> {
            copy(path).map(SystemPath)
        }

        /// Opens the file.
        pub fn open(&self, access: Access) -> std::io::Result<File> {
            let mut options = OpenOptions::new();
            match access {
                Access::Read => options.read(true),
                Access::Write => options.write(true),
                Access::ReadWrite => options.read(true).write(true),
                Access::CreateNew | Access::CreatePrivate => options.write(true).create_new(true),
            };
            options.open(&self.0)
        }

        /// Sets its permissions.
        pub fn set_permissions(&self, permissions: &Permissions) -> std::io::Result<()> {
            std::fs::set_permissions(&self.0, permissions.clone())
        }

        /// The path for the standard library.
        pub fn as_path(&self) -> &Path {
            &self.0
        }

        /// Renames it, also over an existing file. On Windows the standard library uses POSIX semantics,
        /// which also replace a file that others have open. In 1.85 it has no fallback if a file system does
        /// not support that.
        pub fn rename_to(&self, to: &SystemPath) -> std::io::Result<()> {
            match std::fs::rename(&self.0, &to.0) {
                #[cfg(windows)]
                Err(e) if super::windows::is_unknown(&e) => super::windows::move_over(&self.0, &to.0),
                outcome => outcome,
            }
        }

        /// Gives the file a second name, which must not exist.
        pub fn link_to(&self, to: &SystemPath) -> std::io::Result<()> {
            std::fs::hard_link(&self.0, &to.0)
        }

        /// Removes the file.
        pub fn remove(&self) -> std::io::Result<()> {
            std::fs::remove_file(&self.0)
        }

        /// The path of an existing file without symbolic links.
        pub fn resolved(&self) -> std::io::Result<PathBuf> {
            self.0.canonicalize()
        }

        /// The target of a symbolic link, unresolved; `None` if the path is not a link.
        pub fn link_target(&self) -> std::io::Result<Option<PathBuf>> {
            match self.0.symlink_metadata() {
                Ok(meta) if meta.is_symlink() => std::fs::read_link(&self.0).map(Some),
                _ => Ok(None),
            }
        }
    }
}

/// A rename that works on every file system of Windows.
#[cfg(windows)]
mod windows {
    use super::Path;
    use std::io::{Error, ErrorKind, Result};
    use std::os::windows::ffi::OsStrExt;
    use windows_sys::Win32::Foundation::{
        ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED,
    };
    use windows_sys::Win32::Storage::FileSystem::{
        MoveFileExW, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH,
    };

    /// Whether a file system did not support the request.
    pub fn is_unknown(error: &Error) -> bool {
        const UNKNOWN: [u32; 4] = [
            ERROR_CALL_NOT_IMPLEMENTED,
            ERROR_INVALID_FUNCTION,
            ERROR_INVALID_PARAMETER,
            ERROR_NOT_SUPPORTED,
        ];
        error.raw_os_error().is_some_and(|number| UNKNOWN.contains(&(number as u32)))
    }

    /// Renames `from` to `to`. If `to` exists, it must not be open.
    pub fn move_over(from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (wide(from)?, wide(to)?);
        // SAFETY: the strings are local and end in a NUL.
        match unsafe {
            MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
        } {
            0 => Err(Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn wide(path: &Path) -> Result<Vec<u16>> {
        let mut text = Vec::new();
        // No character needs more units in UTF-16 than bytes in WTF-8.
        let most = path.as_os_str().len().saturating_add(1);
        text.try_reserve_exact(most).map_err(|_| Error::from(ErrorKind::OutOfMemory))?;
        text.extend(path.as_os_str().encode_wide());
        if text.contains(&0) {
            return Err(ErrorKind::InvalidInput.into());
        }
        text.push(0);
        Ok(text)
    }

    #[test]
    fn a_file_takes_the_place_of_another() {
        let name =
            |ending| std::env::temp_dir().join(format!("ztensor-mové-{}.{ending}", std::process::id()));
        let (from, to) = (name("new"), name("old"));
        for is_there in [false, true] {
            std::fs::write(&from, b"new").unwrap();
            if is_there {
                std::fs::write(&to, b"what was there").unwrap();
            }
            move_over(&from, &to).unwrap();
            assert_eq!(std::fs::read(&to).unwrap(), b"new");
            assert!(!from.exists());
        }
        std::fs::remove_file(&to).unwrap();
        assert_eq!(move_over(&from, &to).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!is_unknown(&move_over(&from, &to).unwrap_err()));
        assert!(is_unknown(&Error::from_raw_os_error(ERROR_NOT_SUPPORTED as i32)));
        assert_eq!(move_over(Path::new("a\0b"), &to).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

/// The path of `name` for a process in `folder`.
pub fn join(folder: &Path, name: &Path) -> Result<PathBuf> {
    let mut joined = PathBuf::new();
    let capacity = folder.as_os_str().len().saturating_add(name.as_os_str().len()).saturating_add(2);
    joined.try_reserve(capacity)?;
    joined.push(folder); // what follows fits what was reserved
    joined.push(name);
    Ok(joined)
}
