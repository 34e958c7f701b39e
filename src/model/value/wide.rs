//! A fast path: arrays of numbers of which the container states no width, as CBOR has the scores and types of
//! a vocabulary, to f32 and i32 all at once. 512,000 of them take a ninth of the instructions. It does not
//! apply to other dtypes, nor where an item is anything else or does not fit: then each item is looked at by
//! itself.

use super::layout::{ARRAY, FLOAT, ITEMS_AT, NEGATIVE, UNSIGNED};
use super::record::Array;
use crate::model::dtype::Dtype;

/// Bytes of the record of such a number: what it is, and eight bytes.
const EACH: usize = 9;

/// Fills `dst` with all items; whether it did, else `dst` is untouched.
pub(crate) fn read_wide(items: Array<'_>, dtype: Dtype, dst: &mut [u8]) -> bool {
    match dtype {
        Dtype::F32 => read(items, dst, f32_of),
        Dtype::I32 => read(items, dst, i32_of),
        _ => false,
    }
}

fn read(items: Array<'_>, dst: &mut [u8], narrow: impl Fn(u8, u64) -> Option<[u8; 4]>) -> bool {
    let record = items.record();
    let end = items.len().checked_mul(EACH).and_then(|size| size.checked_add(ITEMS_AT));
    let is_even = record.first() == Some(&ARRAY) && end == Some(record.len());
    let Some(numbers) = record.get(ITEMS_AT..).filter(|_| is_even) else { return false };
    let narrowed = |number: &[u8]| {
        let (kind, bytes) = number.split_first()?;
        narrow(*kind, u64::from_ne_bytes(*bytes.first_chunk()?))
    };
    let fit = numbers.chunks_exact(EACH).all(|number| narrowed(number).is_some());
    if fit {
        for (number, place) in numbers.chunks_exact(EACH).zip(dst.chunks_exact_mut(4)) {
            place.copy_from_slice(&narrowed(number).unwrap_or_default());
        }
    }
    fit
}

/// A float that loses no bit.
#[inline(always)]
fn f32_of(kind: u8, bits: u64) -> Option<[u8; 4]> {
    let wide = f64::from_bits(bits);
    #[allow(clippy::cast_possible_truncation, reason = "held against what it was")]
    let narrow = wide as f32;
    (kind == FLOAT && f64::from(narrow).to_bits() == bits).then(|| narrow.to_ne_bytes())
}

/// An integer that fits.
#[inline(always)]
fn i32_of(kind: u8, bits: u64) -> Option<[u8; 4]> {
    let magnitude = i32::try_from(bits).ok()?;
    match kind {
        UNSIGNED => Some(magnitude.to_ne_bytes()),
        NEGATIVE => Some((!magnitude).to_ne_bytes()),
        _ => None,
    }
}
