//! Block types whose codes of 4 bits stand for values of a table.
//!
//! | type | block | element |
//! |---|---|---|
//! | iq4_nl | f16 `d`, 16 bytes of codes | `d * IQ4[q]` |
//! | iq4_xs | f16 `d`, 8 scales of 6 bits, 8 times 16 bytes of codes | `(d * (s - 32)) * IQ4[q]` |
//! | mxfp4 | `e`, 16 bytes of codes | `FP4[q] * 2^(e - 128)` |
//! | nvfp4 | 4 scales `e`, 4 times 8 bytes of codes | `FP4[q] * (e4m3(e) * 0.5)` |
//!
//! Codes are in halves: of 16 bytes, byte `j` has the code of element `j` in its low half and of element
//! `j + 16` in its high half.

use super::parts::{f16_at, part};
use crate::simd::blocks::{FP4, IQ4};
use crate::simd::lanes::Lanes;

#[inline(always)]
pub(super) fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    in_halves(part(block, 2), &IQ4, f16_at(block, 0), out);
}

#[inline(always)]
pub(super) fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        in_halves(part(block, 8 + 16 * n), &IQ4, iq4_xs_scale(block, n), out);
    }
}

/// The scale of group `n`.
#[inline(always)]
fn iq4_xs_scale(block: &[u8; 136], n: usize) -> f32 {
    let low = block[4 + n / 2] >> (4 * (n % 2)) & 15;
    let high = block[2 + n / 4] >> (2 * (n % 4)) & 3;
    f16_at(block, 0) * (f32::from(low | high << 4) - 32.0)
}

#[inline(always)]
pub(super) fn mxfp4(block: &[u8; 17], out: &mut [f32; 32]) {
    in_halves(part(block, 1), &FP4, half_of_e8m0(block[0]), out);
}

#[inline(always)]
pub(super) fn nvfp4(lanes: impl Lanes, block: &[u8; 36], out: &mut [f32; 64]) {
    for (n, out) in out.chunks_exact_mut(16).enumerate() {
        lanes.values(part(block, 4 + 8 * n), &FP4, HALF_OF_E4M3[usize::from(block[n])], out);
    }
}

/// `2^(e - 128)`: half of what an e8m0 is. 255 is not a NaN.
#[inline(always)]
pub(super) fn half_of_e8m0(e: u8) -> f32 {
    f32::from_bits(match e {
        0 | 1 => 0x0020_0000 << e, // subnormal
        _ => (u32::from(e) - 1) << 23,
    })
}

/// Half of what each code of an e4m3 without sign is. 0x7F is 0; the sign bit is ignored in other codes.
static HALF_OF_E4M3: [f32; 256] = {
    let mut table = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let (exponent, mantissa) = (code as u32 >> 3 & 15, code as u32 & 7);
        table[code] = match (code, exponent) {
            (0x7F, _) => 0.0,
            (_, 0) => mantissa as f32 / 1024.0,
            _ => f32::from_bits((exponent + 127 - 7 - 1) << 23 | mantissa << 20),
        };
        code += 1;
    }
    table
};

/// Elements whose codes are in halves of bytes.
#[inline(always)]
fn in_halves(codes: &[u8; 16], table: &[i8; 16], scale: f32, out: &mut [f32]) {
    let (low, high) = out.split_at_mut(16);
    for ((byte, low), high) in codes.iter().zip(low).zip(high) {
        *low = scale * f32::from(table[usize::from(byte & 15)]);
        *high = scale * f32::from(table[usize::from(byte >> 4)]);
    }
}
