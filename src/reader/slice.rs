//! Hyperslabs of dense objects: only the bytes that the slab needs, as far as the encoding allows.

use super::slab::{Slab, StridedBlocks};
use super::stored::zeroed;
use super::{Component, Object, Selection};
use crate::codec::{Codec, Coding};
use crate::convert::byte_order::swap_in_place;
use crate::error::{fail, Result};
use crate::model::dtype::Block;
use std::ops::Range;

/// In each dimension `count` elements from `start`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Hyperslab<'a> {
    /// First position of each dimension.
    pub start: &'a [u64],
    /// How many of each dimension.
    pub count: &'a [u64],
    /// How far apart; none for 1.
    pub step: Option<&'a [u64]>,
}

/// A read covers at most this many bytes of the file.
const MAX_COVERED: u64 = 4 << 20;
/// Unwanted bytes that are rather read than skipped.
const MAX_READ_GAP: u64 = 64 << 10;
/// From so many bytes on a slab is worth a batch.
const MIN_BATCHED: usize = 1 << 20;

impl Object<'_> {
    /// Fills the front of `dst` with the slab's elements, row-major and without gaps.
    pub fn read_slice(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        if !self.format().is_array() {
            let format = self.format_name();
            return Err(
                self.wrap(fail!(Unsupported, "its format is {format:?}; only dense objects can be sliced"))
            );
        }
        let data = self.required("data")?;
        data.read_slab(slab, dst)
    }
}

impl Component<'_> {
    /// The slab in bytes of this component.
    pub(super) fn slab(&self, slab: &Hyperslab<'_>) -> Result<Slab> {
        let Some(block) = self.entry.block() else {
            return Err(match self.entry.dtype {
                None => fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()),
                Some(_) => {
                    let name = self.logical_name().unwrap_or_default();
                    fail!(Unsupported, "its type {name:?} is unknown, so its elements cannot be separated")
                }
            });
        };
        self.check_shape_size()?;
        let shape = self.file.manifest.shape(self.object);
        match block.elements {
            1 => Slab::new(shape, slab.start, slab.count, slab.step, block.bytes),
            _ => slab_of_blocks(shape, slab, block),
        }
    }

    /// Fills the front of `dst` with the slab: a large one as a batch does, on several threads, and out of a
    /// mapping where that is in memory.
    fn read_slab(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        let raw = match self.coding() {
            Ok(Coding::Raw) => !self.swaps(),
            Ok(Coding::Compressed(_)) | Err(_) => false,
        };
        if raw && dst.len() >= MIN_BATCHED && self.file.source().profile().concurrency > 1 {
            let size = self.slab(slab).map_err(|e| self.wrap(e))?.size();
            if let Some(dst) =
                usize::try_from(size).ok().filter(|n| *n >= MIN_BATCHED).and_then(|n| dst.get_mut(..n))
            {
                return self.read_on(self.threads(), Selection::Slab(*slab), dst);
            }
        }
        self.read_slab_inner(slab, dst).map(drop).map_err(|e| self.wrap(e))
    }

    /// Reads the slab, and returns how many stored bytes were read for it.
    pub(super) fn read_slab_inner(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<u64> {
        let coding = self.coding()?;
        let slab = self.slab(slab)?;
        let (size, capacity) = (slab.size(), dst.len());
        let fitting = usize::try_from(size).ok().and_then(|n| dst.get_mut(..n));
        let dst = fitting
            .ok_or_else(|| fail!(BufferSize, "the slab has {size} bytes, the memory for it {capacity}"))?;
        let read = match coding {
            Coding::Compressed(codec) => self.read_covering(codec, &slab, dst)?,
            Coding::Raw => self.read_pieces(&slab, dst)?,
        };
        if self.swaps() {
            swap_in_place(dst, self.entry.dtype.map_or(1, crate::model::dtype::Dtype::size));
        }
        self.check_bool(dst)?;
        Ok(read)
    }

    /// Raw: piece by piece, whole runs straight to their place.
    fn read_pieces(&self, slab: &Slab, dst: &mut [u8]) -> Result<u64> {
        let (mut covering, mut read) = (Vec::new(), 0u64);
        for piece in slab.windows().flat_map(|window| window.pieces(MAX_COVERED, MAX_READ_GAP)) {
            let place = destination(&piece, dst)?;
            let offset = self.entry.offset.saturating_add(piece.source_offset);
            read = read.saturating_add(piece.source_size());
            if piece.count == 1 || piece.stride == piece.block {
                self.file.source().read_at(offset, place)?;
                continue;
            }
            let size = usize::try_from(piece.source_size()).unwrap_or(usize::MAX);
            if covering.len() < size {
                covering = zeroed(size)?;
            }
            let bytes = covering.get_mut(..size).unwrap_or_default();
            self.file.source().read_at(offset, bytes)?;
            piece.gather(bytes, place)?;
        }
        Ok(read)
    }

    /// Compressed: what is between the slab's first and last byte is decoded, then gathered.
    fn read_covering(&self, codec: Codec, slab: &Slab, dst: &mut [u8]) -> Result<u64> {
        let Some(Range { start, end }) = slab.covering() else { return Ok(0) };
        let (length, decoded_size) = (end.saturating_sub(start), self.decoded_size()?);
        let (bytes, read) = self.with_range_of(codec, decoded_size, start, length, |stored, first| {
            let mut bytes = zeroed(usize::try_from(length).unwrap_or(usize::MAX))?;
            codec.decode_range(stored, first, decoded_size, start, &mut bytes)?;
            Ok(bytes)
        })?;
        for window in slab.windows() {
            let from = usize::try_from(window.source_offset.saturating_sub(start)).unwrap_or(usize::MAX);
            let source = bytes.get(from..).unwrap_or_default();
            window.gather(source, destination(&window, dst)?)?;
        }
        Ok(read)
    }
}

