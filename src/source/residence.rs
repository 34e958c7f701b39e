//! Whether a byte of a file is in the page cache already, as the kernel reports it.

use std::fs::File;

/// Whether the byte at `offset` is in the page cache; none where the kernel does not report it. `mapped` is
/// that byte in a map, where there is one. cachestat would report more at once, but is so new that filters of
/// system calls which kill do not know it.
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

/// Whether the kernel reports that the page of a byte is not in memory.
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

/// Whether the page of an address in a mapping is absent (mincore). For a file that the process neither owns
/// nor may write, the kernel reports every page as present, so that nobody learns what others read.
#[cfg(target_os = "linux")]
fn is_page_absent(address: *const u8) -> bool {
    let page = crate::io::page_size();
    let start = address.wrapping_sub(address.addr().checked_rem(page).unwrap_or(0));
    let mut state = 1u8;
    // SAFETY: the page is not looked into. One byte of it is asked for, so that one byte is written: an
    // emulator of larger pages has the system write one for each of its own. Where there is no such page,
    // that is an error.
    let status = unsafe { libc::mincore(start.cast_mut().cast(), 1, &raw mut state) };
    status == 0 && state & 1 == 0
}

/// Whether a byte is read without waiting for the disk; none past the end, too. Asked last: the kernel may
/// answer by reading ahead, which takes memory and time, and on a fast disk be done with it before it has
/// answered.
#[cfg(target_os = "linux")]
fn is_read_at_once(file: &File, offset: u64) -> Option<bool> {
    use std::os::fd::AsRawFd;
    let mut byte = 0u8;
    let place = libc::iovec { iov_base: std::ptr::from_mut(&mut byte).cast(), iov_len: 1 };
    let offset = i64::try_from(offset).ok()?;
    // By number, because musl has the function only since 1.2.5. The offset's upper half is an argument of
    // its own, which the kernel does not look at where a register has room for all.
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

/// This platform does not report it.
#[cfg(not(target_os = "linux"))]
pub fn resident(_file: &File, _offset: u64, _mapped: Option<&[u8]>) -> Option<bool> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

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
        crate::io::pretend::each_size(|page| {
            for offset in [0, 5, 4095, 70_000, (1 << 20) - 1] {
                assert_ne!(resident(&file, offset, None), Some(false), "{page} {offset}");
            }
        });
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
