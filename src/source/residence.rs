//! Where the kernel reports the bytes of a file to be: on another machine (if a page cannot be loaded from
//! there, touching it raises a signal, and each page fault is a round trip), or already in the page cache.

use std::fs::File;

/// Whether the byte at `offset` is in the page cache; `None` if the kernel does not report it. `mapped` is
/// that byte in a mapping, if there is one. cachestat would report more at once, but it is so new that some
/// filters of system calls would kill the process.
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

/// Whether the kernel reports that the page with this byte is not in memory.
#[cfg(target_os = "linux")]
fn is_absent(file: &File, offset: u64) -> bool {
    let page = crate::io::page_size();
    let start = offset - offset % page as u64;
    // SAFETY: the map is never read, and is unmapped before anything else can use it.
    let Ok(map) = (unsafe { memmap2::MmapOptions::new().offset(start).len(page).map(file) }) else {
        return false;
    };
    is_page_absent(map.as_ptr())
}

/// Whether the page at an address in a mapping is absent (mincore). If the process neither owns the file nor
/// may write to it, the kernel reports every page as present, to hide what others read.
#[cfg(target_os = "linux")]
fn is_page_absent(address: *const u8) -> bool {
    let page = crate::io::page_size();
    let start = address.wrapping_sub(address.addr().checked_rem(page).unwrap_or(0));
    let mut state = 1u8;
    // SAFETY: the page is not read. The call is for a single byte, so one byte is written: with larger pages
    // in an emulator, the system would write one byte for each of its own pages. If there is no such page,
    // this is an error.
    let status = unsafe { libc::mincore(start.cast_mut().cast(), 1, &raw mut state) };
    status == 0 && state & 1 == 0
}

/// Whether a byte can be read without waiting for the disk. `None` also past the end. This is checked last,
/// because the kernel may read ahead to answer. That takes memory and time, and on a fast disk it may be
/// finished before the answer.
#[cfg(target_os = "linux")]
fn is_read_at_once(file: &File, offset: u64) -> Option<bool> {
    use std::os::fd::AsRawFd;
    let mut byte = 0u8;
    let place = libc::iovec { iov_base: std::ptr::from_mut(&mut byte).cast(), iov_len: 1 };
    let offset = i64::try_from(offset).ok()?;
    // Called by number, because musl has the function only since 1.2.5. The upper half of the offset is a
    // separate argument, which the kernel ignores if a register can hold the whole offset.
    let (low, high) = (offset as libc::c_long, (offset >> 32) as libc::c_long);
    let (fd, flags) = (file.as_raw_fd(), libc::RWF_NOWAIT);
    // SAFETY: one byte that lives here.
    let count = unsafe { libc::syscall(libc::SYS_preadv2, fd, &raw const place, 1_usize, low, high, flags) };
    match count {
        1.. => Some(true),
        0 => None, // past the end: the read itself will report it
        _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock => Some(false),
        _ => None,
    }
}

/// This platform does not report it.
#[cfg(not(target_os = "linux"))]
pub fn resident(_file: &File, _offset: u64, _mapped: Option<&[u8]>) -> Option<bool> {
    None
}

/// Whether the file system of `file` gets its bytes over a network or from a program; false if that is
/// unknown.
#[cfg(target_os = "linux")]
pub fn is_remote(file: &File) -> bool {
    // On 32-bit processors, glibc's plain call fails if a file system has 2^32 blocks or more.
    #[cfg(not(target_env = "gnu"))]
    use libc::{fstatfs, statfs};
    #[cfg(target_env = "gnu")]
    use libc::{fstatfs64 as fstatfs, statfs64 as statfs};
    use std::os::fd::AsRawFd;
    let mut place = std::mem::MaybeUninit::<statfs>::zeroed();
    // SAFETY: a descriptor that is open, and room for the struct, which is integers alone.
    let kind = unsafe {
        if fstatfs(file.as_raw_fd(), place.as_mut_ptr()) != 0 {
            return false;
        }
        place.assume_init().f_type
    };
    is_remote_kind(kind as u64)
}

/// Whether a file system is remote. The numbers are in the kernel's linux/magic.h, or used by file systems
/// that are not in it.
#[cfg(target_os = "linux")]
fn is_remote_kind(kind: u64) -> bool {
    const REMOTE: [u32; 19] = [
        0x0000_6969, // NFS
        0x0000_517B, // SMB
        0xFF53_4D42, // CIFS
        0xFE53_4D42, // SMB2
        0x6573_5546, // FUSE, virtiofs
        0x0102_1997, // 9p
        0x00C3_6400, // Ceph
        0x5346_414F, // AFS
        0x6B41_4653, // AFS of the kernel
        0x0BD0_0BD0, // Lustre
        0x7375_7245, // Coda
        0x0000_564C, // NCP
        0x4750_4653, // GPFS
        0x1983_0326, // BeeGFS
        0xAAD7_AAEA, // PanFS
        0x2003_0528, // OrangeFS
        0x1803_1977, // WekaFS
        0xBACB_ACBC, // vmhgfs
        0x786F_4256, // vboxsf
    ];
    // The field is signed. It has 32 or 64 bits, depending on the processor.
    REMOTE.iter().any(|remote| u64::from(*remote) == kind & u64::from(u32::MAX))
}

/// Whether the file is on a file system of another machine.
#[cfg(target_vendor = "apple")]
pub fn is_remote(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    let mut place = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: a descriptor that is open, and room for the struct, which is integers alone.
    let flags = unsafe {
        if libc::fstatfs(file.as_raw_fd(), place.as_mut_ptr()) != 0 {
            return false;
        }
        place.assume_init().f_flags
    };
    flags & libc::MNT_LOCAL as u32 == 0
}

/// This platform does not report it.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn is_remote(_file: &File) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A file of `size` bytes that nothing else uses.
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
                // A page that the system is writing to the disk may have to be waited for.
                let is_found = |_| {
                    let found = resident(&file, offset, None) != Some(false);
                    if !found {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                    found
                };
                assert!((0..100).any(is_found), "{page} {offset}");
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
        // SAFETY: nobody else uses the file.
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        for map in [None, Some(&map)] {
            let here = |at: u64| map.and_then(|map| map.get(usize::try_from(at).ok()?..)?.get(..1));
            let is_out = |at: &u64| resident(&file, *at, here(*at)) == Some(false);
            assert_eq!((0..4u64 << 20).step_by(4096).filter(is_out).count(), before);
            assert_eq!(absent(), before);
        }
    }

    #[test]
    fn kinds_of_file_systems() {
        for remote in [0x6969, 0xFF53_4D42, 0xFFFF_FFFF_FE53_4D42, 0x6573_5546, 0x0102_1997, 0x0BD0_0BD0] {
            assert!(is_remote_kind(remote), "{remote:x}");
        }
        for local in [0, 0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            assert!(!is_remote_kind(local), "{local:x}"); // ext4, XFS, btrfs, tmpfs, overlay, ZFS
        }
        assert!(!is_remote(&File::open("/proc/self/status").unwrap()));
    }
}
