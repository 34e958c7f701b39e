//! Decodes codes with scales to f32: `zt.quant_group/1` and `zt.mx/1` of zTensor 2.
//!
//! In `zt.quant_group/1`, an element is `(code - zero) * scale`. Integers are subtracted exactly; a float
//! zero is subtracted in f32. In `zt.mx/1`, an element is a small float times a power of two. Scales are
//! widened exactly, and each product is rounded once.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::convert::convert;
use crate::convert::scaled::Elements;
use crate::error::{fail, Result};
use crate::model::dtype::{Block, Class, Dtype, Logical};
use crate::model::manifest::element_count;
use crate::model::structure::Groups;

/// How many codes are decoded at a time. It is a multiple of the codes in a word of any size.
const CODES: usize = 2048;

/// How many scales or zeros are widened at a time.
const WINDOW: usize = 512;

/// Elements as 8-byte numbers; those that were asked for last, and some that follow.
struct Window<'a> {
    elements: Elements<'a>,
    to: Dtype,
    wide: [u8; WINDOW * 8],
    start: u64,
    count: u64,
}

impl<'a> Window<'a> {
    fn new(elements: Elements<'a>, to: Dtype) -> Result<Window<'a>> {
        let (dtype, logical) = elements.from;
        if logical.is_some_and(|logical| logical.block() != Block { elements: 1, bytes: dtype.size() as u64 })
        {
            let name = logical.map_or("", Logical::name);
            return Err(fail!(Unsupported, "zeros of the type {name} cannot be subtracted"));
        }
        Ok(Window { elements, to, wide: [0; WINDOW * 8], start: 0, count: 0 })
    }

    /// The element with number `at`.
    fn get(&mut self, at: u64) -> Result<[u8; 8]> {
        if at.checked_sub(self.start).is_none_or(|offset| offset >= self.count) {
            let width = self.elements.from.0.size();
            let start = usize::try_from(at).unwrap_or(usize::MAX).saturating_mul(width);
            let rest = self.elements.bytes.get(start..).unwrap_or_default();
            let src = rest.get(..rest.len().min(WINDOW.saturating_mul(width))).unwrap_or_default();
            let count = src.len().checked_div(width).unwrap_or(0);
            let wide = self.wide.get_mut(..count.saturating_mul(8)).unwrap_or_default();
            convert(src, self.elements.from, self.to, wide, 0)?;
            (self.start, self.count) = (at, count as u64);
        }
        let offset = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let wide = self.wide.get(offset.saturating_mul(8)..).and_then(|wide| wide.first_chunk());
        let found = wide.filter(|_| (offset as u64) < self.count).copied();
        found.ok_or_else(|| fail!(Internal, "scale or zero {at} does not exist"))
    }
}

/// The number that is subtracted from a code.
#[derive(Clone, Copy)]
enum Zero {
    Integer(i128),
    Float(f32),
}

/// Where the zero points come from.
enum Zeros<'a> {
    /// One zero point for all codes.
    One(i64),
    Signed(Window<'a>),
    Unsigned(Window<'a>),
    Float(Window<'a>),
    /// The zero points are codes, packed in words of this dtype.
    Packed(Elements<'a>),
}

/// Determines which scale the next element has.
struct Place {
    /// The number of elements in the dimensions behind the axis, and how many of them passed since the last
    /// step.
    inner: u64,
    at: u64,
    /// The number of steps along the axis that share a scale, and how many passed in the current group.
    group: u64,
    within: u64,
    /// Whether each of the inner elements has its own scale.
    has_lanes: bool,
    base: u64,
    count: u64,
}

impl Place {
    /// Continue with element number `at`.
    fn go_to(&mut self, at: u64) {
        let step = at.checked_div(self.inner).unwrap_or(0);
        self.at = at.checked_rem(self.inner).unwrap_or(0);
        self.within = step.checked_rem(self.group).unwrap_or(0);
        let apart = if self.has_lanes { self.inner } else { 1 };
        let groups = step.checked_div(self.group).unwrap_or(0);
        let all = self.count.div_ceil(apart.max(1)).max(1);
        self.base = groups.checked_rem(all).unwrap_or(0).saturating_mul(apart);
    }

    fn next(&mut self) -> u64 {
        let found = if self.has_lanes { self.base.wrapping_add(self.at) } else { self.base };
        self.at = self.at.wrapping_add(1);
        if self.at >= self.inner {
            (self.at, self.within) = (0, self.within.wrapping_add(1));
            if self.within >= self.group {
                (self.within, self.base) =
                    (0, self.base.wrapping_add(if self.has_lanes { self.inner } else { 1 }));
                if self.base >= self.count {
                    self.base = 0; // all indices of the axis use the same scales
                }
            }
        }
        found
    }
}

/// Decodes the codes of an object, front to back.
pub(super) struct Decoder<'a> {
    groups: Groups,
    place: Place,
    scales: Window<'a>,
    zeros: Zeros<'a>,
    /// The last used scale: its number, its value, and its zero point.
    last: Option<(u64, f64, Zero)>,
}

impl<'a> Decoder<'a> {
    /// Makes a decoder for parts whose sizes fit the shape and the groups.
    pub(super) fn new(
        groups: Groups,
        shape: &[u64],
        scales: Elements<'a>,
        zeros: Option<Elements<'a>>,
    ) -> Result<Decoder<'a>> {
        let axis = usize::try_from(groups.axis).unwrap_or(usize::MAX);
        let along = shape.get(axis).copied().unwrap_or(0);
        let inner = shape.get(axis.saturating_add(1)..).and_then(element_count).unwrap_or(0);
        let width = scales.from.0.size();
        let count = scales.bytes.len().checked_div(width).unwrap_or(0) as u64;
        let zeros = match zeros {
            None => Zeros::One(groups.zero_point.unwrap_or(0)),
            Some(zeros) if groups.zeros_packed => Zeros::Packed(zeros),
            Some(zeros) => match (zeros.from.0.class(), zeros.from.1) {
                (Class::Signed, None) => Zeros::Signed(Window::new(zeros, Dtype::I64)?),
                (Class::Unsigned | Class::Bool, None) => Zeros::Unsigned(Window::new(zeros, Dtype::U64)?),
                _ => Zeros::Float(Window::new(zeros, Dtype::F64)?),
            },
        };
        let has_lanes = groups.group_size > 0 || count != along;
        let place =
            Place { inner, at: 0, group: groups.group_size.max(1), within: 0, has_lanes, base: 0, count };
        Ok(Decoder { groups, place, scales: Window::new(scales, Dtype::F64)?, zeros, last: None })
    }

    /// Continue with element number `at`.
    pub(super) fn go_to(&mut self, at: u64) {
        self.place.go_to(at);
    }

    /// Calls `body` with the elements of the next words; if `from` has a logical type, of the next small
    /// floats.
    pub(super) fn decode(
        &mut self,
        chunk: &[u8],
        from: (Dtype, Option<Logical>),
        body: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let mut numbers = [0f32; CODES];
        let per = usize::try_from(self.groups.codes_per_element).unwrap_or(usize::MAX);
        let width = from.0.size();
        let words = CODES.checked_div(per).unwrap_or(0).max(1);
        for piece in chunk.chunks(words.saturating_mul(width).max(1)) {
            let count = piece.len().checked_div(width).unwrap_or(0).saturating_mul(per);
            let numbers = numbers.get_mut(..count).unwrap_or_default();
            if from.1.is_some() {
                self.small_floats(piece, from, numbers)?;
            } else {
                for (word, numbers) in piece.chunks(width.max(1)).zip(numbers.chunks_mut(per.max(1))) {
                    let word = word_of(word);
                    for (at, number) in (0u64..).zip(numbers) {
                        let code = code_in(self.groups, word, at);
                        let (scale, zero) = self.next_scale()?;
                        *number = product(code, zero, scale);
                    }
                }
            }
            body(numbers)?;
        }
        Ok(())
    }

    fn small_floats(
        &mut self,
        src: &[u8],
        from: (Dtype, Option<Logical>),
        numbers: &mut [f32],
    ) -> Result<()> {
        let mut bytes = [0u8; CODES * 4];
        let bytes = bytes.get_mut(..numbers.len().saturating_mul(4)).unwrap_or_default();
        convert(src, from, Dtype::F32, bytes, 0)?;
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
            let float = bytes.first_chunk().map_or(0.0, |bytes| f32::from_ne_bytes(*bytes));
            // The product is exact in f64.
            *number = (f64::from(float) * self.next_scale()?.0) as f32;
        }
        Ok(())
    }

    /// The scale and the zero point of the next element.
    #[inline]
    fn next_scale(&mut self) -> Result<(f64, Zero)> {
        let at = self.place.next();
        if let Some((_, scale, zero)) = self.last.filter(|(last, ..)| *last == at) {
            return Ok((scale, zero));
        }
        let scale = f64::from_ne_bytes(self.scales.get(at)?);
        let zero = match &mut self.zeros {
            Zeros::One(zero) => Zero::Integer(i128::from(*zero)),
            Zeros::Signed(zeros) => Zero::Integer(i128::from(i64::from_ne_bytes(zeros.get(at)?))),
            Zeros::Unsigned(zeros) => Zero::Integer(i128::from(u64::from_ne_bytes(zeros.get(at)?))),
            Zeros::Float(zeros) => Zero::Float(f64::from_ne_bytes(zeros.get(at)?) as f32),
            Zeros::Packed(zeros) => {
                let (per, width) = (self.groups.codes_per_element, zeros.from.0.size());
                let word = usize::try_from(at.checked_div(per).unwrap_or(0)).unwrap_or(usize::MAX);
                let start = word.saturating_mul(width);
                let word = zeros.bytes.get(start..start.saturating_add(width)).map(word_of);
                let word = word.ok_or_else(|| fail!(Internal, "zero {at} does not exist"))?;
                let code = code_in(self.groups, word, at.checked_rem(per).unwrap_or(0));
                Zero::Integer(i128::from(code))
            }
        };
        self.last = Some((at, scale, zero));
        Ok((scale, zero))
    }
}

/// Reads a word of 1 to 8 bytes.
#[inline(always)]
fn word_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        _ => bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
    }
}

