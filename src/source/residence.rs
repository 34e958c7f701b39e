//! What the kernel reports of memory: whether a byte of a file is in the page cache already, and whether a buffer
//! is on huge pages.

use std::fs::File;

/// Whether the byte at `offset` is in the page cache; none where the kernel does not report it. `mapped` is that byte in a
/// map, where there is one. cachestat would report more at once, but is so new that filters of system calls which kill do
/// not know it.
#[cfg(target_os = "linux")]
pub fn resident(file: &File, offset: u64, mapped: Option<&[u8]>) -> Option<bool> {
    let absent = match mapped {
        Some(byte) => is_page_absent(byte.as_ptr()),
        None => is_absent(file, offset),
    };
    match absent {
        true => Some(false),
        false => is_read_at_once(file, offset),
    }
}

/// Whether the page of a byte is said not to be in memory.
#[cfg(target_os = "linux")]
fn is_absent(file: &File, offset: u64) -> bool {
    let page = crate::io::page_size();
    let start = offset - offset % page as u64;
    // SAFETY: the map is not looked into, and gone before anybody else knows of it.
    let Ok(map) = (unsafe { memmap2::MmapOptions::new().offset(start).len(page).map(file) }) else {
        return false;
    };
    is_page_absent(map.as_ptr())
}

/// Whether the page of a map that an address is in is absent (mincore). Of a file that one can neither own nor write
/// everything is said to be there, so that nobody learns what others read.
#[cfg(target_os = "linux")]
fn is_page_absent(address: *const u8) -> bool {
    let page = crate::io::page_size();
    let start = address.wrapping_sub(address.addr().checked_rem(page).unwrap_or(0));
    let mut state = 1u8;
    // SAFETY: one page, which is not looked into, and the one byte that is written of it. Where there is no such page,
    // that is an error.
    let status = unsafe { libc::mincore(start.cast_mut().cast(), page, &raw mut state) };
    status == 0 && state & 1 == 0
}

/// Whether a byte is read without waiting for the disk; none past the end, too. Asked last: the kernel may answer by
/// reading ahead, which takes memory and time, and on a fast disk be done with it before it has answered.
#[cfg(target_os = "linux")]
fn is_read_at_once(file: &File, offset: u64) -> Option<bool> {
    use std::os::fd::AsRawFd;
    let mut byte = 0u8;
    let place = libc::iovec { iov_base: std::ptr::from_mut(&mut byte).cast(), iov_len: 1 };
    let offset = i64::try_from(offset).ok()?;
    // By number, because musl has the function only since 1.2.5. The offset's upper half is an argument of its own,
    // which the kernel does not look at where a register has room for all.
    let (low, high) = (offset as libc::c_long, (offset >> 32) as libc::c_long);
    let (fd, flags) = (file.as_raw_fd(), libc::RWF_NOWAIT);
    // SAFETY: one byte that lives here.
    let count = unsafe { libc::syscall(libc::SYS_preadv2, fd, &raw const place, 1_usize, low, high, flags) };
    match count {
        1.. => Some(true),
        0 => None, // past the end: the read itself will say so
        _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock => Some(false),
        _ => None,
    }
}

/// Whether `memory` is on huge pages, all of it; false where the kernel does not report it (PAGEMAP_SCAN, since
/// Linux 6.7).
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
pub fn on_huge_pages(memory: &[u8]) -> bool {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    const PAGEMAP_SCAN: libc::Ioctl = 0xC060_6610_u32 as libc::Ioctl; // _IOWR('f', 16, Scan) on these processors
    const HUGE: u64 = 1 << 6;
    /// `struct pm_scan_arg` of the kernel.
    #[repr(C)]
    struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        regions: u64,
        region_count: u64,
        max_pages: u64,
        inverted: u64,
        wanted: u64,
        any_of: u64,
        state: u64,
    }
    let page = crate::io::page_size() as u64;
    let first = memory.as_ptr().addr() as u64;
    let start = first - first.checked_rem(page).unwrap_or(0);
    let end = first.saturating_add(memory.len() as u64).checked_next_multiple_of(page).unwrap_or(start);
    let opened =
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_CLOEXEC).open("/proc/self/pagemap");
    let Ok(pagemap) = opened else { return false };
    let mut region = [0u64; 3]; // where it begins, where it ends, what it is
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        flags: 0,
        start,
        end,
        walk_end: 0,
        regions: region.as_mut_ptr().expose_provenance() as u64,
        region_count: 1,
        max_pages: 0,
        inverted: 0,
        wanted: HUGE,
        any_of: 0,
        state: HUGE,
    };
    // SAFETY: the struct as the kernel has it, with its size, and room for the one region that it says.
    let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
    found == 1 && region[0] <= start && region[1] >= end
}

/// Not reported here.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
pub fn on_huge_pages(_memory: &[u8]) -> bool {
    false
}

/// This platform does not report it.
#[cfg(not(target_os = "linux"))]
pub fn resident(_file: &File, _offset: u64, _mapped: Option<&[u8]>) -> Option<bool> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn small_pages_and_absent_ones_are_not_huge() {
        let mut map = memmap2::MmapMut::map_anon(8 << 20).unwrap();
        assert!(!on_huge_pages(&map), "nothing is there yet");
        map.advise(memmap2::Advice::NoHugePage).unwrap();
        map.fill(1);
        assert!(!on_huge_pages(&map) && !on_huge_pages(&map[5..6]));
        let mut large = crate::memory::AlignedBuffer::zeroed(8 << 20).unwrap();
        large.as_mut_slice().fill(1);
        let all = on_huge_pages(large.as_slice()); // up to the kernel
        println!("a buffer of 8 MiB is on huge pages: {all}");
        assert!(!all || on_huge_pages(&large.as_slice()[12345..5 << 20]));
    }

    /// A file of so many bytes that nobody else knows.
    fn written(name: &str, size: usize) -> File {
        let path = std::env::temp_dir().join(format!("ztensor-{name}-{}", std::process::id()));
        std::fs::write(&path, vec![7u8; size]).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn what_was_just_written_is_in_memory() {
        let file = written("residence", 1 << 20);
        for offset in [0, 5, 4095, 70_000, (1 << 20) - 1] {
            assert_ne!(resident(&file, offset, None), Some(false), "{offset}");
        }
        assert_eq!(is_read_at_once(&file, 1 << 20), None, "nothing is there past the end");
        assert_eq!(resident(&file, u64::MAX, None), None);
    }

    #[test]
    fn asking_brings_nothing_into_memory() {
        use std::os::fd::AsRawFd;
        let file = written("asking", 4 << 20);
        file.sync_all().unwrap();
        // SAFETY: a descriptor that is open, and numbers.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        let absent = || (0..4u64 << 20).step_by(4096).filter(|at| is_absent(&file, *at)).count();
        let before = absent();
        if before < 1000 {
            return println!("residence: skipped: {before} of 1024 pages left memory");
        }
        // SAFETY: nobody else knows of the file.
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        for map in [None, Some(&map)] {
            let here = |at: u64| map.and_then(|map| map.get(usize::try_from(at).ok()?..)?.get(..1));
            let is_out = |at: &u64| resident(&file, *at, here(*at)) == Some(false);
            assert_eq!((0..4u64 << 20).step_by(4096).filter(is_out).count(), before);
            assert_eq!(absent(), before);
        }
    }
}
