//! Finds what may not be there twice: keys of a map, roles of an object.

use crate::error::Result;
use crate::model::sort::sort_by;
use std::cmp::Ordering;

/// An item that is equal to another one; at most `n log n` comparisons, and no memory for a few items.
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
    let mut sorted: Vec<&T> = Vec::new();
    sorted.try_reserve_exact(items.len())?;
    sorted.extend(items);
    sort_by(&mut sorted, |a, b| order(a, b));
    let pair = sorted.windows(2).find(|pair| matches!(pair, [a, b] if order(a, b).is_eq()));
    Ok(pair.and_then(|pair| pair.first().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
