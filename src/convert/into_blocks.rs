//! Converts floats to blocks, piece by piece.

use super::blocks::{self, BlockType, Quantize};
use super::{convert_all, float};
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::simd::as_bytes_mut;

/// How many numbers are quantized at a time: 8 KiB of f32. It is a multiple of the block size of every type.
const PIECE_ELEMENTS: usize = 2048;

/// The scale of such numbers fits in an f16, whatever the type: apart from rounding, a scale is not larger
/// than the largest number of its block.
const SURELY_FITS: f32 = 32_768.0;

/// Fails if floats cannot be quantized to this type.
pub fn check_quantizes_to(to: Logical) -> Result<()> {
    quantizer(to).map(drop)
}

fn quantizer(to: Logical) -> Result<(&'static BlockType, Quantize)> {
    let blocks = blocks::of(Some(to));
    blocks.and_then(|blocks| Some((blocks, blocks.quantize?))).ok_or_else(|| {
        fail!(
            Unsupported,
            "floats cannot be quantized to {}, only to q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, mxfp4, tq1_0 \
             and tq2_0; llama-quantize of llama.cpp makes the K- and i-quants",
            to.name()
        )
    })
}

/// Takes floats and returns blocks. Keeps numbers that are not a whole block yet.
pub struct IntoBlocks {
    from: (Dtype, Option<Logical>),
    to: Logical,
    blocks: &'static BlockType,
    quantize: Quantize,
    numbers: [f32; PIECE_ELEMENTS],
    /// How many of the numbers are in use.
    filled: usize,
    /// How many elements came before these.
    before: u64,
    /// Only quantizes numbers that may not fit, and returns no blocks.
    only_checks: bool,
}

impl IntoBlocks {
    /// Quantizes floats, which may have 8 bits.
    pub fn new(from: (Dtype, Option<Logical>), to: Logical, only_checks: bool) -> Result<IntoBlocks> {
        let (blocks, quantize) = quantizer(to)?;
        let (numbers, filled, before) = ([0.0; PIECE_ELEMENTS], 0, 0);
        Ok(IntoBlocks { from, to, blocks, quantize, numbers, filled, before, only_checks })
    }

    /// Adds elements in the host's byte order. Appends the blocks that are complete.
    pub fn add(&mut self, mut src: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (dtype, table) = (self.from.0, float::float8_values(self.from.1));
        while !src.is_empty() {
            let free = self.numbers.get_mut(self.filled..).unwrap_or_default();
            let count = src.len().checked_div(dtype.size()).unwrap_or(0).min(free.len());
            let (now, rest) = src.split_at_checked(count.saturating_mul(dtype.size())).unwrap_or_default();
            let place = free.get_mut(..count).unwrap_or_default();
            if now.is_empty() {
                return Err(fail!(Internal, "a piece of {} bytes ends within an element", src.len()));
            }
            convert_all(now, dtype, table, Dtype::F32, as_bytes_mut(place), 0);
            (src, self.filled) = (rest, self.filled.saturating_add(count));
            if self.filled == PIECE_ELEMENTS {
                self.flush(out)?;
            }
        }
        Ok(())
    }

    /// Appends the last blocks.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self.filled.checked_rem(self.blocks.elements) {
            Some(0) => self.flush(out),
            _ => Err(fail!(Internal, "{} elements are not whole blocks", self.filled)),
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let (to, elements, bytes) = (self.to.name(), self.blocks.elements, self.blocks.bytes);
        let numbers = self.numbers.get(..self.filled).unwrap_or_default();
        let largest = blocks::largest(numbers);
        if !largest.is_finite() {
            let at = numbers.iter().position(|x| !x.is_finite()).unwrap_or(0);
            let what = if numbers.get(at).is_some_and(|x| x.is_nan()) { "NaN" } else { "infinite as f32" };
            let at = self.before.saturating_add(at as u64);
            return Err(fail!(Limit, "element {at} is {what}, which blocks of {to} cannot hold"));
        }
        let mut refused = None;
        if !self.only_checks || largest > SURELY_FITS {
            let (start, size) =
                (out.len(), numbers.len().checked_div(elements).unwrap_or(0).saturating_mul(bytes));
            out.try_reserve(size)?;
            out.resize(start.saturating_add(size), 0);
            refused = (self.quantize)(numbers, out.get_mut(start..).unwrap_or_default());
            if self.only_checks {
                out.truncate(start);
            }
        }
        if let Some(block) = refused {
            let first = self.before.saturating_add(block.saturating_mul(elements) as u64);
            let last = first.saturating_add(elements as u64).saturating_sub(1);
            return Err(fail!(
                Limit,
                "the scale of elements {first} to {last} in a block of {to} would exceed 65504, the largest \
                 f16"
            ));
        }
        self.before = self.before.saturating_add(self.filled as u64);
        self.filled = 0;
        Ok(())
    }
}
