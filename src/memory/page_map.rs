//! A bit for each page of a file, to find out without sorting whether ranges share pages.

use super::buffer::filled;

/// Pages by their numbers.
pub(crate) struct PageMap(Vec<u64>);

impl PageMap {
    /// A map of `pages` free pages. `None` if its bits take more than `max_bytes`, or there is no memory.
    pub(crate) fn new(pages: u64, max_bytes: u64) -> Option<PageMap> {
        let words = pages.div_ceil(64);
        let words = usize::try_from(words).ok().filter(|_| words.saturating_mul(8) <= max_bytes)?;
        filled(0, words).ok().map(PageMap)
    }

    /// Marks the pages from `first` to before `end` as used. Returns false if one of them is used already or
    /// does not exist.
    #[inline]
    pub(crate) fn take(&mut self, first: u64, end: u64) -> bool {
        let mut at = first;
        while at < end {
            let word = usize::try_from(at / 64).ok().and_then(|word| self.0.get_mut(word));
            let Some(word) = word else { return false };
            let count = end.saturating_sub(at).min(64_u64.saturating_sub(at % 64));
            let ones = u64::MAX.checked_shr(64_u64.saturating_sub(count) as u32).unwrap_or(0);
            let mask = ones.wrapping_shl((at % 64) as u32);
            if *word & mask != 0 {
                return false;
            }
            *word |= mask;
            at = at.saturating_add(count);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart_exactly_where_their_pages_are() {
        let ends = [0, 1, 62, 63, 64, 65, 100, 127, 128, 129, 191, 192];
        for (from, to) in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
            for (first, end) in ends.iter().flat_map(|first| ends.map(|end| (*first, end))) {
                let mut map = PageMap::new(192, 24).unwrap();
                assert!(map.take(from, to));
                let are_apart = (from.max(first)..to.min(end)).is_empty();
                assert_eq!(map.take(first, end), are_apart, "{from} {to} {first} {end}");
            }
        }
        let mut map = PageMap::new(192, 24).unwrap();
        assert!((0..192).all(|page| map.take(page, page + 1)));
        assert!((0..192).all(|page| !map.take(page, page + 1)));
        assert!(!map.take(192, 193) && !map.take(u64::MAX - 1, u64::MAX));
        assert!(PageMap::new(193, 24).is_none() && PageMap::new(u64::MAX, u64::MAX / 2).is_none());
    }
}
