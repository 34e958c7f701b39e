//! Numbers that a conversion loses: finite numbers that become infinite, and numbers that an integer type
//! cannot hold.

use super::chunks::{in_chunks, load, CHUNK_ELEMENTS};
use super::{blocks, float};
use crate::error::{fail, Result};
use crate::model::dtype::{Class, Dtype, Logical};
use crate::simd::{as_bytes, with_avx2, Loops};

/// The effect of a conversion on numbers. Rounding is not a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conversion {
    /// How many finite numbers become infinite, or exceed what an integer type can hold.
    pub lost: u64,
    /// The largest difference between a number and its converted value, if both are finite.
    pub largest_absolute: f64,
    /// The largest such difference divided by the number, except for zeros.
    pub largest_relative: f64,
}

pub(super) fn is_float(dtype: Dtype) -> bool {
    matches!(dtype.class(), Class::Float | Class::Bfloat)
}

/// The smallest and largest value of an integer type, or of bool.
fn range(dtype: Dtype) -> Option<(i128, i128)> {
    let (min, max): (i128, i128) = match dtype {
        Dtype::I64 => (i64::MIN.into(), i64::MAX.into()),
        Dtype::I32 => (i32::MIN.into(), i32::MAX.into()),
        Dtype::I16 => (i16::MIN.into(), i16::MAX.into()),
        Dtype::I8 => (i8::MIN.into(), i8::MAX.into()),
        Dtype::U64 => (0, u64::MAX.into()),
        Dtype::U32 => (0, u32::MAX.into()),
        Dtype::U16 => (0, u16::MAX.into()),
        Dtype::U8 => (0, u8::MAX.into()),
        Dtype::Bool => (0, 1),
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 => return None,
    };
    Some((min, max))
}

/// Whether `to` cannot hold some numbers of `from`. A conversion to bool loses none, because every number
/// becomes 0 or 1.
pub(crate) fn may_lose(from: (Dtype, Option<Logical>), to: Dtype) -> bool {
    let logical = from.1;
    let is_f8 = float::float8_values(logical).is_some();
    let from = if blocks::of(logical).is_some() { Dtype::F32 } else { from.0 };
    match (range(from).filter(|_| !is_f8), range(to)) {
        _ if to == Dtype::Bool => false,
        (None, Some(_)) => true,
        (Some((min, max)), Some(to)) => min < to.0 || max > to.1,
        // The largest f16 is 65504. From 65520 on, rounding gives infinity.
        (Some((_, max)), None) => to == Dtype::F16 && max >= 65_520,
        (None, None) if is_f8 => to == Dtype::F16 && logical == Some(Logical::F8E8m0),
        (None, None) => match from {
            Dtype::F64 => to != Dtype::F64,
            Dtype::F32 => matches!(to, Dtype::F16 | Dtype::Bf16),
            Dtype::Bf16 => to == Dtype::F16,
            _ => false,
        },
    }
}

/// Fails if a conversion lost numbers, unless `lossy` allows it.
pub(crate) fn refuse_loss(lost: u64, to: Dtype, lossy: bool) -> Result<()> {
    let (numbers, name) = (if lost == 1 { "number" } else { "numbers" }, to.name());
    match is_float(to) {
        _ if lost == 0 || lossy => Ok(()),
        true => Err(fail!(Limit, "{lost} finite {numbers} would become infinite as {name}")),
        false => Err(fail!(Limit, "{name} has no value for {lost} {numbers}")),
    }
}

