//! Codes with scales as f32: the numbers of a weight that a tool quantized.
//!
//! With the code q, the scale s and the zero z of an element, it is `(q - z) * s`, `q * s + z`,
//! `table[q] * s`, or `(q * s) / 127`. Every operation is rounded to f32, in this order. The difference
//! of a code and a zero that is an integer is exact.

mod loops;
mod packed;
#[cfg(test)]
mod tests;

use loops::{index, length, value, ByGroups, Codes, LookUp, OfFew, OneByOne, FEW};
pub(crate) use loops::{Codebook, Formula};
#[cfg(test)]
use packed::bytes_of_row;
pub(crate) use packed::{Form, Order, Packed};

use super::{convert, convert_floats, float};
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::simd::{as_bytes_mut, with_avx2, Loops};
use std::ops::Range;

/// How the numbers of a matrix are made. Its elements are in rows, as those of the weight are, but it may
/// have other rows than the weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub codes: Packed,
    pub formula: Formula,
    pub scales: Steps,
    pub zeros: Zeros,
}

/// Which element of a component belongs to the element of a row and a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// So many rows and columns have it in common; at least 1.
    pub rows: u64,
    pub columns: u64,
    /// From one to the next along the rows and along the columns.
    pub row_step: u64,
    pub column_step: u64,
}

/// Where zeros are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Zeros {
    /// All are this one.
    Same(f32),
    /// Elements.
    Elements(Steps),
    /// Codes, one for each scale. To each, so much is added, and the sum is cut
    /// to so many bits.
    Packed { codes: Packed, added: u8, mask: u8 },
}

#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    pub bytes: &'a [u8],
    pub from: (Dtype, Option<Logical>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Factor {
    One,
    Times(f32),
    Over(f32),
}

/// What codes are decoded with.
pub(crate) struct Scaling<'a> {
    pub scales: Elements<'a>,
    pub factor: Factor,
    /// Elements or packed codes, if there are zeros.
    pub zeros: Option<Elements<'a>>,
    /// For each column the number of the scale that it has along a row, as i32; none where that follows from
    /// the column.
    pub groups: Option<&'a [u8]>,
    /// What codes stand for, if they are looked up.
    pub codebook: Codebook<'a>,
}

/// Numbers of a range, the next ones in order.
pub(crate) enum Made<'m> {
    Floats(&'m [f32]),
    /// Elements of the type that was asked for.
    Elements(&'m [u8]),
}

/// What gives the bytes of codes.
pub(crate) trait CodeBytes {
    fn get(&mut self, range: Range<u64>) -> Result<&[u8]>;
}

/// Codes that are unpacked at once, if they are in rows, and if it takes many rows to use what is read.
const TILE: u64 = 64 << 10;
const TALL_TILE: u64 = 512 << 10;
/// Numbers that are made at once: 16 KiB, which stay in the first cache.
const PIECE: usize = 4096;
/// Where so many elements or more have a scale in common, they are computed with it as one.
const LONG: u64 = 16;
/// Where so many codes of at most 4 bits have a scale in common, the 16 elements that they can become are
/// computed instead of each.
const LONG_OF_FEW: u64 = 32;

/// What the codes of an 8-bit float stand for.
pub(crate) fn codebook_of(logical: Logical) -> Option<Codebook<'static>> {
    match logical {
        Logical::F8E4m3fn => Some(Codebook::E4m3),
        other => float::float8_values(Some(other)).map(Codebook::Table),
    }
}

/// Elements as f32, exact or rounded once.
pub(crate) fn to_floats(elements: &Elements<'_>, first: u64, out: &mut [f32]) -> Result<()> {
    let width = elements.from.1.map_or(elements.from.0.size() as u64, |logical| logical.block().bytes);
    let [start, size] = [first, out.len() as u64].map(|count| index(count.saturating_mul(width)));
    let bytes = elements.bytes.get(start..start.saturating_add(size));
    let bytes = bytes.ok_or_else(|| fail!(Internal, "element {first} does not exist"))?;
    convert(bytes, elements.from, Dtype::F32, as_bytes_mut(out), 0).map(drop)
}

/// Words of the host as they are stored, with the lowest byte first.
pub(crate) fn swapped_words(bytes: &mut [u8], width: usize) {
    if cfg!(target_endian = "big") {
        super::swap_in_place(bytes, width);
    }
}

