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

#[inline(always)]
pub(super) fn tq1_0(block: &[u8; 54], out: &mut [f32; 256]) {
    let d = f16_at(block, 52);
    let (first, rest) = out.split_at_mut(5 * 32);
    let (second, last) = rest.split_at_mut(5 * 16);
    digits(part::<32>(block, 0), d, first);
    digits(part::<16>(block, 32), d, second);
    digits(part::<4>(block, 48), d, last);
}

/// The first digit of each byte, then the second of each, until `out` is full.
#[inline(always)]
fn digits<const N: usize>(bytes: &[u8; N], d: f32, out: &mut [f32]) {
    let mut power = 1u8;
    for out in out.chunks_exact_mut(N) {
        for (byte, out) in bytes.iter().zip(out) {
            let q = (u16::from(byte.wrapping_mul(power)) * 3) >> 8;
            *out = (f32::from(q) - 1.0) * d;
        }
        power = power.wrapping_mul(3);
    }
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
