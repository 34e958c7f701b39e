//! What is known of a source: the cost of reading from it, which callers use instead of checking its type;
//! and its pages, counted from the start of the file, which may be before the start of the source.

use super::direct::{DirectFile, BOUNCE_SIZE};
use crate::error::Result;
use std::fs::File;
use std::ops::Range;

/// A range of a file, and the memory that receives it.
pub struct ReadRange<'m> {
    /// The offset of the first byte.
    pub offset: u64,
    /// Receives all bytes.
    pub dst: &'m mut [u8],
}

/// How `ByteSource::read_many` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMany {
    /// With a read for each range.
    OneByOne,
    /// With one read for contiguous ranges.
    Adjacent,
    /// With one request for all ranges, wherever they are.
    Anywhere,
}

/// The most reading threads if the caller does not set their number and the source supports many concurrent
/// reads.
const MAX_WAITING_THREADS: usize = 16;

/// The cost of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The largest gap between two wanted ranges that is read rather than skipped.
    pub gap: u64,
    /// The largest useful combined read; 0 if combining reads does not help.
    pub largest_request: u64,
    /// The useful number of concurrent reads; `usize::MAX` means one for each thread.
    pub concurrency: usize,
    /// Whether only threads of the caller may read it.
    pub callers_thread: bool,
    /// How it reads several ranges.
    pub read_many: ReadMany,
}

impl Profile {
    /// The profile of bytes in memory.
    pub const fn memory() -> Profile {
        Profile {
            gap: 0,
            largest_request: 0,
            concurrency: usize::MAX,
            callers_thread: false,
            read_many: ReadMany::OneByOne,
        }
    }

    /// The profile of a local file, where a read is a system call.
    pub const fn file() -> Profile {
        let (gap, largest_request, read_many) = (16 << 10, BOUNCE_SIZE as u64, ReadMany::Adjacent);
        Profile { gap, largest_request, read_many, ..Profile::memory() }
    }

    /// The profile of an unknown source, where a read may use a network.
    pub const fn calls() -> Profile {
        Profile { gap: 64 << 10, largest_request: 8 << 20, concurrency: 1, ..Profile::memory() }
    }

    /// The number of reading threads if a caller asks for `wanted`. If that is 0, the useful number of
    /// concurrent reads, or one per processor if that is `usize::MAX`.
    pub fn threads(&self, wanted: usize) -> usize {
        match (self.callers_thread, wanted, self.concurrency) {
            (true, ..) => 1,
            (false, 0, worth) if worth > 1 && worth != usize::MAX => worth.min(MAX_WAITING_THREADS),
            (false, wanted, _) => crate::threads::count(wanted),
        }
    }

    /// Whether a combined request may be larger than a bounce buffer, and therefore than the processor's
    /// cache.
    pub const fn gathers(&self) -> bool {
        self.largest_request > BOUNCE_SIZE as u64
    }

    /// The size of a call that reads ranges anywhere in the file, if `threads` threads read at once.
    pub fn bytes_at_once(&self, threads: usize) -> u64 {
        let requests = self.concurrency.max(1).div_ceil(threads.max(1));
        self.largest_request.saturating_mul(requests as u64)
    }
}

/// The size and time of a file that changed since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// How many bytes are from the source's first byte to the end of the file.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
    /// Whether the source ended at the end of the file.
    pub to_end: bool,
}

/// A source's state in the page cache, and direct reads that bypass it.
pub trait PageCache: Send + Sync {
    /// Whether the byte at `offset` is in memory; `None` if that is unknown.
    fn resident(&self, offset: u64) -> Option<bool>;

    /// A second handle for direct reads.
    fn direct(&self) -> Result<Option<DirectFile>> {
        Ok(None)
    }

    /// The file's current size and time, if they differ from those when it was opened or from the last
    /// accepted change.
    fn change(&self) -> Result<Option<Change>> {
        Ok(None)
    }

    /// `None` if the size differs from the size when the file was opened, or at the last accepted change.
    /// Otherwise, whether a writer has the file now, or had it at that time and may have finished its append
    /// since.
    fn same_size(&self, _change: Change) -> Option<bool> {
        None
    }

    /// Accepts a change: from now on the file counts as unchanged in this state.
    fn accept(&self, _change: Change) {}

    /// Whether a writer is known to hold the file's lock.
    fn has_writer(&self) -> bool {
        false
    }

    /// Whether this is a handle on the same file, which has not changed since it was opened, as far as is
    /// known.
    fn is_still(&self, _other: &File) -> Result<bool> {
        Ok(true)
    }
}

/// How the bytes of a source are arranged in pages. Ranges count from the source's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The size of a page: a power of two.
    page: u64,
    /// The offset of the source's first byte in the file, which begins with a page.
    start: u64,
    /// Pages that end at or before this offset have only bytes of the source, or of nothing.
    limit: u64,
}

