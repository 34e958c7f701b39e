//! Instructions that have to be asked for: what a loop in Rust does not become by itself. And floats as their
//! bytes.

/// The bytes of floats.
pub fn as_bytes(floats: &[f32]) -> &[u8] {
    // SAFETY: floats have no padding, and every byte is a u8.
    unsafe { floats.align_to::<u8>().1 }
}

/// Bytes as the floats that they are, if they begin where a float may, and are a whole number of them.
pub fn as_floats_mut(bytes: &mut [u8]) -> Option<&mut [f32]> {
    // SAFETY: all bits are a float, and all floats are bytes.
    let (before, floats, behind) = unsafe { bytes.align_to_mut::<f32>() };
    (before.is_empty() && behind.is_empty()).then_some(floats)
}

/// Floats as their bytes, to be written.
pub fn as_bytes_mut(floats: &mut [f32]) -> &mut [u8] {
    // SAFETY: floats have no padding, and all bytes are a float.
    unsafe { floats.align_to_mut::<u8>().1 }
}

pub mod blocks;

/// Calls `body`, which is compiled twice. Where the processor has AVX2, its loops have wider instructions.
/// They do the same operations: none are fused.
#[inline(always)]
pub fn with_avx2<D, T>(body: impl Fn(D) -> T, dst: D) -> T {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function needs.
        return unsafe { x86::with_avx2(body, dst) };
    }
    body(dst)
}

/// Whether the processor has AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("f16c")
}

/// Which of the two 16-bit floats elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an f32.
    Bf16,
}

/// Widens whole groups of eight to f32; a NaN becomes quiet and keeps its sign and payload. How many bytes of
/// `src` that were: none where the processor has no instructions for it.
///
/// `past_cache` writes the result around the caches: what is larger than they are would only drive everything
/// out of them, and be read from memory before it is overwritten. It is heeded where `dst` is at a multiple
/// of [`STREAM_ALIGNMENT`].
///
/// `half` has the instruction for f16, too, but calls it for each eight elements, and checks each time
/// whether the processor has it.
#[cfg(target_arch = "x86_64")]
pub fn widen(kind: Half, src: &[u8], dst: &mut [u8], past_cache: bool) -> usize {
    use std::arch::is_x86_feature_detected as has;
    let past_cache = past_cache && dst.as_ptr().addr() % STREAM_ALIGNMENT == 0;
    match kind {
        // SAFETY: the processor has what the function needs.
        Half::F16 if has!("avx") && has!("f16c") => unsafe { x86::widen_f16(src, dst, past_cache) },
        // SAFETY: likewise.
        Half::Bf16 if has!("avx2") => unsafe { x86::widen_bf16(src, dst, past_cache) },
        _ => return 0,
    }
    let eights = (src.len() / EIGHT.0).min(dst.len() / EIGHT.1);
    eights.saturating_mul(EIGHT.0)
}

/// This processor has no such instructions here.
#[cfg(not(target_arch = "x86_64"))]
pub fn widen(_kind: Half, _src: &[u8], _dst: &mut [u8], _past_cache: bool) -> usize {
    0
}

/// Narrows whole groups of eight f32, to nearest even; a NaN becomes quiet and keeps its sign and the top of
/// its payload. How many bytes of `src` that were: none where the processor has no instructions for it.
#[cfg(target_arch = "x86_64")]
pub fn narrow(kind: Half, src: &[u8], dst: &mut [u8]) -> usize {
    use std::arch::is_x86_feature_detected as has;
    match kind {
        // SAFETY: the processor has what the function needs.
        Half::F16 if has!("avx") && has!("f16c") => unsafe { x86::narrow_f16(src, dst) },
        // SAFETY: likewise.
        Half::Bf16 if has!("avx2") => unsafe { x86::narrow_bf16(src, dst) },
        _ => return 0,
    }
    let eights = (src.len() / EIGHT.1).min(dst.len() / EIGHT.0);
    eights.saturating_mul(EIGHT.1)
}

/// This processor has no such instructions here.
#[cfg(not(target_arch = "x86_64"))]
pub fn narrow(_kind: Half, _src: &[u8], _dst: &mut [u8]) -> usize {
    0
}

/// Copies bytes, as many as both have; `past_cache` as for [`widen`], where `dst` is at a multiple of 16.
/// Then [`settle`] has to follow the last copy.
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

