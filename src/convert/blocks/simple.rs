//! Block types with one scale: an element is the scale times an integer, plus a minimum if there is one.
//!
//! A block begins with `d`, an f16. `m` is another f16, `q` an element's code, little-endian.
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
//! In halves: byte `j` has the code of element `j` in its low half and of element `j + 16` in its high half.

use super::parts::f16_at;

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
    let d = f16_at(block, 0);
    for (q, out) in block[2..].iter().zip(out) {
        *out = f32::from(i8::from_ne_bytes([*q])) * d;
    }
}

#[inline(always)]
pub(super) fn q8_1(block: &[u8; 36], out: &mut [f32; 32]) {
    let d = f16_at(block, 0);
    for (q, out) in block[4..].iter().zip(out) {
        *out = f32::from(i8::from_ne_bytes([*q])) * d;
    }
}

/// Elements whose codes are in halves of bytes. `fifth` has the fifth bit of every code.
#[inline(always)]
fn in_halves(codes: &[u8], fifth: u32, out: &mut [f32; 32], element: impl Fn(u8) -> f32) {
    let (low, high) = out.split_at_mut(16);
    for (j, ((byte, low), high)) in codes.iter().zip(low).zip(high).enumerate() {
        *low = element(byte & 15 | ((fifth >> j & 1) as u8) << 4);
        *high = element(byte >> 4 | ((fifth >> (j + 16) & 1) as u8) << 4);
    }
}
