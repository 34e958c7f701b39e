//! Advice to the system about bytes: of a mapping or in the page cache.

use super::profile::Pages;
use crate::error::{fail, is_refusal, Error, Result, SystemText};
#[cfg(any(unix, windows))]
use crate::io::page_size;
use std::fs::File;
use std::ops::Range;

/// How bytes will be used, so that the system can prepare for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Unknown.
    Normal,
    /// They will be read front to back.
    Sequential,
    /// They will be needed next: start reading them.
    WillNeed,
    /// They are needed now: read them before the call returns.
    Populate,
    /// This process does not need them again: it releases their pages.
    Release,
    /// No process needs them again: the page cache releases them, too.
    Evict,
}

impl Advice {
    /// Its name in the C interface, after `ZT_ADVICE_`.
    pub fn name(self) -> &'static str {
        match self {
            Advice::Normal => "NONE",
            Advice::Sequential => "SEQUENTIAL",
            Advice::WillNeed => "WILLNEED",
            Advice::Populate => "POPULATE",
            Advice::Release => "RELEASE",
            Advice::Evict => "EVICT",
        }
    }
}

/// The error for advice that is not available on this system.
#[cold]
pub fn unsupported(advice: Advice, why: &str) -> Error {
    fail!(Unsupported, "ZT_ADVICE_{} is not available: {why}", advice.name())
}

/// The error for advice that the system refused.
#[cold]
#[cfg_attr(not(any(unix, windows)), allow(dead_code))]
fn failed(advice: Advice, error: &std::io::Error) -> Error {
    match is_refusal(error) {
        true => fail!(Unsupported, "the system refused ZT_ADVICE_{}: {}", advice.name(), SystemText(error)),
        false => {
            Error::io("", error).within(format_args!("the system failed at ZT_ADVICE_{}", advice.name()))
        }
    }
}

/// The addresses for a system call about the bytes `range` of a mapping of `size` bytes at `address`. They
/// begin at a page boundary, which is mapped, too, and may be before our bytes.
#[cfg(any(unix, windows))]
fn pages_of(address: usize, size: usize, range: &Range<u64>, page: usize) -> Option<Range<usize>> {
    let start = usize::try_from(range.start).ok()?.min(size);
    let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(size);
    let first = address.checked_add(start)?;
    let addresses = first.checked_sub(first.checked_rem(page)?)?..address.checked_add(end)?;
    (start < end).then_some(addresses)
}

#[cfg(unix)]
mod platform {
    use super::{failed, page_size, pages_of, Advice, Range, Result};
    use std::io::Error as IoError;

    fn checked(advice: Advice, status: libc::c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        Err(failed(advice, &IoError::last_os_error()))
    }

    pub fn advise(map: &[u8], range: &Range<u64>, advice: Advice) -> Result<()> {
        let Some(pages) = pages_of(map.as_ptr().addr(), map.len(), range, page_size()) else { return Ok(()) };
        let (address, length) = (map.as_ptr().with_addr(pages.start).cast_mut().cast(), pages.len());
        // SAFETY: these are pages of our own mapping of a file. No call changes a visible byte: dropped pages
        // are read again when they are touched. For a private mapping, `map` drops nothing.
        let reported = |kernel| checked(advice, unsafe { libc::madvise(address, length, kernel) });
        match advice {
            Advice::Normal => reported(libc::MADV_NORMAL),
            Advice::Sequential => reported(libc::MADV_SEQUENTIAL),
            Advice::WillNeed => reported(libc::MADV_WILLNEED),
            #[cfg(target_os = "linux")] // since 5.14
            Advice::Populate => reported(libc::MADV_POPULATE_READ).or_else(|_| reported(libc::MADV_WILLNEED)),
            #[cfg(not(target_os = "linux"))]
            Advice::Populate => reported(libc::MADV_WILLNEED),
            Advice::Release | Advice::Evict => reported(libc::MADV_DONTNEED),
        }
    }
}

#[cfg(windows)]
mod platform {
    use super::{failed, page_size, pages_of, unsupported, Advice, Range, Result};
    use std::ffi::c_void;
    use std::io::Error as IoError;
    use windows_sys::Win32::Foundation::{ERROR_NOT_LOCKED, HANDLE};
    use windows_sys::Win32::System::Memory::{
        PrefetchVirtualMemory, VirtualUnlock, WIN32_MEMORY_RANGE_ENTRY,
    };

    /// The value that GetCurrentProcess returns.
    const THIS_PROCESS: HANDLE = std::ptr::without_provenance_mut(usize::MAX);

