//! Converts elements of one type to another.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod blocks;
mod chunks;
mod float;
pub(crate) mod into_blocks;
mod loss;
pub(crate) mod scaled;

use self::chunks::{entry, in_chunks, load, store, CHUNK_ELEMENTS};
use crate::error::{broken, fail, Result, Rule};
use crate::model::dtype::{Dtype, Logical, Numbers};
pub(crate) use crate::simd::{as_bytes, as_bytes_mut, settle, with_avx2, Loops};
use crate::simd::{as_floats_mut, copy, narrow, widen, Half, STREAM_ALIGNMENT};
pub(crate) use chunks::{swap_in_place, swap_whole};
use half::slice::HalfFloatSliceExt;
pub use loss::Conversion;
pub(crate) use loss::{may_lose, refuse_loss};

/// How many elements are converted before they are checked for losses: at most 16 KiB of f64, and as much of
/// the result.
const PIECE_ELEMENTS: usize = 2048;

/// A result of at least this size would replace everything in the caches, and little of it would stay there.
/// So it is written around the caches if that is possible.
const MIN_NONTEMPORAL: u64 = 16 << 20;

/// The size of `src_len` bytes of `from` after conversion to `to`.
///
/// A complex element becomes two elements: its real and its imaginary part.
pub(crate) fn converted_size(src_len: u64, from: (Dtype, Option<Logical>), to: Dtype) -> Result<u64> {
    let (dtype, logical) = from;
    if let Some(logical) = logical.filter(|logical| logical.dtype() != dtype) {
        return Err(broken!(
            Rule::TypeDtypeMismatch,
            "type {} is stored as {}, not as {}",
            logical.name(),
            logical.dtype().name(),
            dtype.name()
        ));
    }
    let block = logical.map_or(dtype.block(), Logical::block);
    let numbers = match logical.map_or(Numbers::OfDtype, Logical::numbers) {
        Numbers::OfDtype | Numbers::Float8(_) => block.bytes.checked_div(size(dtype)).unwrap_or(0),
        Numbers::Blocks if loss::is_float(to) => block.elements,
        Numbers::Blocks => {
            let (name, to) = (name_of(from), to.name());
            return Err(fail!(Unsupported, "elements of {name} can become f64, f32, f16 or bf16, not {to}"));
        }
    };
    let whole = block.bytes;
    if src_len.checked_rem(whole) != Some(0) {
        return Err(broken!(Rule::ElementSize, "{src_len} bytes are not a multiple of an element's {whole}"));
    }
    let count = src_len.checked_div(whole).and_then(|blocks| blocks.checked_mul(numbers));
    count.and_then(|count| count.checked_mul(size(to))).ok_or_else(|| {
        fail!(Limit, "{src_len} bytes of {} as {} are more than 2^64 bytes", name_of(from), to.name())
    })
}

fn name_of((dtype, logical): (Dtype, Option<Logical>)) -> &'static str {
    logical.map_or(dtype.name(), Logical::name)
}

fn size(dtype: Dtype) -> u64 {
    u64::try_from(dtype.size()).unwrap_or(u64::MAX)
}