/// How many numbers of `src` were lost in `dst`.
pub(super) fn count(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, to: Dtype, dst: &[u8]) -> u64 {
    let Some((min, max)) = range(to) else {
        let mut lost = 0u64;
        if has_infinity(dst, to) {
            let mut results = dst.chunks(to.size().saturating_mul(CHUNK_ELEMENTS));
            for_each_pair((src, from, table), to, &mut results, &mut |numbers, became| {
                let is_lost = |(x, y): (&f64, &f64)| u64::from(x.is_finite() && y.is_infinite());
                lost = lost.saturating_add(numbers.iter().zip(became).map(is_lost).sum());
            });
        }
        return lost;
    };
    match (from.class(), table) {
        (Class::Signed, None) => {
            let clamp = |x: i128| i64::try_from(x).unwrap_or(if x < 0 { i64::MIN } else { i64::MAX });
            let held = clamp(min)..=clamp(max);
            each_chunk(src, from, Dtype::I64, i64::from_ne_bytes, |x: i64| !held.contains(&x))
        }
        (Class::Unsigned | Class::Bool, None) => {
            let most = u64::try_from(max).unwrap_or(u64::MAX);
            each_chunk(src, from, Dtype::U64, u64::from_ne_bytes, |x: u64| x > most)
        }
        _ => {
            // Both bounds are powers of two or 0, and therefore exact.
            let (min, above) = (min as f64, max.saturating_add(1) as f64);
            let is_held = |x: f64| (min..above).contains(&float::round(x));
            let mut lost = 0u64;
            floats(src, from, table, &mut |chunk| {
                lost = lost.saturating_add(chunk.iter().map(|x| u64::from(!is_held(*x))).sum());
            });
            lost
        }
    }
}

/// Whether any float is infinite. The loops become vector code.
fn has_infinity(dst: &[u8], dtype: Dtype) -> bool {
    #[inline(always)]
    fn any<const N: usize>(bytes: &[u8], is_infinite: impl Fn([u8; N]) -> bool) -> bool {
        let each = bytes.chunks_exact(N).filter_map(|element| <[u8; N]>::try_from(element).ok());
        each.fold(false, |any, element| any | is_infinite(element))
    }
    struct Any;
    impl Loops<Dtype, &[u8]> for Any {
        type Result = bool;

        #[inline(always)]
        fn run(dtype: Dtype, dst: &[u8]) -> bool {
            match dtype {
                Dtype::F16 => any(dst, |b| u16::from_ne_bytes(b) & 0x7FFF == 0x7C00),
                Dtype::Bf16 => any(dst, |b| u16::from_ne_bytes(b) & 0x7FFF == 0x7F80),
                Dtype::F32 => any(dst, |b| u32::from_ne_bytes(b) & 0x7FFF_FFFF == 0x7F80_0000),
                _ => false,
            }
        }
    }
    with_avx2::<Any, _, _>(dtype, dst)
}

/// Counts lost integers, after widening to 8 bytes.
fn each_chunk<T: Copy + Default>(
    src: &[u8],
    from: Dtype,
    wide: Dtype,
    read: impl Fn([u8; 8]) -> T,
    is_lost: impl Fn(T) -> bool,
) -> u64 {
    let (mut bytes, mut lost) = ([0u8; CHUNK_ELEMENTS * 8], 0u64);
    for src in src.chunks(from.size().saturating_mul(CHUNK_ELEMENTS)) {
        let count = src.len().checked_div(from.size()).unwrap_or(0);
        let wanted = bytes.get_mut(..count.saturating_mul(8)).unwrap_or_default();
        in_chunks(src, from, None, wide, wanted);
        let mut numbers = [T::default(); CHUNK_ELEMENTS];
        load(wanted, &mut numbers, &read);
        let numbers = numbers.get(..count).unwrap_or_default();
        lost = lost.saturating_add(numbers.iter().map(|x| u64::from(is_lost(*x))).sum());
    }
    lost
}

/// Calls `body` with elements as f64, some at a time.
fn floats(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, body: &mut dyn FnMut(&[f64])) {
    let mut numbers = [0f64; CHUNK_ELEMENTS];
    for src in src.chunks(from.size().saturating_mul(CHUNK_ELEMENTS)) {
        let count = src.len().checked_div(from.size()).unwrap_or(0);
        with_avx2::<Widen, _, _>((src, from, table), &mut numbers);
        body(numbers.get(..count).unwrap_or_default());
    }
}

struct Widen;

impl Loops<(&[u8], Dtype, Option<&[f32; 256]>), &mut [f64; CHUNK_ELEMENTS]> for Widen {
    type Result = ();

