//! Converts elements in chunks: widens them to f64, i64 or u64, and narrows the result. Also swaps the bytes
//! of elements between the file's and the host's byte order.

use super::float;
use crate::error::Result;
use crate::model::dtype::{Class, Dtype};

/// How many elements pass through the stack at a time: 2 KiB, which stays in the L1 cache.
pub(super) const CHUNK_ELEMENTS: usize = 256;

#[inline(always)]
#[allow(clippy::indexing_slicing, reason = "256 entries for 256 codes: no check is left in the program")]
pub fn entry(table: &[f32; 256], code: u8) -> f32 {
    table[usize::from(code)]
}

/// The slow path: widens elements exactly to f64, i64 or u64, then narrows them.
pub fn in_chunks(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, to: Dtype, dst: &mut [u8]) {
    let (mut floats, mut signed, mut unsigned) =
        ([0f64; CHUNK_ELEMENTS], [0i64; CHUNK_ELEMENTS], [0u64; CHUNK_ELEMENTS]);
    let pieces = src
        .chunks(CHUNK_ELEMENTS.saturating_mul(from.size()))
        .zip(dst.chunks_mut(CHUNK_ELEMENTS.saturating_mul(to.size())));
    for (src, dst) in pieces {
        let f = &mut floats;
        if let Some(table) = table {
            load(src, f, |[code]| float::f32_to_f64(entry(table, code)));
            store_floats(f, to, dst);
            continue;
        }
        match from {
            Dtype::F64 => load(src, f, f64::from_ne_bytes),
            Dtype::F32 => load(src, f, |b| float::f32_to_f64(f32::from_ne_bytes(b))),
            Dtype::F16 => load(src, f, |b| float::f32_to_f64(float::f16_to_f32(u16::from_ne_bytes(b)))),
            Dtype::Bf16 => load(src, f, |b| float::f32_to_f64(float::bf16_to_f32(u16::from_ne_bytes(b)))),
            Dtype::I64 => load(src, &mut signed, i64::from_ne_bytes),
            Dtype::I32 => load(src, &mut signed, |b| i64::from(i32::from_ne_bytes(b))),
            Dtype::I16 => load(src, &mut signed, |b| i64::from(i16::from_ne_bytes(b))),
            Dtype::I8 => load(src, &mut signed, |b| i64::from(i8::from_ne_bytes(b))),
            Dtype::U64 => load(src, &mut unsigned, u64::from_ne_bytes),
            Dtype::U32 => load(src, &mut unsigned, |b| u64::from(u32::from_ne_bytes(b))),
            Dtype::U16 => load(src, &mut unsigned, |b| u64::from(u16::from_ne_bytes(b))),
            Dtype::U8 => load(src, &mut unsigned, |[b]| u64::from(b)),
            Dtype::Bool => load(src, &mut unsigned, |[b]| u64::from(b != 0)),
        }
        match from.class() {
            Class::Float | Class::Bfloat => store_floats(&floats, to, dst),
            Class::Signed => store_signed(&signed, to, dst),
            Class::Unsigned | Class::Bool => store_unsigned(&unsigned, to, dst),
        }
    }
}

/// Widens elements into a chunk. The last chunk may be filled only in part.
#[inline(always)]
pub fn load<T, const N: usize>(src: &[u8], chunk: &mut [T; CHUNK_ELEMENTS], widen: impl Fn([u8; N]) -> T) {
    for (from, to) in src.chunks_exact(N).zip(chunk) {
        if let Ok(from) = <[u8; N]>::try_from(from) {
            *to = widen(from);
        }
    }
}

/// Narrows a chunk into as many elements as fit in `dst`.
#[inline(always)]
pub fn store<T: Copy, const N: usize>(
    chunk: &[T; CHUNK_ELEMENTS],
    dst: &mut [u8],
    narrow: impl Fn(T) -> [u8; N],
) {
    for (to, &from) in dst.chunks_exact_mut(N).zip(chunk) {
        if let Ok(to) = <&mut [u8; N]>::try_from(to) {
            *to = narrow(from);
        }
    }
}

/// Stores floats. They are exact, so each case rounds only once.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` from a float saturates and makes 0 of NaN, as promised"
)]
fn store_floats(chunk: &[f64; CHUNK_ELEMENTS], to: Dtype, dst: &mut [u8]) {
    match to {
        Dtype::F64 => store(chunk, dst, f64::to_ne_bytes),
        Dtype::F32 => store(chunk, dst, |x| float::f64_to_f32(x).to_ne_bytes()),
        Dtype::F16 => store(chunk, dst, |x| float::f64_to_f16(x).to_ne_bytes()),
        Dtype::Bf16 => store(chunk, dst, |x| float::f64_to_bf16(x).to_ne_bytes()),
        Dtype::I64 => store(chunk, dst, |x| (float::round(x) as i64).to_ne_bytes()),
        Dtype::I32 => store(chunk, dst, |x| (float::round(x) as i32).to_ne_bytes()),
        Dtype::I16 => store(chunk, dst, |x| (float::round(x) as i16).to_ne_bytes()),
        Dtype::I8 => store(chunk, dst, |x| (float::round(x) as i8).to_ne_bytes()),
        Dtype::U64 => store(chunk, dst, |x| (float::round(x) as u64).to_ne_bytes()),
        Dtype::U32 => store(chunk, dst, |x| (float::round(x) as u32).to_ne_bytes()),
        Dtype::U16 => store(chunk, dst, |x| (float::round(x) as u16).to_ne_bytes()),
        Dtype::U8 => store(chunk, dst, |x| [float::round(x) as u8]),
        Dtype::Bool => store(chunk, dst, |x| [u8::from(x != 0.0)]),
    }
}