/// Converts elements.
///
/// To a float type: the nearest value, ties to even, rounded once from the exact value. A number that is too
/// large becomes infinity with its sign. NaN stays NaN (quiet, with its sign). To an integer type: a float is
/// rounded to the nearest integer, ties to even. A number that the type cannot hold becomes its smallest or
/// largest value; NaN becomes 0. To bool: 0 and -0.0 become 0, everything else, including NaN, becomes 1.
/// From bool: every byte other than 0 is 1. The 8-bit float types are read by their definitions. A complex
/// element becomes two elements, its real and imaginary part. Elements that already have the wanted type are
/// copied bit by bit, except that bools become 0 or 1. Elements of block types are first decoded to f32 by
/// [`blocks`].
///
/// Source and result are in the host's byte order and need no alignment. `dst` has exactly the size that
/// [`converted_size`] returns. They may be pieces of a conversion that writes `total` bytes in all.
///
/// Returns how many numbers are lost: finite numbers that become infinite, and numbers that an integer type
/// cannot hold. See [`refuse_loss`].
pub(crate) fn convert(
    src: &[u8],
    from: (Dtype, Option<Logical>),
    to: Dtype,
    dst: &mut [u8],
    total: u64,
) -> Result<u64> {
    let needed = converted_size(u64::try_from(src.len()).unwrap_or(u64::MAX), from, to)?;
    if u64::try_from(dst.len()) != Ok(needed) {
        return Err(fail!(
            BufferSize,
            "{} bytes of {} are {needed} bytes of {}, the memory has {}",
            src.len(),
            name_of(from),
            to.name(),
            dst.len()
        ));
    }
    let Some(blocks) = blocks::of(from.1) else {
        let lost = convert_counted(src, from, to, dst, total);
        settle();
        return Ok(lost);
    };
    if let (Dtype::F32, false, Some(dst)) = (to, total >= MIN_NONTEMPORAL, as_floats_mut(dst)) {
        blocks.decode(src, dst);
        return Ok(0);
    }
    let (mut lost, mut pieces) = (0u64, dst.chunks_mut(to.size().saturating_mul(blocks::PIECE_ELEMENTS)));
    blocks.for_each_piece(src, &mut |numbers| {
        lost = lost.saturating_add(convert_floats(numbers, to, pieces.next().unwrap_or_default(), total));
    });
    settle();
    Ok(lost)
}

/// Copies elements that are converted, a part of `total` bytes. After the last of them, [`settle`] has to be
/// called.
pub(crate) fn copy_converted(src: &[u8], dst: &mut [u8], total: u64) {
    copy(src, dst, total >= MIN_NONTEMPORAL);
}

/// Converts floats as [`convert`] does. After the last of them, [`settle`] has to be called.
pub(crate) fn convert_floats(src: &[f32], to: Dtype, dst: &mut [u8], total: u64) -> u64 {
    let src = as_bytes(src);
    match to {
        Dtype::F32 => {
            copy_converted(src, dst, total);
            0
        }
        Dtype::F16 => narrower(Half::F16, src, dst, total),
        Dtype::Bf16 => narrower(Half::Bf16, src, dst, total),
        _ => convert_counted(src, (Dtype::F32, None), to, dst, total),
    }
}

/// Converts elements that are not in blocks. Their sizes were checked. Returns how many numbers are lost.
fn convert_counted(src: &[u8], from: (Dtype, Option<Logical>), to: Dtype, dst: &mut [u8], total: u64) -> u64 {
    let table = float::float8_values(from.1);
    if !may_lose(from, to) {
        convert_all(src, from.0, table, to, dst, total);
        return 0;
    }
    // In pieces that are still in the L1 cache when they are checked.
    let mut lost = 0u64;
    let sizes = [from.0.size(), to.size()].map(|size| size.saturating_mul(PIECE_ELEMENTS));
    for (src, dst) in src.chunks(sizes[0]).zip(dst.chunks_mut(sizes[1])) {
        lost = lost.saturating_add(match (from.0, to) {
            (Dtype::F32, Dtype::F16) => narrower(Half::F16, src, dst, total),
            (Dtype::F32, Dtype::Bf16) => narrower(Half::Bf16, src, dst, total),
            _ => {
                convert_all(src, from.0, table, to, dst, total);
                loss::count(src, from.0, table, to, dst)
            }
        });
    }
    lost
}

fn convert_all(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, to: Dtype, dst: &mut [u8], total: u64) {
    // The fast paths that loading a model uses are one tight loop each. Through f32 there is only one
    // rounding, because f32 can hold every f16, bf16 and 8-bit float exactly.
    let (f16, bf16) =
        (|b| float::f16_to_f32(u16::from_ne_bytes(b)), |b| float::bf16_to_f32(u16::from_ne_bytes(b)));
    let (to_f16, to_bf16) = (|x| float::f32_to_f16(x).to_ne_bytes(), |x| float::f32_to_bf16(x).to_ne_bytes());
    match (from, table, to) {
        (dtype, None, _) if dtype == to && to != Dtype::Bool => dst.copy_from_slice(src),
        (Dtype::F16, None, Dtype::F32) => wider(Half::F16, src, dst, total),
        (Dtype::F16, None, Dtype::Bf16) => each(src, dst, |b| to_bf16(f16(b))),
        (Dtype::Bf16, None, Dtype::F32) => wider(Half::Bf16, src, dst, total),
        (Dtype::Bf16, None, Dtype::F16) => each(src, dst, |b| to_f16(bf16(b))),
        (_, Some(table), Dtype::F32) => each(src, dst, |[code]| entry(table, code).to_ne_bytes()),
        (_, Some(table), Dtype::F16) => each(src, dst, |[code]| to_f16(entry(table, code))),
        (_, Some(table), Dtype::Bf16) => each(src, dst, |[code]| to_bf16(entry(table, code))),
        _ => in_chunks(src, from, table, to, dst),
    }
}

