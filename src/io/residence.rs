//! What the kernel tells of an open file beside its bytes: how direct reads and writes have to be aligned, and
//! which of its pages are in memory already.

use std::fs::File;
use std::ops::Range;

/// What direct reads and writes of a file have to be multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of the address.
    pub memory: usize,
    /// Of the offset and the length.
    pub offset: u64,
}

/// Whether a file can be read and written past the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectAccess {
    /// With this alignment.
    Aligned(Alignment),
    /// Not at all.
    No,
    /// The kernel or the file system does not say.
    Untold,
}

/// Asks how direct reads and writes of `file` have to be aligned (statx, since Linux 6.1).
#[cfg(target_os = "linux")]
pub fn direct_access(file: &File) -> DirectAccess {
    use std::os::fd::AsRawFd;
    // SAFETY: an all-zero struct of integers is valid, and the kernel writes no more than it has; the path is empty
    // and ends with NUL. By number, because the C libraries that this library runs with need not have the function.
    let told = unsafe {
        let mut told: libc::statx = std::mem::zeroed();
        let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
        let status =
            libc::syscall(libc::SYS_statx, file.as_raw_fd(), c"".as_ptr(), flags, mask, &raw mut told);
        if status != 0 || told.stx_mask & libc::STATX_DIOALIGN == 0 {
            return DirectAccess::Untold;
        }
        (told.stx_dio_mem_align, told.stx_dio_offset_align)
    };
    match (usize::try_from(told.0), u64::from(told.1)) {
        (Ok(memory), offset) if memory.is_power_of_two() && offset.is_power_of_two() => {
            DirectAccess::Aligned(Alignment { memory, offset })
        }
        _ => DirectAccess::No,
    }
}

/// Whether at least half of the pages that `range` touches are in the page cache; none where the kernel
/// does not tell. Nothing is read.
#[cfg(target_os = "linux")]
pub fn resident(file: &File, range: Range<u64>) -> Option<bool> {
    counted(file, &range).or_else(|| probed(file, &range))
}

/// By cachestat (since Linux 6.5), which a kernel may refuse for files of others.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
fn counted(file: &File, range: &Range<u64>) -> Option<bool> {
    use std::os::fd::AsRawFd;
    const CACHESTAT: libc::c_long = 451; // the same on these processors; not every libc names it
    let page = super::map::page_size() as u64;
    let first = range.start - range.start % page;
    let pages = range.end.saturating_sub(first).div_ceil(page);
    let asked = [first, range.end.saturating_sub(first)];
    let mut told = [0u64; 5]; // cached, dirty, in writeback, evicted, recently evicted
                              // SAFETY: two structs of 64-bit integers that live here, as the kernel's manual has them; no flags.
    let status = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), asked.as_ptr(), told.as_mut_ptr(), 0 as libc::c_uint)
    };
    let [cached, ..] = told;
    (status == 0).then(|| cached.saturating_mul(2) >= pages)
}

#[cfg(all(
    target_os = "linux",
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))
))]
fn counted(_file: &File, _range: &Range<u64>) -> Option<bool> {
    None
}

/// By asking for three bytes without waiting for the disk.
#[cfg(target_os = "linux")]
fn probed(file: &File, range: &Range<u64>) -> Option<bool> {
    use std::os::fd::AsRawFd;
    let last = range.end.saturating_sub(1).max(range.start);
    let middle = range.start.midpoint(last);
    let mut there = 0;
    for at in [range.start, middle, last] {
        let mut byte = 0u8;
        let place = libc::iovec { iov_base: std::ptr::from_mut(&mut byte).cast(), iov_len: 1 };
        let at = libc::off_t::try_from(at).ok()?;
        // SAFETY: one byte that lives here.
        let count = unsafe { libc::preadv2(file.as_raw_fd(), &raw const place, 1, at, libc::RWF_NOWAIT) };
        match count {
            1.. => there += 1,
            0 => return None, // past the end: the read itself will say so
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock => {}
            _ => return None,
        }
    }
    Some(there >= 2)
}

/// This platform has no such reads here.
#[cfg(not(target_os = "linux"))]
pub fn direct_access(_file: &File) -> DirectAccess {
    DirectAccess::No
}

/// This platform does not tell.
#[cfg(not(target_os = "linux"))]
pub fn resident(_file: &File, _range: Range<u64>) -> Option<bool> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_written_is_in_memory_by_either_way_to_tell() {
        let path = std::env::temp_dir().join(format!("ztensor-residence-{}", std::process::id()));
        std::fs::write(&path, vec![7u8; 1 << 20]).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for range in [0..1 << 20, 5..6, 4095..4097, (1 << 20) - 1..1 << 20] {
            assert_ne!(counted(&file, &range), Some(false), "{range:?}");
            assert_ne!(probed(&file, &range), Some(false), "{range:?}");
        }
        assert_ne!(probed(&file, &(0..1 << 21)), Some(true), "nothing is there past the end");
        match direct_access(&file) {
            DirectAccess::Aligned(a) => assert!(a.memory.is_power_of_two() && a.offset.is_power_of_two()),
            told => println!("{told:?}"),
        }
    }
}
