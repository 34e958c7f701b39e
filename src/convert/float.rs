//! Small floats: exact widening, narrowing with one rounding, and rounding to integers. For 8-bit floats,
//! there are tables with the value of each code.
//!
//! The `half` crate rounds f64 twice on hardware with f16c; elsewhere it drops the lower 32 bits before it
//! rounds. Its NaN signs depend on the machine. So the bits are computed here, without branches where a loop
//! should become vector code.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "bit fields of known width: every sum and cast is within it"
)]

use crate::model::dtype::{Float8, Logical, Numbers};

/// f16 to f32, exact. A NaN becomes quiet and keeps its sign and payload.
#[inline(always)]
pub(super) fn f16_to_f32(code: u16) -> f32 {
    let magnitude = u32::from(code & 0x7FFF);
    let sign = u32::from(code & 0x8000) << 16;
    let normal = (magnitude << 13) + ((127 - 15) << 23);
    let special = (magnitude << 13) | 0x7F80_0000 | if magnitude > 0x7C00 { 0x0040_0000 } else { 0 };
    // A subnormal is its integer times 2^-24. Neither the factor nor the product is subnormal as f32.
    let small = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
    let wide = if magnitude >= 0x7C00 {
        special
    } else if magnitude < 0x0400 {
        small
    } else {
        normal
    };
    f32::from_bits(wide | sign)
}

/// bf16 to f32, exact. A NaN becomes quiet and keeps its sign and payload.
#[inline(always)]
pub(super) fn bf16_to_f32(code: u16) -> f32 {
    let quiet = if code & 0x7FFF > 0x7F80 { 0x0040 } else { 0 };
    f32::from_bits(u32::from(code | quiet) << 16)
}

/// f32 to f64, exact. A NaN becomes quiet and keeps its sign and payload on every machine.
#[inline(always)]
pub(super) fn f32_to_f64(value: f32) -> f64 {
    let bits = value.to_bits();
    let sign = u64::from(bits & 0x8000_0000) << 32;
    let nan = 0x7FF8_0000_0000_0000 | u64::from(bits & 0x007F_FFFF) << 29 | sign;
    if value.is_nan() {
        f64::from_bits(nan)
    } else {
        f64::from(value)
    }
}

/// f64 to f32, to nearest even. A NaN becomes quiet and keeps its sign on every machine.
#[inline(always)]
pub(super) fn f64_to_f32(value: f64) -> f32 {
    let bits = value.to_bits();
    let sign = (bits >> 32) as u32 & 0x8000_0000;
    let nan = 0x7FC0_0000 | (bits >> 29) as u32 & 0x003F_FFFF | sign;
    if value.is_nan() {
        f32::from_bits(nan)
    } else {
        value as f32
    }
}

/// f32 to f16, to nearest even, with 32-bit operations only: the fast path.
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7FFF_FFFF;
    let sign = (bits >> 16) as u16 & 0x8000;
    // Adds half of the last kept bit less one, and one more if that bit is set, so that ties go to even.
    let rounded = magnitude.wrapping_add(0x0FFF + (magnitude >> 13 & 1));
    let normal = rounded.wrapping_sub((127 - 15) << 23) >> 13;
    // The last bit of a float near 0.5 is 2^-24, which is the last bit of an f16 subnormal. So the sum rounds
    // correctly.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3F00_0000);
    let nan = 0x7E00 | magnitude >> 13 & 0x01FF;
    let code = if magnitude > 0x7F80_0000 {
        nan
    } else if magnitude >= 0x477F_F000 {
        0x7C00 // from 65520, half a step past the largest
    } else if magnitude < 0x3880_0000 {
        small // below 2^-14, the smallest normal one
    } else {
        normal
    };
    code as u16 | sign
}

/// f32 to bf16, to nearest even, with 32-bit operations only: the fast path.
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x0040;
    (if value.is_nan() { nan } else { rounded }) as u16
}

/// f64 to f16, to nearest even, rounded once.
#[inline]
pub(super) fn f64_to_f16(value: f64) -> u16 {
    narrow::<10, 15>(value)
}

/// f64 to bf16, to nearest even, rounded once.
#[inline]
pub(super) fn f64_to_bf16(value: f64) -> u16 {
    narrow::<7, 127>(value)
}

/// f64 to a 16-bit float with `MANTISSA` bits after the point and exponent bias `BIAS`.
#[inline(always)]
fn narrow<const MANTISSA: u32, const BIAS: u64>(value: f64) -> u16 {
    const POINT: u32 = 52; // bits after the point in an f64
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let magnitude = bits & !(1 << 63);
    let infinity = (2 * BIAS + 1) << MANTISSA;
    let drop = POINT - MANTISSA;
    if value.is_nan() {
        let payload = magnitude >> drop & ((1 << MANTISSA) - 1);
        return (infinity | 1 << (MANTISSA - 1) | payload) as u16 | sign;
    }
    let exponent = magnitude >> POINT;
    let code = if exponent > 1023 + BIAS {
        infinity
    } else if exponent > 1023 - BIAS {
        // Exponent and fraction are treated as one number: a carry out of the fraction increases the
        // exponent, and a carry out of the largest exponent gives infinity.
        round_off(magnitude - ((1023 - BIAS) << POINT), drop)
    } else {
        // The result is subnormal: the point is fixed, and the leading one moves right. An f64 that is itself
        // subnormal is so much smaller that its missing leading one does not matter.
        let below = 1024 - BIAS - exponent;
        let fraction = magnitude & ((1 << POINT) - 1) | 1 << POINT;
        let drop = u64::from(drop) + below;
        if drop > 62 {
            0
        } else {
            round_off(fraction, drop as u32)
        }
    };
    code as u16 | sign
}

