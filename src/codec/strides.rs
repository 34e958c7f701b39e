//! Gathers elements that are stored with strides in row-major order.

use crate::error::{fail, Result};
use crate::memory::{take_front, zeroed};
use crate::model::component::MAX_RANK;
use std::ops::Range;

/// Rows and columns of a tile. Tiles are small enough for the cache to keep what is read and written.
const TILE: usize = 32;

/// The dimensions with more than one element. Dimensions that continue each other are joined.
#[derive(Clone, Copy)]
pub struct Gather {
    /// For each dimension, the count and the distance in bytes between two elements.
    dims: [(u64, u64); MAX_RANK],
    rank: usize,
    /// Bytes of an element.
    unit: usize,
}

impl Gather {
    /// A gather for elements of `unit` bytes. No dimension of the shape is zero, and all sizes fit in 64
    /// bits.
    pub fn new(shape: &[u64], strides: &[u64], unit: usize) -> Result<Gather> {
        let mut gather = Gather { dims: [(1, 0); MAX_RANK], rank: 0, unit };
        for (count, stride) in shape.iter().zip(strides).filter(|(count, _)| **count != 1) {
            let stride = stride.saturating_mul(unit as u64);
            let last = gather.rank.checked_sub(1).and_then(|last| gather.dims.get_mut(last));
            match last {
                Some(last) if stride.checked_mul(*count) == Some(last.1) => {
                    *last = (last.0.saturating_mul(*count), stride);
                }
                _ => {
                    let next = gather.dims.get_mut(gather.rank);
                    *next.ok_or_else(|| fail!(Unsupported, "more than {MAX_RANK} dimensions"))? =
                        (*count, stride);
                    gather.rank = gather.rank.saturating_add(1);
                }
            }
        }
        gather.rank = gather.rank.max(1);
        Ok(gather)
    }

    fn dim(&self, at: usize) -> (u64, u64) {
        self.dims.get(at).copied().unwrap_or((1, 0))
    }

    /// The last dimension, and the one before it.
    fn plane(&self) -> ((u64, u64), (u64, u64)) {
        let last = self.rank.saturating_sub(1);
        (last.checked_sub(1).map_or((1, 0), |at| self.dim(at)), self.dim(last))
    }

    /// The size in bytes of a row of the last dimension.
    fn row_size(&self) -> u64 {
        self.plane().1 .0.saturating_mul(self.unit as u64)
    }

    /// The offset of a row in the stored bytes.
    fn row_start(&self, mut row: u64) -> u64 {
        let outer = self.dims.get(..self.rank.saturating_sub(1)).unwrap_or_default();
        outer.iter().rev().fold(0u64, |start, (count, stride)| {
            let index = row.checked_rem(*count).unwrap_or(0);
            row = row.checked_div(*count).unwrap_or(0);
            start.saturating_add(index.saturating_mul(*stride))
        })
    }

    /// The stored bytes that have all elements of a range of row-major bytes.
    pub fn needed(&self, wanted: &Range<u64>) -> Range<u64> {
        let inner = self.dims.get(1..self.rank).unwrap_or_default();
        let unit = self.unit as u64;
        let of_one = inner.iter().fold(unit, |size, (count, _)| size.saturating_mul(*count));
        let last = wanted.end.saturating_sub(1);
        let (Some(first), Some(last)) = (wanted.start.checked_div(of_one), last.checked_div(of_one)) else {
            return 0..0;
        };
        if wanted.start >= wanted.end {
            return 0..0;
        }
        let (_, stride) = self.dim(0);
        let reach = inner.iter().fold(unit, |reach, (count, stride)| {
            reach.saturating_add(count.saturating_sub(1).saturating_mul(*stride))
        });
        first.saturating_mul(stride)..last.saturating_mul(stride).saturating_add(reach)
    }

    /// Fills `dst` with the row-major bytes from `from` on, in whole elements. `stored` has the needed bytes;
    /// it begins at offset `base` of all stored bytes.
    pub fn fill(&self, stored: &[u8], base: u64, from: u64, mut dst: &mut [u8]) -> Result<()> {
        let ((plane_rows, row_stride), (_, stride)) = self.plane();
        let row_size = self.row_size();
        let mut at = from;
        while !dst.is_empty() {
            let (row, within) = match (at.checked_div(row_size), at.checked_rem(row_size)) {
                (Some(row), Some(within)) => (row, within),
                _ => return Err(fail!(Internal, "gathered elements are empty")),
            };
            let left = dst.len() as u64;
            // A part of a row, or as many whole rows as have equal distances.
            let (rows, columns) = match within == 0 && left >= row_size {
                true => {
                    let in_plane = plane_rows.saturating_sub(row.checked_rem(plane_rows).unwrap_or(0));
                    (left.checked_div(row_size).unwrap_or(0).min(in_plane), row_size)
                }
                false => (1, left.min(row_size.saturating_sub(within))),
            };
            let now = take_front(&mut dst, rows.saturating_mul(columns))?;
            let size = now.len() as u64;
            let skipped = within.checked_div(self.unit as u64).unwrap_or(0).saturating_mul(stride);
            let start = self.row_start(row).saturating_add(skipped);
            let start = start.checked_sub(base).and_then(|start| usize::try_from(start).ok());
            let source = start.and_then(|start| stored.get(start..)).unwrap_or_default();
            let block = Plane {
                source,
                columns: usize::try_from(columns).unwrap_or(usize::MAX),
                stride: usize::try_from(stride).unwrap_or(usize::MAX),
                row_stride: usize::try_from(row_stride).unwrap_or(usize::MAX),
            };
            let taken = match self.unit {
                _ if stride == self.unit as u64 => block.copy_rows(now),
                1 => block.take::<1>(now),
                2 => block.take::<2>(now),
                4 => block.take::<4>(now),
                8 => block.take::<8>(now),
                16 => block.take::<16>(now),
                unit => return Err(fail!(Unsupported, "elements of {unit} bytes are not gathered")),
            };
            taken.ok_or_else(|| fail!(Internal, "gathered elements are outside of the stored bytes"))?;
            at = at.saturating_add(size);
        }
        Ok(())
    }

