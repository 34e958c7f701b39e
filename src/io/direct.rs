//! Reads past the page cache, where the file system can: whole blocks into aligned memory.

use super::buffer::AlignedBuffer;
use super::file::read_exact_at;
use crate::error::{try_format, Error, Result};
use std::fs::File;
use std::path::Path;

/// Blocks of this many bytes satisfy every device that Linux drives today.
pub(crate) const BLOCK: u64 = 4096;

/// A file opened for direct reads.
pub struct DirectFile {
    file: File,
    base: u64,
    size: u64,
}

impl DirectFile {
    /// A second, direct handle on `file`; none where the platform or the file system has no such thing.
    #[cfg(target_os = "linux")]
    pub fn open(file: &File, _path: Option<&Path>, base: u64) -> Result<Option<DirectFile>> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::OpenOptionsExt;
        // By descriptor, so that it is the same file even if its path now names another.
        let path = try_format(format_args!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let size = file.metadata().map_err(|e| Error::io("could not ask for its size", &e))?.len();
        let opened = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path);
        Ok(opened.ok().map(|file| DirectFile { file, base, size }))
    }

    /// A second, direct handle on `file`; this platform has no such thing here.
    #[cfg(not(target_os = "linux"))]
    pub fn open(_file: &File, _path: Option<&Path>, _base: u64) -> Result<Option<DirectFile>> {
        Ok(None)
    }

    /// Fills `dst` with the bytes from `offset` on, through `bounce`, whole blocks at a time.
    pub fn read_at(&self, offset: u64, mut dst: &mut [u8], bounce: &mut AlignedBuffer) -> Result<()> {
        let mut at = self.base.saturating_add(offset);
        while !dst.is_empty() {
            let block = at - at % BLOCK;
            let skip = usize::try_from(at - block).unwrap_or(0);
            let room = bounce.as_slice().len();
            let wanted = dst.len().saturating_add(skip).min(room);
            let whole = wanted.next_multiple_of(usize::try_from(BLOCK).unwrap_or(4096)).min(room);
            // The file's last block may be short: ask for whole blocks, take what there is.
            let there = usize::try_from(self.size.saturating_sub(block)).unwrap_or(usize::MAX);
            let window = bounce.as_mut_slice().get_mut(..whole).unwrap_or_default();
            self.fill(block, window, there.min(whole))?;
            let taken = window.get(skip..wanted.min(there)).unwrap_or_default();
            let count = taken.len().min(dst.len());
            if count == 0 {
                return read_exact_at(&self.file, at, dst); // past the end: the plain read says so
            }
            let (now, later) = dst.split_at_mut(count);
            now.copy_from_slice(taken.get(..count).unwrap_or_default());
            dst = later;
            at = at.saturating_add(count as u64);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn fill(&self, offset: u64, window: &mut [u8], needed: usize) -> Result<()> {
        use std::os::unix::fs::FileExt;
        let mut have = 0;
        while have < needed {
            let rest = window.get_mut(have..).unwrap_or_default();
            match self.file.read_at(rest, offset.saturating_add(have as u64)) {
                Ok(0) => break,
                Ok(n) => have = have.saturating_add(n),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io("a direct read failed", &e)),
            }
        }
        match have < needed {
            true => Err(crate::error::fail!(Io, "the file ends {} bytes early", needed - have)),
            false => Ok(()),
        }
    }

    #[cfg(not(unix))]
    fn fill(&self, offset: u64, window: &mut [u8], needed: usize) -> Result<()> {
        read_exact_at(&self.file, offset, window.get_mut(..needed).unwrap_or_default())
    }
}
