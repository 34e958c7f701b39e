//! Floats that are smaller than a byte. A block is what fills whole bytes; there is no scale.
//!
//! | type | block | element |
//! |---|---|---|
//! | f4_e2m1 | a byte: 2 codes, the first one in its low half | `F4[q]` |

/// The values of f4_e2m1: a sign, 2 bits of exponent, 1 of mantissa.
const F4: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

#[inline(always)]
pub(super) fn f4_e2m1([byte]: &[u8; 1], out: &mut [f32; 2]) {
    *out = [F4[usize::from(byte & 15)], F4[usize::from(byte >> 4)]];
}
