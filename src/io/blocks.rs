//! Blocks and pages: the size of a page, whether a file supports direct reads and writes and their alignment,
//! a second handle for them, and allocating space ahead.

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(windows)]
mod windows;

use super::path::Access;
use crate::error::Result;
#[cfg(target_vendor = "apple")]
use apple as platform;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
#[cfg(windows)]
use windows as platform;

/// The page size of common processors. As a block size, it suits every device that Linux supports.
pub(crate) const PAGE: usize = 4096;

/// Direct reads and writes have to be multiples of these powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// For the address.
    pub memory: usize,
    /// For the offset and the length.
    pub offset: u64,
}

/// Whether a file supports direct reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectAccess {
    /// Yes, with this alignment.
    #[cfg_attr(not(any(target_os = "linux", windows)), expect(dead_code, reason = "others do not say so"))]
    Aligned(Alignment),
    /// No.
    No,
    /// The kernel or file system does not report it.
    Unknown,
}

impl DirectAccess {
    /// The alignment to try. If it is unknown, one that suits every device; `None` if there is no direct
    /// access.
    pub fn alignment(self) -> Option<Alignment> {
        match self {
            DirectAccess::Aligned(alignment) => Some(alignment),
            DirectAccess::Unknown => Some(Alignment { memory: PAGE, offset: PAGE as u64 }),
            DirectAccess::No => None,
        }
    }
}

/// A second handle on a file, whose writes bypass the page cache.
pub struct DirectHandle {
    /// The handle.
    pub file: File,
    /// The alignment of memory for a write; a power of two.
    pub memory: usize,
    /// The alignment of its offset and size. It is at least a page, so that no page has bytes that were
    /// written in both ways.
    pub block: usize,
}

#[cfg(target_os = "linux")]
mod platform {
    use super::{Access, Alignment, DirectAccess, File, IoSliceMut, Range, Result};
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    /// The most pieces in one call (UIO_MAXIOV).
    const MAX_PIECES: usize = 1024;

    pub fn direct_access(file: &File) -> DirectAccess {
        // SAFETY: an all-zero struct of integers is valid, and the kernel does not write more than its size;
        // the path is empty and ends in a NUL. Called by number, because supported C libraries may not have
        // the function.
        let alignment_mask = unsafe {
            let mut alignment_mask: libc::statx = std::mem::zeroed();
            let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
            let status = libc::syscall(
                libc::SYS_statx,
                file.as_raw_fd(),
                c"".as_ptr(),
                flags,
                mask,
                &raw mut alignment_mask,
            );
            if status != 0 || alignment_mask.stx_mask & libc::STATX_DIOALIGN == 0 {
                return DirectAccess::Unknown;
            }
            (alignment_mask.stx_dio_mem_align, alignment_mask.stx_dio_offset_align)
        };
        match (usize::try_from(alignment_mask.0), u64::from(alignment_mask.1)) {
            (Ok(memory), offset) if memory.is_power_of_two() && offset.is_power_of_two() => {
                DirectAccess::Aligned(Alignment { memory, offset })
            }
            _ => DirectAccess::No,
        }
    }