/// The code with number `at` in a word.
#[inline(always)]
fn code_in(groups: Groups, word: u64, at: u64) -> u64 {
    let last = groups.codes_per_element.saturating_sub(1);
    let from_low = if groups.is_msb_first { last.saturating_sub(at) } else { at };
    let shift = u32::try_from(from_low.saturating_mul(groups.bits)).unwrap_or(0);
    word.wrapping_shr(shift) & 1u64.wrapping_shl(groups.bits as u32).wrapping_sub(1)
}

/// `(code - zero) * scale`.
#[inline(always)]
fn product(code: u64, zero: Zero, scale: f64) -> f32 {
    const SHORT: u128 = 1 << 24;
    let is_single = f64::from(scale as f32) == scale;
    match zero {
        Zero::Integer(zero) => {
            let difference = i128::from(code).saturating_sub(zero);
            // An f64 holds the product of two 24-bit numbers exactly.
            match is_single && difference.unsigned_abs() < SHORT {
                true => (difference as f64 * scale) as f32,
                false => long_product(difference.unsigned_abs(), 0, difference < 0, scale),
            }
        }
        Zero::Float(zero) => {
            let difference = code as f32 - zero;
            if is_single || !difference.is_finite() {
                return (f64::from(difference) * scale) as f32;
            }
            let (magnitude, exponent) = bits_of(f64::from(difference));
            long_product(u128::from(magnitude), exponent, difference.is_sign_negative(), scale)
        }
    }
}