    pub fn advise(map: &[u8], range: &Range<u64>, advice: Advice) -> Result<()> {
        let Some(pages) = pages_of(map.as_ptr().addr(), map.len(), range, page_size()) else { return Ok(()) };
        let address: *mut c_void = map.as_ptr().with_addr(pages.start).cast_mut().cast();
        let length = pages.len();
        let done = match advice {
            Advice::Normal => return Ok(()),
            // Touching every page here would end the process if the file cannot be read.
            // SAFETY: these are pages of our own mapping of a file. No call changes a visible byte: dropped
            // pages are read again when they are touched.
            Advice::WillNeed | Advice::Populate => unsafe {
                let range = WIN32_MEMORY_RANGE_ENTRY { VirtualAddress: address, NumberOfBytes: length };
                PrefetchVirtualMemory(THIS_PROCESS, 1, &raw const range, 0)
            },
            // SAFETY: as above. Unlocking pages that are not locked removes them from the working set; the
            // call reports that as a failure.
            Advice::Release => unsafe { VirtualUnlock(address, length) },
            Advice::Sequential | Advice::Evict => {
                return Err(unsupported(advice, "Windows does not support it for mappings"));
            }
        };
        if done != 0 {
            return Ok(());
        }
        match IoError::last_os_error() {
            e if e.raw_os_error() == Some(ERROR_NOT_LOCKED as i32) => Ok(()),
            e => Err(failed(advice, &e)),
        }
    }
}

#[cfg(not(any(unix, windows)))]
mod platform {
    use super::{unsupported, Advice, Range, Result};

    pub fn advise(_map: &[u8], _range: &Range<u64>, advice: Advice) -> Result<()> {
        match advice {
            Advice::Normal => Ok(()),
            _ => Err(unsupported(advice, "this platform does not support it")),
        }
    }
}

/// Whether the page cache can be told to release pages.
pub const EVICTS: bool = cfg!(target_os = "linux");

/// Advises the system about the bytes `range` of a mapping, and therefore about all pages that they touch.
pub fn advise_mapped(map: &[u8], range: &Range<u64>, advice: Advice) -> Result<()> {
    platform::advise(map, range, advice)
}

// On 32-bit processors, glibc's `off_t` has 32 bits, which is too few for large files. Other C libraries have
// only one `off_t`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libc::{off64_t as Offset, posix_fadvise64 as fadvise};
#[cfg(all(target_os = "linux", not(target_env = "gnu")))]
use libc::{off_t as Offset, posix_fadvise as fadvise};

/// The first byte and the length of a range of a file; `None` if it is empty, because a length of 0 means the
/// rest of the file.
#[cfg(target_os = "linux")]
fn file_place(base: u64, range: &Range<u64>) -> Option<(Offset, Offset)> {
    let length = range.end.checked_sub(range.start).filter(|length| *length > 0)?;
    let start = Offset::try_from(base.saturating_add(range.start)).unwrap_or(Offset::MAX);
    Some((start, Offset::try_from(length).unwrap_or(0)))
}

/// Advises the page cache about the bytes `range` of an open file. Offsets are relative to `base`.
#[cfg(target_os = "linux")]
pub fn advise_file(file: &File, base: u64, pages: &Pages, range: &Range<u64>, advice: Advice) -> Result<()> {
    use std::os::fd::AsRawFd;
    let kernel = match advice {
        Advice::Normal => libc::POSIX_FADV_NORMAL,
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::WillNeed | Advice::Populate => libc::POSIX_FADV_WILLNEED,
        Advice::Evict => libc::POSIX_FADV_DONTNEED,
        Advice::Release => {
            return Err(unsupported(advice, "the file is read, not mapped: this process has no pages of it"));
        }
    };
    let range = match advice {
        Advice::Evict => match pages.inside(range) {
            Some(inside) => inside,
            None => return Ok(()),
        },
        _ => range.clone(),
    };
    let Some((start, length)) = file_place(base, &range) else { return Ok(()) };
    // SAFETY: a system call on a descriptor that `file` keeps open; it touches no memory of ours.
    match unsafe { fadvise(file.as_raw_fd(), start, length, kernel) } {
        0 => Ok(()),
        code => Err(failed(advice, &std::io::Error::from_raw_os_error(code))),
    }
}

/// The most bytes that the page cache can be told to read in one call, which has an int for the size.
#[cfg(any(target_vendor = "apple", test))]
const MAX_READ_ADVICE: u64 = 1 << 30;

/// The most bytes that the page cache is told to read in total. It cannot keep more.
#[cfg(any(target_vendor = "apple", test))]
const MAX_READ_AHEAD: u64 = 1 << 40;

/// The first byte and length of each piece of a file range, at most up to the end of the file. Offsets are
/// relative to `base`. All pieces together have at most [`MAX_READ_AHEAD`] bytes.
#[cfg(any(target_vendor = "apple", test))]
fn read_advice_ranges(base: u64, range: &Range<u64>, file_end: u64) -> impl Iterator<Item = (i64, i32)> {
    let start = base.saturating_add(range.start);
    let end = base.saturating_add(range.end).min(file_end).min(start.saturating_add(MAX_READ_AHEAD));
    let starts = std::iter::successors(Some(start), |at| at.checked_add(MAX_READ_ADVICE));
    starts.take_while(move |at| *at < end).map_while(move |at| {
        let length = end.saturating_sub(at).min(MAX_READ_ADVICE);
        Some((i64::try_from(at).ok()?, i32::try_from(length).ok()?))
    })
}