/// Decodes ranges of a matrix.
pub(crate) struct ScaledDecoder<'a> {
    layout: Layout,
    scaling: Scaling<'a>,
    codes: Vec<u8>,
    scratch: Vec<u8>,
    scales: Panel,
    zeros: Panel,
    /// The rows and the groups that these are of.
    loaded: Option<(Range<u64>, Range<u64>)>,
    /// Scale and zero of each number of a piece.
    of_each: Vec<f32>,
    numbers: Vec<f32>,
    /// The elements that the codes of each group can become, and those of a piece.
    of_few: Vec<u8>,
    elements: Vec<u8>,
}

/// Scales or zeros as f32: those of some rows, so many each.
#[derive(Default)]
struct Panel {
    values: Vec<f32>,
    width: usize,
    /// Rows that have them in common, and the first of all.
    rows: u64,
    first: u64,
}

/// Some rows and some columns.
struct Tile {
    rows: Range<u64>,
    columns: Range<u64>,
    /// The scales that the columns have.
    groups: Range<u64>,
}

impl<'a> ScaledDecoder<'a> {
    /// Of parts whose sizes fit the layout.
    pub fn new(layout: Layout, scaling: Scaling<'a>) -> ScaledDecoder<'a> {
        ScaledDecoder {
            layout,
            scaling,
            codes: Vec::new(),
            scratch: Vec::new(),
            scales: Panel::default(),
            zeros: Panel::default(),
            loaded: None,
            of_each: Vec::new(),
            numbers: Vec::new(),
            of_few: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// Gives `body` the elements of a range, in order: as f32, or as elements of `to` where that is quicker.
    pub fn decode(
        &mut self,
        elements: Range<u64>,
        to: Option<Dtype>,
        bytes: &mut dyn CodeBytes,
        body: &mut dyn FnMut(Made<'_>) -> Result<()>,
    ) -> Result<()> {
        let has_few = self.layout.codes.bits <= 4 && self.scaling.groups.is_none();
        let is_long = has_few && self.layout.scales.columns >= LONG_OF_FEW;
        let to = to.filter(|to| is_long && matches!(to, Dtype::F16 | Dtype::Bf16));
        let columns = self.layout.codes.columns.max(1);
        let limit = if self.layout.codes.is_by_rows() { TILE } else { TALL_TILE };
        let mut at = elements.start;
        while at < elements.end {
            let (row, column) = (at.checked_div(columns).unwrap_or(0), at.checked_rem(columns).unwrap_or(0));
            let left = elements.end.saturating_sub(at);
            let whole_rows = left.checked_div(columns).unwrap_or(0);
            let (rows, until) = match column == 0 && whole_rows > 0 && columns <= limit {
                true => (whole_rows.min(limit.checked_div(columns).unwrap_or(1).max(1)), columns),
                false => (1, columns.min(column.saturating_add(left)).min(column.saturating_add(limit))),
            };
            let tile = self.tile(row..row.saturating_add(rows), column..until);
            self.decode_tile(&tile, to, bytes, body)?;
            at = at.saturating_add(rows.saturating_mul(until.saturating_sub(column)));
        }
        Ok(())
    }

    fn tile(&self, rows: Range<u64>, columns: Range<u64>) -> Tile {
        let (steps, all) = (&self.layout.scales, self.layout.codes.columns);
        let in_common = steps.columns.max(1);
        let groups = match self.scaling.groups {
            Some(_) => 0..all.div_ceil(in_common),
            None => columns.start.checked_div(in_common).unwrap_or(0)..columns.end.div_ceil(in_common),
        };
        Tile { rows, columns, groups }
    }

    fn decode_tile(
        &mut self,
        tile: &Tile,
        to: Option<Dtype>,
        bytes: &mut dyn CodeBytes,
        body: &mut dyn FnMut(Made<'_>) -> Result<()>,
    ) -> Result<()> {
        let packed = self.layout.codes;
        let width = length(&tile.columns);
        let count = width.saturating_mul(length(&tile.rows));
        resize(&mut self.codes, count)?;
        if packed.is_transposed {
            resize(&mut self.scratch, count)?;
        }
        let stored = bytes.get(packed.range(&tile.rows, &tile.columns))?;
        let scratch = self.scratch.as_mut_slice();
        with_avx2::<ReadCodes, _, _>((packed, stored, tile), (self.codes.as_mut_slice(), scratch));
        // All pieces of a long row may have the same.
        let factors = (tile.rows.clone(), tile.groups.clone());
        if self.loaded.as_ref() != Some(&factors) {
            self.loaded = None;
            self.read_scales(tile)?;
            self.read_zeros(tile)?;
            self.loaded = Some(factors);
        }
        resize(&mut self.numbers, PIECE)?;
        resize(&mut self.of_each, PIECE.saturating_mul(2))?;
        let codes = std::mem::take(&mut self.codes);
        for (row, codes) in tile.rows.clone().zip(codes.chunks_exact(width.max(1))) {
            let mut column = tile.columns.start;
            for codes in codes.chunks(PIECE) {
                match to {
                    Some(to) if self.make_elements(tile, row, column, codes, to)? => {
                        let size = codes.len().saturating_mul(2);
                        body(Made::Elements(self.elements.get(..size).unwrap_or_default()))?;
                    }
                    _ => {
                        self.make_numbers(tile, row, column, codes)?;
                        body(Made::Floats(self.numbers.get(..codes.len()).unwrap_or_default()))?;
                    }
                }
                column = column.saturating_add(codes.len() as u64);
            }
        }
        self.codes = codes;
        Ok(())
    }

    fn read_scales(&mut self, tile: &Tile) -> Result<()> {
        self.scales.fill(&self.scaling.scales, self.layout.scales, tile)?;
        match self.scaling.factor {
            Factor::One => {}
            Factor::Times(factor) => self.scales.values.iter_mut().for_each(|scale| *scale *= factor),
            Factor::Over(divisor) => self.scales.values.iter_mut().for_each(|scale| *scale /= divisor),
        }
        Ok(())
    }

    fn read_zeros(&mut self, tile: &Tile) -> Result<()> {
        let elements = || self.scaling.zeros.as_ref().ok_or_else(|| fail!(Internal, "zeros are not there"));
        match self.layout.zeros {
            Zeros::Same(zero) => {
                self.zeros.width = 0;
                resize(&mut self.zeros.values, 1)?;
                self.zeros.values.fill(zero);
            }
            Zeros::Elements(steps) => self.zeros.fill(elements()?, steps, tile)?,
            Zeros::Packed { codes: packed, added, mask } => {
                let elements = elements()?;
                let (width, height) = (length(&tile.groups), length(&tile.rows));
                let count = width.saturating_mul(height);
                let (mut codes, mut scratch) = (Vec::new(), Vec::new());
                resize(&mut codes, count)?;
                resize(&mut scratch, count)?;
                let range = packed.range(&tile.rows, &tile.groups);
                let bytes = elements.bytes.get(index(range.start)..index(range.end));
                let bytes = bytes.ok_or_else(|| fail!(Internal, "zeros are cut"))?;
                packed.read(bytes, &tile.rows, &tile.groups, &mut codes, &mut scratch);
                resize(&mut self.zeros.values, count)?;
                (self.zeros.width, self.zeros.rows, self.zeros.first) = (width, 1, tile.rows.start);
                for (zero, code) in self.zeros.values.iter_mut().zip(codes) {
                    *zero = f32::from(code.wrapping_add(added) & mask);
                }
            }
        }
        Ok(())
    }

    /// Makes the elements of some codes of a row by looking them up. Returns false, and makes none, if a
    /// number would become infinite: its loss has to be counted.
    fn make_elements(&mut self, tile: &Tile, row: u64, first: u64, codes: &[u8], to: Dtype) -> Result<bool> {
        let ScaledDecoder { layout, scaling, scales, zeros, numbers, of_few, elements, .. } = self;
        let in_common = layout.scales.columns.max(1);
        let end = first.saturating_add(codes.len() as u64);
        let groups = first.checked_div(in_common).unwrap_or(0)..end.div_ceil(in_common);
        let numbers = numbers.get_mut(..length(&groups).saturating_mul(FEW.len())).unwrap_or_default();
        let (scales, zeros) = (scales.of_row(row), zeros.of_row(row));
        let few = Codes { formula: layout.formula, codebook: scaling.codebook, codes: &FEW, scales, zeros };
        let first_group = index(groups.start.saturating_sub(tile.groups.start));
        with_avx2::<OfFew, _, _>((few, first_group), &mut *numbers);
        resize(of_few, numbers.len().saturating_mul(2))?;
        if convert_floats(numbers, to, of_few, 0) != 0 {
            return Ok(false);
        }
        resize(elements, PIECE.saturating_mul(2))?; // once: it stays as large
        let elements = elements.get_mut(..codes.len().saturating_mul(2)).unwrap_or_default();
        with_avx2::<LookUp, _, _>((codes, first, in_common, of_few.as_slice()), elements);
        Ok(true)
    }

    /// Makes the numbers of some codes of a row.
    fn make_numbers(&mut self, tile: &Tile, row: u64, first: u64, codes: &[u8]) -> Result<()> {
        let ScaledDecoder { layout, scaling, scales, zeros, of_each, numbers, .. } = self;
        let (scales, zeros) = (scales.of_row(row), zeros.of_row(row));
        let formula = layout.formula;
        let codebook = scaling.codebook;
        let numbers = numbers.get_mut(..codes.len()).unwrap_or_default();
        let in_common = layout.scales.columns.max(1);
        if scaling.groups.is_none() && in_common >= LONG {
            let group = tile.groups.start;
            let codes = Codes { formula, codebook, codes, scales, zeros };
            with_avx2::<ByGroups, _, _>((codes, first, in_common, group), numbers);
            return Ok(());
        }
        let (of_scales, of_zeros) = of_each.split_at_mut(PIECE);
        let pairs = of_scales.iter_mut().zip(of_zeros.iter_mut()).take(codes.len());
        for (column, (scale, zero)) in (first..).zip(pairs) {
            let group = match scaling.groups {
                Some(groups) => group_of(groups, column)?,
                None => column.checked_div(in_common).unwrap_or(0),
            };
            let at = index(group.saturating_sub(tile.groups.start));
            (*scale, *zero) = (value(scales, at), value(zeros, at));
        }
        let codes = Codes { formula, codebook, codes, scales: of_scales, zeros: of_zeros };
        with_avx2::<OneByOne, _, _>(codes, numbers);
        Ok(())
    }
}

struct ReadCodes;

impl Loops<(Packed, &[u8], &Tile), (&mut [u8], &mut [u8])> for ReadCodes {
    type Result = ();

    #[inline(always)]
    fn run((packed, stored, tile): (Packed, &[u8], &Tile), (codes, scratch): (&mut [u8], &mut [u8])) {
        packed.read(stored, &tile.rows, &tile.columns, codes, scratch);
    }
}

/// The number of a column's group, as i32.
fn group_of(groups: &[u8], column: u64) -> Result<u64> {
    let bytes = groups.get(index(column.saturating_mul(4))..).and_then(|rest| rest.first_chunk());
    let number = bytes.and_then(|bytes| u64::try_from(i32::from_ne_bytes(*bytes)).ok());
    number.ok_or_else(|| fail!(Internal, "column {column} has no group"))
}

impl Panel {
    /// Takes those that the rows and the groups of a tile have.
    fn fill(&mut self, elements: &Elements<'_>, steps: Steps, tile: &Tile) -> Result<()> {
        let in_common = steps.rows.max(1);
        let [first, last] = [tile.rows.start, tile.rows.end.saturating_sub(1)]
            .map(|row| row.checked_div(in_common).unwrap_or(0));
        let all = if steps.column_step == 0 { 0..1 } else { tile.groups.clone() };
        let width = length(&all).max(1);
        let rows = first..last.saturating_add(1);
        resize(&mut self.values, width.saturating_mul(length(&rows)))?;
        (self.width, self.rows, self.first) = (width, in_common, first);
        let place = |row: u64, group: u64| {
            row.saturating_mul(steps.row_step).saturating_add(group.saturating_mul(steps.column_step))
        };
        if steps.column_step == 1 || steps.row_step == 0 {
            for (row, values) in rows.zip(self.values.chunks_exact_mut(width)) {
                to_floats(elements, place(row, all.start), values)?;
            }
            return Ok(());
        }
        // Those of a group follow each other from row to row.
        let mut of_group = Vec::new();
        resize(&mut of_group, length(&rows))?;
        for (at, group) in all.enumerate() {
            to_floats(elements, place(first, group), &mut of_group)?;
            for (row, value) in self.values.chunks_exact_mut(width).zip(&of_group) {
                row.iter_mut().skip(at).take(1).for_each(|place| *place = *value);
            }
        }
        Ok(())
    }

    fn of_row(&self, row: u64) -> &[f32] {
        if self.width == 0 {
            return &self.values;
        }
        let at = row.checked_div(self.rows).unwrap_or(0).saturating_sub(self.first);
        let start = index(at).saturating_mul(self.width);
        self.values.get(start..start.saturating_add(self.width)).unwrap_or_default()
    }
}

/// Makes room for so many; what they are is not said.
fn resize<T: Copy + Default>(values: &mut Vec<T>, count: usize) -> Result<()> {
    values.try_reserve(count.saturating_sub(values.len()))?;
    values.resize(count, T::default());
    Ok(())
}