/// `magnitude * 2^exponent * scale`, for products that have too many bits for an f64.
#[cold]
fn long_product(magnitude: u128, exponent: i32, is_negative: bool, scale: f64) -> f32 {
    let sign = if is_negative { -1.0 } else { 1.0 };
    if !scale.is_finite() || magnitude == 0 {
        return (sign * magnitude as f64 * scale) as f32;
    }
    let (bits, of_scale) = bits_of(scale);
    let product = magnitude.saturating_mul(u128::from(bits)); // at most 66 and 53 bits

    // Keep the highest 53 bits. Set the lowest of them if any lower bit was set, so that only the conversion
    // to f32 rounds.
    let dropped = 75u32.saturating_sub(product.leading_zeros());
    let is_inexact = product & 1u128.wrapping_shl(dropped).wrapping_sub(1) != 0;
    let kept = product.wrapping_shr(dropped) | u128::from(is_inexact);
    let exponent = exponent.saturating_add(of_scale).saturating_add_unsigned(dropped);
    // Outside this range, the result is 0 or infinite anyway.
    let power =
        f64::from_bits(u64::from(exponent.clamp(-1022, 1023).saturating_add(1023).unsigned_abs()) << 52);
    (kept as f64 * power * sign * 1f64.copysign(scale)) as f32
}

/// A finite number's magnitude as an integer times a power of two.
fn bits_of(number: f64) -> (u64, i32) {
    let (fraction, exponent) = (number.to_bits() & ((1 << 52) - 1), (number.to_bits() >> 52 & 0x7FF) as i32);
    let leading = if exponent == 0 { 0 } else { 1 << 52 };
    (fraction | leading, exponent.max(1).saturating_sub(1075))
}