/// Drops the lowest `count` bits (1 to 62). Rounds to nearest, ties to even.
#[inline(always)]
fn round_off(value: u64, count: u32) -> u64 {
    let kept = value >> count;
    let rest = value & ((1 << count) - 1);
    let half = 1 << (count - 1);
    kept + u64::from(rest > half || rest == half && kept & 1 == 1)
}

/// Rounds to the nearest whole number, ties to even. The sign of a zero is lost.
///
/// `f64::round_ties_even` does this, too, but is a slow call if the program may not assume SSE4.1. An f64
/// from 2^52 on has no bits after the point, so adding 2^52 rounds, and subtracting it is exact.
#[inline(always)]
pub(super) fn round(value: f64) -> f64 {
    const WHOLE: f64 = 4_503_599_627_370_496.0; // 2^52
    let shift = WHOLE.copysign(value);
    // NaN and larger numbers do not change.
    if value.abs() < WHOLE {
        (value + shift) - shift
    } else {
        value
    }
}

/// A 64-bit magnitude as an f64 that rounds to the same f16, bf16 or f32 as the magnitude itself.
///
/// If it is large, its lowest 11 bits are replaced by one bit that is set if any of them was (round to odd).
/// These bits are more than two below the last bit that any of the three types keeps.
#[inline(always)]
pub(super) fn sticky_f64(magnitude: u64) -> f64 {
    let low = magnitude & 0x7FF;
    let jammed = (magnitude & !0x7FF) | if low == 0 { 0 } else { 0x800 };
    (if magnitude >> 53 == 0 { magnitude } else { jammed }) as f64
}

/// The value of every code as f32 bits. All of them are exact.
type CodeValues = [f32; 256];

/// OCP E4M3: it has no infinity; all ones are NaN.
static E4M3FN: CodeValues = table(3, 7, Special::AllOnes);
/// OCP E5M2: infinity and NaN as in IEEE 754.
static E5M2: CodeValues = table(2, 15, Special::Ieee);
/// E4M3 with its only NaN in place of negative zero.
static E4M3FNUZ: CodeValues = table(3, 8, Special::NegativeZero);
/// E5M2 with its only NaN in place of negative zero.
static E5M2FNUZ: CodeValues = table(2, 16, Special::NegativeZero);

/// OCP E8M0: a power of two. Code 0 is the smallest one, which is subnormal as f32, and 255 is NaN.
static E8M0: CodeValues = powers_of_two();

pub(super) fn float8_values(logical: Option<Logical>) -> Option<&'static CodeValues> {
    let Numbers::Float8(float) = logical?.numbers() else { return None };
    Some(match float {
        Float8::E4m3fn => &E4M3FN,
        Float8::E5m2 => &E5M2,
        Float8::E4m3fnuz => &E4M3FNUZ,
        Float8::E5m2fnuz => &E5M2FNUZ,
        Float8::E8m0 => &E8M0,
    })
}

/// Which codes are not numbers.
#[derive(Clone, Copy)]
enum Special {
    /// The largest exponent means infinity or NaN.
    Ieee,
    /// All bits except the sign set mean NaN.
    AllOnes,
    /// Only 0x80 is NaN; there is no negative zero.
    NegativeZero,
}

/// Builds a table from the format's definition, as f32 bits.
#[allow(clippy::indexing_slicing, reason = "run by the compiler, which refuses what is out of bounds")]
const fn table(mantissa_bits: u32, bias: u32, special: Special) -> CodeValues {
    let mut table = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = f32::from_bits(bits(code as u32, mantissa_bits, bias, special));
        code += 1;
    }
    table
}

#[allow(clippy::indexing_slicing, reason = "as in the other one")]
const fn powers_of_two() -> CodeValues {
    let mut table = [f32::NAN; 256];
    table[0] = f32::from_bits(1 << 22);
    let mut code = 1;
    while code < 255 {
        table[code] = f32::from_bits((code as u32) << 23);
        code += 1;
    }
    table
}

const fn bits(code: u32, mantissa_bits: u32, bias: u32, special: Special) -> u32 {
    const QUIET: u32 = 0x7FC0_0000;
    let magnitude = code & 0x7F;
    let sign = (code & 0x80) << 24;
    let exponent = magnitude >> mantissa_bits;
    let mantissa = magnitude & ((1 << mantissa_bits) - 1);
    let aligned = mantissa << (23 - mantissa_bits);
    match special {
        Special::Ieee if exponent == 0x7F >> mantissa_bits => {
            let quiet = if mantissa == 0 { 0 } else { QUIET };
            return sign | 0x7F80_0000 | aligned | quiet;
        }
        Special::AllOnes if magnitude == 0x7F => return sign | QUIET,
        Special::NegativeZero if code == 0x80 => return QUIET,
        _ => {}
    }
    if magnitude == 0 {
        return sign;
    }
    if exponent == 0 {
        // The code is subnormal, but normal as f32: shift the leading one to its place.
        let shift = mantissa.leading_zeros() - (31 - mantissa_bits);
        let fraction = mantissa << (shift + 23 - mantissa_bits) & 0x007F_FFFF;
        return sign | (127 + 1 - bias - shift) << 23 | fraction;
    }
    sign | (exponent + 127 - bias) << 23 | aligned
}
