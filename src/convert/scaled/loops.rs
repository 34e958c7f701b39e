//! The loops that make numbers of codes.

use crate::convert::chunks::entry;
use crate::simd::{look_up, look_up_halves, Loops};
use std::ops::Range;

/// Bytes of the 16 elements that codes of at most 4 bits can become.
const BYTES_OF_FEW: usize = 2 * FEW.len();

/// What a code, a scale and a zero make.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Formula {
    /// `(q - z) * s`; the codes have a sign or not.
    Less { is_signed: bool },
    /// `q * s + z`.
    Plus,
    /// `table[q] * s`.
    Table,
    /// `(q * s) / 127`, by the f32 that is nearest to 1 / 127. The codes have a sign.
    Over127,
}

/// What codes stand for.
#[derive(Clone, Copy)]
pub(crate) enum Codebook<'a> {
    /// Floats of 4 bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and their negatives.
    Fp4,
    /// f8_e4m3fn.
    E4m3,
    /// The numbers of a table of 16.
    Map(&'a [f32; 16]),
    /// The numbers of a table.
    Table(&'a [f32; 256]),
}

/// The codes of at most 4 bits.
/// cbindgen:ignore
pub const FEW: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Codes of a row, and the scales and zeros of groups or of each code.
pub struct Codes<'a> {
    pub formula: Formula,
    pub codebook: Codebook<'a>,
    pub codes: &'a [u8],
    pub scales: &'a [f32],
    pub zeros: &'a [f32],
}

/// Of the first column, the columns of a group, and the group that scales and zeros begin with.
pub struct ByGroups;

