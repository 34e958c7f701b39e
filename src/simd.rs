//! Instructions that have to be asked for: what a loop in Rust does not become by itself.

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

/// Where a result has to begin to be written around the caches.
pub(crate) const STREAM_ALIGNMENT: usize = 32;

/// Bytes of eight 16-bit floats and of eight f32.
#[cfg(target_arch = "x86_64")]
const EIGHT: (usize, usize) = (16, 32);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::EIGHT;
    use std::arch::x86_64::{
        __m128i, __m256, _mm256_and_ps, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtepu16_epi32,
        _mm256_cvtph_ps, _mm256_or_ps, _mm256_set1_epi32, _mm256_slli_epi32, _mm256_storeu_ps,
        _mm256_stream_ps, _mm_loadu_si128, _mm_sfence, _CMP_UNORD_Q,
    };

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
