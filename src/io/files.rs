//! Files: their kind, size, permissions and time, and reads of open ones at offsets. A read is complete or
//! fails. If a filter of system calls refuses statx, which the standard library uses, fstat and stat are
//! tried, and the other way round.

use super::path::SystemPath;
use crate::error::{fail, is_refusal, Error, Result};
use std::fs::{File, Metadata, Permissions};
use std::io::{ErrorKind, IoSliceMut};
use std::time::UNIX_EPOCH;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A block device. Its size is unknown here.
    BlockDevice,
    /// A FIFO, a socket, a character device.
    Other,
}

/// The properties of a file.
pub struct Stat {
    /// The kind of file.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its permissions.
    pub permissions: Permissions,
    /// When it was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
}

/// The properties of an open file.
pub fn of_file(file: &File) -> std::io::Result<Stat> {
    match platform::of_file(file) {
        Err(e) if is_refusal(&e) => file.metadata().map(|meta| from_metadata(&meta)),
        outcome => outcome,
    }
}

/// The properties of the file at a path. Symbolic links are followed.
pub fn of_path(path: &SystemPath) -> std::io::Result<Stat> {
    match platform::of_path(path) {
        Err(e) if is_refusal(&e) => path.as_path().metadata().map(|meta| from_metadata(&meta)),
        outcome => outcome,
    }
}

/// Whether two open files may be the same file.
pub fn may_be_one(one: &File, other: &File) -> bool {
    platform::number(one).zip(platform::number(other)).is_none_or(|(one, other)| one == other)
}

fn from_metadata(meta: &Metadata) -> Stat {
    let (kind, size, permissions) = (platform::kind(meta), meta.len(), meta.permissions());
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    Stat { kind, size, permissions, modified }
}

#[cfg(unix)]
#[allow(clippy::useless_conversion, reason = "a mode has 16 bits on some systems")]
mod platform {
    use super::{File, FileKind, Metadata, Permissions, Stat, SystemPath};
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    use libc::{fstat, stat};
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    use libc::{fstat64 as fstat, stat64 as stat};
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    pub fn of_file(file: &File) -> std::io::Result<Stat> {
        // SAFETY: a descriptor that is open.
        reported(|place| unsafe { fstat(file.as_raw_fd(), place) })
    }

    pub fn of_path(path: &SystemPath) -> std::io::Result<Stat> {
        // SAFETY: a NUL-ended string.
        reported(|place| unsafe { stat(path.as_ptr(), place) })
    }

