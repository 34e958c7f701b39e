//! The k-quants: blocks of 256 elements in groups, each with a small integer scale, and one scale `d` or a
//! scale `d` and a scale of minima `dmin` for the block, all f16.
//!
//! `s` is the scale and `m` the minimum of a group, `q` an element's code.
//!
//! | type | block | group | element |
//! |---|---|---|---|
//! | q2_k | 16 bytes `s`, `m` (4 bits each), codes of 2 bits, `d`, `dmin` | 16 | `(d * s) * q - dmin * m` |
//! | q3_k | 256 third bits, codes of 2 bits, 12 bytes `s` (6 bits), `d` | 16 | `d * (s - 32) * (q - 4)` |
//! | q4_k | `d`, `dmin`, 12 bytes `s`, `m` (6 bits each), codes of 4 bits | 32 | `(d * s) * q - dmin * m` |
//! | q5_k | as q4_k, 256 fifth bits in front of the codes | 32 | `(d * s) * q - dmin * m` |
//! | q6_k | codes of 4 bits, 2 more bits each, 16 bytes `s` (i8), `d` | 16 | `(d * s) * (q - 32)` |
//! | q8_k | `d` (f32), codes of i8, 16 sums for dot products | 256 | `d * q` |

use super::parts::{f16_at, integers, part};

#[inline(always)]
pub(super) fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (d, dmin) = (f16_at(block, 80), f16_at(block, 82));
    for (n, out) in out.chunks_exact_mut(16).enumerate() {
        let scales = block[n];
        let (scale, min) = (d * f32::from(scales & 15), dmin * f32::from(scales >> 4));
        let codes = part::<16>(block, 16 + 32 * (n / 8) + 16 * (n % 2));
        let shift = 2 * (n / 2 % 4);
        for (byte, out) in codes.iter().zip(out) {
            *out = scale * f32::from(byte >> shift & 3) - min;
        }
    }
}

#[inline(always)]
pub(super) fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = f16_at(block, 108);
    let scales = part::<12>(block, 96);
    for (n, out) in out.chunks_exact_mut(16).enumerate() {
        let low = scales[n % 8] >> (4 * (n / 8)) & 15;
        let high = scales[8 + n % 4] >> (2 * (n / 4)) & 3;
        let scale = d * (f32::from(low | high << 4) - 32.0);
        let codes = part::<16>(block, 32 + 32 * (n / 8) + 16 * (n % 2));
        let third = part::<16>(block, 16 * (n % 2));
        let shift = 2 * (n / 2 % 4);
        for ((byte, third), out) in codes.iter().zip(third).zip(out) {
            let q = byte >> shift & 3 | (third >> (n / 2) & 1) << 2;
            *out = scale * (f32::from(q) - 4.0);
        }
    }
}

#[inline(always)]
pub(super) fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    with_minima(block, &[0; 32], part(block, 16), out);
}

#[inline(always)]
pub(super) fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    with_minima(block, part(block, 16), part(block, 48), out);
}

/// Elements of q4_k and q5_k. `fifth` has the fifth bits of all codes.
#[inline(always)]
fn with_minima(block: &[u8], fifth: &[u8; 32], codes: &[u8; 128], out: &mut [f32; 256]) {
    let (d, dmin) = (f16_at(block, 0), f16_at(block, 2));
    for (n, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = scale_and_min(part(block, 4), n);
        let (scale, min) = (d * scale, dmin * min);
        let shift = 4 * (n % 2);
        for ((byte, fifth), out) in part::<32>(codes, 32 * (n / 2)).iter().zip(fifth).zip(out) {
            *out = scale * f32::from(byte >> shift & 15 | (fifth >> n & 1) << 4) - min;
        }
    }
}

#[inline(always)]
pub(super) fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = f16_at(block, 208);
    let scales = part::<16>(block, 192);
    for (n, out) in out.chunks_exact_mut(16).enumerate() {
        let scale = d * f32::from(i8::from_ne_bytes([scales[n]]));
        // 128 elements at a time: four quarters of 32 elements in two groups.
        let (half, quarter, group) = (n / 8, n / 2 % 4, n % 2);
        let low = part::<16>(block, 64 * half + 32 * (quarter % 2) + 16 * group);
        let high = part::<16>(block, 128 + 32 * half + 16 * group);
        for ((low, high), out) in low.iter().zip(high).zip(out) {
            let q = low >> (4 * (quarter / 2)) & 15 | (high >> (2 * quarter) & 3) << 4;
            *out = scale * (f32::from(q) - 32.0);
        }
    }
}

#[inline(always)]
pub(super) fn q8_k(block: &[u8; 292], out: &mut [f32; 256]) {
    let d = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
    integers(&block[4..260], d, out);
}

/// Scale and minimum of group `n` of q4_k and q5_k: 6 bits each. The first four have theirs in the low bits
/// of bytes; the last four have 4 bits in a byte of their own and 2 bits in the high bits of those.
#[inline(always)]
fn scale_and_min(packed: &[u8; 12], n: usize) -> (f32, f32) {
    let (scale, min) = match n {
        0..4 => (packed[n] & 63, packed[n + 4] & 63),
        _ => (packed[n + 4] & 15 | packed[n - 4] >> 6 << 4, packed[n + 4] >> 4 | packed[n] >> 6 << 4),
    };
    (f32::from(scale), f32::from(min))
}
