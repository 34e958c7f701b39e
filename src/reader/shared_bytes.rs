//! Components that share the same bytes of the file, such as tied weights, and what is known about these
//! bytes. With this, they are read and checked only once. A file may use the same bytes a million times.

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::memory::{filled, with_capacity};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component, Encoding};
use crate::model::sort::sort;
use std::sync::atomic::AtomicU64;

/// Which components share their bytes.
#[derive(Default)]
pub(super) struct SharedRanges {
    /// For each component, the number of its shared range, counted from 1; 0 if it shares none. Empty if no
    /// components share a range.
    ranges: Vec<u32>,
    count: usize,
}

impl SharedRanges {
    /// Finds the shared ranges. `part_of` returns the number of the part that has a component's bytes. Takes
    /// `n log n` comparisons, or `n` if the components are sorted by offset.
    pub fn of(components: &[Component], part_of: impl Fn(usize) -> usize) -> Result<SharedRanges> {
        let stored = || (0u32..).zip(components).filter(|(_, c)| c.stored_size > 0);
        let mut next = (0, 0);
        let apart = stored().all(|(at, c)| {
            let part = part_of(at as usize);
            let behind = (part, c.offset) >= next;
            next = (part, c.end());
            behind
        });
        if apart {
            return Ok(SharedRanges::default());
        }
        let mut order: Vec<(u32, u64, u64, u32)> = with_capacity(components.len())?;
        // A part has at least one component, and the number of components fits in 32 bits.
        let part = |at: u32| u32::try_from(part_of(at as usize)).unwrap_or(u32::MAX);
        order.extend(stored().map(|(at, c)| (part(at), c.offset, c.stored_size, at)));
        sort(&mut order);
        let mut ranges = filled(0, components.len())?;
        let groups =
            order.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)).filter(|group| group.len() > 1);
        let mut count = 0;
        for (number, group) in (1u32..).zip(groups) {
            count = number as usize;
            for (.., at) in group {
                if let Some(place) = ranges.get_mut(*at as usize) {
                    *place = number;
                }
            }
        }
        Ok(SharedRanges { ranges, count })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of the shared range of a component, counted from 0; `None` if it shares none.
    pub fn range(&self, component: usize) -> Option<usize> {
        let number = self.ranges.get(component).copied().unwrap_or(0);
        usize::try_from(number).unwrap_or(0).checked_sub(1)
    }
}

/// How a component's bytes are decoded to numbers.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct NumberFormat {
    pub(super) encoding: Encoding,
    pub(super) size: u64,
    pub(super) dtype: Option<Dtype>,
    pub(super) swaps: bool,
}

/// A check of bytes that succeeded.
#[derive(PartialEq)]
pub(super) enum Fact {
    /// This digest agrees. For a digest of decoded bytes, also how the bytes are decoded, and their size. Two
    /// different digests of one algorithm and one decoding cannot both agree.
    Digest(Digest, Option<(Encoding, Option<u64>)>),
    /// The bytes decode to this size. Also whether their bools were checked.
    Contents(Encoding, u64, bool),
    /// They are row pointers to this many entries.
    Pointers(NumberFormat, u64),
    /// They are column indices that ascend within the rows of the row pointers at this place.
    Rows(NumberFormat, PartAndStart, NumberFormat),
    /// They are coordinates, and no two are equal in a shape of this rank. If coordinates are in range of two
    /// shapes of one rank, they are distinct in both or in neither.
    Cells(NumberFormat, u32),
}

/// What is known about bytes that several components share.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) checked: Vec<Fact>,
    /// The largest number in each run. The list has one number for each run.
    pub(super) largest: Vec<(NumberFormat, Vec<u64>)>,
}

/// What the threads of a verification know about shared bytes.
#[derive(Default)]
pub(super) struct SharedChecks {
    /// The number of the first component that is verified.
    pub(super) first: usize,
    pub(super) shared_ranges: SharedRanges,
    pub(super) facts: Vec<Mutex<Facts>>,
    /// The result of each checksum of an archive, by the part and the start of its bytes.
    pub(super) checksums: Vec<(PartAndStart, Outcome)>,
    /// How many bytes were decoded to check the order within rows.
    pub(super) rows_decoded: AtomicU64,
    /// The result for each shard whose digest was checked, by part.
    pub(super) shards: Mutex<Vec<(usize, Result<()>)>>,
    /// The errors of shards that could not be opened: the place of each is the number of its part.
    pub(super) unopened: Mutex<Vec<Option<Error>>>,
}

/// Where some bytes start: the number of their part, and a position in it.
pub(super) type PartAndStart = (usize, u64);

/// Whether a checksum agrees; `None` if it was not checked yet.
pub(super) type Outcome = Mutex<Option<Result<()>>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype::Dtype;
    use crate::model::manifest::Manifest;

    #[test]
    fn components_of_the_same_bytes_are_found_and_empty_ones_have_none() {
        let ranges = [(64, 8), (128, 8), (64, 8), (0, 0), (0, 0), (256, 4), (128, 8), (64, 8)];
        let mut manifest = Manifest::default();
        let role = manifest.texts.add("data").unwrap();
        assert_eq!(SharedRanges::of(&manifest.components, |_| 0).unwrap().count(), 0);
        for (offset, stored_size) in ranges {
            let mut entry = Component::new(role, Some(Dtype::U8));
            (entry.offset, entry.stored_size) = (offset, stored_size);
            manifest.components.push(entry).unwrap();
        }
        let shared_ranges = SharedRanges::of(&manifest.components, |_| 0).unwrap();
        let found: Vec<_> = (0..9).map(|at| shared_ranges.range(at)).collect();
        let (first, second) = (Some(0), Some(1));
        assert_eq!(found, [first, second, first, None, None, None, second, first, None]);
        assert_eq!(shared_ranges.count(), 2);
        // There are three files. The first has (64, 8) twice; the others have different ranges.
        let shared_ranges = SharedRanges::of(&manifest.components, |at| at / 3).unwrap();
        let found: Vec<_> = (0..8).map(|at| shared_ranges.range(at)).collect();
        assert_eq!(found, [first, None, first, None, None, None, None, None]);
    }
}
