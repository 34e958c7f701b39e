//! 8 or 16 elements at a time, in plain Rust or with AVX2: what the decoders of some block types are made of.

/// Fills as many elements as the first arguments have.
pub trait Lanes: Copy {
    /// `scale * ±coordinate`. A sign bit that is set negates.
    fn signed(self, point: &[u8; 8], signs: u8, scale: f32, out: &mut [f32]);

    /// `scale * (coordinate + delta)`.
    fn moved(self, point: &[i8; 8], delta: f32, scale: f32, out: &mut [f32]);

    /// `scale * value` for the codes in the low halves of bytes, then for those in the high halves.
    fn values(self, codes: &[u8; 8], values: &[i8; 16], scale: f32, out: &mut [f32]);

    /// `(digit - 1) * scale`. The digit is what overflows when the lowest byte of byte times power is
    /// multiplied by 3.
    fn digits(self, bytes: &[u8; 16], power: u8, scale: f32, out: &mut [f32]);
}

/// What every processor can do.
#[derive(Clone, Copy)]
pub struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn signed(self, point: &[u8; 8], signs: u8, scale: f32, out: &mut [f32]) {
        for (j, (g, out)) in point.iter().zip(out).enumerate() {
            *out = scale * f32::from(*g) * if signs >> j & 1 == 1 { -1.0 } else { 1.0 };
        }
    }

    #[inline(always)]
    fn moved(self, point: &[i8; 8], delta: f32, scale: f32, out: &mut [f32]) {
        for (g, out) in point.iter().zip(out) {
            *out = scale * (f32::from(*g) + delta);
        }
    }

    #[inline(always)]
    fn values(self, codes: &[u8; 8], values: &[i8; 16], scale: f32, out: &mut [f32]) {
        let (low, high) = out.split_at_mut(out.len() / 2);
        for ((byte, low), high) in codes.iter().zip(low).zip(high) {
            *low = scale * f32::from(values[usize::from(byte & 15)]);
            *high = scale * f32::from(values[usize::from(byte >> 4)]);
        }
    }

    #[inline(always)]
    fn digits(self, bytes: &[u8; 16], power: u8, scale: f32, out: &mut [f32]) {
        for (byte, out) in bytes.iter().zip(out) {
            let digit = (u16::from(byte.wrapping_mul(power)) * 3) >> 8;
            *out = (f32::from(digit) - 1.0) * scale;
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2 as Quick;
#[cfg(not(target_arch = "x86_64"))]
pub use Portable as Quick;

/// Calls `body`, a function with `#[inline(always)]`, with the processor's own instructions. False if nothing
/// is written for it; then nothing was done.
#[inline(always)]
pub fn with_quick<S, D>(body: impl Fn(Quick, S, D), src: S, dst: D) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Quick::new() {
        avx2.call(body, src, dst);
        return true;
    }
    let _ = (body, src, dst);
    false
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "most of these are unsafe to call before Rust 1.87")]
#[allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the functions are called where AVX2 is, and read and write arrays of the size that they need"
)]
mod avx2 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Made only where the processor has AVX2.
    #[derive(Clone, Copy)]
    pub struct Avx2(());

    impl Avx2 {
        pub fn new() -> Option<Avx2> {
            crate::simd::has_avx2().then_some(Avx2(()))
        }

        /// Compiles `body` for AVX2, and calls it.
        #[inline(always)]
        pub fn call<S, D>(self, body: impl Fn(Avx2, S, D), src: S, dst: D) {
            #[target_feature(enable = "avx2")]
            unsafe fn call<S, D>(avx2: Avx2, body: impl Fn(Avx2, S, D), src: S, dst: D) {
                body(avx2, src, dst);
            }
            // SAFETY: the processor has what the function needs.
            unsafe { call(self, body, src, dst) };
        }
    }

    impl Lanes for Avx2 {
        #[inline(always)]
        fn signed(self, point: &[u8; 8], signs: u8, scale: f32, out: &mut [f32]) {
            if let Some(out) = out.first_chunk_mut() {
                // SAFETY: the processor has AVX2.
                unsafe { signed(point, signs, scale, out) };
            }
        }

        #[inline(always)]
        fn moved(self, point: &[i8; 8], delta: f32, scale: f32, out: &mut [f32]) {
            if let Some(out) = out.first_chunk_mut() {
                // SAFETY: likewise.
                unsafe { moved(point, delta, scale, out) };
            }
        }

        #[inline(always)]
        fn values(self, codes: &[u8; 8], table: &[i8; 16], scale: f32, out: &mut [f32]) {
            if let Some(out) = out.first_chunk_mut() {
                // SAFETY: likewise.
                unsafe { values(codes, table, scale, out) };
            }
        }

        #[inline(always)]
        fn digits(self, bytes: &[u8; 16], power: u8, scale: f32, out: &mut [f32]) {
            if let Some(out) = out.first_chunk_mut() {
                // SAFETY: likewise.
                unsafe { digits(bytes, power, scale, out) };
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn signed(point: &[u8; 8], signs: u8, scale: f32, out: &mut [f32; 8]) {
        unsafe {
            let coordinates = _mm256_cvtepu8_epi32(_mm_loadl_epi64(point.as_ptr().cast()));
            let product = _mm256_mul_ps(_mm256_cvtepi32_ps(coordinates), _mm256_set1_ps(scale));
            // The bit of each element becomes its highest.
            let shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
            let signs = _mm256_sllv_epi32(_mm256_set1_epi32(i32::from(signs)), shifts);
            let signs = _mm256_and_ps(_mm256_castsi256_ps(signs), _mm256_set1_ps(-0.0));
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_xor_ps(product, signs));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn moved(point: &[i8; 8], delta: f32, scale: f32, out: &mut [f32; 8]) {
        unsafe {
            let coordinates = _mm256_cvtepi8_epi32(_mm_loadl_epi64(point.as_ptr().cast()));
            let sum = _mm256_add_ps(_mm256_cvtepi32_ps(coordinates), _mm256_set1_ps(delta));
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_mul_ps(sum, _mm256_set1_ps(scale)));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn values(codes: &[u8; 8], values: &[i8; 16], scale: f32, out: &mut [f32; 16]) {
        unsafe {
            let bytes = _mm_loadl_epi64(codes.as_ptr().cast());
            let halves = _mm_unpacklo_epi64(bytes, _mm_srli_epi16::<4>(bytes));
            let values = _mm_loadu_si128(values.as_ptr().cast());
            put(_mm_shuffle_epi8(values, _mm_and_si128(halves, _mm_set1_epi8(15))), scale, out);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn digits(bytes: &[u8; 16], power: u8, scale: f32, out: &mut [f32; 16]) {
        unsafe {
            let bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes.as_ptr().cast()));
            let fraction = _mm256_mullo_epi16(bytes, _mm256_set1_epi16(i16::from(power)));
            let fraction = _mm256_and_si256(fraction, _mm256_set1_epi16(255));
            let digits = _mm256_srli_epi16::<8>(_mm256_mullo_epi16(fraction, _mm256_set1_epi16(3)));
            let digits =
                _mm_packs_epi16(_mm256_castsi256_si128(digits), _mm256_extracti128_si256::<1>(digits));
            put(_mm_sub_epi8(digits, _mm_set1_epi8(1)), scale, out);
        }
    }

    /// Integers times a scale.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn put(numbers: __m128i, scale: f32, out: &mut [f32; 16]) {
        unsafe {
            for (half, numbers) in [numbers, _mm_unpackhi_epi64(numbers, numbers)].into_iter().enumerate() {
                let floats = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(numbers));
                let product = _mm256_mul_ps(floats, _mm256_set1_ps(scale));
                _mm256_storeu_ps(out.as_mut_ptr().add(8 * half), product);
            }
        }
    }
}
