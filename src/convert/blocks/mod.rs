//! Elements of the block types of ggml as f32, and f32 as blocks: bit for bit what the scalar formula of ggml
//! gives. Every operation is rounded to f32, in the order that ggml has.
//!
//! Each file of types begins with their layouts and formulas. Numbers in blocks are little-endian.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices come from loops over a block's fixed size or from codes of known width, never past them"
)]

mod grids;
mod i_quants;
mod k_quants;
mod parts;
mod quantize;
mod simple;

use crate::model::dtype::Logical;
use crate::simd::lanes::{with_quick, Portable, Quick};
use crate::simd::{blocks as avx2, with_avx2, Loops};

/// Elements that are decoded before they are converted or copied: 4 KiB, which stay in the first cache.
pub(super) const PIECE_ELEMENTS: usize = 1024;

pub(super) struct BlockType {
    pub elements: usize,
    pub bytes: usize,
    /// Fills the elements of whole blocks, on every processor.
    portable: fn(&[u8], &mut [f32]),
    /// Does the same with instructions that not every processor has; false without them.
    quick: fn(&[u8], &mut [f32]) -> bool,
    /// Makes blocks of finite numbers, if this is written here.
    pub quantize: Option<Quantize>,
}

/// Fills whole blocks, as many as both have. Returns the first one with a scale that f16 cannot hold.
pub(super) type Quantize = fn(&[f32], &mut [u8]) -> Option<usize>;

/// How a row decodes blocks on every processor.
macro_rules! portable {
    ($decode:path) => {
        |src, dst| pairs(src, dst).for_each(|(block, out)| $decode(block, out))
    };
    ($decode:path, lanes) => {
        |src, dst| pairs(src, dst).for_each(|(block, out)| $decode(Portable, block, out))
    };
    ($decode:path, $quick:path) => {
        portable!($decode)
    };
}

/// How a row decodes blocks with the processor's own instructions, if it does.
macro_rules! quick {
    ($decode:path) => {
        |_, _| false
    };
    ($decode:path, lanes) => {{
        #[inline(always)]
        fn all(lanes: Quick, src: &[u8], dst: &mut [f32]) {
            for (block, out) in pairs(src, dst) {
                $decode(lanes, block, out);
            }
        }
        |src, dst| with_quick(all, src, dst)
    }};
    ($decode:path, $quick:path) => {
        $quick
    };
}

/// How a row makes blocks, if it does. The loop is here so that all of it is compiled for AVX2.
macro_rules! quantize {
    () => {
        None
    };
    ($quantize:ident) => {{
        struct All;
        impl Loops<&[f32], &mut [u8]> for All {
            type Result = Option<usize>;

            #[inline(always)]
            fn run(src: &[f32], dst: &mut [u8]) -> Option<usize> {
                for (at, (numbers, block)) in pairs(src, dst).enumerate() {
                    if !quantize::$quantize(numbers, block) {
                        return Some(at);
                    }
                }
                None
            }
        }
        Some(|src, dst| with_avx2::<All, _, _>(src, dst))
    }};
}

/// The table: for each block type the function that decodes one block, one that decodes many quickly, and one
/// that makes a block. The word `lanes` says that the first one does it with any
/// [`Lanes`](crate::simd::lanes::Lanes).
macro_rules! block_types {
    ($(
        $logical:ident $family:ident::$decode:ident
        $(, $quick:tt $(::$of_quick:ident)?)? $(=> $quantize:ident)?;
    )*) => {
        /// How blocks of a logical type are decoded, if it is a block type.
        pub(super) fn of(logical: Option<Logical>) -> Option<&'static BlockType> {
            match logical? {
                $(Logical::$logical => Some(const {
                    &block_type(
                        Logical::$logical,
                        portable!($family::$decode $(, $quick $(::$of_quick)?)?),
                        quick!($family::$decode $(, $quick $(::$of_quick)?)?),
                        quantize!($($quantize)?),
                    )
                }),)*
                _ => None,
            }
        }
    };
}

