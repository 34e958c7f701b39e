//! Which bytes of a mapping are locked in memory. The system counts pages and not how often; a page is to stay locked
//! as long as any byte of it is.

use super::pages::Pages;
use crate::error::Result;
use std::ops::Range;

/// Disjoint ranges, in order.
#[derive(Default)]
pub struct LockedRanges {
    ranges: Vec<Range<u64>>,
}

impl LockedRanges {
    /// Makes room for what the next [`LockedRanges::add`] or [`LockedRanges::remove`] inserts.
    pub fn reserve(&mut self) -> Result<()> {
        Ok(self.ranges.try_reserve(1)?)
    }

    /// The positions of those that share a byte with `range` or touch it.
    fn touching(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.ranges.partition_point(|guard| guard.end < range.start);
        let last = self.ranges.partition_point(|guard| guard.start <= range.end);
        first..last.max(first)
    }

    /// Adds `range`. After [`LockedRanges::reserve`].
    pub fn add(&mut self, range: Range<u64>) {
        let touching = self.touching(&range);
        let guard = self.ranges.get(touching.clone()).unwrap_or_default();
        let start = guard.first().map_or(range.start, |first| first.start.min(range.start));
        let end = guard.last().map_or(range.end, |last| last.end.max(range.end));
        let at = touching.start;
        drop(self.ranges.drain(touching));
        self.ranges.insert(at, start..end); // within what was reserved
    }

    /// Takes `range` out, any part of which may be locked. After [`LockedRanges::reserve`].
    pub fn remove(&mut self, range: &Range<u64>) {
        let touching = self.touching(range);
        let guard = self.ranges.get(touching.clone()).unwrap_or_default();
        let before = guard.first().map_or(0..0, |first| first.start..first.end.min(range.start));
        let after = guard.last().map_or(0..0, |last| last.start.max(range.end)..last.end);
        let at = touching.start;
        drop(self.ranges.drain(touching));
        for left in [after, before].into_iter().filter(|left| !left.is_empty()) {
            self.ranges.insert(at, left); // at most one more than there were: within what was reserved
        }
    }

    /// Whether a byte of `range` is locked.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|guard| guard.end <= range.start);
        self.ranges.get(first).is_some_and(|guard| guard.start < range.end)
    }

    /// The pages of `range`, which was removed, that have no locked byte: its first and its last page may have locked bytes
    /// of its neighbours.
    pub fn free_pages(&self, pages: &Pages, range: &Range<u64>) -> Range<u64> {
        let touched = pages.touched(range);
        let first = pages.border_after(touched.start.saturating_add(1)); // where the first page ends
        let last = pages.border_before(touched.end.saturating_sub(1)); // where the last one begins
        let start = if self.overlaps(&(touched.start..first)) { first } else { touched.start };
        let end = if self.overlaps(&(last..touched.end)) { last } else { touched.end };
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept_as_a_set_of_bytes() {
        let mut seed = 5_u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u64::from((seed >> 8) % below)
        };
        let (mut ranges, mut bytes) = (LockedRanges::default(), [false; 256]);
        for _ in 0..3000 {
            let start = next(250);
            let range = start..(start + 1 + next(40)).min(256);
            let add = next(2) == 1;
            ranges.reserve().unwrap();
            match add {
                true => ranges.add(range.clone()),
                false => ranges.remove(&range),
            }
            bytes[range.start as usize..range.end as usize].fill(add);
            for at in 0..256 {
                assert_eq!(ranges.overlaps(&(at..at + 1)), bytes[at as usize], "{at} {:?}", ranges.ranges);
            }
            assert!(ranges.ranges.windows(2).all(|two| two[0].end < two[1].start), "{:?}", ranges.ranges);
        }
    }

    #[test]
    fn a_page_stays_locked_while_a_neighbours_byte_is() {
        for page in crate::io::pretend::SIZES {
            neighbours_in_pages_of(page as u64);
        }
    }

    fn neighbours_in_pages_of(page: u64) {
        let pages = Pages::new(page, 0, 1 << 20, true);
        let mut ranges = LockedRanges::default();
        let border = 2 * page + 808;
        let (one, other) = (100..border, border..4 * page + 3616);
        for range in [&one, &other] {
            ranges.reserve().unwrap();
            ranges.add(range.clone());
        }
        ranges.reserve().unwrap();
        ranges.remove(&one);
        assert_eq!(ranges.free_pages(&pages, &one), 0..2 * page);
        ranges.remove(&other);
        assert_eq!(ranges.free_pages(&pages, &other), 2 * page..5 * page);
        ranges.reserve().unwrap();
        ranges.add(5..6);
        assert_eq!(ranges.free_pages(&pages, &(7..9)), page..page, "the only page is another's, too");
    }
}
