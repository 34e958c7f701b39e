//! The i-quants: blocks of 256 elements, whose codes are points of a grid: 8 or 4 elements at once.
//!
//! `d` is an f16 at the beginning of the block. Only iq1_m has 4 bits of it in each of its four
//! 16-bit scales. `s` is the scale of a group, `g` a point's coordinate. A sign bit that is set negates.
//!
//! | type | behind `d` | group | element |
//! |---|---|---|---|
//! | iq2_xxs | 8 x (4 points of 8 bits, 4 signs of 7, `s` of 4) | 32 | `(d * (0.5 + s) * 0.25) * ±g` |
//! | iq2_xs | 32 points of 9 bits with signs of 7 bits, 16 `s` of 4 bits | 16 | the same |
//! | iq2_s | 32 points (8 bits), 32 signs (8 bits), 2 more bits of points, 16 `s` | 16 | the same |
//! | iq3_xxs | 64 points (8 bits), 8 x (4 signs of 7 bits, `s` of 4) | 32 | `(d * (0.5 + s) * 0.5) * ±g` |
//! | iq3_s | 64 points (8 bits), 64 ninth bits, 32 signs (8), 8 `s` (4) | 32 | `(d * (1 + 2s)) * ±g` |
//! | iq1_s | 32 points (8 bits), 8 x (4 x 3 more, `s` of 3, sign) | 32 | `(d * (2s + 1)) * (g ± 0.125)` |
//! | iq1_m | 32 points (8 bits), 3 bits more and sign of each, 16 `s` of 3 bits | 16 | the same |
//!
//! Seven sign bits are those of seven elements; the eighth makes the number of minus signs even.

use super::grids::{IQ1S, IQ2S, IQ2XS, IQ2XXS, IQ3S, IQ3XXS};
use super::parts::{f16_at, part};
use crate::convert::float::f16_to_f32;
use crate::simd::lanes::Lanes;

#[inline(always)]
pub(super) fn iq2_xxs(lanes: impl Lanes, block: &[u8; 66], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        let points = part::<4>(block, 2 + 8 * n);
        let signs = u32::from_le_bytes(*part(block, 6 + 8 * n));
        let scale = d * (0.5 + (signs >> 28) as f32) * 0.25;
        for (l, out) in out.chunks_exact_mut(8).enumerate() {
            lanes.signed(&IQ2XXS[usize::from(points[l])], eight_signs(signs >> (7 * l)), scale, out);
        }
    }
}

#[inline(always)]
pub(super) fn iq2_xs(lanes: impl Lanes, block: &[u8; 74], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (l, out) in out.chunks_exact_mut(8).enumerate() {
        let code = u16::from_le_bytes(*part(block, 2 + 2 * l));
        let scale = quarter(d, block[66 + l / 4], l);
        lanes.signed(&IQ2XS[usize::from(code & 511)], eight_signs(u32::from(code >> 9)), scale, out);
    }
}

#[inline(always)]
pub(super) fn iq2_s(lanes: impl Lanes, block: &[u8; 82], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (l, out) in out.chunks_exact_mut(8).enumerate() {
        let high = usize::from(block[66 + l / 4] >> (2 * (l % 4)) & 3);
        let scale = quarter(d, block[74 + l / 4], l);
        lanes.signed(&IQ2S[usize::from(block[2 + l]) | high << 8], block[34 + l], scale, out);
    }
}

/// The scale of eight elements: `scales` has those of 32 elements.
#[inline(always)]
fn quarter(d: f32, scales: u8, l: usize) -> f32 {
    d * (0.5 + f32::from(scales >> (4 * (l / 2 % 2)) & 15)) * 0.25
}

#[inline(always)]
pub(super) fn iq3_xxs(lanes: impl Lanes, block: &[u8; 98], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        let points = part::<8>(block, 2 + 8 * n);
        let signs = u32::from_le_bytes(*part(block, 66 + 4 * n));
        let scale = d * (0.5 + (signs >> 28) as f32) * 0.5;
        for (l, out) in out.chunks_exact_mut(8).enumerate() {
            let (first, second) = (points[2 * l], points[2 * l + 1]);
            let point = both(IQ3XXS[usize::from(first)], IQ3XXS[usize::from(second)]);
            lanes.signed(&point, eight_signs(signs >> (7 * l)), scale, out);
        }
    }
}

#[inline(always)]
pub(super) fn iq3_s(lanes: impl Lanes, block: &[u8; 110], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (l, out) in out.chunks_exact_mut(8).enumerate() {
        let scale = d * (1.0 + 2.0 * f32::from(block[106 + l / 8] >> (4 * (l / 4 % 2)) & 15));
        let ninth = usize::from(block[66 + l / 4]) >> (2 * (l % 4));
        let first = usize::from(block[2 + 2 * l]) | (ninth & 1) << 8;
        let second = usize::from(block[3 + 2 * l]) | (ninth >> 1 & 1) << 8;
        lanes.signed(&both(IQ3S[first], IQ3S[second]), block[74 + l], scale, out);
    }
}

#[inline(always)]
pub(super) fn iq1_s(lanes: impl Lanes, block: &[u8; 50], out: &mut [f32; 256]) {
    let d = f16_at(block, 0);
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        let code = u16::from_le_bytes(*part(block, 34 + 2 * n));
        let scale = d * (2.0 * f32::from(code >> 12 & 7) + 1.0);
        for (l, out) in out.chunks_exact_mut(8).enumerate() {
            let high = usize::from(code >> (3 * l) & 7);
            let point = &IQ1S[(usize::from(block[2 + 4 * n + l]) | high << 8) & 2047];
            lanes.moved(point, delta(code >> 15 == 1), scale, out);
        }
    }
}

#[inline(always)]
pub(super) fn iq1_m(lanes: impl Lanes, block: &[u8; 56], out: &mut [f32; 256]) {
    let scales = [48, 50, 52, 54].map(|at| u16::from_le_bytes(*part(block, at)));
    let [a, b, c, e] = scales.map(|scales| scales >> 12);
    let d = f16_to_f32(a | b << 4 | c << 8 | e << 12);
    for (l, out) in out.chunks_exact_mut(8).enumerate() {
        let s = scales[l / 8] >> (3 * (l / 2 % 4)) & 7;
        let scale = d * (2.0 * f32::from(s) + 1.0);
        let high = block[32 + l / 2] >> (4 * (l % 2)) & 15;
        let point = &IQ1S[(usize::from(block[l]) | usize::from(high & 7) << 8) & 2047];
        lanes.moved(point, delta(high >> 3 == 1), scale, out);
    }
}

/// All signs of eight elements, by seven of them.
#[inline(always)]
fn eight_signs(seven: u32) -> u8 {
    static EIGHT: [u8; 128] = {
        let (mut all, mut seven) = ([0; 128], 0);
        while seven < 128 {
            all[seven] = (seven as u32 | (seven.count_ones() & 1) << 7) as u8;
            seven += 1;
        }
        all
    };
    EIGHT[(seven & 127) as usize]
}

/// Two points of four coordinates as one of eight.
#[inline(always)]
fn both([a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}

/// By what a point of iq1 is moved.
#[inline(always)]
fn delta(down: bool) -> f32 {
    if down {
        -0.125
    } else {
        0.125
    }
}
