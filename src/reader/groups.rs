//! Decodes codes with scales to f32: `zt.quant_group/1` and `zt.mx/1` of zTensor 2.
//!
//! In `zt.quant_group/1`, an element is `(code - zero) * scale`. Integers are subtracted exactly; a float
//! zero is subtracted in f32. In `zt.mx/1`, an element is a small float times a power of two. Scales are
//! widened exactly, and each product is rounded once.

use crate::convert::scaled::Elements;
use crate::convert::{as_bytes_mut, convert, with_avx2, Loops};
use crate::error::{fail, Result};
use crate::model::dtype::{Block, Class, Dtype, Logical, Numbers};
use crate::model::manifest::element_count;
use crate::model::structure::Groups;

/// How many codes are decoded at a time. It is a multiple of the codes in a word of any size.
const CODES: usize = 2048;

/// How many scales or zeros are widened at a time.
const WINDOW: usize = 256;

/// The bytes of some elements from the number `at` on, and how many these are.
fn bytes_from(elements: Elements<'_>, at: u64) -> (&[u8], usize) {
    let width = elements.from.0.size();
    let start = usize::try_from(at).unwrap_or(usize::MAX).saturating_mul(width);
    let rest = elements.bytes.get(start..).unwrap_or_default();
    let src = rest.get(..rest.len().min(WINDOW.saturating_mul(width))).unwrap_or_default();
    (src, src.len().checked_div(width).unwrap_or(0))
}

/// Some elements from the number `at` on as f32. Returns how many.
fn as_floats(elements: Elements<'_>, at: u64, floats: &mut [f32; WINDOW]) -> Result<usize> {
    let (src, count) = bytes_from(elements, at);
    let floats = as_bytes_mut(floats.get_mut(..count).unwrap_or_default());
    convert(src, elements.from, Dtype::F32, floats, 0)?;
    Ok(count)
}

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
            let (src, count) = bytes_from(self.elements, at);
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

    /// The next elements, at most so many.
    fn run(&mut self, most: usize) -> Run {
        let is_row = self.inner == 1;
        let (has_one, left) = match (is_row, self.group) {
            (true, 1) => (false, self.count.saturating_sub(self.base)),
            (true, group) => (true, group.saturating_sub(self.within)),
            (false, _) => (!self.has_lanes, self.inner.saturating_sub(self.at)),
        };
        let lane = if self.has_lanes { self.at } else { 0 };
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(most).max(1);
        let run = Run { first: self.base.saturating_add(lane), count, has_one };
        self.at = self.at.saturating_add(count as u64);
        if is_row || self.at >= self.inner {
            let steps = self.within.saturating_add(if is_row { count as u64 } else { 1 });
            let groups = steps.checked_div(self.group).unwrap_or(0);
            (self.at, self.within) = (0, steps.checked_rem(self.group).unwrap_or(0));
            let apart = if self.has_lanes { self.inner } else { 1 };
            self.base = self.base.saturating_add(groups.saturating_mul(apart));
            if self.base >= self.count {
                self.base = 0; // all indices of the axis use the same scales
            }
        }
        run
    }
}

/// Elements one after another, with one scale or with scales one after another.
#[derive(Clone, Copy)]
struct Run {
    /// The number of the first scale.
    first: u64,
    count: usize,
    has_one: bool,
}

/// Some scales and their zeros as f32.
struct Factors {
    scales: [f32; WINDOW],
    zeros: [f32; WINDOW],
    start: u64,
    count: usize,
    /// None was rounded, and integers are so small that their differences are exact in f32, too.
    are_exact: bool,
}

/// Decodes the codes of an object, front to back.
pub(super) struct GroupsDecoder<'a> {
    groups: Groups,
    place: Place,
    scales: Window<'a>,
    zeros: Zeros<'a>,
    factors: Factors,
}

