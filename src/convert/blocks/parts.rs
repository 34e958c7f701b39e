//! Numbers in a block.

use crate::convert::float::f16_to_f32;

/// `N` bytes of a block, which has them.
#[inline(always)]
pub(super) fn part<const N: usize>(block: &[u8], at: usize) -> &[u8; N] {
    block.get(at..).and_then(|rest| rest.first_chunk()).unwrap_or(const { &[0; N] })
}

#[inline(always)]
pub(super) fn f16_at(block: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes(*part(block, at)))
}

/// Elements whose codes are i8.
#[inline(always)]
pub(super) fn integers(codes: &[u8], scale: f32, out: &mut [f32]) {
    for (q, out) in codes.iter().zip(out) {
        *out = f32::from(i8::from_ne_bytes([*q])) * scale;
    }
}