    fn reported(ask: impl FnOnce(*mut stat) -> libc::c_int) -> std::io::Result<Stat> {
        let mut place = MaybeUninit::<stat>::zeroed();
        if ask(place.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: all fields are integers, and were written.
        let reported = unsafe { place.assume_init() };
        let mode = u32::from(reported.st_mode);
        Ok(Stat {
            kind: kind_of(mode),
            size: u64::try_from(reported.st_size).unwrap_or(0),
            permissions: Permissions::from_mode(mode & 0o7777),
            modified: nanoseconds(reported.st_mtime.into(), reported.st_mtime_nsec.into()),
        })
    }

    fn nanoseconds(seconds: i64, more: i64) -> i64 {
        seconds.checked_mul(1_000_000_000).and_then(|all| all.checked_add(more)).unwrap_or(0)
    }

    pub fn kind(meta: &Metadata) -> FileKind {
        kind_of(meta.mode())
    }

    /// Its device, and its number on it. No other file has the same while it is open.
    pub fn number(file: &File) -> Option<(u64, u64)> {
        file.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
    }

    fn kind_of(mode: u32) -> FileKind {
        match mode & u32::from(libc::S_IFMT) {
            m if m == u32::from(libc::S_IFREG) => FileKind::Regular,
            m if m == u32::from(libc::S_IFDIR) => FileKind::Folder,
            m if m == u32::from(libc::S_IFBLK) => FileKind::BlockDevice,
            _ => FileKind::Other,
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{File, FileKind, Metadata, Stat, SystemPath};

    pub fn of_file(file: &File) -> std::io::Result<Stat> {
        file.metadata().map(|meta| super::from_metadata(&meta))
    }

    pub fn of_path(path: &SystemPath) -> std::io::Result<Stat> {
        path.as_path().metadata().map(|meta| super::from_metadata(&meta))
    }

    pub fn kind(meta: &Metadata) -> FileKind {
        match meta.is_dir() {
            true => FileKind::Folder,
            false if meta.is_file() => FileKind::Regular,
            false => FileKind::Other,
        }
    }

    /// Its volume, and its number on it. No other file has the same while it is open.
    #[cfg(windows)]
    pub fn number(file: &File) -> Option<(u64, u64)> {
        use std::os::windows::io::AsRawHandle;
        use windows_sys::Win32::Storage::FileSystem::{
            GetFileInformationByHandle, BY_HANDLE_FILE_INFORMATION,
        };
        let mut info = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: a handle that is open, and a place for integers.
        let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) };
        let index = u64::from(info.nFileIndexHigh) << 32 | u64::from(info.nFileIndexLow);
        (done != 0 && index != 0).then_some((u64::from(info.dwVolumeSerialNumber), index))
    }

    /// Not known.
    #[cfg(not(windows))]
    pub fn number(_: &File) -> Option<(u64, u64)> {
        None
    }
}

/// The size of an open file: from its metadata or, if they lack it, by seeking.
pub fn size_of(file: &File) -> Result<u64> {
    size_and_time(file).map(|(size, _)| size)
}

/// The size of an open file, and when it was last changed, in nanoseconds since 1970; 0 if that is unknown.
pub fn size_and_time(file: &File) -> Result<(u64, i64)> {
    let stat = match of_file(file) {
        Ok(stat) => stat,
        Err(e) if is_refusal(&e) => return Ok((seek_end(file)?, 0)),
        Err(e) => return Err(Error::io("could not ask for its size", &e)),
    };
    match stat.kind {
        FileKind::Regular => Ok((stat.size, stat.modified)),
        FileKind::BlockDevice => Ok((seek_end(file)?, stat.modified)),
        FileKind::Folder => Err(fail!(Io, "it is a folder, which only zt_open_model opens")),
        FileKind::Other => {
            Err(fail!(Io, "it is a FIFO, a socket or a character device, which cannot be read at an offset"))
        }
    }
}

fn seek_end(file: &File) -> Result<u64> {
    use std::io::Seek;
    let mut seeker: &File = file;
    seeker.seek(std::io::SeekFrom::End(0)).map_err(|e| Error::io("could not find its end", &e))
}

/// Fills `dst` with the bytes of `file` from `offset` on. Continues after short reads and interruptions.
pub fn read_exact_at(file: &File, offset: u64, dst: &mut [u8]) -> Result<()> {
    let size = dst.len();
    exactly(offset, size, |at, done| read_some_at(file, dst.get_mut(done..).unwrap_or_default(), at))
}

/// Fills pieces of memory one after the other. Returns false without reading if the system cannot do that.
pub fn read_exact_scattered(file: &File, offset: u64, mut pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
    let size = pieces.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
    let (mut before, mut refused) = (0, false);
    let outcome = exactly(offset, size, |at, done| {
        IoSliceMut::advance_slices(&mut pieces, done.saturating_sub(before));
        before = done;
        let read = super::blocks::read_scattered_at(file, pieces, at);
        let cannot = |e: &std::io::Error| is_refusal(e) || e.kind() == ErrorKind::Unsupported;
        refused = done == 0 && read.as_ref().is_err_and(cannot);
        read
    });
    if refused {
        return Ok(false);
    }
    outcome.map(|()| true)
}

/// Calls `read` with an offset and the number of bytes read so far, until all `size` bytes were read. `read`
/// returns how many bytes it has read.
fn exactly(
    mut offset: u64,
    size: usize,
    mut read: impl FnMut(u64, usize) -> std::io::Result<usize>,
) -> Result<()> {
    let mut done = 0;
    while done < size {
        let left = size.saturating_sub(done);
        match read(offset, done) {
            Ok(0) => {
                return Err(fail!(
                    Io,
                    "the file ends at byte {offset}, {left} bytes early: it was truncated while open"
                ));
            }
            Ok(n) => {
                let n = n.min(left);
                done = done.saturating_add(n);
                offset = offset.saturating_add(n as u64);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                return Err(Error::io("", &e).within(format_args!("could not read {left} bytes at {offset}")));
            }
        }
    }
    Ok(())
}

/// Reads some bytes from `offset` on. Returns how many.
#[cfg(unix)]
pub fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, dst, offset)
}

/// Reads some bytes from `offset` on. Returns how many.
#[cfg(windows)]
pub fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, dst, offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn of_path(path: &Path) -> std::io::Result<Stat> {
        super::of_path(&SystemPath::new(path).map_err(|_| std::io::ErrorKind::InvalidInput)?)
    }

    #[test]
    fn it_is_what_the_standard_library_says() {
        let path = std::env::temp_dir().join(format!("ztensor-stat-{}", std::process::id()));
        std::fs::write(&path, [7; 1234]).unwrap();
        let meta = path.metadata().unwrap();
        for stat in [of_path(&path).unwrap(), of_file(&File::open(&path).unwrap()).unwrap()] {
            assert_eq!((stat.kind, stat.size), (FileKind::Regular, meta.len()));
            assert_eq!(stat.permissions.readonly(), meta.permissions().readonly());
            let since = meta.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
            assert_eq!(i128::from(stat.modified), since.as_nanos() as i128);
        }
        let (one, again) = (File::open(&path).unwrap(), File::open(&path).unwrap());
        let other = File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(may_be_one(&one, &again));
        assert_eq!(may_be_one(&one, &other), cfg!(not(any(unix, windows))));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(of_path(&path).err().unwrap().kind(), std::io::ErrorKind::NotFound);
        assert_eq!(of_path(&std::env::temp_dir()).unwrap().kind, FileKind::Folder);
        #[cfg(unix)]
        assert_eq!(of_path(Path::new("/dev/null")).unwrap().kind, FileKind::Other);
        let long = "x".repeat(100_000);
        assert!(of_path(Path::new(&long)).is_err() && of_path(Path::new("a\0b")).is_err());
    }
}