    #[inline(always)]
    fn run((src, from, table): (&[u8], Dtype, Option<&[f32; 256]>), numbers: &mut [f64; CHUNK_ELEMENTS]) {
        match (from, table) {
            (Dtype::F32, None) => load(src, numbers, |b| f64::from(f32::from_ne_bytes(b))),
            (Dtype::Bf16, None) => {
                load(src, numbers, |b| f64::from(float::bf16_to_f32(u16::from_ne_bytes(b))));
            }
            (Dtype::F16, None) => {
                load(src, numbers, |b| f64::from(float::f16_to_f32(u16::from_ne_bytes(b))));
            }
            _ => {
                let mut bytes = [0u8; CHUNK_ELEMENTS * 8];
                in_chunks(src, from, table, Dtype::F64, &mut bytes);
                load(&bytes, numbers, f64::from_ne_bytes);
            }
        }
    }
}

/// So many numbers at a time become vector code.
const LANES: usize = 8;

/// Adds the errors of numbers to the largest ones: absolute, and divided by the number.
#[inline(always)]
fn add_errors(largest: &mut [[f64; LANES]; 2], numbers: &[f64; LANES], became: &[f64; LANES]) {
    let [absolute, relative] = largest;
    let largest = absolute.iter_mut().zip(relative);
    for ((x, y), (absolute, relative)) in numbers.iter().zip(became).zip(largest) {
        let error = (x - y).abs();
        let error = if error < f64::INFINITY { error } else { 0.0 };
        let of_number = if *x == 0.0 { 0.0 } else { error / x.abs() };
        *absolute = if error > *absolute { error } else { *absolute };
        *relative = if of_number > *relative { of_number } else { *relative };
    }
}

/// The largest errors of some numbers and what they became.
struct Largest;

impl Loops<&[f64], &[f64]> for Largest {
    type Result = (f64, f64);

    #[inline(always)]
    fn run(numbers: &[f64], became: &[f64]) -> (f64, f64) {
        let mut largest = [[0f64; LANES]; 2];
        let whole = numbers.chunks_exact(LANES).zip(became.chunks_exact(LANES));
        for (numbers, became) in whole {
            if let (Ok(numbers), Ok(became)) = (numbers.try_into(), became.try_into()) {
                add_errors(&mut largest, numbers, became);
            }
        }
        let mut rest = [[0f64; LANES]; 2];
        for (to, from) in rest.iter_mut().zip([numbers, became]) {
            to.iter_mut().zip(from.chunks_exact(LANES).remainder()).for_each(|(to, from)| *to = *from);
        }
        let [numbers, became] = &rest;
        add_errors(&mut largest, numbers, became);
        let [absolute, relative] = largest;
        (absolute.into_iter().fold(0.0, f64::max), relative.into_iter().fold(0.0, f64::max))
    }
}

/// Calls `body` with numbers and their converted values as f64, some at a time. `results` are pieces of the
/// converted values, [`CHUNK_ELEMENTS`] each.
fn for_each_pair(
    (src, from, table): (&[u8], Dtype, Option<&[f32; 256]>),
    to: Dtype,
    results: &mut std::slice::Chunks<'_, u8>,
    body: &mut dyn FnMut(&[f64], &[f64]),
) {
    floats(src, from, table, &mut |numbers| {
        floats(results.next().unwrap_or_default(), to, None, &mut |became| body(numbers, became));
    });
}

impl Conversion {
    /// Adds elements and their converted values. `lost` of them were lost.
    pub(crate) fn add(
        &mut self,
        src: &[u8],
        from: (Dtype, Option<Logical>),
        to: Dtype,
        dst: &[u8],
        lost: u64,
    ) {
        self.lost = self.lost.saturating_add(lost);
        let mut results = dst.chunks(to.size().saturating_mul(CHUNK_ELEMENTS));
        let mut compare = |src: (&[u8], Dtype, Option<&[f32; 256]>)| {
            for_each_pair(src, to, &mut results, &mut |numbers, became| {
                let (absolute, relative) = with_avx2::<Largest, _, _>(numbers, became);
                self.largest_absolute = self.largest_absolute.max(absolute);
                self.largest_relative = self.largest_relative.max(relative);
            });
        };
        match blocks::of(from.1) {
            None => compare((src, from.0, float::float8_values(from.1))),
            Some(blocks) => {
                blocks.for_each_piece(src, &mut |numbers| compare((as_bytes(numbers), Dtype::F32, None)));
            }
        }
    }
}