    /// Calls `body` with the first `size` row-major bytes, at most `step` at a time. `stored` are all stored
    /// bytes.
    pub fn for_each_chunk(
        &self,
        stored: &[u8],
        size: usize,
        step: usize,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = zeroed(step)?;
        for start in (0..size).step_by(step.max(1)) {
            let count = size.saturating_sub(start).min(step);
            let now = chunk.get_mut(..count).unwrap_or_default();
            self.fill(stored, 0, start as u64, now)?;
            body(now)?;
        }
        Ok(())
    }
}

/// Rows with equal distances, and elements in them with equal distances.
struct Plane<'a> {
    /// The stored bytes, from the first element on.
    source: &'a [u8],
    /// How many bytes of each row are wanted.
    columns: usize,
    stride: usize,
    row_stride: usize,
}

impl Plane<'_> {
    /// Copies rows of contiguous elements.
    fn copy_rows(&self, dst: &mut [u8]) -> Option<()> {
        let mut at = 0usize;
        for row in dst.chunks_mut(self.columns.max(1)) {
            row.copy_from_slice(self.source.get(at..at.checked_add(row.len())?)?);
            at = at.checked_add(self.row_stride)?;
        }
        Some(())
    }

    /// Copies elements of `N` bytes, tile by tile.
    fn take<const N: usize>(&self, dst: &mut [u8]) -> Option<()> {
        for (tile, rows) in dst.chunks_mut(self.columns.checked_mul(TILE)?.max(1)).enumerate() {
            let first_row = tile.checked_mul(TILE)?.checked_mul(self.row_stride)?;
            let columns = self.columns.checked_div(N)?;
            for first in (0..columns).step_by(TILE) {
                let count = columns.saturating_sub(first).min(TILE);
                let mut start = first_row.checked_add(first.checked_mul(self.stride)?)?;
                for row in rows.chunks_mut(self.columns.max(1)) {
                    let from = first.checked_mul(N)?;
                    let row = row.get_mut(from..from.checked_add(count.checked_mul(N)?)?)?;
                    let mut at = start;
                    for element in row.chunks_exact_mut(N) {
                        let source = self.source.get(at..)?.first_chunk::<N>()?;
                        element.copy_from_slice(source);
                        at = at.checked_add(self.stride)?;
                    }
                    start = start.checked_add(self.row_stride)?;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result by definition: element by element.
    fn by_definition(stored: &[u8], shape: &[u64], strides: &[u64], unit: usize) -> Vec<u8> {
        let count: u64 = shape.iter().product();
        let element = |mut at: u64| {
            let place: u64 = shape.iter().zip(strides).rev().fold(0, |place, (count, stride)| {
                let index = at % count;
                at /= count;
                place + index * stride
            });
            stored[place as usize * unit..][..unit].to_vec()
        };
        (0..count).flat_map(element).collect()
    }

    #[test]
    fn elements_come_in_row_major_order_whatever_the_strides() {
        let cases: [(&[u64], &[u64]); 14] = [
            (&[], &[]),
            (&[5], &[3]),
            (&[7, 5], &[1, 7]),
            (&[70, 90], &[1, 70]),
            (&[3, 4, 5], &[1, 3, 12]),
            (&[3, 4, 5], &[20, 5, 1]),
            (&[3, 4, 5], &[5, 15, 1]),
            (&[33, 1, 65], &[65, 9, 1]),
            (&[4, 6], &[0, 1]),
            (&[4, 6], &[2, 0]),
            (&[2, 2, 2, 2], &[1, 2, 4, 8]),
            (&[5, 40], &[100, 2]),
            (&[1, 1, 1], &[7, 7, 7]),
            (&[6, 4], &[1, 1]),
        ];
        for unit in [1, 2, 4, 8, 16] {
            let stored: Vec<u8> = (0..12_000 * unit).map(|i| (i * 7 + i / 251) as u8).collect();
            for (shape, strides) in cases {
                let expected = by_definition(&stored, shape, strides, unit);
                let gather = Gather::new(shape, strides, unit).unwrap();
                for (from, to) in [(0, expected.len()), (unit, expected.len()), (0, expected.len() - unit)] {
                    for step in [to.max(unit), 3 * unit, 64 * unit] {
                        for start in (from..to).step_by(step) {
                            let end = (start + step).min(to);
                            let needed = gather.needed(&(start as u64..end as u64));
                            let part = &stored[needed.start as usize..needed.end as usize];
                            let mut dst = vec![0; end - start];
                            gather.fill(part, needed.start, start as u64, &mut dst).unwrap();
                            assert_eq!(dst, expected[start..end], "{shape:?} {strides:?} {unit} {start}");
                        }
                        if to - from > 4000 {
                            break;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let gather = Gather::new(&[4, 4], &[1, 4], 4).unwrap();
        assert!(gather.fill(&[0; 63], 0, 0, &mut [0; 64]).is_err());
        assert!(gather.fill(&[0; 64], 4, 0, &mut [0; 64]).is_err());
        assert!(gather.fill(&[0; 64], 0, 0, &mut [0; 64]).is_ok());
        assert!(Gather::new(&[2; 65], &[1; 65], 4).is_err());
        assert_eq!(gather.needed(&(8..8)), 0..0);
    }
}
