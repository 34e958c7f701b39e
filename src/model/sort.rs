//! Our own sort. The standard library's sort is compiled again for each type and order, which was 230 KB of
//! the library. It may also panic if an order contradicts itself. This one sorts in place without allocating,
//! and all types share one copy of the code. This file also finds duplicates.

use crate::error::Result;
use crate::memory::collected;
use std::cmp::Ordering;

/// Sorts in ascending order. None of the sorts here is stable: equal items may change their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by `order` with O(n log n) comparisons, or `n` if the items are sorted. If `order` contradicts
/// itself, the items end up in some order.
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let end = items.len();
    let items: &mut dyn Items = &mut Ordered { items, order };
    if (1..end).any(|at| items.is_before(at, at - 1)) {
        quick_sort(items, 0, end, 2 * end.ilog2());
    }
}

/// Items that the code below compares and swaps by position.
trait Items {
    fn is_before(&self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

struct Ordered<'a, T, F> {
    items: &'a mut [T],
    order: F,
}

impl<T, F: Fn(&T, &T) -> Ordering> Items for Ordered<'_, T, F> {
    fn is_before(&self, a: usize, b: usize) -> bool {
        matches!((self.items.get(a), self.items.get(b)), (Some(a), Some(b)) if (self.order)(a, b).is_lt())
    }

    fn swap(&mut self, a: usize, b: usize) {
        if a < self.items.len() && b < self.items.len() {
            self.items.swap(a, b);
        }
    }
}