impl Loops<(Codes<'_>, u64, u64, u64), &mut [f32]> for ByGroups {
    type Result = ();

    #[inline(always)]
    fn run((all, first, in_common, first_group): (Codes<'_>, u64, u64, u64), numbers: &mut [f32]) {
        let (mut codes, mut numbers, mut column) = (all.codes, numbers, first);
        while !codes.is_empty() {
            let group = column.checked_div(in_common).unwrap_or(0);
            let end = group.saturating_add(1).saturating_mul(in_common);
            let count = codes.len().min(index(end.saturating_sub(column)));
            let at = index(group.saturating_sub(first_group));
            let (now, later) = codes.split_at(count);
            let (out, rest) = std::mem::take(&mut numbers).split_at_mut(count);
            apply_one(&all, at, now, out);
            (codes, numbers, column) = (later, rest, end);
        }
    }
}

/// The numbers that the codes of at most 4 bits become in each group, from that group on.
pub struct OfFew;

impl Loops<(Codes<'_>, usize), &mut [f32]> for OfFew {
    type Result = ();

    #[inline(always)]
    fn run((few, first_group): (Codes<'_>, usize), numbers: &mut [f32]) {
        for (group, out) in (first_group..).zip(numbers.chunks_exact_mut(FEW.len())) {
            apply_one(&few, group, few.codes, out);
        }
    }
}

/// Codes from a column on, the columns of a group, and the elements that the codes of each group become.
pub struct LookUp;

impl Loops<(&[u8], u64, u64, &[u8]), &mut [u8]> for LookUp {
    type Result = ();

    #[inline(always)]
    fn run((codes, first, in_common, of_few): (&[u8], u64, u64, &[u8]), out: &mut [u8]) {
        let (mut codes, mut out) = (codes, out);
        let mut left = in_common.saturating_sub(first.checked_rem(in_common).unwrap_or(0));
        for table in of_few.chunks_exact(BYTES_OF_FEW).filter_map(|table| table.first_chunk()) {
            let (now, later) = codes.split_at(codes.len().min(index(left)));
            let (elements, rest) = std::mem::take(&mut out).split_at_mut(now.len().saturating_mul(2));
            look_up_halves(now, table, elements);
            (codes, out, left) = (later, rest, in_common);
        }
    }
}

/// Each code has a scale and a zero.
pub struct OneByOne;

impl Loops<Codes<'_>, &mut [f32]> for OneByOne {
    type Result = ();

    #[inline(always)]
    fn run(all: Codes<'_>, numbers: &mut [f32]) {
        let pairs = all.scales.iter().copied().zip(all.zeros.iter().copied());
        apply(all.formula, all.codebook, all.codes, pairs, numbers);
    }
}

/// The scale or zero of a group; the only one, if there is one.
#[inline(always)]
pub fn value(values: &[f32], at: usize) -> f32 {
    values.get(at).or(values.first()).copied().unwrap_or(0.0)
}

/// A float of 4 bits, without a table: so the compiler computes several at once.
#[inline(always)]
pub fn fp4(code: u8) -> f32 {
    let code = u32::from(code);
    // Bits of exponent and fraction; below 1 the fraction counts halves.
    let (magnitude, sign) = (code & 7, (code & 8) << 28);
    let normal = f32::from_bits((magnitude << 22).wrapping_add(126 << 23));
    let value = if magnitude < 2 { magnitude as f32 * 0.5 } else { normal };
    f32::from_bits(value.to_bits() | sign)
}

/// An f8_e4m3fn, without a table. No f32 below the normal ones takes part, as a program may have its
/// processor round these to 0.
#[inline(always)]
pub fn e4m3(code: u8) -> f32 {
    /// The smallest normal one, 2^-6.
    const SMALLEST: u32 = 121 << 23;
    let code = u32::from(code);
    let (magnitude, sign) = (code & 0x7F, (code & 0x80) << 24);
    let normal = f32::from_bits((magnitude << 20).wrapping_add(120 << 23));
    let small = f32::from_bits((magnitude << 20).wrapping_add(SMALLEST)) - f32::from_bits(SMALLEST);
    let value = if magnitude < 8 { small } else { normal };
    let value = if magnitude == 0x7F { f32::NAN } else { value };
    f32::from_bits(value.to_bits() | sign)
}

/// A code that has a sign.
#[inline(always)]
fn signed(code: u8) -> i8 {
    i8::from_ne_bytes([code])
}

/// Makes numbers of codes that have the scale and the zero of that group in common.
#[inline(always)]
fn apply_one(all: &Codes<'_>, group: usize, codes: &[u8], out: &mut [f32]) {
    let pair = (value(all.scales, group), value(all.zeros, group));
    let done = match all.codebook {
        Codebook::Map(table) => look_up(codes, table, pair.0, out),
        _ => 0,
    };
    let (codes, out) = (codes.get(done..).unwrap_or_default(), out.get_mut(done..).unwrap_or_default());
    apply(all.formula, all.codebook, codes, std::iter::repeat(pair), out);
}

/// Makes numbers of codes, and of the scale and the zero of each.
#[inline(always)]
fn apply(
    formula: Formula,
    codebook: Codebook<'_>,
    codes: &[u8],
    pairs: impl Iterator<Item = (f32, f32)>,
    out: &mut [f32],
) {
    /// The f32 that is nearest.
    const OF_127: f32 = 1.0 / 127.0;
    let each = codes.iter().zip(pairs).zip(out);
    match formula {
        Formula::Less { is_signed: false } => {
            each.for_each(|((code, (scale, zero)), out)| *out = (f32::from(*code) - zero) * scale);
        }
        Formula::Less { is_signed: true } => {
            each.for_each(|((code, (scale, zero)), out)| *out = (f32::from(signed(*code)) - zero) * scale);
        }
        Formula::Plus => {
            each.for_each(|((code, (scale, zero)), out)| *out = f32::from(*code) * scale + zero);
        }
        Formula::Table => match codebook {
            Codebook::Fp4 => each.for_each(|((code, (scale, _)), out)| *out = fp4(*code) * scale),
            Codebook::E4m3 => each.for_each(|((code, (scale, _)), out)| *out = e4m3(*code) * scale),
            Codebook::Map(table) => each.for_each(|((code, (scale, _)), out)| {
                *out = table.get(usize::from(*code)).copied().unwrap_or(0.0) * scale;
            }),
            Codebook::Table(table) => {
                each.for_each(|((code, (scale, _)), out)| *out = entry(table, *code) * scale);
            }
        },
        Formula::Over127 => {
            each.for_each(|((code, (scale, _)), out)| *out = (f32::from(signed(*code)) * scale) * OF_127);
        }
    }
}

pub fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// How many there are in a range of a piece, which fits in memory.
pub fn length(range: &Range<u64>) -> usize {
    index(range.end.saturating_sub(range.start))
}