    pub fn reopen(file: &File, access: Access) -> Result<Option<File>> {
        // Uses the descriptor, so it opens the same file even if its path refers to another one now.
        let path = crate::error::try_format(format_args!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let flags = libc::O_DIRECT | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(access == Access::Read).write(access == Access::Write).custom_flags(flags);
        Ok(options.open(path).ok())
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

    pub fn read_scattered_at(file: &File, pieces: &mut [IoSliceMut<'_>], at: u64) -> std::io::Result<usize> {
        #[cfg(target_env = "gnu")]
        use libc::{off64_t as offset, preadv64 as preadv};
        #[cfg(not(target_env = "gnu"))]
        use libc::{off_t as offset, preadv};
        let at = offset::try_from(at).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        let count = libc::c_int::try_from(pieces.len().min(MAX_PIECES)).unwrap_or(0);
        // SAFETY: the standard library guarantees that these slices have the layout of the system's `iovec`.
        // Each is writable memory, and there are `count` of them.
        let done = unsafe { preadv(file.as_raw_fd(), pieces.as_ptr().cast::<libc::iovec>(), count, at) };
        usize::try_from(done).map_err(|_| std::io::Error::last_os_error())
    }

    /// Whether the error means that the device or file system does not accept such a write, or not from this
    /// memory.
    pub fn is_refusal(error: &std::io::Error) -> bool {
        const REFUSALS: [libc::c_int; 3] = [libc::EINVAL, libc::EOPNOTSUPP, libc::EFAULT];
        error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
    }
}

/// Platforms without direct access. They have no second handle, so nothing is written with one.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
mod platform {
    pub use super::without_direct_writes::*;
    use super::{Access, DirectAccess, File, Result};

    pub fn direct_access(_file: &File) -> DirectAccess {
        DirectAccess::No
    }

    pub fn reopen(_file: &File, _access: Access) -> Result<Option<File>> {
        Ok(None)
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod without_direct_writes {
    use super::{File, IoSliceMut, Range};

    pub fn allocate(_file: &File, _range: &Range<u64>) -> bool {
        false
    }

    pub fn write_at(_file: &File, _bytes: &[u8], _at: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub fn read_scattered_at(_: &File, _: &mut [IoSliceMut<'_>], _at: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub fn is_refusal(_error: &std::io::Error) -> bool {
        false
    }
}

/// What each platform has:
/// - `direct_access`: how direct reads and writes of a file have to be aligned (statx, since Linux 6.1; on
///   Windows, what the storage reports).
/// - `reopen`: a second handle on a file for direct reads or writes; `None` if the platform or file system
///   does not support it. Only fails for lack of memory.
/// - `allocate`: allocates space for a range, which may make the file longer; false if that fails.
/// - `write_at`: writes at an offset of the file, and returns how many bytes were written.
/// - `read_scattered_at`: reads into pieces of memory, one after the other, and returns how many bytes were
///   read. Fails with `Unsupported` if the platform cannot fill several pieces with one call.
/// - `is_refusal`: whether a write failed because it bypassed the page cache.
pub(crate) use platform::{allocate, direct_access, is_refusal, read_scattered_at, reopen, write_at};

/// A second handle on `file` for direct writes, if the platform and file system support them.
pub fn open_direct(file: &File) -> Option<DirectHandle> {
    if cfg!(target_vendor = "apple") {
        return None; // such writes were not measured there
    }
    let Alignment { memory, offset } = direct_access(file).alignment()?;
    let block = usize::try_from(offset).ok()?.max(PAGE).max(page_size());
    let file = reopen(file, Access::Write).ok()??;
    Some(DirectHandle { file, memory, block })
}

/// The size of a page, a power of two. All code gets it from here.
pub fn page_size() -> usize {
    #[cfg(test)]
    if let Some(pretended) = pretend::SIZE.get() {
        return pretended;
    }
    usize::try_from(system_page_size()).ok().filter(|size| size.is_power_of_two()).unwrap_or(PAGE)
}

#[cfg(unix)]
fn system_page_size() -> libc::c_long {
    // SAFETY: a query without arguments in memory.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

#[cfg(windows)]
fn system_page_size() -> u32 {
    use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};
    let mut info = SYSTEM_INFO::default();
    // SAFETY: it fills the struct, and cannot fail.
    unsafe { GetSystemInfo(&raw mut info) };
    info.dwPageSize
}

#[cfg(not(any(unix, windows)))]
fn system_page_size() -> u32 {
    4096
}

/// For tests: page sizes of other machines.
#[cfg(test)]
pub mod pretend {
    use std::cell::Cell;

    thread_local! {
        pub(super) static SIZE: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// The page sizes of supported processors.
    pub const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];

    /// Runs `test` with pages of each size, on this thread.
    pub fn each_size(test: impl Fn(usize)) {
        for size in SIZES {
            SIZE.set(Some(size));
            test(size);
        }
        SIZE.set(None);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn second_handles_are_on_a_file_without_a_name_and_know_the_alignment() {
        let path = std::env::temp_dir().join(format!("ztensor-blocks-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let same = |other: &File| {
            let (one, other) = (file.metadata().unwrap(), other.metadata().unwrap());
            (one.dev(), one.ino()) == (other.dev(), other.ino())
        };
        let access = direct_access(&file);
        println!("{access:?}");
        if let Some(alignment) = access.alignment() {
            assert!(alignment.memory.is_power_of_two() && alignment.offset.is_power_of_two());
        }
        if let Some(reading) = reopen(&file, Access::Read).unwrap() {
            assert!(same(&reading));
        }
        pretend::each_size(|page| {
            let Some(writing) = open_direct(&file) else { return };
            assert_ne!(access, DirectAccess::No);
            assert!(same(&writing.file));
            assert!(writing.block >= page && writing.block.is_power_of_two());
            assert!(writing.memory.is_power_of_two());
        });
    }

    #[test]
    fn pieces_are_filled_one_after_the_other() {
        let path = std::env::temp_dir().join(format!("ztensor-pieces-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let bytes: Vec<u8> = (0..5000_u32).map(|i| (i % 251) as u8).collect();
        assert_eq!(write_at(&file, &bytes, 0).unwrap(), bytes.len());
        // More pieces than one call accepts, including empty ones, up to the end of the file and past it.
        let mut memory = vec![0u8; 4600];
        let mut pieces: Vec<_> = memory.chunks_mut(2).map(IoSliceMut::new).collect();
        pieces.insert(0, IoSliceMut::new(&mut []));
        pieces.insert(7, IoSliceMut::new(&mut []));
        let (mut rest, mut done) = (&mut pieces[..], 0);
        loop {
            let count = read_scattered_at(&file, rest, 450 + done as u64).unwrap();
            if count == 0 {
                break;
            }
            done += count;
            IoSliceMut::advance_slices(&mut rest, count);
        }
        assert_eq!(done, 4550);
        assert_eq!(memory[..done], bytes[450..]);
        assert!(memory[done..].iter().all(|byte| *byte == 0));
    }
}
