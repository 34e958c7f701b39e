//! Whether a file is on another machine: there a page that does not come is a signal, and each fault a round
//! trip.

use std::fs::File;

/// Whether the file system of `file` gets its bytes over a network, or from a program; false if that is not
/// known.
#[cfg(target_os = "linux")]
pub fn is_remote(file: &File) -> bool {
    // On 32-bit processors glibc's plain call fails on a file system of 2^32 blocks.
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

/// Whether a file system is remote, by the numbers of the kernel's linux/magic.h and of file systems that are
/// not in it.
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
        0x6B41_4653, // AFS, the kernel's
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
    // The field is signed, and of 32 or of 64 bits, by the processor.
    REMOTE.iter().any(|remote| u64::from(*remote) == kind & u64::from(u32::MAX))
}

/// Whether it is not on a file system of this machine.
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
