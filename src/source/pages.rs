//! Pages: which ones a range of bytes touches, and which have only these bytes. Pages are counted from the
//! start of the file, which may be before the start of the source.

use std::ops::Range;

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

    /// The pages that `range` touches, without bytes before the source.
    pub fn touched(&self, range: &Range<u64>) -> Range<u64> {
        self.border_before(range.start)..self.border_after(range.end)
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
                    let touched = pages.touched(&(from..to));
                    assert!(touched.start <= from && touched.end >= to);
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