block_types! {
    Q1_0 simple::q1_0;
    Q2_0 simple::q2_0;
    Q4_0 simple::q4_0, avx2::q4_0 => q4_0;
    Q4_1 simple::q4_1, avx2::q4_1 => q4_1;
    Q5_0 simple::q5_0, avx2::q5_0 => q5_0;
    Q5_1 simple::q5_1, avx2::q5_1 => q5_1;
    Q8_0 simple::q8_0, avx2::q8_0 => q8_0;
    Q8_1 simple::q8_1, avx2::q8_1;
    Q2K k_quants::q2_k, avx2::q2_k;
    Q3K k_quants::q3_k, avx2::q3_k;
    Q4K k_quants::q4_k, avx2::q4_k;
    Q5K k_quants::q5_k, avx2::q5_k;
    Q6K k_quants::q6_k, avx2::q6_k;
    Q8K k_quants::q8_k, avx2::q8_k;
    Iq1S i_quants::iq1_s, lanes;
    Iq1M i_quants::iq1_m, lanes;
    Iq2Xxs i_quants::iq2_xxs, lanes;
    Iq2Xs i_quants::iq2_xs, lanes;
    Iq2S i_quants::iq2_s, lanes;
    Iq3Xxs i_quants::iq3_xxs, lanes;
    Iq3S i_quants::iq3_s, lanes;
    Iq4Nl simple::iq4_nl, avx2::iq4_nl => iq4_nl;
    Iq4Xs simple::iq4_xs, avx2::iq4_xs;
    Mxfp4 simple::mxfp4, avx2::mxfp4 => mxfp4;
    Nvfp4 simple::nvfp4, lanes;
    F4E2m1 simple::f4_e2m1;
    F6E2m3 simple::f6_e2m3;
    F6E3m2 simple::f6_e3m2;
    Tq1_0 simple::tq1_0, lanes => tq1_0;
    Tq2_0 simple::tq2_0, avx2::tq2_0 => tq2_0;
}

const fn block_type(
    logical: Logical,
    portable: fn(&[u8], &mut [f32]),
    quick: fn(&[u8], &mut [f32]) -> bool,
    quantize: Option<Quantize>,
) -> BlockType {
    let block = logical.block();
    assert!(PIECE_ELEMENTS as u64 % block.elements == 0);
    BlockType { elements: block.elements as usize, bytes: block.bytes as usize, portable, quick, quantize }
}

impl BlockType {
    /// Fills `dst` with the elements of the blocks in `src`, as many as both have.
    pub(super) fn decode(&self, src: &[u8], dst: &mut [f32]) {
        if !(self.quick)(src, dst) {
            (self.portable)(src, dst);
        }
    }

    /// Gives `body` the elements of the blocks in `src` as f32, [`PIECE_ELEMENTS`] at a time.
    pub(super) fn for_each_piece(&self, src: &[u8], body: &mut dyn FnMut(&[f32])) {
        let mut numbers = [0f32; PIECE_ELEMENTS];
        let blocks = PIECE_ELEMENTS / self.elements;
        for src in src.chunks(blocks * self.bytes) {
            let count = src.len() / self.bytes * self.elements;
            let piece = numbers.get_mut(..count).unwrap_or_default();
            self.decode(src, piece);
            body(piece);
        }
    }
}

/// The largest magnitude; infinite or NaN if a number is.
pub(super) fn largest(numbers: &[f32]) -> f32 {
    struct Largest;
    impl Loops<&[f32], ()> for Largest {
        type Result = f32;

        #[inline(always)]
        fn run(numbers: &[f32], (): ()) -> f32 {
            quantize::largest(numbers)
        }
    }
    with_avx2::<Largest, _, _>(numbers, ())
}

/// Whole blocks and the memory for their elements, or the other way round.
#[inline(always)]
fn pairs<'a, S, D, const SRC: usize, const DST: usize>(
    src: &'a [S],
    dst: &'a mut [D],
) -> impl Iterator<Item = (&'a [S; SRC], &'a mut [D; DST])> {
    let pairs = src.chunks_exact(SRC).zip(dst.chunks_exact_mut(DST));
    pairs.filter_map(|(src, dst)| Some((src.try_into().ok()?, dst.try_into().ok()?)))
}

#[cfg(test)]
mod quantize_tests;
#[cfg(test)]
mod tests;
