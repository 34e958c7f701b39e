//! Decodes blocks of ggml's types to f32 with AVX2: 16 or 32 codes at a time, then times a scale.
//! `convert::blocks` has the layouts, the formulas, and the code for other processors, which gives the same
//! bits. The types that are not here are made of [`lanes`](super::lanes). On aarch64 the compiler makes NEON
//! code of the portable loops.
//!
//! AVX-512 is left out, because it was no faster. In the second cache, q8_0 took 0.094 ns an element with it
//! instead of 0.093. Writing zeros there takes 0.084, and 0.088 with reading the blocks.

#[cfg(target_arch = "x86_64")]
use super::has_avx2;

/// The values of iq4_nl and iq4_xs, which are defined by the format.
pub(crate) const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Twice the values of f4_e2m1, so that they are integers; the scales are halved. -0 is 0 here.
pub(crate) const FP4: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// How many floats before a write its memory is fetched. In the second cache this saves 4 % (q8_0); twice as
/// many floats before, it costs up to 15 %.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 64;

/// For each type, with its block size in bytes and elements: decodes as many whole blocks as both slices
/// have. Returns false if the processor has no instructions for it; then it did nothing.
macro_rules! block_types {
    ($($name:ident $bytes:literal $elements:literal;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        pub fn $name(src: &[u8], dst: &mut [f32]) -> bool {
            #[target_feature(enable = "avx2,f16c,fma")]
            unsafe fn each(src: &[u8], dst: &mut [f32]) {
                for (block, out) in src.chunks_exact($bytes).zip(dst.chunks_exact_mut($elements)) {
                    // SAFETY: a whole block, and memory for its elements. Any address may be asked for.
                    unsafe {
                        for line in 0..$elements / 16 {
                            x86::prefetch(out.as_ptr().wrapping_add(AHEAD + 16 * line));
                        }
                        x86::$name(block.as_ptr(), out.as_mut_ptr());
                    }
                }
            }
            let is_there = has_avx2();
            if is_there {
                // SAFETY: the processor has the instructions that the function needs.
                unsafe { each(src, dst) };
            }
            is_there
        }

        /// There are no such instructions for this processor here.
        #[cfg(not(target_arch = "x86_64"))]
        pub fn $name(_src: &[u8], _dst: &mut [f32]) -> bool {
            false
        }
    )*};
}

block_types! {
    q4_0 18 32;
    q4_1 20 32;
    q5_0 22 32;
    q5_1 24 32;
    q8_0 34 32;
    q8_1 36 32;
    q2_k 84 256;
    q3_k 110 256;
    q4_k 144 256;
    q5_k 176 256;
    q6_k 210 256;
    q8_k 292 256;
    iq4_nl 18 32;
    iq4_xs 136 256;
    mxfp4 17 32;
    tq2_0 66 256;
}

/// The functions read a whole block and write all of its elements. No alignment is needed.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "many of these are unsafe to call before Rust 1.87")]
#[allow(
    clippy::undocumented_unsafe_blocks,
    reason = "what is read and written is in the block and its elements"
)]
mod x86 {
    use super::{FP4, IQ4};
    use std::arch::x86_64::*;

    macro_rules! functions {
        ($(
            $(#[$about:meta])*
            fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block
        )*) => {$(
            $(#[$about])*
            #[inline]
            #[target_feature(enable = "avx2,f16c,fma")]
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                unsafe { $body }
            }
        )*};
    }

    functions! {
        /// Reads an f16 into all lanes.
        fn f16_at(at: *const u8) -> __m256 {
            let code = i32::from(u16::from_le_bytes([*at, *at.add(1)]));
            _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(code)))
        }

        fn prefetch(at: *const f32) {
            _mm_prefetch::<_MM_HINT_T0>(at.cast());
        }

        fn load16(at: *const u8) -> __m128i {
            _mm_loadu_si128(at.cast())
        }

        fn load32(at: *const u8) -> __m256i {
            _mm256_loadu_si256(at.cast())
        }

        /// The low 4 bits of each byte.
        fn low(bytes: __m256i) -> __m256i {
            _mm256_and_si256(bytes, _mm256_set1_epi8(15))
        }

        /// The high 4 bits of each byte.
        fn high(bytes: __m256i) -> __m256i {
            low(_mm256_srli_epi16::<4>(bytes))
        }

