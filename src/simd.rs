//! Code with explicit vector instructions, for loops that the compiler does not vectorise well. Also floats
//! as bytes.

/// The bytes of floats.
pub fn as_bytes(floats: &[f32]) -> &[u8] {
    // SAFETY: floats have no padding, and every byte is a valid u8.
    unsafe { floats.align_to::<u8>().1 }
}

/// Bytes as floats, if they are aligned for floats and a whole number of them.
pub fn as_floats_mut(bytes: &mut [u8]) -> Option<&mut [f32]> {
    // SAFETY: all bits are a valid float, and floats have no padding.
    let (before, floats, behind) = unsafe { bytes.align_to_mut::<f32>() };
    (before.is_empty() && behind.is_empty()).then_some(floats)
}

/// The bytes of floats, for changes.
pub fn as_bytes_mut(floats: &mut [f32]) -> &mut [u8] {
    // SAFETY: floats have no padding, and all bits are a valid float.
    unsafe { floats.align_to_mut::<u8>().1 }
}

/// A number without its fraction, 0 where an i32 does not hold it. `as` gives the nearest i32 there, and is
/// most of the time of a block that is quantized.
#[inline(always)]
pub fn truncated(x: f32) -> i32 {
    let held = if x.abs() < 2_147_483_648.0 { x } else { 0.0 };
    // SAFETY: it is finite, and less than 2^31.
    unsafe { held.to_int_unchecked() }
}

pub mod blocks;
pub mod lanes;

/// Loops that [`with_avx2`] compiles twice.
///
/// A trait, as a function or closure that is an argument would be compiled once, and called from both places.
pub trait Loops<S, D> {
    type Result;

    /// Has to be `#[inline(always)]`.
    fn run(src: S, dst: D) -> Self::Result;
}

/// Runs loops with wider instructions where the processor has AVX2. They do the same operations: none are
/// fused.
#[inline(always)]
pub fn with_avx2<L: Loops<S, D>, S, D>(src: S, dst: D) -> L::Result {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function needs.
        return unsafe { x86::with_avx2::<L, S, D>(src, dst) };
    }
    L::run(src, dst)
}

/// Whether the processor has AVX2, F16C and FMA.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("f16c") && has!("fma")
}

/// Makes `table[code] * scale` of codes below 16, of as many whole groups of eight as there are. Returns
/// how many codes that were: 0 where the processor has no instructions for it.
pub fn look_up(codes: &[u8], table: &[f32; 16], scale: f32, out: &mut [f32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function needs.
        unsafe { x86::look_up(codes, table, scale, out) };
        return codes.len().min(out.len()) / 8 * 8;
    }
    let _ = (codes, table, scale, out);
    0
}

/// Gives the elements of a table that codes below 16 stand for.
pub fn look_up_halves(codes: &[u8], table: &[u8; 32], out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function needs.
        unsafe { x86::look_up_halves(codes, table, out) };
        let done = codes.len().min(out.len() / 2) / 32 * 32;
        let (codes, out) = (codes.get(done..), out.get_mut(2 * done..));
        return each_half(codes.unwrap_or_default(), table, out.unwrap_or_default());
    }
    each_half(codes, table, out);
}

fn each_half(codes: &[u8], table: &[u8; 32], out: &mut [u8]) {
    for (code, out) in codes.iter().zip(out.chunks_exact_mut(2)) {
        let at = usize::from(code & 15) * 2;
        out.copy_from_slice(table.get(at..at + 2).unwrap_or(&[0, 0]));
    }
}

/// The type of 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an f32.
    Bf16,
}

