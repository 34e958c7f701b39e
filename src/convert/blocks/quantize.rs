//! Floats to blocks: bit for bit what the C of ggml gives that is compiled with `-ffp-contract=off`. The
//! layouts stand beside the decoders.
//!
//! Every quotient `x / d` is `x * (1 / d)`, and 0 where `d` is 0. `max` is the number of the largest
//! magnitude, the first one of several; `amax` is its magnitude.
//!
//! | type | scale | code of a number `x` |
//! |---|---|---|
//! | q4_0 | `d = max / -8` | `min(15, trunc(x / d + 8.5))` |
//! | q5_0 | `d = max / -16` | `min(31, trunc(x / d + 16.5))` |
//! | q4_1 | `m` = the least, `d = (most - m) / 15` | `min(15, trunc((x - m) / d + 0.5))` |
//! | q5_1 | `m` = the least, `d = (most - m) / 31` | `trunc((x - m) / d + 0.5)` |
//! | q8_0 | `d = amax / 127` | `round(x / d)`, halves away from 0 |
//! | iq4_nl | `d`: the best of 16, see [`iq4_nl_scale`] | the nearest of `IQ4` to `x / d` |
//! | mxfp4 | `e = floor(log2(amax)) + 125` | the nearest of `FP4[q] * 2^(e - 128)`, the first of several |
//! | tq1_0, tq2_0 | `d = amax` | `round(x / d) + 1` |
//!
//! Numbers are finite. A function returns false if an f16 of the block is infinite or NaN.

#![allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "codes are the lowest byte of an integer, exponents a few bits"
)]

use super::simple::half_of_e8m0;
use crate::convert::float::f32_to_f16;
use crate::simd::blocks::{FP4, IQ4};
use crate::simd::truncated;

#[inline(always)]
pub(super) fn q4_0(x: &[f32; 32], block: &mut [u8; 18]) -> bool {
    let d = farthest(x) / -8.0;
    let id = inverse(d);
    in_halves(x, &mut block[2..], |x| whole(x * id + 8.5).min(15));
    put_f16(block, 0, d)
}

#[inline(always)]
pub(super) fn q5_0(x: &[f32; 32], block: &mut [u8; 22]) -> bool {
    let d = farthest(x) / -16.0;
    let id = inverse(d);
    let fifth = in_halves(x, &mut block[6..], |x| whole(x * id + 16.5).min(31));
    block[2..6].copy_from_slice(&fifth.to_le_bytes());
    put_f16(block, 0, d)
}

#[inline(always)]
pub(super) fn q4_1(x: &[f32; 32], block: &mut [u8; 20]) -> bool {
    let (min, max) = ends(x);
    let d = (max - min) / 15.0;
    let id = inverse(d);
    in_halves(x, &mut block[4..], |x| whole((x - min) * id + 0.5).min(15));
    put_f16(block, 0, d) & put_f16(block, 2, min)
}

#[inline(always)]
pub(super) fn q5_1(x: &[f32; 32], block: &mut [u8; 24]) -> bool {
    let (min, max) = ends(x);
    let d = (max - min) / 31.0;
    let id = inverse(d);
    let fifth = in_halves(x, &mut block[8..], |x| whole((x - min) * id + 0.5));
    block[4..8].copy_from_slice(&fifth.to_le_bytes());
    put_f16(block, 0, d) & put_f16(block, 2, min)
}

#[inline(always)]
pub(super) fn q8_0(x: &[f32; 32], block: &mut [u8; 34]) -> bool {
    let d = largest(x) / 127.0;
    let id = inverse(d);
    for (code, x) in block[2..].iter_mut().zip(x) {
        *code = rounded(x * id);
    }
    put_f16(block, 0, d)
}

#[inline(always)]
pub(super) fn iq4_nl(x: &[f32; 32], block: &mut [u8; 18]) -> bool {
    let max = farthest(x);
    let d = if max.abs() < 1e-15 { 0.0 } else { iq4_nl_scale(x, max) };
    let id = inverse(d);
    in_halves(x, &mut block[2..], |x| nearest_of_iq4(id * x));
    put_f16(block, 0, d)
}