/// A slab whose borders in the last dimension are borders of blocks.
fn slab_of_blocks(shape: &[u64], slab: &Hyperslab<'_>, block: Block) -> Result<Slab> {
    let (rank, of) = (shape.len(), block.elements);
    if slab.start.len() != rank || slab.count.len() != rank || slab.step.is_some_and(|s| s.len() != rank) {
        return Slab::new(shape, slab.start, slab.count, slab.step, block.bytes);
        // which says so
    }
    let step = slab.step.and_then(|step| step.last()).copied().unwrap_or(1);
    let last = [shape.last(), slab.start.last(), slab.count.last()].map(|n| n.copied().unwrap_or(0));
    let [dimension, start, count] = last;
    if rank == 0 || !block.divides(dimension) {
        return Err(fail!(
            Unsupported,
            "its rows of {dimension} elements are no whole number of blocks of {of}, so they cannot be separated"
        ));
    }
    // A single element or none has no step.
    if !block.divides(start) || !block.divides(count) || (step != 1 && count > 0) {
        return Err(fail!(
            InvalidArgument,
            "the last dimension's start {start}, count {count} and step {step} do not keep to blocks of {of} elements"
        ));
    }
    let in_blocks = |numbers: &[u64]| -> Result<Vec<u64>> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(numbers.len())?;
        copy.extend_from_slice(numbers);
        if let Some(last) = copy.last_mut() {
            *last = last.checked_div(of).unwrap_or(0);
        }
        Ok(copy)
    };
    Slab::new(&in_blocks(shape)?, &in_blocks(slab.start)?, &in_blocks(slab.count)?, slab.step, block.bytes)
}

/// Where a window's bytes go.
fn destination<'d>(window: &StridedBlocks, dst: &'d mut [u8]) -> Result<&'d mut [u8]> {
    let start = usize::try_from(window.dest_offset).ok();
    let size = usize::try_from(window.dest_size()).ok();
    let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
    let place = start.zip(end).and_then(|(start, end)| dst.get_mut(start..end));
    place.ok_or_else(|| fail!(Internal, "a window leaves the slab"))
}
