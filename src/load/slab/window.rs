//! The innermost dimension of a slice: blocks at even distances.

use crate::error::{fail, Result};

#[cfg(test)]
/// Bytes that lie together both in the source and in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContiguousRun {
    /// Where they are in the whole array.
    pub source_offset: u64,
    /// Where they go in the result.
    pub dest_offset: u64,
    /// How many.
    pub length: u64,
}

/// Evenly spaced blocks of the source that lie together in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedBlocks {
    /// Where the first block is in the whole array.
    pub source_offset: u64,
    /// Where the first block goes in the result; the others follow without gaps.
    pub dest_offset: u64,
    /// How many blocks; at least 1.
    pub count: u64,
    /// Bytes from the start of one block to the start of the next in the source; at least `block`.
    pub stride: u64,
    /// Bytes of a block.
    pub block: u64,
}

#[allow(clippy::arithmetic_side_effects, reason = "a window lies within the array and the result")]
impl StridedBlocks {
    /// Bytes from the first block's start to the last block's end in the source.
    pub(crate) fn source_size(&self) -> u64 {
        (self.count - 1) * self.stride + self.block
    }

    /// Bytes of the result that it gives.
    pub(crate) fn dest_size(&self) -> u64 {
        self.count * self.block
    }

    #[cfg(test)]
    /// Its contiguous runs.
    pub(crate) fn runs(self) -> impl Iterator<Item = ContiguousRun> {
        (0..self.count).map(move |i| ContiguousRun {
            source_offset: self.source_offset + i * self.stride,
            dest_offset: self.dest_offset + i * self.block,
            length: self.block,
        })
    }

    /// Splits the blocks into pieces that a reader fetches with one call each.
    ///
    /// A piece covers at most `limit` bytes of the source, or is one single block (which may be longer
    /// and needs no gathering). Blocks with more than `gap` unwanted bytes between them are not
    /// fetched together.
    pub(crate) fn pieces(self, limit: u64, gap: u64) -> impl Iterator<Item = StridedBlocks> {
        let per_piece = if self.stride - self.block > gap {
            1
        } else {
            (limit.saturating_sub(self.block) / self.stride + 1).min(self.count)
        };
        (0..self.count.div_ceil(per_piece)).map(move |i| {
            let first = i * per_piece;
            StridedBlocks {
                source_offset: self.source_offset + first * self.stride,
                dest_offset: self.dest_offset + first * self.block,
                count: per_piece.min(self.count - first),
                ..self
            }
        })
    }

    /// The front of `dst` that its blocks fill; `dst` is what follows it then.
    pub(crate) fn take_front<'d>(&self, dst: &mut &'d mut [u8]) -> Result<&'d mut [u8]> {
        let size = usize::try_from(self.dest_size()).unwrap_or(usize::MAX);
        let split = std::mem::take(dst).split_at_mut_checked(size);
        let (front, rest) = split.ok_or_else(|| fail!(Internal, "a window leaves the slab"))?;
        *dst = rest;
        Ok(front)
    }

    /// Where in the whole array a byte of its blocks is, by its place among these.
    pub(crate) fn place(&self, at: u64) -> u64 {
        self.source_offset + at / self.block * self.stride + at % self.block
    }

    /// Takes the blocks out of the bytes that cover them; `source` begins at `source_offset`.
    ///
    /// `dst` has exactly `dest_size` bytes, `source` at least `source_size`.
    pub(crate) fn gather(&self, source: &[u8], dst: &mut [u8]) -> Result<()> {
        let sizes = (usize::try_from(self.source_size()), usize::try_from(self.dest_size()));
        let (Ok(source_size), Ok(dest_size)) = sizes else {
            return Err(fail!(
                Limit,
                "a slice of {} bytes is more than this machine addresses",
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
        // Both fit where the sizes fit, but for the stride of a lone block, which is not used.
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
                    to.copy_from_slice(from.get(..block).unwrap_or_default()); // the last chunk is one block
                }
            }
        }
        Ok(())
    }
}

/// Blocks of `N` bytes, one each `stride` bytes.
fn spaced<const N: usize>(source: &[u8], stride: usize, dst: &mut [u8]) {
    for (to, from) in dst.chunks_exact_mut(N).zip(source.chunks(stride)) {
        if let (Ok(to), Some(from)) = (<&mut [u8; N]>::try_from(to), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
}
