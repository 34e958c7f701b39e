//! All block types but the K- and I-quants. Numbers in blocks are little-endian; `q` is an element's code.
//!
//! Types with one scale: an element is the scale times an integer, plus a minimum if there is one. A block
//! begins with `d`, an f16. `m` is another f16.
//!
//! | type | behind `d` | codes | element |
//! |---|---|---|---|
//! | q1_0 | | 128 of 1 bit | `q == 1 ? d : -d` |
//! | q2_0 | | 64 of 2 bits | `(q - 1) * d` |
//! | q4_0 | | 32 of 4 bits in halves | `(q - 8) * d` |
//! | q4_1 | `m` | 32 of 4 bits in halves | `q * d + m` |
//! | q5_0 | 32 fifth bits | 32 of 4 bits in halves | `(q - 16) * d` |
//! | q5_1 | `m`, 32 fifth bits | 32 of 4 bits in halves | `q * d + m` |
//! | q8_0 | | 32 of i8 | `q * d` |
//! | q8_1 | an f16 for dot products | 32 of i8 | `q * d` |
//!
//! In halves: of 16 bytes, byte `j` has the code of element `j` in its low half and of element `j + 16` in
//! its high half.
//!
//! Ternary types: 256 elements of -1, 0 or 1 times an f16 `d` at the end of the block. A byte of tq1_0 is a
//! fraction of 256. Its digits in base 3 are the codes: the first digit is what overflows a byte when the
//! byte is multiplied by 3.
//!
//! | type | codes | element |
//! |---|---|---|
//! | tq1_0 | 48 bytes of 5 elements, 4 bytes of 4 elements | `(q - 1) * d` |
//! | tq2_0 | 64 bytes of 4 elements, 2 bits each | `(q - 1) * d` |
//!
//! Types whose codes of 4 bits in halves stand for values of a table:
//!
//! | type | block | element |
//! |---|---|---|
//! | iq4_nl | f16 `d`, 16 bytes of codes | `d * IQ4[q]` |
//! | iq4_xs | f16 `d`, 8 scales of 6 bits, 8 times 16 bytes of codes | `(d * (s - 32)) * IQ4[q]` |
//! | mxfp4 | `e`, 16 bytes of codes | `FP4[q] * 2^(e - 128)` |
//! | nvfp4 | 4 scales `e`, 4 times 8 bytes of codes | `FP4[q] * (e4m3(e) * 0.5)` |
//!
//! Floats that are smaller than a byte. A block fills whole bytes, and has no scale.
//!
//! | type | block | element |
//! |---|---|---|
//! | f4_e2m1 | a byte: 2 codes, the first one in its low half | `F4[q]` |
//! | f6_e2m3 | 3 bytes: 4 codes, the first one in the lowest bits, as in ONNX | `F6_E2M3[q]` |
//! | f6_e3m2 | likewise | `F6_E3M2[q]` |

use super::parts::{f16_at, integers, part};
use crate::simd::blocks::{FP4, IQ4};
use crate::simd::lanes::Lanes;

#[inline(always)]
pub(super) fn q1_0(block: &[u8; 18], out: &mut [f32; 128]) {
    let d = f16_at(block, 0);
    for (byte, out) in block[2..].iter().zip(out.chunks_exact_mut(8)) {
        for (bit, out) in out.iter_mut().enumerate() {
            *out = if byte >> bit & 1 == 1 { d } else { -d };
        }
    }
}

#[inline(always)]
pub(super) fn q2_0(block: &[u8; 18], out: &mut [f32; 64]) {
    let d = f16_at(block, 0);
    for (byte, out) in block[2..].iter().zip(out.chunks_exact_mut(4)) {
        for (at, out) in out.iter_mut().enumerate() {
            *out = (f32::from(byte >> (2 * at) & 3) - 1.0) * d;
        }
    }
}

#[inline(always)]
pub(super) fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = f16_at(block, 0);
    in_halves(&block[2..], 0, out, |q| (f32::from(q) - 8.0) * d);
}

#[inline(always)]
pub(super) fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (f16_at(block, 0), f16_at(block, 2));
    in_halves(&block[4..], 0, out, |q| f32::from(q) * d + m);
}

#[inline(always)]
pub(super) fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let d = f16_at(block, 0);
    let fifth = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    in_halves(&block[6..], fifth, out, |q| (f32::from(q) - 16.0) * d);
}

#[inline(always)]
pub(super) fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (f16_at(block, 0), f16_at(block, 2));
    let fifth = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    in_halves(&block[8..], fifth, out, |q| f32::from(q) * d + m);
}

#[inline(always)]
pub(super) fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    integers(&block[2..], f16_at(block, 0), out);
}

#[inline(always)]
pub(super) fn q8_1(block: &[u8; 36], out: &mut [f32; 32]) {
    integers(&block[4..], f16_at(block, 0), out);
}