impl<'a> GroupsDecoder<'a> {
    /// Makes a decoder for parts whose sizes fit the shape and the groups.
    pub(super) fn new(
        groups: Groups,
        shape: &[u64],
        scales: Elements<'a>,
        zeros: Option<Elements<'a>>,
    ) -> Result<GroupsDecoder<'a>> {
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
        let scales = Window::new(scales, Dtype::F64)?;
        let none = [0.0; WINDOW];
        let factors = Factors { scales: none, zeros: none, start: 0, count: 0, are_exact: false };
        Ok(GroupsDecoder { groups, place, scales, zeros, factors })
    }

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
            let groups = self.groups;
            if from.1.is_some() {
                convert(piece, from, Dtype::F32, as_bytes_mut(numbers), 0)?;
            } else {
                with_avx2::<Unpack, _, _>((groups, piece, width), &mut *numbers);
            }
            let code = |at: usize| {
                let start = at.checked_div(per).unwrap_or(0).saturating_mul(width);
                let word = piece.get(start..start.saturating_add(width)).map_or(0, word_of);
                code_in(groups, word, at.checked_rem(per).unwrap_or(0) as u64)
            };
            let mut done = 0usize;
            while let Some(rest) = numbers.get_mut(done..).filter(|rest| !rest.is_empty()) {
                let mut run = self.place.run(rest.len());
                let (mut rest, _) = rest.split_at_mut(run.count.min(rest.len()));
                while !rest.is_empty() {
                    let count = self.load_factors(run, rest.len())?;
                    let (now, behind) = rest.split_at_mut(count.min(rest.len()));
                    let code = |at: usize| from.1.is_none().then(|| code(done.saturating_add(at)));
                    match self.factors.are_exact {
                        true => self.factors.apply(run, now),
                        false => self.apply_exactly(run, now, &code)?,
                    }
                    done = done.saturating_add(now.len());
                    run.first = run.first.saturating_add(if run.has_one { 0 } else { now.len() as u64 });
                    rest = behind;
                }
            }
            body(numbers)?;
        }
        Ok(())
    }

    /// Codes, or small floats if there are no codes, become numbers: in f64 and in whole integers.
    fn apply_exactly(
        &mut self,
        run: Run,
        numbers: &mut [f32],
        code: &dyn Fn(usize) -> Option<u64>,
    ) -> Result<()> {
        let one = run.has_one.then(|| self.exact_factors(run.first)).transpose()?;
        for (at, number) in numbers.iter_mut().enumerate() {
            let (scale, zero) = match one {
                Some(factors) => factors,
                None => self.exact_factors(run.first.saturating_add(at as u64))?,
            };
            *number = match code(at) {
                Some(code) => product(code, zero, scale),
                None => (f64::from(*number) * scale) as f32, // exact in an f64
            };
        }
        Ok(())
    }

    /// Loads scales from the run's first on. Returns how many of so many elements have theirs there.
    fn load_factors(&mut self, run: Run, count: usize) -> Result<usize> {
        if self.factors.left_from(run.first) == 0 {
            self.factors.fill(self.groups, run.first, self.scales.elements, &self.zeros)?;
        }
        match self.factors.left_from(run.first) {
            0 => Err(fail!(Internal, "scale or zero {} does not exist", run.first)),
            _ if run.has_one => Ok(count),
            left => Ok(left.min(count)),
        }
    }

    /// A scale and its zero.
    fn exact_factors(&mut self, at: u64) -> Result<(f64, Zero)> {
        let scale = f64::from_ne_bytes(self.scales.get(at)?);
        let zero = match &mut self.zeros {
            Zeros::One(zero) => Zero::Integer(i128::from(*zero)),
            Zeros::Signed(zeros) => Zero::Integer(i128::from(i64::from_ne_bytes(zeros.get(at)?))),
            Zeros::Unsigned(zeros) => Zero::Integer(i128::from(u64::from_ne_bytes(zeros.get(at)?))),
            Zeros::Float(zeros) => Zero::Float(f64::from_ne_bytes(zeros.get(at)?) as f32),
            Zeros::Packed(zeros) => Zero::Integer(i128::from(packed(self.groups, *zeros, at)?)),
        };
        Ok((scale, zero))
    }
}

impl Factors {
    fn offset_of(&self, at: u64) -> usize {
        at.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok()).unwrap_or(usize::MAX)
    }

    /// How many there are from the number `at` on.
    fn left_from(&self, at: u64) -> usize {
        self.count.saturating_sub(self.offset_of(at))
    }

    /// Loads those from the number `at` on, or from some before it.
    fn fill(&mut self, groups: Groups, at: u64, scales: Elements<'_>, zeros: &Zeros<'_>) -> Result<()> {
        const SHORT: f32 = 8_388_608.0; // 2^23
        let word = if matches!(zeros, Zeros::Packed(_)) { groups.codes_per_element } else { 1 };
        let at = at.saturating_sub(at.checked_rem(word).unwrap_or(0)); // the first zero of its word
        let count = as_floats(scales, at, &mut self.scales)?;
        let of_zeros = match zeros {
            Zeros::One(zero) => {
                self.zeros.fill(*zero as f32);
                count
            }
            Zeros::Packed(zeros) => {
                let (per, width) = (groups.codes_per_element as usize, zeros.from.0.size());
                let [start, size] = [at as usize, WINDOW]
                    .map(|codes| codes.checked_div(per).unwrap_or(0).saturating_mul(width));
                let words = zeros.bytes.get(start..).unwrap_or_default();
                let words = words.get(..words.len().min(size)).unwrap_or_default();
                let codes = words.len().checked_div(width).unwrap_or(0).saturating_mul(per);
                let floats = self.zeros.get_mut(..codes).unwrap_or_default();
                with_avx2::<Unpack, _, _>((groups, words, width), &mut *floats);
                floats.len()
            }
            Zeros::Signed(zeros) | Zeros::Unsigned(zeros) | Zeros::Float(zeros) => {
                as_floats(zeros.elements, at, &mut self.zeros)?
            }
        };
        (self.start, self.count) = (at, count.min(of_zeros));
        let are_short = || self.zeros.iter().take(self.count).all(|zero| zero.abs() < SHORT);
        let is_single = match scales.from {
            (dtype, None) => matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32),
            (_, Some(logical)) => matches!(logical.numbers(), Numbers::Float8(_)),
        };
        self.are_exact = is_single && groups.bits <= 23 && (matches!(zeros, Zeros::Float(_)) || are_short());
        Ok(())
    }

    /// Codes, or small floats, become numbers.
    fn apply(&self, run: Run, numbers: &mut [f32]) {
        let at = self.offset_of(run.first);
        let [scales, zeros] = [&self.scales, &self.zeros].map(|all| all.get(at..).unwrap_or_default());
        match (scales, zeros) {
            ([scale, ..], [zero, ..]) if run.has_one => {
                with_avx2::<TimesOne, _, _>((*scale, *zero), numbers);
            }
            _ => with_avx2::<TimesEach, _, _>((scales, zeros), numbers),
        }
    }
}

