//! Hyperslabs: which bytes of a row-major array a slice has, and where they go.
//!
//! A slab is stored in its shortest form. Contiguous bytes are one block, and dimensions that continue each
//! other evenly are merged. What remains is a counter over few dimensions. A position is computed from its
//! number, so any part can be read at any time.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

use crate::error::{fail, Result};
use std::ops::Range;

/// A dimension of the shortest form.
#[derive(Clone, Copy, Debug)]
struct Dim {
    /// How many positions the slice has; at least 2.
    count: u64,
    /// Distance in bytes between two neighbouring positions in the source.
    stride: u64,
}

/// A checked slice of an array.
#[derive(Debug)]
pub(crate) struct Slab {
    /// All dimensions but the innermost, outermost first.
    outer: Vec<Dim>,
    /// The innermost dimension that is not contiguous. Its count is 1 if everything is contiguous.
    inner: Dim,
    /// The offset of the first byte in the source.
    base: u64,
    /// How many bytes are contiguous.
    block: u64,
    /// Bytes of the result.
    size: u64,
}

impl Slab {
    /// The source's bytes from the first to the last that the slice has; `None` if it is empty.
    pub(crate) fn covering(&self) -> Option<Range<u64>> {
        let ends = self.windows().map(|w| w.source_offset..w.source_offset.saturating_add(w.source_size()));
        ends.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }

    /// Makes the slab of a slice: `count[i]` positions of dimension `i`, from `start[i]` on, each
    /// `step[i]`th. Checks it against the array's shape.
    #[allow(clippy::arithmetic_side_effects, reason = "only on what the checked products below bound")]
    pub(crate) fn new(
        shape: &[u64],
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        element_size: u64,
    ) -> Result<Slab> {
        let rank = shape.len();
        if start.len() != rank || count.len() != rank || step.is_some_and(|step| step.len() != rank) {
            return Err(fail!(
                InvalidArgument,
                "the array has {rank} dimensions, start {}, count {}, step {}",
                start.len(),
                count.len(),
                step.map_or(rank, <[u64]>::len)
            ));
        }
        if element_size == 0 {
            return Err(fail!(InvalidArgument, "an element of 0 bytes cannot be sliced"));
        }
        let mut empty = false;
        for (dimension, ((&extent, &start), &count)) in shape.iter().zip(start).zip(count).enumerate() {
            check_dimension(dimension, extent, start, count, step_of(step, dimension))?;
            empty |= count == 0;
        }
        let mut slab = Slab {
            outer: Vec::new(),
            inner: Dim { count: 1, stride: element_size },
            base: 0,
            block: element_size,
            size: if empty { 0 } else { element_size },
        };
        if empty {
            return Ok(slab); // the array may be too large to count, but no byte of it is needed
        }
        slab.outer.try_reserve_exact(rank)?;
        let mut stride = element_size; // distance in bytes between positions of this dimension
        let mut merged = true; // whether the dimensions so far are one contiguous block
        for (dimension, ((&extent, &start), &count)) in shape.iter().zip(start).zip(count).enumerate().rev() {
            let step = step_of(step, dimension);
            // If this product does not overflow, no product below does: each index is less than its extent.
            let Some(next) = stride.checked_mul(extent) else {
                return Err(fail!(
                    InvalidArgument,
                    "dimension {dimension}: {extent} positions of {stride} bytes are more than 2^64"
                ));
            };
            slab.base += start * stride;
            slab.size *= count;
            if count > 1 {
                slab.add(Dim { count, stride: stride * step }, &mut merged);
            }
            stride = next;
        }
        slab.outer.reverse();
        Ok(slab)
    }

    /// The slab of `rows` rows of `row_length` bytes in an array of bytes. The first begins at `offset`, each
    /// next one `row_stride` bytes later.
    pub(crate) fn rows(offset: u64, rows: u64, row_length: u64, row_stride: u64, size: u64) -> Result<Slab> {
        let last = rows.checked_sub(1).and_then(|last| last.checked_mul(row_stride));
        let end = last.and_then(|last| last.checked_add(offset)?.checked_add(row_length));
        if row_length == 0 || row_stride < row_length {
            return Err(fail!(InvalidArgument, "rows of {row_length} bytes, one every {row_stride}"));
        }
        if end.is_none_or(|end| end > size) {
            return Err(fail!(
                InvalidArgument,
                "{rows} rows of {row_length} bytes, every {row_stride} from {offset} on, pass its {size} \
                 bytes"
            ));
        }
        let inner = Dim { count: rows, stride: row_stride };
        let taken = rows.saturating_mul(row_length); // at most `end`, so it does not saturate
        Ok(Slab { outer: Vec::new(), inner, base: offset, block: row_length, size: taken })
    }

