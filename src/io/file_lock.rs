//! The lock that a writer holds on the file that it changes. It excludes other writers, but not readers.
//!
//! On Unix it is a flock, which belongs to an open file. Two handles that were opened separately exclude each
//! other, in one process, too. Duplicates of a handle (also by fork) share one lock, which ends when the last
//! of them is closed. On Windows it is a lock on one byte far after the end of any file, because locked bytes
//! cannot be read there.

use std::fs::File;

/// The result of requesting the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The caller's handle has it until it is closed.
    Held,
    /// Another handle has it.
    HeldElsewhere,
    /// The file system has no locks.
    Unavailable,
}

/// How often the lock is requested, and the pause in between. A reader that checks for a writer holds it for
/// less than this time.
const TRIES: u32 = 4;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// Locks an open file for a writer. Does not wait for another writer.
pub fn lock(file: &File) -> std::io::Result<Lock> {
    for _ in 1..TRIES {
        match platform::lock(file, true) {
            Ok(Lock::HeldElsewhere) => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
    platform::lock(file, true)
}

/// Whether a writer holds the lock of a file. There must be no duplicates of the handle.
pub fn is_locked(file: &File) -> bool {
    match platform::lock(file, false) {
        Ok(Lock::Held) => {
            platform::unlock(file);
            false
        }
        Ok(Lock::HeldElsewhere) => true,
        Ok(Lock::Unavailable) | Err(_) => false,
    }
}

#[cfg(all(unix, not(target_os = "solaris")))]
mod platform {
    use super::{File, Lock};
    use crate::error::is_refusal;
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsRawFd;

    /// A writer's lock is exclusive. A shared one is a check whether there is a writer.
    pub fn lock(file: &File, is_exclusive: bool) -> std::io::Result<Lock> {
        let kind = if is_exclusive { libc::LOCK_EX } else { libc::LOCK_SH };
        loop {
            // SAFETY: a descriptor that is open.
            if unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } == 0 {
                return Ok(Lock::Held);
            }
            let error = Error::last_os_error();
            match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock => return Ok(Lock::HeldElsewhere),
                _ if is_refusal(&error) || has_no_locks(&error) => return Ok(Lock::Unavailable),
                _ => return Err(error),
            }
        }
    }

    /// ENOLCK: the server has no locks. EBADF: NFS turns a flock into a lock of bytes, which needs a handle
    /// for writing.
    fn has_no_locks(error: &Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::ENOLCK | libc::EBADF))
    }

    pub fn unlock(file: &File) {
        // SAFETY: a descriptor that is open.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
    }
}

#[cfg(windows)]
mod platform {
    use super::{File, Lock};
    use crate::error::is_refusal;
    use std::io::Error;
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Foundation::{ERROR_INVALID_FUNCTION, ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
    use windows_sys::Win32::Storage::FileSystem::{
        LockFileEx, UnlockFileEx, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY,
    };
    use windows_sys::Win32::System::IO::OVERLAPPED;

    /// The locked byte. No file is that long.
    fn place() -> OVERLAPPED {
        let mut place = OVERLAPPED::default();
        place.Anonymous.Anonymous.Offset = 0xffff_fffe;
        place.Anonymous.Anonymous.OffsetHigh = 0x7fff_ffff;
        place
    }

    pub fn lock(file: &File, is_exclusive: bool) -> std::io::Result<Lock> {
        let exclusive = if is_exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
        let (mut place, flags) = (place(), exclusive | LOCKFILE_FAIL_IMMEDIATELY);
        // SAFETY: the handle is open, and `place` lives longer than the call, which does not wait.
        if unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut place) } != 0 {
            return Ok(Lock::Held);
        }
        let error = Error::last_os_error();
        match error.raw_os_error().map(|code| code as u32) {
            Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => Ok(Lock::HeldElsewhere),
            Some(ERROR_INVALID_FUNCTION) => Ok(Lock::Unavailable),
            _ if is_refusal(&error) => Ok(Lock::Unavailable),
            _ => Err(error),
        }
    }

    pub fn unlock(file: &File) {
        let mut place = place();
        // SAFETY: as above.
        unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) };
    }
}

#[cfg(not(any(all(unix, not(target_os = "solaris")), windows)))]
mod platform {
    use super::{File, Lock};

    pub fn lock(_: &File, _: bool) -> std::io::Result<Lock> {
        Ok(Lock::Unavailable)
    }

    pub fn unlock(_: &File) {}
}

#[cfg(all(test, any(unix, windows)))]
mod tests {
    use super::*;

    #[test]
    fn one_handle_has_it_and_readers_see_that() {
        let path = std::env::temp_dir().join(format!("ztensor-locked-{}", std::process::id()));
        std::fs::write(&path, b"abc").unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (one, other, reader) = (open(), open(), File::open(&path).unwrap());
        assert!(!is_locked(&reader));
        if lock(&one).unwrap() == Lock::Unavailable {
            return println!("no locks here");
        }
        assert_eq!(lock(&other).unwrap(), Lock::HeldElsewhere);
        assert!(is_locked(&reader));
        assert_eq!(std::fs::read(&path).unwrap(), b"abc", "readers go on");
        let twin = one.try_clone().unwrap();
        drop(one);
        assert_eq!(lock(&other).unwrap(), Lock::HeldElsewhere, "a duplicate shares it");
        drop(twin);
        assert!(!is_locked(&reader));
        assert_eq!(lock(&other).unwrap(), Lock::Held);
        std::fs::remove_file(&path).unwrap();
    }
}