/// Elements whose codes are in halves of bytes. `fifth` has the fifth bit of every code.
#[inline(always)]
fn in_halves(codes: &[u8], fifth: u32, out: &mut [f32], element: impl Fn(u8) -> f32) {
    let (low, high) = out.split_at_mut(16);
    for (j, ((byte, low), high)) in codes.iter().zip(low).zip(high).enumerate() {
        *low = element(byte & 15 | ((fifth >> j & 1) as u8) << 4);
        *high = element(byte >> 4 | ((fifth >> (j + 16) & 1) as u8) << 4);
    }
}

#[inline(always)]
pub(super) fn tq1_0(lanes: impl Lanes, block: &[u8; 54], out: &mut [f32; 256]) {
    const POWERS: [u8; 5] = [1, 3, 9, 27, 81];
    let d = f16_at(block, 52);
    let (first, rest) = out.split_at_mut(5 * 32);
    let (second, last) = rest.split_at_mut(5 * 16);
    for (n, out) in first.chunks_exact_mut(16).enumerate() {
        lanes.digits(part(block, 16 * (n % 2)), POWERS[n / 2], d, out);
    }
    for (power, out) in POWERS.into_iter().zip(second.chunks_exact_mut(16)) {
        lanes.digits(part(block, 32), power, d, out);
    }
    let bytes = part::<4>(block, 48);
    let products = std::array::from_fn(|at| bytes[at % 4].wrapping_mul(POWERS[at / 4]));
    lanes.digits(&products, 1, d, last);
}

#[inline(always)]
pub(super) fn tq2_0(block: &[u8; 66], out: &mut [f32; 256]) {
    let d = f16_at(block, 64);
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        for (byte, out) in part::<32>(block, 32 * (n / 4)).iter().zip(out) {
            *out = (f32::from(byte >> (2 * (n % 4)) & 3) - 1.0) * d;
        }
    }
}

#[inline(always)]
pub(super) fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = f16_at(block, 0);
    in_halves(&block[2..], 0, out, |q| d * f32::from(IQ4[usize::from(q)]));
}

#[inline(always)]
pub(super) fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        let scale = iq4_xs_scale(block, n);
        in_halves(part::<16>(block, 8 + 16 * n), 0, out, |q| scale * f32::from(IQ4[usize::from(q)]));
    }
}

#[inline(always)]
fn iq4_xs_scale(block: &[u8; 136], n: usize) -> f32 {
    let low = block[4 + n / 2] >> (4 * (n % 2)) & 15;
    let high = block[2 + n / 4] >> (2 * (n % 4)) & 3;
    f16_at(block, 0) * (f32::from(low | high << 4) - 32.0)
}

#[inline(always)]
pub(super) fn mxfp4(block: &[u8; 17], out: &mut [f32; 32]) {
    let scale = half_of_e8m0(block[0]);
    in_halves(&block[1..], 0, out, |q| scale * f32::from(FP4[usize::from(q)]));
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

const F4: [f32; 16] = values(1, 1);
const F6_E2M3: [f32; 64] = values(3, 1);
const F6_E3M2: [f32; 64] = values(2, 3);

/// The values of all codes: a sign, exponent, and so many bits of mantissa. All of them are finite.
const fn values<const CODES: usize>(mantissa: u32, bias: u32) -> [f32; CODES] {
    let mut values = [0.0; CODES];
    let mut code = 0;
    while code < CODES {
        let magnitude = code as u32 % (CODES as u32 / 2);
        let (exponent, fraction) = (magnitude >> mantissa, magnitude % (1 << mantissa));
        // Exponent 0 has no leading one, and the same power of two as exponent 1.
        let (whole, power) = match exponent {
            0 => (fraction, 1),
            _ => (fraction + (1 << mantissa), exponent),
        };
        let scale = f32::from_bits((127 + power - bias - mantissa) << 23);
        values[code] = if code < CODES / 2 { whole as f32 * scale } else { -(whole as f32 * scale) };
        code += 1;
    }
    values
}

#[inline(always)]
pub(super) fn f4_e2m1([byte]: &[u8; 1], out: &mut [f32; 2]) {
    *out = [F4[usize::from(byte & 15)], F4[usize::from(byte >> 4)]];
}

#[inline(always)]
pub(super) fn f6_e2m3(block: &[u8; 3], out: &mut [f32; 4]) {
    *out = codes(block).map(|code| F6_E2M3[code]);
}

#[inline(always)]
pub(super) fn f6_e3m2(block: &[u8; 3], out: &mut [f32; 4]) {
    *out = codes(block).map(|code| F6_E3M2[code]);
}

#[inline(always)]
fn codes([a, b, c]: &[u8; 3]) -> [usize; 4] {
    [a & 63, a >> 6 | b << 2 & 63, b >> 4 | c << 4 & 63, c >> 2].map(usize::from)
}