/// Converts element by element. The compiler knows their sizes.
#[inline(always)]
fn each<const M: usize, const N: usize>(src: &[u8], dst: &mut [u8], convert: impl Fn([u8; M]) -> [u8; N]) {
    for (from, to) in src.chunks_exact(M).zip(dst.chunks_exact_mut(N)) {
        if let (Ok(from), Ok(to)) = (<[u8; M]>::try_from(from), <&mut [u8; N]>::try_from(to)) {
            *to = convert(from);
        }
    }
}

/// f32 to 16-bit floats, with the processor's own instructions if it has them. Returns how many numbers are
/// lost.
fn narrower(kind: Half, src: &[u8], dst: &mut [u8], total: u64) -> u64 {
    let done = narrow(kind, src, dst, total >= MIN_NONTEMPORAL);
    let (src, dst) = (src.get(done..).unwrap_or_default(), dst.get_mut(done / 2..).unwrap_or_default());
    if src.is_empty() {
        return 0;
    }
    match kind {
        Half::F16 => each(src, dst, |b| float::f32_to_f16(f32::from_ne_bytes(b)).to_ne_bytes()),
        Half::Bf16 => each(src, dst, |b| float::f32_to_bf16(f32::from_ne_bytes(b)).to_ne_bytes()),
    }
    let to = if kind == Half::F16 { Dtype::F16 } else { Dtype::Bf16 };
    loss::count(src, Dtype::F32, None, to, dst)
}

/// 16-bit floats to f32, with the processor's own instructions if it has them.
fn wider(kind: Half, src: &[u8], dst: &mut [u8], total: u64) {
    let past_cache = total >= MIN_NONTEMPORAL;
    // Elements before the first address from which the result can be written around the caches.
    let lead = dst.as_ptr().addr().wrapping_neg() % STREAM_ALIGNMENT;
    let lead = if past_cache && lead % 4 == 0 { lead / 4 } else { 0 };
    let (first, src) = src.split_at(src.len().min(lead.saturating_mul(2)));
    let (first_dst, dst) = dst.split_at_mut(dst.len().min(lead.saturating_mul(4)));
    wider_each(kind, first, first_dst);
    let done = widen(kind, src, dst, past_cache);
    let src = src.get(done..).unwrap_or_default();
    wider_each(kind, src, dst.get_mut(done.saturating_mul(2)..).unwrap_or_default());
}

/// 16-bit floats to f32 on any processor. Widening is exact, so `half` can be used. A NaN becomes quiet and
/// keeps its sign and payload here, too.
fn wider_each(kind: Half, src: &[u8], dst: &mut [u8]) {
    if kind == Half::Bf16 {
        return each(src, dst, |b| float::bf16_to_f32(u16::from_ne_bytes(b)).to_ne_bytes());
    }
    let (mut codes, mut values) = ([half::f16::ZERO; CHUNK_ELEMENTS], [0f32; CHUNK_ELEMENTS]);
    for (src, dst) in
        src.chunks(CHUNK_ELEMENTS.saturating_mul(2)).zip(dst.chunks_mut(CHUNK_ELEMENTS.saturating_mul(4)))
    {
        load(src, &mut codes, half::f16::from_ne_bytes);
        codes.convert_to_f32_slice(&mut values);
        store(&values, dst, f32::to_ne_bytes);
    }
}

#[cfg(test)]
mod tests;
