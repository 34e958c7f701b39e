//! A file seen through the page cache: bytes are lent, not copied. Advice to the kernel lives here.
//!
//! A mapping is only as steady as the file. If somebody cuts it short while it is mapped, touching
//! the lost pages raises SIGBUS, and if somebody writes to it, the bytes change. That is why mapping
//! is a choice of the caller (`ZT_MODE_MAP`), and why reads that copy go through the map only where
//! that saves most of the work: slices whose pages are in memory.

use super::direct::DirectFile;
use super::file::FileSource;
use super::memory::part;
use super::{Advice, ByteSource};
use crate::error::{fail, Error, Result};
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;

/// A mapped range of a file.
pub struct MapSource {
    file: FileSource,
    map: Option<Mmap>,
}

impl MapSource {
    /// Maps all of `file`'s range.
    pub fn new(file: FileSource) -> Result<Self> {
        let (handle, base, size) = file.parts();
        // As memory ends there, too: what the crate says of more is made with memory that cannot be refused.
        let length = isize::try_from(size).map(isize::unsigned_abs).map_err(|_| {
            fail!(Unsupported, "a file of {size} bytes does not fit this process's address space")
        })?;
        if length == 0 {
            return Ok(MapSource { file, map: None }); // nothing to map
        }
        // SAFETY: the map is read only and private to this type. That nobody truncates or writes the
        // file meanwhile is asked of the caller by the header's words on ZT_MODE_MAP.
        let map = unsafe { MmapOptions::new().offset(base).len(length).map(handle) };
        let map = map.map_err(|e| Error::io("could not map the file", &e))?;
        Ok(MapSource { file, map: Some(map) })
    }

    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

impl ByteSource for MapSource {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        part(self.bytes(), range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, dst)
    }

    fn read_scattered(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
        self.file.read_scattered(offset, pieces)
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<()> {
        let Some(map) = &self.map else { return Ok(()) };
        advise_map(map, &range, advice)?;
        match advice {
            // The map's own pages are dropped above; the page cache has its own switch.
            Advice::DontNeed => self.file.advise(range, advice),
            _ => Ok(()),
        }
    }

    fn is_file(&self) -> bool {
        true
    }

    fn resident(&self, offset: u64) -> Option<bool> {
        self.file.resident_in(offset, part(self.bytes(), offset..offset.checked_add(1)?))
    }

    fn direct(&self) -> Result<Option<DirectFile>> {
        self.file.direct()
    }
}

/// The whole pages inside `range`: advice must never reach a neighbour's bytes.
fn inner_pages(range: &Range<u64>) -> Option<Range<usize>> {
    let page = page_size() as u64;
    let start = range.start.checked_next_multiple_of(page)?;
    let end = range.end.checked_div(page)?.checked_mul(page)?;
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    (start < end).then_some(start..end)
}

#[cfg(unix)]
fn advise_map(map: &Mmap, range: &Range<u64>, advice: Advice) -> Result<()> {
    use memmap2::{Advice as Kernel, UncheckedAdvice};
    let failed = |e: std::io::Error| Error::io("the kernel refused the advice", &e);
    let all = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let Some((start, end)) = all else { return Ok(()) };
    let length = end.min(map.len()).saturating_sub(start);
    if length == 0 {
        return Ok(());
    }
    match advice {
        Advice::Normal => map.advise_range(Kernel::Normal, start, length).map_err(failed),
        Advice::Sequential => map.advise_range(Kernel::Sequential, start, length).map_err(failed),
        Advice::Random => map.advise_range(Kernel::Random, start, length).map_err(failed),
        Advice::WillNeed => map.advise_range(Kernel::WillNeed, start, length).map_err(failed),
        Advice::DontNeed => {
            let Some(pages) = inner_pages(range) else { return Ok(()) };
            // SAFETY: a shared, read-only map of a file: dropped pages are read again when touched,
            // with the same bytes as long as the file has them.
            let done = unsafe {
                map.unchecked_advise_range(UncheckedAdvice::DontNeed, pages.start, pages.end - pages.start)
            };
            done.map_err(failed)
        }
        #[cfg(target_os = "linux")]
        Advice::Populate => match map.advise_range(Kernel::PopulateRead, start, length) {
            Ok(()) => Ok(()),
            Err(_) => map.advise_range(Kernel::WillNeed, start, length).map_err(failed), // before Linux 5.14
        },
        #[cfg(not(target_os = "linux"))]
        Advice::Populate => map.advise_range(Kernel::WillNeed, start, length).map_err(failed),
        Advice::Lock => map.lock().map_err(|e| Error::io("could not lock the mapping in memory", &e)),
    }
}

#[cfg(not(unix))]
fn advise_map(_map: &Mmap, _range: &Range<u64>, _advice: Advice) -> Result<()> {
    Ok(())
}

/// Tells the page cache about a range of an open file.
#[cfg(target_os = "linux")]
pub fn advise_file(file: &File, base: u64, range: Range<u64>, advice: Advice) -> Result<()> {
    use std::os::fd::AsRawFd;
    let range = base.saturating_add(range.start)..base.saturating_add(range.end);
    let kernel = match advice {
        Advice::Normal => libc::POSIX_FADV_NORMAL,
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::WillNeed | Advice::Populate => libc::POSIX_FADV_WILLNEED,
        Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
        Advice::Lock => return Err(fail!(Unsupported, "only a mapped file can be locked in memory")),
    };
    let range = match advice {
        Advice::DontNeed => match inner_pages(&range) {
            Some(pages) => pages.start as u64..pages.end as u64,
            None => return Ok(()),
        },
        _ => range,
    };
    let start = libc::off_t::try_from(range.start).unwrap_or(libc::off_t::MAX);
    let length = libc::off_t::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
    // SAFETY: a system call on a descriptor that `file` keeps open; it touches no memory of ours.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), start, length, kernel) } {
        0 => Ok(()),
        code => Err(Error::io("the kernel refused the advice", &std::io::Error::from_raw_os_error(code))),
    }
}

/// Tells the page cache about a range of an open file; here there is no way to.
#[cfg(not(target_os = "linux"))]
pub fn advise_file(_file: &File, _base: u64, _range: Range<u64>, _advice: Advice) -> Result<()> {
    Ok(())
}

/// Bytes of a page.
#[cfg(unix)]
pub fn page_size() -> usize {
    // SAFETY: a query without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|s| s.is_power_of_two()).unwrap_or(4096)
}

/// Bytes of a page.
#[cfg(not(unix))]
pub fn page_size() -> usize {
    4096
}
