//! Ternary block types: 256 elements of -1, 0 or 1 times an f16 `d` at the end of the block.
//!
//! | type | codes | element |
//! |---|---|---|
//! | tq1_0 | 48 bytes of 5 elements, 4 bytes of 4 elements | `(q - 1) * d` |
//! | tq2_0 | 64 bytes of 4 elements, 2 bits each | `(q - 1) * d` |
//!
//! A byte of tq1_0 is a fraction of 256. Its digits in base 3 are the codes `q`: the first digit is what
//! overflows a byte when the byte is multiplied by 3.

use super::parts::{f16_at, part};
use crate::simd::lanes::Lanes;

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