/// Stores integers. If the type cannot hold a number, it becomes its smallest or largest value. `$rounded`
/// gives a float that rounds as the number does.
macro_rules! store_integers {
    ($chunk:ident, $to:ident, $dst:ident, $rounded:expr, $is_negative:expr; $($dtype:ident $int:ident)*) => {
        match $to {
            Dtype::F64 => store($chunk, $dst, |x| (x as f64).to_ne_bytes()),
            Dtype::F32 => store($chunk, $dst, |x| (x as f32).to_ne_bytes()),
            Dtype::F16 => store($chunk, $dst, |x| float::f64_to_f16($rounded(x)).to_ne_bytes()),
            Dtype::Bf16 => store($chunk, $dst, |x| float::f64_to_bf16($rounded(x)).to_ne_bytes()),
            Dtype::Bool => store($chunk, $dst, |x| [u8::from(x != 0)]),
            $(Dtype::$dtype => store($chunk, $dst, |x| {
                let nearest = if $is_negative(x) { $int::MIN } else { $int::MAX };
                $int::try_from(x).unwrap_or(nearest).to_ne_bytes()
            }),)*
        }
    };
}

fn store_signed(chunk: &[i64; CHUNK_ELEMENTS], to: Dtype, dst: &mut [u8]) {
    // Rounds the magnitude once. The sign does not change the rounding.
    let sticky = |x: i64| float::sticky_f64(x.unsigned_abs()).copysign(if x < 0 { -1.0 } else { 1.0 });
    store_integers!(chunk, to, dst, sticky, i64::is_negative;
        I64 i64 I32 i32 I16 i16 I8 i8 U64 u64 U32 u32 U16 u16 U8 u8);
}

fn store_unsigned(chunk: &[u64; CHUNK_ELEMENTS], to: Dtype, dst: &mut [u8]) {
    let is_negative = |_: u64| false;
    store_integers!(chunk, to, dst, float::sticky_f64, is_negative;
        I64 i64 I32 i32 I16 i16 I8 i8 U64 u64 U32 u32 U16 u16 U8 u8);
}

/// Reverses the bytes of every element of `width` bytes (1, 2, 4 or 8) in place.
///
/// An incomplete element at the end stays unchanged. For another width, all bytes stay unchanged.
pub(crate) fn swap_in_place(bytes: &mut [u8], width: usize) {
    /// The width is a constant, so that the compiler uses byte shuffles.
    fn each<const N: usize>(bytes: &mut [u8]) {
        for element in bytes.chunks_exact_mut(N) {
            if let Ok(element) = <&mut [u8; N]>::try_from(element) {
                element.reverse();
            }
        }
    }
    match width {
        2 => each::<2>(bytes),
        4 => each::<4>(bytes),
        8 => each::<8>(bytes),
        _ => {}
    }
}

/// Swaps the whole elements of `partial` followed by `data`. The bytes of an incomplete element at the end
/// become `partial`.
pub(crate) fn swap_whole(partial: &mut Vec<u8>, data: &[u8], width: usize) -> Result<Vec<u8>> {
    let mut swapped = std::mem::take(partial);
    swapped.try_reserve(data.len())?;
    swapped.extend_from_slice(data);
    let whole = swapped.len().saturating_sub(swapped.len().checked_rem(width).unwrap_or(0));
    partial.try_reserve(width)?;
    partial.extend_from_slice(swapped.get(whole..).unwrap_or_default());
    swapped.truncate(whole);
    swap_in_place(&mut swapped, width);
    Ok(swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree_with_the_definition() {
        for width in [1usize, 2, 4, 8] {
            for size in 0..40usize {
                let src: Vec<u8> = (0..size).map(|i| (i * 7 + 3) as u8).collect();
                let mut want = src.clone();
                for element in want.chunks_exact_mut(width) {
                    element.reverse();
                }
                let mut placed = src.clone();
                swap_in_place(&mut placed, width);
                assert_eq!(placed, want, "in place, width {width}, {size} bytes");
                swap_in_place(&mut placed, width);
                assert_eq!(placed, src, "twice is nothing");
            }
        }
    }
}