/// Bytes that were written around the caches may be late: other threads see them from here on. It waits for
/// all of them, so it is called once.
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    #[allow(unused_unsafe)]
    // SAFETY: it needs nothing. Unsafe to call before Rust 1.87.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// Where a result has to begin to be written around the caches.
pub(crate) const STREAM_ALIGNMENT: usize = 32;

/// Bytes of eight 16-bit floats and of eight f32.
#[cfg(target_arch = "x86_64")]
const EIGHT: (usize, usize) = (16, 32);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::EIGHT;
    use std::arch::x86_64::*;

    /// A loop over groups of eight: 16 bytes are read and 32 written. `dst` is at a multiple of 32 if its
    /// bytes go `past_cache`. A macro, as a function with the wider one as its argument would not be compiled
    /// into the loop.
    macro_rules! loop_over {
        ($src:expr, $dst:expr, $past_cache:expr, $wider:expr) => {{
            let eights = $src.chunks_exact(EIGHT.0).zip($dst.chunks_exact_mut(EIGHT.1));
            if $past_cache {
                for (from, to) in eights {
                    // SAFETY: the bytes exist; only the write has to be aligned, and is.
                    unsafe {
                        let value: __m256 = $wider(_mm_loadu_si128(from.as_ptr().cast()));
                        _mm256_stream_ps(to.as_mut_ptr().cast(), value);
                    }
                }
                #[allow(unused_unsafe)]
                // SAFETY: it needs nothing. Unsafe to call before Rust 1.87.
                unsafe {
                    _mm_sfence()
                }; // such writes may be late: other threads see them from here on
            } else {
                for (from, to) in eights {
                    // SAFETY: likewise, and nothing has to be aligned.
                    unsafe {
                        let value: __m256 = $wider(_mm_loadu_si128(from.as_ptr().cast()));
                        _mm256_storeu_ps(to.as_mut_ptr().cast(), value);
                    }
                }
            }
        }};
    }

    /// A loop over groups of eight: 32 bytes are read and 16 written.
    macro_rules! narrow_loop {
        ($src:expr, $dst:expr, $narrower:expr) => {
            for (from, to) in $src.chunks_exact(EIGHT.1).zip($dst.chunks_exact_mut(EIGHT.0)) {
                // SAFETY: so many bytes are there, and nothing has to be aligned.
                unsafe {
                    let codes: __m128i = $narrower(_mm256_loadu_ps(from.as_ptr().cast()));
                    _mm_storeu_si128(to.as_mut_ptr().cast(), codes);
                }
            }
        };
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn with_avx2<D, T>(body: impl Fn(D) -> T, dst: D) -> T {
        body(dst)
    }

    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn narrow_f16(src: &[u8], dst: &mut [u8]) {
        narrow_loop!(src, dst, |values: __m256| _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values));
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn narrow_bf16(src: &[u8], dst: &mut [u8]) {
        narrow_loop!(src, dst, |values: __m256| {
            let bits = _mm256_castps_si256(values);
            let high = _mm256_srli_epi32::<16>(bits);
            // Half of the last kept bit less one, and one more where that bit is set: ties go to even.
            let odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
            let sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
            let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(values, values));
            let nan = _mm256_or_si256(high, _mm256_set1_epi32(0x0040));
            let codes = _mm256_blendv_epi8(_mm256_srli_epi32::<16>(sum), nan, is_nan);
            let packed = _mm256_packus_epi32(codes, codes);
            _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b10_00>(packed))
        });
    }

    /// `dst` is at a multiple of 16.
    pub fn copy_past_cache(src: &[u8], dst: &mut [u8]) {
        let (mut from, mut to) = (src.chunks_exact(16), dst.chunks_exact_mut(16));
        for (from, to) in from.by_ref().zip(to.by_ref()) {
            // SAFETY: so many bytes are there, and the write is aligned.
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
        // SAFETY: the caller saw to avx2.
        let quiet = unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000)) };
        loop_over!(src, dst, past_cache, |codes: __m128i| {
            let value = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(codes)));
            _mm256_or_ps(value, _mm256_and_ps(quiet, _mm256_cmp_ps::<_CMP_UNORD_Q>(value, value)))
        });
    }
}