/// With each of the scales `max / -127` and `max / n`, `n` from -134 to -120, the codes are found, and for
/// these codes the scale of the least squares, weighted by `x^2`. The first of the best is the scale.
#[inline(always)]
fn iq4_nl_scale(x: &[f32; 32], max: f32) -> f32 {
    let sums = |id: f32| {
        let (mut qx, mut qq) = (0f32, 0f32);
        for x in x {
            let (q, w) = (f32::from(IQ4[usize::from(nearest_of_iq4(id * x))]), x * x);
            qx += w * q * x;
            qq += w * q * q;
        }
        (qx, qq)
    };
    let (qx, qq) = sums(1.0 / (-max / -127.0));
    let mut d = if qq > 0.0 { qx / qq } else { 0.0 };
    let mut best = d * qx;
    for n in -134i16..=-120 {
        let (qx, qq) = sums(f32::from(n) / max);
        if qq > 0.0 && qx * qx > best * qq {
            d = qx / qq;
            best = d * qx;
        }
    }
    d
}

/// The code whose value is nearest, the higher one of two. Differences from the values are exact near the
/// middle between two, so it is enough to look on which side of that middle a number is.
#[inline(always)]
fn nearest_of_iq4(x: f32) -> u8 {
    const MIDDLES: [f32; 15] = {
        let (mut middles, mut at) = ([0.0; 15], 0);
        while at < 15 {
            middles[at] = (IQ4[at] as f32 + IQ4[at + 1] as f32) / 2.0;
            at += 1;
        }
        middles
    };
    MIDDLES.iter().map(|middle| u8::from(x >= *middle)).sum()
}

#[inline(always)]
pub(super) fn mxfp4(x: &[f32; 32], block: &mut [u8; 17]) -> bool {
    let amax = largest(x);
    // Below 2^-125 the exponent is negative, and ggml leaves its byte to the processor. As on x86-64 it is
    // the lowest byte, a scale by which all codes are 0.
    let e = if amax > 0.0 { (floor_of_log2(amax) + 125) as u8 } else { 0 };
    let scale = half_of_e8m0(e);
    let values = FP4.map(|value| f32::from(value) * scale);
    block[0] = e;
    in_halves(x, &mut block[1..], |x| {
        let (mut best, mut least) = (0, (values[0] - x).abs());
        for (code, value) in (1..).zip(&values[1..]) {
            let error = (value - x).abs();
            (best, least) = if error < least { (code, error) } else { (best, least) };
        }
        best
    });
    true
}

/// `floorf(log2f(x))` of a positive number. The logarithm is rounded to f32 first: a number just below a
/// power of two counts as that power.
#[inline(always)]
fn floor_of_log2(x: f32) -> i32 {
    /// Up to how many units of 2^(n - 24) below 2^n a logarithm rounds to `n`: `floor(2^k * ln 2)`, where 2^k
    /// is the power of two at or below the magnitude of what is just below `n`.
    const UNITS: [u64; 8] = [0, 1, 2, 5, 11, 22, 44, 88];
    let bits = f64::from(x).to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let below = ((1 << 52) - (bits & ((1 << 52) - 1))) >> 29;
    let next = exponent + 1;
    let magnitude = if next > 0 { next - 1 } else { -next };
    let units = magnitude.checked_ilog2().map_or(0, |k| UNITS[k as usize % UNITS.len()]);
    if below <= units {
        next
    } else {
        exponent
    }
}

#[inline(always)]
pub(super) fn tq1_0(x: &[f32; 256], block: &mut [u8; 54]) -> bool {
    let d = largest(x);
    let id = inverse(d);
    let (first, rest) = x.split_at(5 * 32);
    let (second, last) = rest.split_at(5 * 16);
    digits::<32>(first, id, &mut block[..32]);
    digits::<16>(second, id, &mut block[32..48]);
    digits::<4>(last, id, &mut block[48..52]);
    put_f16(block, 52, d)
}