struct TimesOne;

impl Loops<(f32, f32), &mut [f32]> for TimesOne {
    type Result = ();

    #[inline(always)]
    fn run((scale, zero): (f32, f32), numbers: &mut [f32]) {
        for number in numbers {
            *number = (*number - zero) * scale;
        }
    }
}

struct TimesEach;

impl Loops<(&[f32], &[f32]), &mut [f32]> for TimesEach {
    type Result = ();

    #[inline(always)]
    fn run((scales, zeros): (&[f32], &[f32]), numbers: &mut [f32]) {
        for ((number, scale), zero) in numbers.iter_mut().zip(scales).zip(zeros) {
            *number = (*number - zero) * scale;
        }
    }
}

/// The code number `at` of those in words.
fn packed(groups: Groups, words: Elements<'_>, at: u64) -> Result<u64> {
    let (per, width) = (groups.codes_per_element, words.from.0.size());
    let word = usize::try_from(at.checked_div(per).unwrap_or(0)).unwrap_or(usize::MAX);
    let start = word.saturating_mul(width);
    let word = words.bytes.get(start..start.saturating_add(width)).map(word_of);
    let word = word.ok_or_else(|| fail!(Internal, "zero {at} does not exist"))?;
    Ok(code_in(groups, word, at.checked_rem(per).unwrap_or(0)))
}

/// The codes of words as f32, which holds those of up to 24 bits.
struct Unpack;

impl Loops<(Groups, &[u8], usize), &mut [f32]> for Unpack {
    type Result = ();

    #[inline(always)]
    fn run((groups, words, width): (Groups, &[u8], usize), numbers: &mut [f32]) {
        // Sizes that the compiler knows: several codes at a time.
        match (width, groups.codes_per_element) {
            (1, 1) => unpack_known::<1, 1>(groups, words, numbers),
            (1, 2) => unpack_known::<1, 2>(groups, words, numbers),
            (1, 4) => unpack_known::<1, 4>(groups, words, numbers),
            (4, 4) => unpack_known::<4, 4>(groups, words, numbers),
            (4, 8) => unpack_known::<4, 8>(groups, words, numbers),
            (4, 16) => unpack_known::<4, 16>(groups, words, numbers),
            (_, per) => {
                let per = usize::try_from(per).unwrap_or(usize::MAX).max(1);
                for (word, numbers) in words.chunks(width.max(1)).zip(numbers.chunks_mut(per)) {
                    let word = word_of(word);
                    for (at, number) in (0u64..).zip(numbers) {
                        *number = code_in(groups, word, at) as f32;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn unpack_known<const WIDTH: usize, const PER: usize>(groups: Groups, words: &[u8], numbers: &mut [f32]) {
    let mut shifts = [0u32; PER];
    (0u64..).zip(&mut shifts).for_each(|(at, shift)| *shift = shift_of(groups, at));
    let mask = mask_of(groups) as u32;
    for (word, numbers) in words.chunks_exact(WIDTH).zip(numbers.chunks_exact_mut(PER)) {
        let word = word_of(word) as u32;
        for (number, shift) in numbers.iter_mut().zip(shifts) {
            *number = (word.wrapping_shr(shift) & mask) as i32 as f32;
        }
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

#[inline(always)]
fn code_in(groups: Groups, word: u64, at: u64) -> u64 {
    word.wrapping_shr(shift_of(groups, at)) & mask_of(groups)
}

/// Bits of a word behind the code number `at`.
#[inline(always)]
fn shift_of(groups: Groups, at: u64) -> u32 {
    let last = groups.codes_per_element.saturating_sub(1);
    let from_low = if groups.is_msb_first { last.saturating_sub(at) } else { at };
    u32::try_from(from_low.saturating_mul(groups.bits)).unwrap_or(0)
}

#[inline(always)]
fn mask_of(groups: Groups) -> u64 {
    1u64.wrapping_shl(groups.bits as u32).wrapping_sub(1)
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