/// Widens groups of eight to f32. A NaN becomes quiet and keeps its sign and payload. Returns how many bytes
/// of `src` were widened: 0 if the processor has no instructions for it.
///
/// `past_cache` writes the result around the caches. A large result would otherwise replace everything in
/// them, and its memory would be read before it is overwritten. It only has an effect if `dst` is at a
/// multiple of [`STREAM_ALIGNMENT`].
///
/// `half` also uses the instruction for f16, but with a call and a check of the processor for each eight
/// elements.
#[cfg(target_arch = "x86_64")]
pub fn widen(kind: Half, src: &[u8], dst: &mut [u8], past_cache: bool) -> usize {
    use std::arch::is_x86_feature_detected as has;
    let past_cache = past_cache && dst.as_ptr().addr() % STREAM_ALIGNMENT == 0;
    match kind {
        // SAFETY: the processor has the instructions that the function needs.
        Half::F16 if has!("avx") && has!("f16c") => unsafe { x86::widen_f16(src, dst, past_cache) },
        // SAFETY: as above.
        Half::Bf16 if has!("avx2") => unsafe { x86::widen_bf16(src, dst, past_cache) },
        _ => return 0,
    }
    let eights = (src.len() / EIGHT.0).min(dst.len() / EIGHT.1);
    eights.saturating_mul(EIGHT.0)
}

/// There are no such instructions for this processor here.
#[cfg(not(target_arch = "x86_64"))]
pub fn widen(_kind: Half, _src: &[u8], _dst: &mut [u8], _past_cache: bool) -> usize {
    0
}

/// Narrows whole groups of sixteen f32, to nearest even, if all of them become finite numbers. Returns how
/// many bytes of `src` were narrowed: none if a number is not finite or near to infinity, or if the processor
/// has no instructions for it. Then `dst` has to be filled again. `past_cache` is as for [`copy`].
pub fn narrow(kind: Half, src: &[u8], dst: &mut [u8], past_cache: bool) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        let sixteens = (src.len() / SIXTEEN.0).min(dst.len() / SIXTEEN.1);
        let past_cache = past_cache && dst.as_ptr().addr() % 16 == 0;
        // SAFETY: the processor has the instructions that the functions need.
        let all_finite = unsafe {
            match (kind, past_cache) {
                (Half::F16, false) => x86::narrow_f16::<false>(src, dst),
                (Half::F16, true) => x86::narrow_f16::<true>(src, dst),
                (Half::Bf16, false) => x86::narrow_bf16::<false>(src, dst),
                (Half::Bf16, true) => x86::narrow_bf16::<true>(src, dst),
            }
        };
        if !all_finite {
            settle(); // before the same memory is filled again
            return 0;
        }
        return sixteens.saturating_mul(SIXTEEN.0);
    }
    let _ = (kind, src, dst, past_cache);
    0
}

/// Copies as many bytes as both have. `past_cache` is as for [`widen`], if `dst` is at a multiple of 16.
/// After the last such copy, [`settle`] has to be called.
pub fn copy(src: &[u8], dst: &mut [u8], past_cache: bool) {
    #[cfg(target_arch = "x86_64")]
    if past_cache && dst.as_ptr().addr() % 16 == 0 {
        return x86::copy_past_cache(src, dst);
    }
    let _ = past_cache;
    let size = src.len().min(dst.len());
    if let (Some(src), Some(dst)) = (src.get(..size), dst.get_mut(..size)) {
        dst.copy_from_slice(src);
    }
}

/// Makes bytes that were written around the caches visible to other threads. It waits for all of them, so it
/// is called once.
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    #[allow(unused_unsafe)]
    // SAFETY: it has no requirements, but calling it is unsafe before Rust 1.87.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// The alignment of a result that is written around the caches.
pub(crate) const STREAM_ALIGNMENT: usize = 32;

/// The size of eight 16-bit floats, and of eight f32.
#[cfg(target_arch = "x86_64")]
const EIGHT: (usize, usize) = (16, 32);