    /// Adds the next outer dimension; `outer` is innermost first until it is complete.
    #[allow(clippy::arithmetic_side_effects, reason = "spans of the array, whose size does not overflow")]
    fn add(&mut self, dim: Dim, contiguous: &mut bool) {
        if *contiguous && dim.stride == self.block {
            self.block *= dim.count;
            self.inner.stride = self.block;
            return;
        }
        if *contiguous {
            *contiguous = false;
            self.inner = dim;
            return;
        }
        let last = self.outer.last_mut().unwrap_or(&mut self.inner);
        if dim.stride == last.stride.saturating_mul(last.count) {
            last.count *= dim.count;
        } else {
            self.outer.push(dim); // within the reserved rank
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    #[allow(clippy::arithmetic_side_effects, reason = "a window has at least one byte, and `size` fits")]
    pub(crate) fn window_count(&self) -> u64 {
        if self.size == 0 {
            0
        } else {
            self.outer.iter().map(|dim| dim.count).product()
        }
    }

    /// The window with this number. Windows are in the order of the result.
    #[allow(clippy::arithmetic_side_effects, reason = "counts are not 0, and offsets lie in the array")]
    pub(crate) fn window(&self, index: u64) -> Option<StridedBlocks> {
        if index >= self.window_count() {
            return None;
        }
        let Dim { count, stride } = self.inner;
        let mut rest = index;
        let mut source_offset = self.base;
        for dim in self.outer.iter().rev() {
            source_offset += rest % dim.count * dim.stride;
            rest /= dim.count;
        }
        Some(StridedBlocks { source_offset, count, stride, block: self.block })
    }

    /// The position in the result of a byte of the array, if the slice has that byte.
    fn place_of(&self, byte: u64) -> Option<u64> {
        if self.size == 0 {
            return None;
        }
        let mut rest = byte.checked_sub(self.base)?;
        let mut place = 0u64;
        for dim in self.outer.iter().chain([&self.inner]) {
            let at = rest.checked_div(dim.stride)?;
            if at >= dim.count {
                return None;
            }
            rest = rest.checked_rem(dim.stride)?;
            place = place.checked_mul(dim.count)?.checked_add(at)?;
        }
        place.checked_mul(self.block)?.checked_add(rest).filter(|_| rest < self.block)
    }

    /// The slab as windows of evenly spaced blocks, each with as many blocks as possible. A reader reads them
    /// with or without the gaps.
    pub(crate) fn windows(&self) -> impl Iterator<Item = StridedBlocks> + '_ {
        (0..self.window_count()).map_while(|index| self.window(index))
    }
}

/// Which bytes of an array are wanted.
pub(crate) enum Taken<'s> {
    /// All bytes from this one on.
    From(u64),
    /// The bytes of a slab.
    Slab(&'s Slab),
}

impl Taken<'_> {
    /// The position in the result of a byte of the array, if the byte is wanted.
    pub(crate) fn place_of(&self, byte: u64) -> Option<u64> {
        match self {
            Taken::From(first) => byte.checked_sub(*first),
            Taken::Slab(slab) => slab.place_of(byte),
        }
    }
}

/// The step of a dimension; 1 if no steps are given.
fn step_of(step: Option<&[u64]>, dimension: usize) -> u64 {
    step.and_then(|step| step.get(dimension)).copied().unwrap_or(1)
}

/// Checks that `count` positions from `start` on, each `step`th, are within `extent`.
fn check_dimension(dimension: usize, extent: u64, start: u64, count: u64, step: u64) -> Result<()> {
    if step == 0 {
        return Err(fail!(InvalidArgument, "dimension {dimension}: step 0"));
    }
    let fits = match count.checked_sub(1) {
        None => start <= extent,
        Some(more) => {
            more.checked_mul(step).and_then(|span| span.checked_add(start)).is_some_and(|last| last < extent)
        }
    };
    if fits {
        return Ok(());
    }
    Err(fail!(
        InvalidArgument,
        "dimension {dimension}: start {start} + {count} positions with step {step} pass its end at {extent}"
    ))
}