        /// 4-bit codes in halves: the low 4 bits of 16 bytes, then the high 4 bits.
        fn in_halves(at: *const u8) -> __m256i {
            let bytes = load16(at);
            low(_mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes))
        }

        /// `value` in the bytes whose bit in `bits` is set, 0 in the others.
        fn where_set(bits: *const u8, value: i8) -> __m256i {
            let bits = u32::from_le_bytes([*bits, *bits.add(1), *bits.add(2), *bits.add(3)]);
            const ONES: i64 = 0x0101_0101_0101_0101;
            let byte = _mm256_set_epi64x(3 * ONES, 2 * ONES, ONES, 0);
            let bit = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
            let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), byte);
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
            _mm256_and_si256(set, _mm256_set1_epi8(value))
        }

        /// Eight signed bytes as floats.
        fn to_floats(codes: __m128i) -> __m256 {
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes))
        }

        /// Writes signed codes times a scale.
        fn put16(codes: __m128i, scale: __m256, out: *mut f32) {
            let rest = _mm_unpackhi_epi64(codes, codes);
            _mm256_storeu_ps(out, _mm256_mul_ps(to_floats(codes), scale));
            _mm256_storeu_ps(out.add(8), _mm256_mul_ps(to_floats(rest), scale));
        }

        fn put32(codes: __m256i, scale: __m256, out: *mut f32) {
            put16(_mm256_castsi256_si128(codes), scale, out);
            put16(_mm256_extracti128_si256::<1>(codes), scale, out.add(16));
        }

        /// Writes 32 integers times a scale.
        fn put_i8(integers: *const u8, scale: __m256, out: *mut f32) {
            for n in 0..4 {
                let eight = to_floats(_mm_loadl_epi64(integers.add(8 * n).cast()));
                _mm256_storeu_ps(out.add(8 * n), _mm256_mul_ps(eight, scale));
            }
        }

        /// Sixteen bytes, in both halves.
        fn twice(at: *const u8) -> __m256i {
            _mm256_broadcastsi128_si256(load16(at))
        }

        /// Writes integers of up to 5 bits times a scale, less a minimum. A scale has at most 17 bits, so
        /// that the product is exact and a fused operation gives the same number.
        fn put8_less(codes: __m256i, scale: __m256, min: __m256, out: *mut f32) {
            _mm256_storeu_ps(out, _mm256_fmsub_ps(_mm256_cvtepi32_ps(codes), scale, min));
        }

        /// Writes sixteen codes without a sign, which are in both halves, times a scale, less a minimum. More
        /// units of the processor can shuffle within halves than can widen a half.
        fn put16_less(codes: __m256i, scale: __m256, min: __m256, out: *mut f32) {
            let zeros = _mm256_set1_epi32(0x8080_8000u32 as i32); // in the higher bytes of each integer
            let first = _mm256_or_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), zeros);
            let rest = _mm256_add_epi8(first, _mm256_set1_epi32(8));
            put8_less(_mm256_shuffle_epi8(codes, first), scale, min, out);
            put8_less(_mm256_shuffle_epi8(codes, rest), scale, min, out.add(8));
        }

        /// Writes codes without a sign times a scale, less a minimum.
        fn put32_less(codes: __m256i, scale: __m256, min: __m256, out: *mut f32) {
            put16_less(_mm256_permute4x64_epi64::<0b01_00_01_00>(codes), scale, min, out);
            put16_less(_mm256_permute4x64_epi64::<0b11_10_11_10>(codes), scale, min, out.add(16));
        }

        /// A float in all lanes, negated.
        fn negated(x: __m256) -> __m256 {
            _mm256_xor_ps(x, _mm256_set1_ps(-0.0))
        }

        fn q4_0(block: *const u8, out: *mut f32) {
            put32(_mm256_sub_epi8(in_halves(block.add(2)), _mm256_set1_epi8(8)), f16_at(block), out);
        }

        fn q4_1(block: *const u8, out: *mut f32) {
            let (bytes, d, min) = (twice(block.add(4)), f16_at(block), negated(f16_at(block.add(2))));
            put16_less(low(bytes), d, min, out);
            put16_less(high(bytes), d, min, out.add(16));
        }

        fn q5_0(block: *const u8, out: *mut f32) {
            let codes = _mm256_or_si256(in_halves(block.add(6)), where_set(block.add(2), 16));
            put32(_mm256_sub_epi8(codes, _mm256_set1_epi8(16)), f16_at(block), out);
        }

        fn q5_1(block: *const u8, out: *mut f32) {
            let codes = _mm256_or_si256(in_halves(block.add(8)), where_set(block.add(4), 16));
            put32_less(codes, f16_at(block), negated(f16_at(block.add(2))), out);
        }

        fn q8_0(block: *const u8, out: *mut f32) {
            put_i8(block.add(2), f16_at(block), out);
        }

        fn q8_1(block: *const u8, out: *mut f32) {
            put_i8(block.add(4), f16_at(block), out);
        }

        fn q8_k(block: *const u8, out: *mut f32) {
            let d = _mm256_set1_ps(f32::from_le_bytes([*block, *block.add(1), *block.add(2), *block.add(3)]));
            for n in 0..8 {
                put_i8(block.add(4 + 32 * n), d, out.add(32 * n));
            }
        }

        /// Sixteen small signed numbers times a scale.
        fn scales16(numbers: __m128i, d: __m256) -> [f32; 16] {
            let mut scales = [0.0; 16];
            put16(numbers, d, scales.as_mut_ptr());
            scales
        }

        fn q2_k(block: *const u8, out: *mut f32) {
            let both = _mm256_castsi128_si256(load16(block));
            let scales = scales16(_mm256_castsi256_si128(low(both)), f16_at(block.add(80)));
            let mins = scales16(_mm256_castsi256_si128(high(both)), f16_at(block.add(82)));
            for n in 0..4 {
                let (half, group) = (n / 2, n % 2);
                let mut bytes = twice(block.add(16 + 32 * half + 16 * group));
                for quarter in 0..4 {
                    let n = 8 * half + 2 * quarter + group;
                    let codes = _mm256_and_si256(bytes, _mm256_set1_epi8(3));
                    put16_less(codes, _mm256_set1_ps(scales[n]), _mm256_set1_ps(mins[n]), out.add(16 * n));
                    bytes = _mm256_srli_epi16::<2>(bytes);
                }
            }
        }

        fn q3_k(block: *const u8, out: *mut f32) {
            // The 4 low bits are in 8 bytes, the 2 high bits in 4 bytes.
            let packed = _mm_loadl_epi64(block.add(96).cast());
            let both = _mm_unpacklo_epi64(packed, _mm_srli_epi16::<4>(packed));
            let low = _mm_and_si128(both, _mm_set1_epi8(15));
            let high = i32::from_le(block.add(104).cast::<i32>().read_unaligned());
            let high = _mm_srlv_epi32(_mm_set1_epi32(high), _mm_set_epi32(6, 4, 2, 0));
            let high = _mm_slli_epi16::<4>(_mm_and_si128(high, _mm_set1_epi8(3)));
            let scales = _mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32));
            let scales = scales16(scales, f16_at(block.add(108)));
            let third = load32(block);
            let mut n = 0;
            for half in 0..2 {
                let mut bytes = load32(block.add(32 + 32 * half));
                for _ in 0..4 {
                    let bit = _mm256_set1_epi8((1u8 << (n / 2)) as i8);
                    let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(third, bit), bit);
                    let codes = _mm256_and_si256(bytes, _mm256_set1_epi8(3));
                    let codes = _mm256_sub_epi8(codes, _mm256_andnot_si256(is_set, _mm256_set1_epi8(4)));
                    bytes = _mm256_srli_epi16::<2>(bytes);
                    for codes in [_mm256_castsi256_si128(codes), _mm256_extracti128_si256::<1>(codes)] {
                        put16(codes, _mm256_set1_ps(scales[n]), out.add(16 * n));
                        n += 1;
                    }
                }
            }
        }

        /// The scales and minima of the groups of q4_k and q5_k.
        fn scales_and_mins(block: *const u8) -> ([f32; 8], [f32; 8]) {
            let word = |at: usize| u32::from_le(block.add(at).cast::<u32>().read_unaligned());
            let (a, b, c) = (word(4), word(8), word(12));
            let six = |first: u32, last: u32| _mm_set_epi32(0, 0, last as i32, (first & 0x3F3F_3F3F) as i32);
            let scales = six(a, c & 0x0F0F_0F0F | (a >> 6 & 0x0303_0303) << 4);
            let mins = six(b, c >> 4 & 0x0F0F_0F0F | (b >> 6 & 0x0303_0303) << 4);
            let (mut scale_of, mut min_of) = ([0.0; 8], [0.0; 8]);
            _mm256_storeu_ps(scale_of.as_mut_ptr(), _mm256_mul_ps(to_floats(scales), f16_at(block)));
            _mm256_storeu_ps(min_of.as_mut_ptr(), _mm256_mul_ps(to_floats(mins), f16_at(block.add(2))));
            (scale_of, min_of)
        }

        fn q4_k(block: *const u8, out: *mut f32) {
            let (scales, mins) = scales_and_mins(block);
            for n in 0..4 {
                let [first, second] = [2 * n, 2 * n + 1];
                let min = [_mm256_set1_ps(mins[first]), _mm256_set1_ps(mins[second])];
                // The high halves of bytes are codes times 16: a 16th of the scale gives the same products.
                let scale = [_mm256_set1_ps(scales[first]), _mm256_set1_ps(scales[second] * 0.0625)];
                for part in 0..2 {
                    let bytes = twice(block.add(32 * n + 16 * part + 16));
                    let out = out.add(64 * n + 16 * part);
                    let high = _mm256_and_si256(bytes, _mm256_set1_epi8(0xF0u8 as i8));
                    put16_less(low(bytes), scale[0], min[0], out);
                    put16_less(high, scale[1], min[1], out.add(32));
                }
            }
        }

        fn q5_k(block: *const u8, out: *mut f32) {
            let (scales, mins) = scales_and_mins(block);
            let mut fifth = load32(block.add(16));
            let bit = _mm256_set1_epi8(16);
            for n in 0..4 {
                let bytes = load32(block.add(48 + 32 * n));
                let (n, out) = (2 * n, out.add(64 * n));
                let codes = _mm256_or_si256(low(bytes), _mm256_and_si256(_mm256_slli_epi16::<4>(fifth), bit));
                put32_less(codes, _mm256_set1_ps(scales[n]), _mm256_set1_ps(mins[n]), out);
                let top = _mm256_and_si256(_mm256_slli_epi16::<3>(fifth), bit);
                let codes = _mm256_or_si256(high(bytes), top);
                put32_less(codes, _mm256_set1_ps(scales[n + 1]), _mm256_set1_ps(mins[n + 1]), out.add(32));
                fifth = _mm256_srli_epi16::<2>(fifth);
            }
        }

        fn q6_k(block: *const u8, out: *mut f32) {
            let scales = scales16(load16(block.add(192)), f16_at(block.add(208)));
            let (two, bias) = (_mm256_set1_epi8(0x30), _mm256_set1_epi8(32));
            for half in 0..2 {
                let (a, b) = (load32(block.add(64 * half)), load32(block.add(64 * half + 32)));
                let bits = load32(block.add(128 + 32 * half));
                let quarters = [
                    (low(a), _mm256_slli_epi16::<4>(bits)),
                    (low(b), _mm256_slli_epi16::<2>(bits)),
                    (high(a), bits),
                    (high(b), _mm256_srli_epi16::<2>(bits)),
                ];
                for (quarter, (codes, bits)) in quarters.into_iter().enumerate() {
                    let codes = _mm256_sub_epi8(_mm256_or_si256(codes, _mm256_and_si256(bits, two)), bias);
                    let n = 8 * half + 2 * quarter;
                    put16(_mm256_castsi256_si128(codes), _mm256_set1_ps(scales[n]), out.add(16 * n));
                    let second = _mm256_extracti128_si256::<1>(codes);
                    put16(second, _mm256_set1_ps(scales[n + 1]), out.add(16 * n + 16));
                }
            }
        }

        /// The values of a table for 4-bit codes in halves.
        fn values(table: &[i8; 16], codes: *const u8) -> __m256i {
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(table.as_ptr().cast())), in_halves(codes))
        }

        fn iq4_nl(block: *const u8, out: *mut f32) {
            put32(values(&IQ4, block.add(2)), f16_at(block), out);
        }

        fn iq4_xs(block: *const u8, out: *mut f32) {
            let d = _mm256_cvtss_f32(f16_at(block));
            let mut high = u16::from_le_bytes([*block.add(2), *block.add(3)]);
            for n in 0..8 {
                let low = *block.add(4 + n / 2) >> (4 * (n % 2)) & 15;
                let scale = d * (i32::from(u16::from(low) | (high & 3) << 4) - 32) as f32;
                high >>= 2;
                put32(values(&IQ4, block.add(8 + 16 * n)), _mm256_set1_ps(scale), out.add(32 * n));
            }
        }

        fn mxfp4(block: *const u8, out: *mut f32) {
            let e = u32::from(*block);
            let scale = f32::from_bits(if e < 2 { 0x0020_0000 << e } else { (e - 1) << 23 });
            put32(values(&FP4, block.add(1)), _mm256_set1_ps(scale), out);
        }

        fn tq2_0(block: *const u8, out: *mut f32) {
            let d = f16_at(block.add(64));
            for half in 0..2 {
                let mut bytes = load32(block.add(32 * half));
                for n in 0..4 {
                    let codes = _mm256_and_si256(bytes, _mm256_set1_epi8(3));
                    bytes = _mm256_srli_epi16::<2>(bytes);
                    put32(_mm256_sub_epi8(codes, _mm256_set1_epi8(1)), d, out.add(128 * half + 32 * n));
                }
            }
        }
    }
}