/// Bytes of sixteen f32 and of sixteen 16-bit floats.
#[cfg(target_arch = "x86_64")]
const SIXTEEN: (usize, usize) = (64, 32);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Loops, EIGHT, SIXTEEN};
    use std::arch::x86_64::*;

    /// A loop over groups of eight that reads 16 bytes and writes 32. With `past_cache`, `dst` is at a
    /// multiple of 32. It is a macro, because a function with the conversion as its argument would not be
    /// inlined.
    macro_rules! loop_over {
        ($src:expr, $dst:expr, $past_cache:expr, $wider:expr) => {{
            let eights = $src.chunks_exact(EIGHT.0).zip($dst.chunks_exact_mut(EIGHT.1));
            if $past_cache {
                for (from, to) in eights {
                    // SAFETY: the bytes exist; only the write has to be aligned, and it is.
                    unsafe {
                        let value: __m256 = $wider(_mm_loadu_si128(from.as_ptr().cast()));
                        _mm256_stream_ps(to.as_mut_ptr().cast(), value);
                    }
                }
                super::settle();
            } else {
                for (from, to) in eights {
                    // SAFETY: the bytes exist, and no alignment is needed.
                    unsafe {
                        let value: __m256 = $wider(_mm_loadu_si128(from.as_ptr().cast()));
                        _mm256_storeu_ps(to.as_mut_ptr().cast(), value);
                    }
                }
            }
        }};
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn look_up(codes: &[u8], table: &[f32; 16], scale: f32, out: &mut [f32]) {
        // SAFETY: eight or sixteen elements are at each address, and none has to be aligned.
        unsafe {
            let [low, high] = [0, 8].map(|first| _mm256_loadu_ps(table.as_ptr().add(first)));
            let scale = _mm256_set1_ps(scale);
            for (codes, out) in codes.chunks_exact(8).zip(out.chunks_exact_mut(8)) {
                let codes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(codes.as_ptr().cast()));
                // The fourth bit of a code says which half of the table has its value.
                let is_high = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes));
                let [low, high] = [low, high].map(|half| _mm256_permutevar8x32_ps(half, codes));
                let values = _mm256_blendv_ps(low, high, is_high);
                _mm256_storeu_ps(out.as_mut_ptr(), _mm256_mul_ps(values, scale));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn look_up_halves(codes: &[u8], table: &[u8; 32], out: &mut [u8]) {
        // SAFETY: 32 bytes are at each address, and none has to be aligned.
        unsafe {
            // The low bytes of all elements, and their high ones, each twice.
            let all = _mm256_loadu_si256(table.as_ptr().cast());
            let apart = _mm256_setr_epi8(
                0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, //
                0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
            );
            let halves = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_shuffle_epi8(all, apart));
            let low = _mm256_permute2x128_si256::<0x00>(halves, halves);
            let high = _mm256_permute2x128_si256::<0x11>(halves, halves);
            for (codes, out) in codes.chunks_exact(32).zip(out.chunks_exact_mut(64)) {
                let codes = _mm256_loadu_si256(codes.as_ptr().cast());
                // Unpacking is by halves of 16 codes: the middle quarters change places before it.
                let codes = _mm256_permute4x64_epi64::<0b11_01_10_00>(codes);
                let (low, high) = (_mm256_shuffle_epi8(low, codes), _mm256_shuffle_epi8(high, codes));
                let out: *mut __m256i = out.as_mut_ptr().cast();
                _mm256_storeu_si256(out, _mm256_unpacklo_epi8(low, high));
                _mm256_storeu_si256(out.add(1), _mm256_unpackhi_epi8(low, high));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn with_avx2<L: Loops<S, D>, S, D>(src: S, dst: D) -> L::Result {
        L::run(src, dst)
    }

    /// Writes sixteen 16-bit floats. With `PAST_CACHE`, `to` is at a multiple of 16.
    #[target_feature(enable = "avx2")]
    unsafe fn put_codes<const PAST_CACHE: bool>(codes: __m256i, to: *mut __m128i) {
        // SAFETY: the caller has room for them at `to`.
        unsafe {
            if PAST_CACHE {
                _mm_stream_si128(to, _mm256_castsi256_si128(codes));
                _mm_stream_si128(to.add(1), _mm256_extracti128_si256::<1>(codes));
            } else {
                _mm256_storeu_si256(to.cast(), codes);
            }
        }
    }

    /// Adds 16-bit floats to the largest magnitudes.
    #[target_feature(enable = "avx2")]
    #[allow(unused_unsafe, reason = "these are unsafe to call before Rust 1.87")]
    unsafe fn largest(magnitudes: __m256i, codes: __m256i) -> __m256i {
        // SAFETY: the processor has what they need.
        unsafe { _mm256_max_epu16(magnitudes, _mm256_and_si256(codes, _mm256_set1_epi16(0x7FFF))) }
    }

    /// Whether all magnitudes are less.
    #[target_feature(enable = "avx2")]
    #[allow(unused_unsafe, reason = "these are unsafe to call before Rust 1.87")]
    unsafe fn are_less(magnitudes: __m256i, than: i16) -> bool {
        // SAFETY: the processor has what they need.
        unsafe { _mm256_movemask_epi8(_mm256_cmpgt_epi16(_mm256_set1_epi16(than), magnitudes)) == -1 }
    }

    /// Returns whether all results are finite.
    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn narrow_f16<const PAST_CACHE: bool>(src: &[u8], dst: &mut [u8]) -> bool {
        // SAFETY: so many bytes are there, and only writes past the caches have to be aligned.
        unsafe {
            let mut magnitudes = _mm256_setzero_si256();
            for (from, to) in src.chunks_exact(SIXTEEN.0).zip(dst.chunks_exact_mut(SIXTEEN.1)) {
                let low = _mm256_loadu_ps(from.as_ptr().cast());
                let high = _mm256_loadu_ps(from.as_ptr().add(EIGHT.1).cast());
                let codes = _mm256_set_m128i(
                    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(high),
                    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(low),
                );
                magnitudes = largest(magnitudes, codes);
                put_codes::<PAST_CACHE>(codes, to.as_mut_ptr().cast());
            }
            are_less(magnitudes, 0x7C00)
        }
    }

    /// Returns false if a result is not finite, or near to infinity. Then a NaN may have become a number.
    #[target_feature(enable = "avx2")]
    #[allow(unused_unsafe, reason = "most of these are unsafe to call before Rust 1.87")]
    pub unsafe fn narrow_bf16<const PAST_CACHE: bool>(src: &[u8], dst: &mut [u8]) -> bool {
        // SAFETY: so many bytes are there, and only writes past the caches have to be aligned.
        unsafe {
            let all = |n: i32| _mm256_set1_epi32(n);
            let mut magnitudes = _mm256_setzero_si256();
            for (from, to) in src.chunks_exact(SIXTEEN.0).zip(dst.chunks_exact_mut(SIXTEEN.1)) {
                let [first, rest] = [0, EIGHT.1].map(|at| _mm256_loadu_si256(from.as_ptr().add(at).cast()));
                let high = _mm256_packus_epi32(_mm256_srli_epi32::<16>(first), _mm256_srli_epi32::<16>(rest));
                let low = _mm256_packus_epi32(
                    _mm256_and_si256(first, all(0xFFFF)),
                    _mm256_and_si256(rest, all(0xFFFF)),
                );
                magnitudes = largest(magnitudes, high);
                // More than half of the last kept bit rounds up, and half of it where that bit is set.
                let one = _mm256_set1_epi16(1);
                let sum = _mm256_adds_epu16(low, _mm256_and_si256(high, one));
                let up = _mm256_min_epu16(_mm256_subs_epu16(sum, _mm256_set1_epi16(i16::MIN)), one);
                let codes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_add_epi16(high, up));
                put_codes::<PAST_CACHE>(codes, to.as_mut_ptr().cast());
            }
            // The next ones may be rounded to infinity.
            are_less(magnitudes, 0x7F7F)
        }
    }

    /// `dst` is at a multiple of 16.
    pub fn copy_past_cache(src: &[u8], dst: &mut [u8]) {
        let (mut from, mut to) = (src.chunks_exact(16), dst.chunks_exact_mut(16));
        for (from, to) in from.by_ref().zip(to.by_ref()) {
            // SAFETY: the bytes exist, and the write is aligned.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
        }
        super::copy(from.remainder(), to.into_remainder(), false);
    }

    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn widen_f16(src: &[u8], dst: &mut [u8], past_cache: bool) {
        loop_over!(src, dst, past_cache, |codes: __m128i| _mm256_cvtph_ps(codes));
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn widen_bf16(src: &[u8], dst: &mut [u8], past_cache: bool) {
        #[allow(unused_unsafe)]
        // SAFETY: the caller has checked for avx2.
        let quiet = unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000)) };
        loop_over!(src, dst, past_cache, |codes: __m128i| {
            let value = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(codes)));
            _mm256_or_ps(value, _mm256_and_ps(quiet, _mm256_cmp_ps::<_CMP_UNORD_Q>(value, value)))
        });
    }
}