/// Five digits in base 3 for each byte, `N` numbers apart, the first one first; a missing one is 0. A byte is
/// their number in 243rds of 256, rounded up.
#[inline(always)]
fn digits<const N: usize>(x: &[f32], id: f32, bytes: &mut [u8]) {
    for (m, byte) in bytes.iter_mut().enumerate() {
        let digit = |n: usize| x.get(m + n * N).map_or(0, |x| u16::from(rounded(x * id).wrapping_add(1)));
        let number = (0..5).fold(0u16, |number, n| number * 3 + digit(n));
        *byte = (number * 256).div_ceil(243) as u8;
    }
}

#[inline(always)]
pub(super) fn tq2_0(x: &[f32; 256], block: &mut [u8; 66]) -> bool {
    let d = largest(x);
    let id = inverse(d);
    for (x, bytes) in x.chunks_exact(128).zip(block.chunks_exact_mut(32)) {
        for (m, byte) in bytes.iter_mut().enumerate() {
            let code = |n: usize| (rounded(x[m + n * 32] * id).wrapping_add(1) & 3) << (2 * n);
            *byte = code(0) | code(1) | code(2) | code(3);
        }
    }
    put_f16(block, 64, d)
}

/// What numbers are multiplied by to divide them by a scale.
#[inline(always)]
fn inverse(d: f32) -> f32 {
    if d == 0.0 {
        0.0
    } else {
        1.0 / d
    }
}

#[inline(always)]
pub(super) fn largest(x: &[f32]) -> f32 {
    // Magnitudes are ordered as their bits are, and the largest of integers is found several at a time.
    f32::from_bits(x.iter().fold(0, |most, x| most.max(x.to_bits() & 0x7FFF_FFFF)))
}

/// The number of the largest magnitude, the first one of several; 0 if all are.
#[inline(always)]
fn farthest(x: &[f32]) -> f32 {
    let amax = largest(x);
    let first = x.iter().copied().find(|x| x.abs() == amax);
    first.filter(|_| amax > 0.0).unwrap_or(0.0)
}

/// The least and the largest number, of zeros the first one.
#[inline(always)]
fn ends(x: &[f32]) -> (f32, f32) {
    x.iter().fold((f32::MAX, f32::MIN), |(min, max), &x| {
        (if x < min { x } else { min }, if x > max { x } else { max })
    })
}

/// A number without its fraction, as a byte. In a block of tiny numbers `1 / d` is infinite, and products are
/// infinite or NaN; C leaves open what they become. As on x86-64 they are 0.
#[inline(always)]
fn whole(x: f32) -> u8 {
    truncated(x) as u8
}

/// The nearest integer as a byte, halves away from 0. The largest float below 0.5 is added: with 0.5 itself
/// the sum would round up what is just below a half.
#[inline(always)]
fn rounded(x: f32) -> u8 {
    const BELOW_HALF: f32 = 0.499_999_97;
    whole(x + BELOW_HALF.copysign(x))
}

/// Codes in halves of bytes: of `j` in the low half of byte `j`, of `j + 16` in its high half. Returns the
/// fifth bits of the codes.
#[inline(always)]
fn in_halves(x: &[f32; 32], bytes: &mut [u8], code: impl Fn(f32) -> u8) -> u32 {
    let (low, high) = x.split_at(16);
    let mut fifth = 0;
    for (j, ((byte, low), high)) in bytes.iter_mut().zip(low).zip(high).enumerate() {
        let (low, high) = (code(*low), code(*high));
        *byte = low & 15 | high << 4;
        fifth |= u32::from(low >> 4 & 1) << j | u32::from(high >> 4 & 1) << (j + 16);
    }
    fifth
}

/// Writes an f16. False if it is infinite or NaN.
#[inline(always)]
fn put_f16(block: &mut [u8], at: usize, value: f32) -> bool {
    let code = f32_to_f16(value);
    block[at..at + 2].copy_from_slice(&code.to_le_bytes());
    code & 0x7C00 != 0x7C00
}
