//! Elements of one type to elements of another.

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

pub(crate) mod byte_order;
mod f8;
mod float;
mod loss;

use crate::error::{broken, fail, Result, Rule};
use crate::model::dtype::{Dtype, Logical, Numbers};
use crate::simd::{widen, Half, STREAM_ALIGNMENT};
use half::slice::HalfFloatSliceExt;
pub use loss::Conversion;
pub(crate) use loss::{may_lose, refuse_loss};

/// Elements that pass through the stack at once: 2 KiB, which stays in the first cache.
const CHUNK_ELEMENTS: usize = 256;

/// Elements that are converted before they are looked at for losses: at most 16 KiB of f64 and as much of the result.
const PIECE_ELEMENTS: usize = 2048;

/// A result of this size or more would evict everything from the caches, and little of it would stay: it is
/// written around them where that can be.
const MIN_NONTEMPORAL: u64 = 16 << 20;

/// Bytes that `src_len` bytes of `from` have as elements of `to`.
///
/// A complex element gives two, its real and its imaginary part.
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
    let width = size(dtype);
    let block = logical.map_or(dtype.block(), Logical::block);
    if let Some(logical) = logical.filter(|logical| logical.numbers() == Numbers::None) {
        return Err(fail!(Unsupported, "elements of {} cannot be converted", logical.name()));
    }
    let whole = block.bytes;
    if src_len.checked_rem(whole) != Some(0) {
        return Err(broken!(Rule::ElementSize, "{src_len} bytes are no multiple of an element's {whole}"));
    }
    let count = src_len.checked_div(width).unwrap_or(0);
    count.checked_mul(size(to)).ok_or_else(|| {
        fail!(Limit, "{count} elements of {} bytes as {} are more than 2^64 bytes", size(to), to.name())
    })
}

/// Bytes of one element.
fn size(dtype: Dtype) -> u64 {
    u64::try_from(dtype.size()).unwrap_or(u64::MAX)
}

/// Converts elements.
///
/// To a floating-point type: the nearest value, ties to the one whose last bit is even, rounded once
/// from the exact value; what is too large becomes infinity with its sign; NaN stays NaN (quiet, its
/// sign kept). To an integer type: a floating-point value is rounded to the nearest integer, ties to
/// even; what the type cannot hold becomes its smallest or largest value; NaN becomes 0. To bool: 0
/// (and -0.0) becomes 0, everything else, NaN too, becomes 1. From bool: a byte that is not 0 is 1.
/// The 8-bit floating-point types are read by their definitions. A complex element is two elements,
/// real and imaginary part, in the result as well. Elements that have the wanted type already are
/// copied bit by bit; bool is brought to 0 and 1.
///
/// Both sides are in the host's byte order and need no alignment; `dst` has exactly the size that
/// [`converted_size`] gives. They may be pieces of a conversion that writes `total` bytes in all.
///
/// Returns how many numbers are lost: finite ones that became infinite, and those for which an integer type has no
/// value. See [`refuse_loss`].
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
            from.1.map_or(from.0.name(), Logical::name),
            to.name(),
            dst.len()
        ));
    }
    let table = f8::values(from.1);
    if !may_lose(from, to) {
        convert_all(src, from.0, table, to, dst, total);
        return Ok(0);
    }
    // In pieces that are still in the first cache when they are looked at.
    let mut lost = 0u64;
    let sizes = [from.0.size(), to.size()].map(|size| size.saturating_mul(PIECE_ELEMENTS));
    for (src, dst) in src.chunks(sizes[0]).zip(dst.chunks_mut(sizes[1])) {
        convert_all(src, from.0, table, to, dst, total);
        lost = lost.saturating_add(loss::count(src, from.0, table, to, dst));
    }
    Ok(lost)
}

