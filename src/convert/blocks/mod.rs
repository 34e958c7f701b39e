//! Elements of the block types of ggml as f32, and f32 as blocks: bit for bit what the scalar formula of ggml
//! gives. Every operation is rounded to f32, in the order that ggml has; none are fused.
//!
//! One file per family. Each begins with the layouts and formulas of its types. Numbers in blocks are
//! little-endian.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices come from loops over a block's fixed size or from codes of known width, never past them"
)]

mod grids;
mod i_quants;
mod k_quants;
mod packed;
mod parts;
mod quantize;
mod simple;
mod tables;
mod ternary;

use crate::model::dtype::Logical;
use crate::simd::{as_bytes, blocks as avx2, with_avx2};
pub(super) use quantize::largest;

/// Elements that are decoded before they are converted or copied: 2 KiB, which stay in the first cache.
pub(super) const PIECE_ELEMENTS: usize = 512;

/// A block type.
pub(super) struct BlockType {
    /// Elements of a block.
    pub elements: usize,
    /// Bytes of a block.
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

/// The quick function of a row, which may have none.
macro_rules! quick {
    () => {
        |_, _| false
    };
    ($quick:path) => {
        $quick
    };
}

/// How a row makes blocks, if it does.
macro_rules! quantize {
    () => {
        None
    };
    ($quantize:ident) => {
        Some(|src, dst| with_avx2(|dst: &mut [u8]| each_quantized(src, dst, quantize::$quantize), dst))
    };
}

/// The table: for each block type the function that decodes one block, one that decodes many quickly, and one
/// that makes a block.
macro_rules! block_types {
    ($($logical:ident $family:ident::$decode:ident $(, $quick:path)? $(=> $quantize:ident)?;)*) => {
        /// How blocks of a logical type are decoded, if it is a block type.
        pub(super) fn of(logical: Option<Logical>) -> Option<&'static BlockType> {
            match logical? {
                $(Logical::$logical => Some(const {
                    &block_type(
                        Logical::$logical,
                        |src, dst| each(src, dst, $family::$decode),
                        quick!($($quick)?),
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
    Iq1S i_quants::iq1_s;
    Iq1M i_quants::iq1_m;
    Iq2Xxs i_quants::iq2_xxs;
    Iq2Xs i_quants::iq2_xs;
    Iq2S i_quants::iq2_s;
    Iq3Xxs i_quants::iq3_xxs;
    Iq3S i_quants::iq3_s;
    Iq4Nl tables::iq4_nl, avx2::iq4_nl => iq4_nl;
    Iq4Xs tables::iq4_xs, avx2::iq4_xs;
    Mxfp4 tables::mxfp4, avx2::mxfp4 => mxfp4;
    Nvfp4 tables::nvfp4;
    F4E2m1 packed::f4_e2m1;
    Tq1_0 ternary::tq1_0 => tq1_0;
    Tq2_0 ternary::tq2_0, avx2::tq2_0 => tq2_0;
}

/// A row of the table.
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
    pub(super) fn for_each_piece(&self, src: &[u8], body: &mut dyn FnMut(&[u8])) {
        let mut numbers = [0f32; PIECE_ELEMENTS];
        let blocks = PIECE_ELEMENTS / self.elements;
        for src in src.chunks(blocks * self.bytes) {
            let count = src.len() / self.bytes * self.elements;
            let piece = numbers.get_mut(..count).unwrap_or_default();
            self.decode(src, piece);
            body(as_bytes(piece));
        }
    }
}

/// Decodes block by block.
#[inline(always)]
fn each<const BYTES: usize, const ELEMENTS: usize>(
    src: &[u8],
    dst: &mut [f32],
    decode: impl Fn(&[u8; BYTES], &mut [f32; ELEMENTS]),
) {
    for (block, out) in src.chunks_exact(BYTES).zip(dst.chunks_exact_mut(ELEMENTS)) {
        if let (Ok(block), Ok(out)) = (block.try_into(), out.try_into()) {
            decode(block, out);
        }
    }
}

/// Makes block by block. Returns the first one with a scale that f16 cannot hold.
#[inline(always)]
fn each_quantized<const BYTES: usize, const ELEMENTS: usize>(
    src: &[f32],
    dst: &mut [u8],
    quantize: impl Fn(&[f32; ELEMENTS], &mut [u8; BYTES]) -> bool,
) -> Option<usize> {
    let blocks = src.chunks_exact(ELEMENTS).zip(dst.chunks_exact_mut(BYTES));
    for (at, (numbers, block)) in blocks.enumerate() {
        if let (Ok(numbers), Ok(block)) = (numbers.try_into(), block.try_into()) {
            if !quantize(numbers, block) {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod quantize_tests;
#[cfg(test)]
mod tests;