/// Starts reading the bytes `range` of an open file into the page cache. Offsets are relative to `base`.
/// SEQUENTIAL and NONE set the read-ahead of the open file; NONE restores the default.
#[cfg(target_vendor = "apple")]
pub fn advise_file(file: &File, base: u64, _pages: &Pages, range: &Range<u64>, advice: Advice) -> Result<()> {
    use std::io::Error as IoError;
    use std::os::fd::AsRawFd;
    let checked = |status: libc::c_int| match status {
        -1 => Err(match IoError::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::ENOTSUP | libc::ENOTTY)) => {
                unsupported(advice, "the file system does not support it")
            }
            e => failed(advice, &e),
        }),
        _ => Ok(()),
    };
    // SAFETY: `file` keeps the descriptor open; the rest is a number.
    let read_ahead = || unsafe { libc::fcntl(file.as_raw_fd(), libc::F_RDAHEAD, 1) };
    match advice {
        // If this fails, no other advice was given before.
        Advice::Normal => _ = read_ahead(),
        _ if range.is_empty() => {}
        Advice::Sequential => checked(read_ahead())?,
        Advice::WillNeed | Advice::Populate => {
            for (ra_offset, ra_count) in read_advice_ranges(base, range, crate::io::files::size_of(file)?) {
                let place = libc::radvisory { ra_offset, ra_count };
                // SAFETY: `file` keeps the descriptor open; the struct is local and only read.
                checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_RDADVISE, &raw const place) })?;
            }
        }
        Advice::Evict => {
            return Err(unsupported(advice, "this platform cannot evict a file's pages"));
        }
        Advice::Release => {
            return Err(unsupported(advice, "the file is read, not mapped: this process has no pages of it"));
        }
    }
    Ok(())
}

/// Advises the page cache about a range of an open file. This is not possible on this platform.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn advise_file(
    _file: &File,
    _base: u64,
    _pages: &Pages,
    _range: &Range<u64>,
    advice: Advice,
) -> Result<()> {
    match advice {
        Advice::Normal => Ok(()),
        _ => Err(unsupported(advice, "this platform has no advice for pages in the page cache")),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn advice_about_a_mapping_begins_at_a_page_and_ends_with_the_range() {
        for page in crate::io::pretend::SIZES {
            for (map, size) in [(7 * page, 100 * page), (7 * page + 4096, 9 * page + 5), (3 * page + 64, 70)]
            {
                for range in [0..1, 5..70, 63..u64::MAX, 4096..8192, 65_535..65_537, 9 << 16..10 << 16] {
                    let (from, to) = (
                        (range.start as usize).min(size),
                        usize::try_from(range.end).unwrap_or(size).min(size),
                    );
                    let Some(pages) = pages_of(map, size, &range, page) else {
                        assert!(from >= to, "{page} {map} {range:?}");
                        continue;
                    };
                    assert_eq!((pages.start % page, pages.end), (0, map + to), "{page} {map} {range:?}");
                    assert!(pages.start <= map + from && map + from - pages.start < page);
                }
            }
            assert_eq!(pages_of(page, 10 * page, &(7..7), page), None, "nothing, not all the rest");
            assert_eq!(pages_of(usize::MAX - 5, 10, &(0..10), page), None, "no number overflows");
        }
    }

    #[test]
    fn pieces_of_a_range_are_as_long_as_an_int_counts_and_end_with_the_file() {
        const GIB: i64 = 1 << 30;
        let all = |base, range: Range<u64>, end| read_advice_ranges(base, &range, end).collect::<Vec<_>>();
        assert_eq!(all(0, 0..4096, 4096), [(0, 4096)]);
        assert_eq!(all(64, 6..10, 1 << 40), [(70, 4)], "counted from where ours begin");
        assert_eq!(all(0, 5..5, 4096), [], "nothing");
        assert_eq!(all(0, 4096..8192, 4096), [], "past the end");
        assert_eq!(all(100, 0..u64::MAX, 4096), [(100, 3996)], "up to the end");
        assert_eq!(
            all(5, 0..u64::MAX, 5 + (5 << 29)),
            [(5, 1 << 30), (5 + GIB, 1 << 30), (5 + 2 * GIB, 1 << 29)]
        );
        assert_eq!(all(0, 0..1 << 31, u64::MAX), [(0, 1 << 30), (GIB, 1 << 30)], "no empty one at the end");
        let most = all(7, 0..u64::MAX, u64::MAX);
        assert_eq!((most.len(), most[1023]), (1024, (7 + 1023 * GIB, 1 << 30)), "bounded");
        assert_eq!(all(u64::MAX - 1, 0..5, u64::MAX), [], "no number overflows, and none is negative");
    }

    #[test]
    fn advice_about_a_file_reaches_past_2_gib() {
        assert_eq!(file_place(3 << 30, &(0..4096)), Some((3 << 30, 4096)));
        assert_eq!(file_place(1 << 30, &(5 << 30..8 << 30)), Some((6 << 30, 3 << 30)));
        assert_eq!(file_place(7, &(5..5)), None, "not all the rest");
        assert_eq!(file_place(7, &(5..u64::MAX)), Some((12, 0)), "all the rest");
    }
}