/// Recurses only into the smaller part, so the depth is at most the number of bits of a length. After `depth`
/// nested partitions heap sort takes over, which is fast for any order of the items.
fn quick_sort(items: &mut dyn Items, mut start: usize, mut end: usize, mut depth: u32) {
    const MAX_INSERTION_SORT: usize = 12;
    while end - start > MAX_INSERTION_SORT {
        if depth == 0 {
            heap_sort(items, start, end - start);
            return;
        }
        depth -= 1;
        let middle = partition(items, start, end);
        if middle - start < end - middle {
            quick_sort(items, start, middle, depth);
            start = middle + 1;
        } else {
            quick_sort(items, middle + 1, end, depth);
            end = middle;
        }
    }
    for at in start + 1..end {
        let mut place = at;
        while place > start && items.is_before(place, place - 1) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Moves smaller items before a pivot and greater items after it. Returns the pivot's position.
fn partition(items: &mut dyn Items, start: usize, end: usize) -> usize {
    // Do not choose the first or last item: the previous partition has put these out of order.
    let (quarter, last) = ((end - start) / 4, end - 1);
    let (a, b, c) = (start + quarter, start + 2 * quarter, start + 3 * quarter);
    let (a, b) = if items.is_before(b, a) { (b, a) } else { (a, b) };
    let median = if items.is_before(c, a) {
        a
    } else if items.is_before(c, b) {
        c
    } else {
        b
    };
    items.swap(start, median);
    let (mut low, mut high) = (start + 1, last);
    loop {
        while low <= high && items.is_before(low, start) {
            low += 1;
        }
        while low <= high && items.is_before(start, high) {
            high -= 1;
        }
        if low >= high {
            items.swap(start, high);
            return high;
        }
        items.swap(low, high);
        low += 1;
        high -= 1;
    }
}

/// Sorts `count` items from `start` on.
fn heap_sort(items: &mut dyn Items, start: usize, count: usize) {
    for parent in (0..count / 2).rev() {
        sift_down(items, start, parent, count);
    }
    for last in (1..count).rev() {
        items.swap(start, start + last);
        sift_down(items, start, 0, last);
    }
}

fn sift_down(items: &mut dyn Items, start: usize, mut parent: usize, count: usize) {
    loop {
        let mut child = 2 * parent + 1;
        if child >= count {
            return;
        }
        if child + 1 < count && items.is_before(start + child, start + child + 1) {
            child += 1;
        }
        if !items.is_before(start + parent, start + child) {
            return;
        }
        items.swap(start + parent, start + child);
        parent = child;
    }
}

/// Returns an item that equals another one. Takes at most `n log n` comparisons; for a few items, no memory.
pub fn find_duplicate<T>(items: &[T], order: impl Fn(&T, &T) -> Ordering) -> Result<Option<&T>> {
    const PAIRWISE: usize = 8;
    if items.len() <= PAIRWISE {
        let mut rest = items;
        while let Some((item, others)) = rest.split_first() {
            if others.iter().any(|other| order(item, other).is_eq()) {
                return Ok(Some(item));
            }
            rest = others;
        }
        return Ok(None);
    }
    let mut sorted: Vec<&T> = collected(items.len(), items)?;
    sort_by(&mut sorted, |a, b| order(a, b));
    let pair = sorted.windows(2).find(|pair| matches!(pair, [a, b] if order(a, b).is_eq()));
    Ok(pair.and_then(|pair| pair.first().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Numbers sorted, reversed, all equal, with few different values, ascending then descending, and mixed.
    fn arrangements(count: u64) -> impl Iterator<Item = Vec<u64>> {
        let mixed = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let all: [&dyn Fn(u64) -> u64; 6] =
            [&|at| at, &|at| count - at, &|_| 7, &|at| mixed(at) % 3, &|at| at.min(count - at), &mixed];
        all.map(|make| (0..count).map(make).collect()).into_iter()
    }

    #[test]
    fn items_are_sorted_as_the_standard_library_sorts_them() {
        for count in (0..70).chain([1000, 4321]) {
            for items in arrangements(count) {
                let mut expected = items.clone();
                expected.sort_unstable();
                let mut sorted = items.clone();
                sort(&mut sorted);
                assert_eq!(sorted, expected, "{items:?}");
                heap_sort(
                    &mut Ordered { items: &mut sorted, order: |a: &u64, b: &u64| b.cmp(a) },
                    0,
                    items.len(),
                );
                expected.reverse();
                assert_eq!(sorted, expected, "{items:?}");
            }
        }
        let mut texts = ["b", "", "a", "ab"];
        sort_by_key(&mut texts, |text| std::cmp::Reverse(text.len()));
        assert_eq!((texts[0], texts[3]), ("ab", ""));
    }

    /// An adversary that makes any quicksort slow: an item gets its value only when it is compared, and then
    /// the lowest that is left. The first three items have values from the start, so that the items are not
    /// sorted.
    #[test]
    fn no_arrangement_takes_many_comparisons() {
        const COUNT: usize = 4096;
        let (values, solid) = (vec![Cell::new(usize::MAX); COUNT], Cell::new(0));
        [1, 0, 2].iter().zip(&values).for_each(|(value, cell)| cell.set(*value));
        solid.set(3);
        let (candidate, asked) = (Cell::new(0), Cell::new(0));
        let freeze = |at: usize| {
            values[at].set(solid.get());
            solid.set(solid.get() + 1);
        };
        let mut places: Vec<usize> = (0..COUNT).collect();
        sort_by(&mut places, |&a, &b| {
            asked.set(asked.get() + 1);
            if values[a].get() == usize::MAX && values[b].get() == usize::MAX {
                freeze(if a == candidate.get() { a } else { b });
            }
            if values[a].get() == usize::MAX {
                candidate.set(a);
            } else if values[b].get() == usize::MAX {
                candidate.set(b);
            }
            values[a].get().cmp(&values[b].get())
        });
        assert!(places.is_sorted_by_key(|place| values[*place].get()));
        assert!(asked.get() < 6 * COUNT * COUNT.ilog2() as usize, "{}", asked.get());
    }

    #[test]
    fn an_order_that_contradicts_itself_ends_and_loses_nothing() {
        let turn = Cell::new(0u32);
        let mut items: Vec<u32> = (0..3000).collect();
        sort_by(&mut items, |_, _| {
            turn.set(turn.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
            if turn.get() >> 31 == 0 {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        });
        items.sort_unstable();
        assert!(items.into_iter().eq(0..3000));
    }

    #[test]
    fn an_item_that_is_there_twice_is_found_among_few_and_many() {
        for count in 0..20u32 {
            let items: Vec<u32> = (0..count).map(|n| n * 7 % 23).collect();
            assert_eq!(find_duplicate(&items, Ord::cmp).unwrap(), None, "{count}");
            for (at, item) in items.iter().enumerate() {
                let mut twice = items.clone();
                twice.insert((at * 5 + 3) % count as usize, *item);
                assert_eq!(find_duplicate(&twice, Ord::cmp).unwrap(), Some(item), "{count}, {at}");
            }
        }
    }
}
