//! The four 8-bit floats, as tables of what every code means.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "run by the compiler, which refuses what overflows or is out of bounds"
)]

use crate::model::dtype::{Float8, Logical, Numbers};

/// The value of every code, as f32 bits: each one is exact.
type CodeValues = [f32; 256];

/// OCP E4M3: no infinity, NaN is all ones.
static E4M3FN: CodeValues = table(3, 7, Special::AllOnes);
/// OCP E5M2: infinity and NaN as in IEEE 754.
static E5M2: CodeValues = table(2, 15, Special::Ieee);
/// E4M3 with the one NaN where negative zero would be.
static E4M3FNUZ: CodeValues = table(3, 8, Special::NegativeZero);
/// E5M2 with the one NaN where negative zero would be.
static E5M2FNUZ: CodeValues = table(2, 16, Special::NegativeZero);

/// The table of a logical type, if it is an 8-bit float.
pub(super) fn values(logical: Option<Logical>) -> Option<&'static CodeValues> {
    let Numbers::Float8(float) = logical?.numbers() else { return None };
    Some(match float {
        Float8::E4m3fn => &E4M3FN,
        Float8::E5m2 => &E5M2,
        Float8::E4m3fnuz => &E4M3FNUZ,
        Float8::E5m2fnuz => &E5M2FNUZ,
    })
}

/// Which codes are not numbers.
#[derive(Clone, Copy)]
enum Special {
    /// The largest exponent is infinity and NaN.
    Ieee,
    /// All bits but the sign set is NaN.
    AllOnes,
    /// Only 0x80 is NaN; there is no negative zero.
    NegativeZero,
}

/// Builds a table from the format's definition, as f32 bits.
const fn table(mantissa_bits: u32, bias: u32, special: Special) -> CodeValues {
    let mut table = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = f32::from_bits(bits(code as u32, mantissa_bits, bias, special));
        code += 1;
    }
    table
}

/// One code as f32 bits.
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
        // Subnormal here, normal in an f32: shift the leading one to its place.
        let shift = mantissa.leading_zeros() - (31 - mantissa_bits);
        let fraction = mantissa << (shift + 23 - mantissa_bits) & 0x007F_FFFF;
        return sign | (127 + 1 - bias - shift) << 23 | fraction;
    }
    sign | (exponent + 127 - bias) << 23 | aligned
}
