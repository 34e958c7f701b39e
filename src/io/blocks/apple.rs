//! macOS and related systems: reads with F_NOCACHE leave nothing in the page cache. There are no rules for
//! their alignment: if they are not whole pages, the kernel reads through the page cache and drops the pages.
//! Bytes that are already in the page cache come from there. Writes go through the page cache. No call fills
//! several pieces of memory: preadv came with macOS 11, but Rust's standard library runs on 10.12. This code
//! was compiled and linked, but has not run.

pub use super::without_direct_writes::*;
use super::{Access, DirectAccess, File, Result};
use crate::io::path::SystemPath;
use std::ffi::{CStr, OsStr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The size of the longest path that F_GETPATH writes (MAXPATHLEN), including the NUL.
const MAX_PATH_SIZE: usize = libc::PATH_MAX as usize;

/// Regular files support such reads if their file system does, which does not report it.
pub fn direct_access(file: &File) -> DirectAccess {
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => DirectAccess::Unknown,
        _ => DirectAccess::No,
    }
}

/// For reading only, whatever `_access` is: there are no direct writes here. Opens the current path of the
/// file, because a duplicate of the descriptor would share its flags. `None` if the path refers to another
/// file or to none.
pub fn reopen(file: &File, _access: Access) -> Result<Option<File>> {
    let mut path = [0_u8; MAX_PATH_SIZE];
    // SAFETY: the descriptor is open, and the memory has the largest size that the system writes.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETPATH, path.as_mut_ptr()) } == -1 {
        return Ok(None);
    }
    let Ok(path) = CStr::from_bytes_until_nul(&path) else { return Ok(None) };
    let path = SystemPath::new(Path::new(OsStr::from_bytes(path.to_bytes())))?;
    let Ok(second) = path.open(Access::Read) else { return Ok(None) };
    if !is_same(file, &second) {
        return Ok(None);
    }
    // SAFETY: a descriptor that is open, and a number.
    let status = unsafe { libc::fcntl(second.as_raw_fd(), libc::F_NOCACHE, 1) };
    Ok((status != -1).then_some(second))
}

fn is_same(one: &File, other: &File) -> bool {
    let identity = |file: &File| file.metadata().map(|of| (of.dev(), of.ino())).ok();
    identity(one).is_some_and(|first| identity(other) == Some(first))
}
