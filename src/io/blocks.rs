//! Blocks of a file: whether writes may go past the page cache, how they then have to lie, and room for them
//! that is made ahead.

use std::fs::File;
use std::ops::Range;

/// A second handle on a file whose writes go past the page cache.
pub struct Uncached {
    /// The handle.
    pub file: File,
    /// What the memory of a write has to be a multiple of; a power of two.
    pub memory: usize,
    /// The same of its place in the file and of its size; a page at least, so that no page has bytes that were
    /// written in both ways.
    pub block: usize,
}

#[cfg(target_os = "linux")]
mod platform {
    use super::{File, Range, Uncached};
    use crate::io::residence::{direct_access, DirectAccess};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    /// What satisfies every device that Linux drives today.
    const PAGE: usize = 4096;

    pub fn uncached(file: &File) -> Option<Uncached> {
        // By descriptor, so that it is the same file whatever happens to its path.
        let path = crate::error::try_format(format_args!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let (memory, block) = match direct_access(file) {
            DirectAccess::Aligned(a) => (a.memory, usize::try_from(a.offset).ok()?),
            DirectAccess::Untold => (PAGE, PAGE),
            DirectAccess::No => return None,
        };
        let opened = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path);
        Some(Uncached { file: opened.ok()?, memory, block: block.max(PAGE) })
    }

    pub fn allocate(file: &File, range: &Range<u64>) -> bool {
        #[cfg(not(target_env = "gnu"))]
        use libc::{fallocate, off_t as offset};
        #[cfg(target_env = "gnu")]
        use libc::{fallocate64 as fallocate, off64_t as offset};
        let (at, end) = (offset::try_from(range.start), offset::try_from(range.end));
        let (Ok(at), Ok(end)) = (at, end) else { return false };
        // SAFETY: a descriptor that is open, and numbers.
        unsafe { fallocate(file.as_raw_fd(), 0, at, end.saturating_sub(at)) == 0 }
    }

    pub fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<usize> {
        file.write_at(bytes, at)
    }

    /// A device or a file system that does not take such a write, or memory that it cannot be given.
    pub fn is_refusal(error: &std::io::Error) -> bool {
        const REFUSALS: [libc::c_int; 3] = [libc::EINVAL, libc::EOPNOTSUPP, libc::EFAULT];
        error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
    }
}

/// Never asked for more than a handle: there is none.
#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{File, Range, Uncached};

    pub fn uncached(_file: &File) -> Option<Uncached> {
        None
    }

    pub fn allocate(_file: &File, _range: &Range<u64>) -> bool {
        false
    }

    pub fn write_at(_file: &File, _bytes: &[u8], _at: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub fn is_refusal(_error: &std::io::Error) -> bool {
        false
    }
}

/// A second handle on `file` for writes past the page cache, where the platform and the file system have such.
pub fn uncached(file: &File) -> Option<Uncached> {
    platform::uncached(file)
}

/// Makes room for `range`, which makes the file so long; says whether there is.
pub fn allocate(file: &File, range: &Range<u64>) -> bool {
    platform::allocate(file, range)
}

/// Writes from `bytes` to the file's `at`; says how many.
pub fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<usize> {
    platform::write_at(file, bytes, at)
}

/// Whether a write past the page cache failed for being one.
pub fn is_refusal(error: &std::io::Error) -> bool {
    platform::is_refusal(error)
}