/// Converts elements whose sizes were checked.
fn convert_all(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, to: Dtype, dst: &mut [u8], total: u64) {
    // The fast paths, which loading a model takes, are one tight loop each. Through f32 there is one rounding
    // only, because all that f16, bf16 and the 8-bit types hold is exact in it.
    let (f16, bf16) =
        (|b| float::f16_to_f32(u16::from_ne_bytes(b)), |b| float::bf16_to_f32(u16::from_ne_bytes(b)));
    let (to_f16, to_bf16) = (|x| float::f32_to_f16(x).to_ne_bytes(), |x| float::f32_to_bf16(x).to_ne_bytes());
    match (from, table, to) {
        (dtype, None, _) if dtype == to && to != Dtype::Bool => dst.copy_from_slice(src),
        (Dtype::F16, None, Dtype::F32) => wider(Half::F16, src, dst, total),
        (Dtype::F16, None, Dtype::Bf16) => each(src, dst, |b| to_bf16(f16(b))),
        (Dtype::Bf16, None, Dtype::F32) => wider(Half::Bf16, src, dst, total),
        (Dtype::Bf16, None, Dtype::F16) => each(src, dst, |b| to_f16(bf16(b))),
        (Dtype::F32, None, Dtype::F16) => each(src, dst, |b| to_f16(f32::from_ne_bytes(b))),
        (Dtype::F32, None, Dtype::Bf16) => each(src, dst, |b| to_bf16(f32::from_ne_bytes(b))),
        (_, Some(table), Dtype::F32) => each(src, dst, |[code]| entry(table, code).to_ne_bytes()),
        (_, Some(table), Dtype::F16) => each(src, dst, |[code]| to_f16(entry(table, code))),
        (_, Some(table), Dtype::Bf16) => each(src, dst, |[code]| to_bf16(entry(table, code))),
        _ => in_chunks(src, from, table, to, dst),
    }
}

/// The value of an 8-bit float.
#[inline(always)]
#[allow(clippy::indexing_slicing, reason = "256 entries for 256 codes: no check is left in the program")]
fn entry(table: &[f32; 256], code: u8) -> f32 {
    table[usize::from(code)]
}

/// Converts element by element, sizes known to the compiler.
#[inline(always)]
fn each<const M: usize, const N: usize>(src: &[u8], dst: &mut [u8], convert: impl Fn([u8; M]) -> [u8; N]) {
    for (from, to) in src.chunks_exact(M).zip(dst.chunks_exact_mut(N)) {
        if let (Ok(from), Ok(to)) = (<[u8; M]>::try_from(from), <&mut [u8; N]>::try_from(to)) {
            *to = convert(from);
        }
    }
}

/// 16-bit floats to f32, by the processor's own instructions where it has them.
fn wider(kind: Half, src: &[u8], dst: &mut [u8], total: u64) {
    let past_cache = total >= MIN_NONTEMPORAL;
    // Elements in front of the first address from which the result can be written around the caches.
    let lead = dst.as_ptr().addr().wrapping_neg() % STREAM_ALIGNMENT;
    let lead = if past_cache && lead % 4 == 0 { lead / 4 } else { 0 };
    let (first, src) = src.split_at(src.len().min(lead.saturating_mul(2)));
    let (first_dst, dst) = dst.split_at_mut(dst.len().min(lead.saturating_mul(4)));
    wider_each(kind, first, first_dst);
    let done = widen(kind, src, dst, past_cache);
    let src = src.get(done..).unwrap_or_default();
    wider_each(kind, src, dst.get_mut(done.saturating_mul(2)..).unwrap_or_default());
}

/// 16-bit floats to f32 on any processor. Widening is exact, so `half` may do it; a NaN becomes quiet and keeps its sign and
/// payload there, too.
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

/// The slow path: elements are widened, exactly, to f64, i64 or u64, and narrowed from that.
fn in_chunks(src: &[u8], from: Dtype, table: Option<&[f32; 256]>, to: Dtype, dst: &mut [u8]) {
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
        match from {
            Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 => store_floats(&floats, to, dst),
            Dtype::I64 | Dtype::I32 | Dtype::I16 | Dtype::I8 => store_signed(&signed, to, dst),
            Dtype::U64 | Dtype::U32 | Dtype::U16 | Dtype::U8 | Dtype::Bool => {
                store_unsigned(&unsigned, to, dst)
            }
        }
    }
}

/// Widens elements into a chunk; a last chunk fills only its beginning.
#[inline(always)]
fn load<T, const N: usize>(src: &[u8], chunk: &mut [T; CHUNK_ELEMENTS], widen: impl Fn([u8; N]) -> T) {
    for (from, to) in src.chunks_exact(N).zip(chunk) {
        if let Ok(from) = <[u8; N]>::try_from(from) {
            *to = widen(from);
        }
    }
}