/// Evenly spaced blocks of the source that are contiguous in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedBlocks {
    /// The offset of the first block in the array.
    pub source_offset: u64,
    /// The number of blocks, at least 1.
    pub count: u64,
    /// Distance between the starts of two neighbouring blocks in the source; at least `block`.
    pub stride: u64,
    pub block: u64,
}

#[allow(clippy::arithmetic_side_effects, reason = "a window lies within the array and the result")]
impl StridedBlocks {
    /// The distance in the source from the first block's start to the last block's end.
    pub(crate) fn source_size(&self) -> u64 {
        (self.count - 1) * self.stride + self.block
    }

    /// The size of all blocks together.
    pub(crate) fn dest_size(&self) -> u64 {
        self.count * self.block
    }

    /// Splits the blocks into pieces that a reader fetches with one call each.
    ///
    /// A piece covers at most `limit` bytes of the source, or is a single block, which may be longer and
    /// needs no gathering. Blocks with a gap of more than `gap` bytes are not in one piece.
    pub(crate) fn split_for_reads(self, limit: u64, gap: u64) -> impl Iterator<Item = StridedBlocks> {
        let per_piece = if self.stride - self.block > gap {
            1
        } else {
            (limit.saturating_sub(self.block) / self.stride + 1).min(self.count)
        };
        (0..self.count.div_ceil(per_piece)).map(move |i| {
            let first = i * per_piece;
            StridedBlocks {
                source_offset: self.source_offset + first * self.stride,
                count: per_piece.min(self.count - first),
                ..self
            }
        })
    }

    /// The offset in the array of byte `at` of the blocks.
    pub(crate) fn place(&self, at: u64) -> u64 {
        self.source_offset + at / self.block * self.stride + at % self.block
    }

    /// Copies the blocks out of the bytes that cover them. `source` begins at `source_offset`.
    ///
    /// `dst` has exactly `dest_size` bytes, `source` at least `source_size`.
    pub(crate) fn gather(&self, source: &[u8], dst: &mut [u8]) -> Result<()> {
        let sizes = (usize::try_from(self.source_size()), usize::try_from(self.dest_size()));
        let (Ok(source_size), Ok(dest_size)) = sizes else {
            return Err(fail!(
                Limit,
                "a slice of {} bytes is larger than this machine's address space",
                self.source_size()
            ));
        };
        let (Some(source), true) = (source.get(..source_size), dst.len() == dest_size) else {
            return Err(fail!(
                BufferSize,
                "{source_size} bytes give {dest_size}: {} and {} are there",
                source.len(),
                dst.len()
            ));
        };
        // `block` and `stride` fit, because the sizes do. Only the stride of a single block may not fit; it
        // is not used.
        let block = usize::try_from(self.block).unwrap_or(usize::MAX);
        let stride = usize::try_from(self.stride).unwrap_or(usize::MAX);
        match block {
            _ if self.count == 1 || block == stride => dst.copy_from_slice(source),
            1 => spaced::<1>(source, stride, dst),
            2 => spaced::<2>(source, stride, dst),
            4 => spaced::<4>(source, stride, dst),
            8 => spaced::<8>(source, stride, dst),
            16 => spaced::<16>(source, stride, dst),
            _ => {
                for (to, from) in dst.chunks_exact_mut(block).zip(source.chunks(stride)) {
                    // The last chunk is just one block.
                    to.copy_from_slice(from.get(..block).unwrap_or_default());
                }
            }
        }
        Ok(())
    }
}

/// Copies blocks of `N` bytes. A block begins `stride` bytes behind the start of the block before.
fn spaced<const N: usize>(source: &[u8], stride: usize, dst: &mut [u8]) {
    for (to, from) in dst.chunks_exact_mut(N).zip(source.chunks(stride)) {
        if let (Ok(to), Some(from)) = (<&mut [u8; N]>::try_from(to), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests;
