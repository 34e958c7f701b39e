//! Instructions that have to be asked for: what a loop in Rust does not become by itself.

/// Widens whole groups of eight f16 to f32 with the x86 instruction for it; a NaN becomes quiet and keeps its
/// sign and payload. How many bytes of `src` that were: none where the processor has no such instruction.
///
/// `half` uses it, too, but calls it for each eight anew, and asks each time whether it is there.
#[cfg(target_arch = "x86_64")]
pub fn widen_f16(src: &[u8], dst: &mut [u8]) -> usize {
    if !(std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c")) {
        return 0;
    }
    // SAFETY: the processor has both.
    unsafe { widen_eights(src, dst) };
    let eights = (src.len() / EIGHT.0).min(dst.len() / EIGHT.1);
    eights.saturating_mul(EIGHT.0)
}

/// This processor has no such instruction here.
#[cfg(not(target_arch = "x86_64"))]
pub fn widen_f16(_src: &[u8], _dst: &mut [u8]) -> usize {
    0
}

/// Bytes of eight f16 and of eight f32.
#[cfg(target_arch = "x86_64")]
const EIGHT: (usize, usize) = (16, 32);

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
unsafe fn widen_eights(src: &[u8], dst: &mut [u8]) {
    use std::arch::x86_64::{_mm256_cvtph_ps, _mm256_storeu_ps, _mm_loadu_si128};
    for (from, to) in src.chunks_exact(EIGHT.0).zip(dst.chunks_exact_mut(EIGHT.1)) {
        // SAFETY: 16 bytes are read and 32 written, that many are there; neither needs to be aligned.
        unsafe {
            let codes = _mm_loadu_si128(from.as_ptr().cast());
            _mm256_storeu_ps(to.as_mut_ptr().cast(), _mm256_cvtph_ps(codes));
        }
    }
}