/// Narrows a chunk into as many elements as `dst` takes.
#[inline(always)]
fn store<T: Copy, const N: usize>(
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

/// Stores floats, which are exact, so that every arm rounds once.
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

/// Stores signed integers.
fn store_signed(chunk: &[i64; CHUNK_ELEMENTS], to: Dtype, dst: &mut [u8]) {
    /// With the magnitude's one rounding; the sign does not change how it rounds.
    #[inline(always)]
    fn sticky(x: i64) -> f64 {
        float::sticky_f64(x.unsigned_abs()).copysign(if x < 0 { -1.0 } else { 1.0 })
    }
    match to {
        Dtype::F64 => store(chunk, dst, |x| (x as f64).to_ne_bytes()),
        Dtype::F32 => store(chunk, dst, |x| (x as f32).to_ne_bytes()),
        Dtype::F16 => store(chunk, dst, |x| float::f64_to_f16(sticky(x)).to_ne_bytes()),
        Dtype::Bf16 => store(chunk, dst, |x| float::f64_to_bf16(sticky(x)).to_ne_bytes()),
        Dtype::I64 => store(chunk, dst, i64::to_ne_bytes),
        Dtype::I32 => store(chunk, dst, |x| clamp(x, i32::MIN, i32::MAX).to_ne_bytes()),
        Dtype::I16 => store(chunk, dst, |x| clamp(x, i16::MIN, i16::MAX).to_ne_bytes()),
        Dtype::I8 => store(chunk, dst, |x| clamp(x, i8::MIN, i8::MAX).to_ne_bytes()),
        Dtype::U64 => store(chunk, dst, |x| clamp(x, u64::MIN, u64::MAX).to_ne_bytes()),
        Dtype::U32 => store(chunk, dst, |x| clamp(x, u32::MIN, u32::MAX).to_ne_bytes()),
        Dtype::U16 => store(chunk, dst, |x| clamp(x, u16::MIN, u16::MAX).to_ne_bytes()),
        Dtype::U8 => store(chunk, dst, |x| [clamp(x, u8::MIN, u8::MAX)]),
        Dtype::Bool => store(chunk, dst, |x| [u8::from(x != 0)]),
    }
}

/// The number as `T`, or the smallest or largest value of `T`.
#[inline(always)]
fn clamp<T: TryFrom<i64>>(x: i64, min: T, max: T) -> T {
    T::try_from(x).unwrap_or(if x < 0 { min } else { max })
}

/// Stores unsigned integers.
fn store_unsigned(chunk: &[u64; CHUNK_ELEMENTS], to: Dtype, dst: &mut [u8]) {
    match to {
        Dtype::F64 => store(chunk, dst, |x| (x as f64).to_ne_bytes()),
        Dtype::F32 => store(chunk, dst, |x| (x as f32).to_ne_bytes()),
        Dtype::F16 => store(chunk, dst, |x| float::f64_to_f16(float::sticky_f64(x)).to_ne_bytes()),
        Dtype::Bf16 => store(chunk, dst, |x| float::f64_to_bf16(float::sticky_f64(x)).to_ne_bytes()),
        Dtype::I64 => store(chunk, dst, |x| i64::try_from(x).unwrap_or(i64::MAX).to_ne_bytes()),
        Dtype::I32 => store(chunk, dst, |x| i32::try_from(x).unwrap_or(i32::MAX).to_ne_bytes()),
        Dtype::I16 => store(chunk, dst, |x| i16::try_from(x).unwrap_or(i16::MAX).to_ne_bytes()),
        Dtype::I8 => store(chunk, dst, |x| i8::try_from(x).unwrap_or(i8::MAX).to_ne_bytes()),
        Dtype::U64 => store(chunk, dst, u64::to_ne_bytes),
        Dtype::U32 => store(chunk, dst, |x| u32::try_from(x).unwrap_or(u32::MAX).to_ne_bytes()),
        Dtype::U16 => store(chunk, dst, |x| u16::try_from(x).unwrap_or(u16::MAX).to_ne_bytes()),
        Dtype::U8 => store(chunk, dst, |x| [u8::try_from(x).unwrap_or(u8::MAX)]),
        Dtype::Bool => store(chunk, dst, |x| [u8::from(x != 0)]),
    }
}

#[cfg(test)]
mod tests;