impl Pages {
    /// Pages of `page` bytes. The source is `size` bytes of a file, from `start` on. `to_end` means that it
    /// extends to the end of the file.
    pub fn new(page: u64, start: u64, size: u64, to_end: bool) -> Pages {
        debug_assert!(page.is_power_of_two());
        Pages { page, start, limit: if to_end { u64::MAX } else { size } }
    }

    /// The same source with pages of this size.
    pub fn with_page(self, page: u64) -> Pages {
        Pages { page, ..self }
    }

    /// Whether a page begins at `offset`.
    pub fn is_border(&self, offset: u64) -> bool {
        self.start.checked_add(offset).is_some_and(|place| place & self.page.saturating_sub(1) == 0)
    }

    /// The first page boundary at or after `offset`; the largest number if no boundary follows.
    pub fn border_after(&self, offset: u64) -> u64 {
        let place =
            self.start.checked_add(offset).and_then(|place| place.checked_next_multiple_of(self.page));
        place.and_then(|place| place.checked_sub(self.start)).unwrap_or(u64::MAX)
    }

    /// The last page boundary at or before `offset`; 0 if that is before the source.
    pub fn border_before(&self, offset: u64) -> u64 {
        let place = self.start.saturating_add(offset);
        (place - place.checked_rem(self.page).unwrap_or(0)).saturating_sub(self.start)
    }

    /// The numbers of the pages that `range` touches. Page 0 has the source's first byte.
    pub fn numbers(&self, range: Range<u64>) -> Range<u64> {
        let number = |place: u64| place.wrapping_shr(self.page.trailing_zeros());
        let first = number(self.start);
        let end = self.start.saturating_add(range.end).checked_add(self.page.saturating_sub(1));
        let from = number(self.start.saturating_add(range.start)).saturating_sub(first);
        from..number(end.unwrap_or(u64::MAX)).saturating_sub(first)
    }

    /// Whether the last page of a range that ends at `offset` has no bytes outside the source.
    pub fn is_own_up_to(&self, offset: u64) -> bool {
        self.border_after(offset) <= self.limit || self.limit == u64::MAX
    }

    /// The whole pages inside `range`.
    pub fn inside(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let (start, end) = (self.border_after(range.start), self.border_before(range.end));
        (start < end && self.is_border(end)).then_some(start..end)
    }
}

/// The size of a page on this system.
pub fn page_size() -> u64 {
    crate::io::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];

    #[test]
    fn pages_are_counted_from_the_real_files_start() {
        for page in SIZES {
            for start in [0, 1, 64, 512, page - 1, page, page + 512, 7 * page + 100] {
                let pages = Pages::new(page, start, 100 * page, true);
                for offset in
                    [0, 1, 63, 64, page - 1, page, page + 1, 5 * page - start % page, 20 * page + 77]
                {
                    let place = start + offset;
                    assert_eq!(pages.is_border(offset), place % page == 0, "{page} {start} {offset}");
                    assert_eq!((start + pages.border_after(offset)) % page, 0);
                    assert!((offset..offset + page).contains(&pages.border_after(offset)));
                    let before = pages.border_before(offset);
                    assert!(before <= offset && offset - before < page);
                    assert!(before == 0 || pages.is_border(before));
                }
            }
        }
    }

    #[test]
    fn whole_pages_are_those_with_nothing_else() {
        for page in SIZES {
            for start in [0, 64, page - 64, 3 * page + 4096] {
                let pages = Pages::new(page, start, 100 * page, false);
                for (from, to) in
                    [(0, 1), (0, page), (5, 3 * page), (page, 2 * page), (7, 7), (page + 1, 9 * page)]
                {
                    // The definition, byte by byte: a page is inside if all its bytes are.
                    let is_inside =
                        |number: u64| number * page >= start + from && (number + 1) * page <= start + to;
                    let numbers: Vec<u64> = (0..120).filter(|n| is_inside(*n)).collect();
                    let wanted = numbers.first().zip(numbers.last());
                    let wanted = wanted.map(|(a, b)| a * page - start..(b + 1) * page - start);
                    assert_eq!(pages.inside(&(from..to)), wanted, "{page} {start} {from}..{to}");
                }
            }
        }
    }

    #[test]
    fn a_page_at_the_end_is_shared_with_what_comes_behind_us() {
        for page in SIZES {
            let size = 2 * page + 100;
            for start in [0, page, page + 64] {
                let alone = Pages::new(page, start, size, true);
                let followed = Pages::new(page, start, size, false);
                assert!(alone.is_own_up_to(size) && !followed.is_own_up_to(size), "{page} {start}");
                assert!(followed.is_own_up_to(page) && followed.is_own_up_to(page + 1));
            }
        }
    }

    #[test]
    fn no_number_overflows() {
        let pages = Pages::new(4096, u64::MAX - 5, 5, false);
        assert!(!pages.is_border(u64::MAX));
        assert_eq!(pages.border_after(u64::MAX), u64::MAX);
        assert_eq!(pages.inside(&(0..u64::MAX)), None);
        assert_eq!(Pages::new(65536, 1, 5, false).inside(&(u64::MAX - 1..u64::MAX)), None);
    }
}
