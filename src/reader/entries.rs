//! The entries of a sparse object, converted to another dtype and written to their cells.

use super::structure::number;
use super::view::{CooView, CsrView, ViewPart};
use crate::convert::scaled::Elements;
use crate::convert::{as_bytes, convert};
use crate::error::Result;
use crate::load::Taken;
use crate::memory::with_capacity;
use crate::model::dtype::{Dtype, Logical};
use crate::model::sort::sort;
use crate::model::structure::each_index;

/// How many entries are placed at a time. It is a multiple of the block size of every type.
const PIECE: usize = 512;

/// The cells of a sparse object's entries, in stored order. A cell is the position of an element in row-major
/// order.
pub(super) struct Entries<'f> {
    positions: Positions<'f>,
    nnz: u64,
    /// The number of the next entry. For a sparse_csr object also its row, and where that row ends.
    next: u64,
    row: u64,
    row_end: u64,
    cells: [u64; PIECE],
    /// The cells that several entries have, ascending, and the sums of these entries.
    equal: Vec<u64>,
    sums: Vec<[f32; 2]>,
}

pub(super) enum Positions<'f> {
    Rows(CsrView<'f>),
    Coordinates(CooView<'f>),
}

impl<'f> Entries<'f> {
    /// The entries of a view that was checked.
    pub(super) fn new(nnz: u64, positions: Positions<'f>) -> Entries<'f> {
        Entries {
            positions,
            nnz,
            next: 0,
            row: 0,
            row_end: 0,
            cells: [0; PIECE],
            equal: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// The cells of the next entries. After the last entry it returns an empty slice once, then starts again.
    /// The view has checked the positions, so each cell is within the shape.
    fn next_cells(&mut self) -> Result<&[u64]> {
        let (start, count) = (self.next, self.nnz.saturating_sub(self.next).min(PIECE as u64));
        let cells = self.cells.get_mut(..count as usize).unwrap_or_default();
        match &self.positions {
            Positions::Rows(view) => {
                let (pointers, width) = (&view.indptr, view.indptr.dtype.size() as u64);
                let (mut row, mut end) = if start == 0 { (0, 0) } else { (self.row, self.row_end) };
                let mut cells = cells.iter_mut();
                each_index(
                    view.indices.dtype,
                    bytes_at(&view.indices, start, count),
                    start,
                    |column, at| {
                        while at >= end && row < view.rows {
                            row = row.wrapping_add(1);
                            end = number(pointers.dtype, pointers.bytes(), row.saturating_mul(width))
                                .unwrap_or(end);
                        }
                        if let Some(cell) = cells.next() {
                            *cell = row.wrapping_sub(1).wrapping_mul(view.columns).wrapping_add(column);
                        }
                        Ok(())
                    },
                )?;
                (self.row, self.row_end) = (row, end);
            }
            Positions::Coordinates(view) => {
                cells.fill(0);
                for (dimension, length) in (0u64..).zip(view.shape) {
                    let start = dimension.saturating_mul(self.nnz).saturating_add(start);
                    let mut cells = cells.iter_mut();
                    each_index(view.coords.dtype, bytes_at(&view.coords, start, count), 0, |value, _| {
                        if let Some(cell) = cells.next() {
                            *cell = cell.wrapping_mul(*length).wrapping_add(value);
                        }
                        Ok(())
                    })?;
                }
            }
        }
        self.next = if count == 0 { 0 } else { start.saturating_add(count) };
        Ok(cells)
    }

    /// Finds the cells that several entries have. Needs no memory if the cells ascend, else at most 12 bytes
    /// for each entry. `memory` returns the number of entries if that memory is allowed.
    pub(super) fn find_equal(&mut self, memory: &dyn Fn(u64) -> Result<usize>) -> Result<()> {
        let (mut previous, mut are_rising) = (None, true);
        loop {
            match self.next_cells()? {
                [] => break,
                cells => cells.iter().for_each(|cell| {
                    are_rising &= previous.replace(*cell).is_none_or(|previous| previous < *cell);
                }),
            }
        }
        if are_rising {
            return Ok(());
        }
        let mut all = with_capacity(memory(self.nnz)?)?;
        loop {
            match self.next_cells()? {
                [] => break,
                cells => all.extend_from_slice(cells),
            }
        }
        sort(&mut all);
        // Move the cells that occur at least twice to the front, each one once.
        let (mut kept, mut before, mut last) = (0usize, None, None);
        for at in 0..all.len() {
            let cell = all.get(at).copied();
            if cell == before && cell != last {
                if let (Some(cell), Some(to)) = (cell, all.get_mut(kept)) {
                    *to = cell;
                }
                (kept, last) = (kept.saturating_add(1), cell);
            }
            before = cell;
        }
        all.truncate(kept);
        self.equal = all;
        // -0.0 is the only start value for which `-0.0 + x` is `x` for all `x`.
        self.sums.try_reserve_exact(kept)?;
        self.sums.resize(kept, [-0.0; 2]);
        Ok(())
    }

    /// Whether several entries have the same cell.
    pub(super) fn has_equal(&self) -> bool {
        !self.equal.is_empty()
    }

    /// Writes the wanted entries to their cells in `dst`. Returns how many numbers are lost.
    pub(super) fn place(
        &mut self,
        values: Elements<'f>,
        to: Dtype,
        cells: &mut TakenCells<'_>,
    ) -> Result<u64> {
        let (mut floats, mut converted) = ([0u8; PIECE * 4], [0u8; PIECE * 16]);
        let (mut lost, each) = (0u64, cells.each);
        self.sums.fill([-0.0; 2]);
        let block = values.from.1.map_or(values.from.0.block(), Logical::block);
        let [of_block, in_block] =
            [block.bytes, block.elements].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let numbers = each.checked_div(to.size()).unwrap_or(0);
        let mut rest = values.bytes;
        loop {
            let count = self.next_cells()?.len();
            if count == 0 {
                break;
            }
            let of_entries = self.cells.get(..count).unwrap_or_default();
            let size = count.div_ceil(in_block).saturating_mul(of_block);
            let (mut src, mut from) = (rest.get(..size).unwrap_or(rest), values.from);
            rest = rest.get(size..).unwrap_or_default();
            if in_block > 1 {
                let floats = floats.get_mut(..count.next_multiple_of(in_block).saturating_mul(4));
                let floats = floats.unwrap_or_default();
                convert(src, from, Dtype::F32, floats, 0)?;
                (src, from) = (floats, (Dtype::F32, None));
            }
            let width = from.0.size().saturating_mul(numbers).max(1);
            if self.equal.is_empty() && cells.are_all {
                let src = src.get(..count.saturating_mul(width)).unwrap_or_default();
                let converted = converted.get_mut(..count.saturating_mul(each)).unwrap_or_default();
                lost = lost.saturating_add(convert(src, from, to, converted, 0)?);
                for (cell, bytes) in of_entries.iter().zip(converted.chunks_exact(each.max(1))) {
                    if let Some(place) = cells.get_mut(*cell) {
                        place.copy_from_slice(bytes);
                    }
                }
                continue;
            }
            for (cell, element) in of_entries.iter().zip(src.chunks_exact(width)) {
                let Some(place) = cells.get_mut(*cell) else { continue };
                let sum = self.equal.binary_search(cell).ok().and_then(|at| self.sums.get_mut(at));
                lost = lost.saturating_add(match sum {
                    None => convert(element, from, to, place, 0)?,
                    Some(sum) => add(sum, element, from, numbers)?,
                });
            }
        }
        for (cell, sum) in self.equal.iter().zip(&self.sums) {
            let sum = as_bytes(sum.get(..numbers).unwrap_or_default());
            if let Some(place) = cells.get_mut(*cell) {
                lost = lost.saturating_add(convert(sum, (Dtype::F32, None), to, place, 0)?);
            }
        }
        Ok(lost)
    }
}

/// Fills memory with the wanted numbers of an object. Returns how many numbers the conversion loses.
pub(super) type ReadNumbers<'r> = dyn FnMut(&Taken<'_>, &mut [u8]) -> Result<u64> + 'r;

/// Receives a reader whose data was loaded and checked once.
pub(super) type WithReader<'b> = dyn FnMut(&mut ReadNumbers<'_>) -> Result<()> + 'b;

/// The memory for the wanted cells.
pub(super) struct TakenCells<'d> {
    pub taken: &'d Taken<'d>,
    /// The size of a cell in bytes.
    pub each: usize,
    pub are_all: bool,
    pub dst: &'d mut [u8],
}

impl TakenCells<'_> {
    fn get_mut(&mut self, cell: u64) -> Option<&mut [u8]> {
        let place = self.taken.place_of(cell.saturating_mul(self.each as u64))?;
        self.dst.get_mut(usize::try_from(place).ok()?..)?.get_mut(..self.each)
    }
}

/// Adds an element of `numbers` numbers to a sum. Returns how many finite numbers become infinite.
fn add(sum: &mut [f32; 2], element: &[u8], from: (Dtype, Option<Logical>), numbers: usize) -> Result<u64> {
    let mut floats = [0u8; 8];
    let floats = floats.get_mut(..numbers.saturating_mul(4)).unwrap_or_default();
    let mut lost = convert(element, from, Dtype::F32, floats, 0)?;
    for (sum, bytes) in sum.iter_mut().zip(floats.chunks_exact(4)) {
        let float = bytes.first_chunk().map_or(0.0, |bytes| f32::from_ne_bytes(*bytes));
        let was_finite = sum.is_finite() && float.is_finite();
        *sum += float;
        lost = lost.saturating_add(u64::from(was_finite && !sum.is_finite()));
    }
    Ok(lost)
}

/// The bytes of `count` elements of a part.
fn bytes_at<'p>(part: &ViewPart<'p>, start: u64, count: u64) -> &'p [u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).saturating_mul(part.dtype.size());
    part.bytes().get(place(start)..place(start.saturating_add(count))).unwrap_or_default()
}
