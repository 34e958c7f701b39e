//! zstd: sizes from headers, decoding (at once, in ranges, piece by piece), and encoding frames.
//!
//! If all stored bytes are in memory, headers are walked first. Nothing is decoded that cannot give the
//! wanted size. No allocation has a size from a header alone: the frame's blocks must be able to have the
//! promised content.

mod decode;
mod walk;

#[cfg(test)]
pub(super) use decode::CREATED;

use super::frame_format::{FrameEncoder, FrameFormat};
use super::frames::{Header, Stored};
use crate::error::{fail, Error, Result};
use crate::memory::try_box;
use decode::{decoder_error, internal, OneShotDecoder, PiecewiseDecoder};
use zstd_safe::{CCtx, CParameter};

/// Zstandard frames (RFC 8878), with a seek table after them if `TABLE` is set.
pub(super) struct Zstd<const TABLE: bool>;

impl<const TABLE: bool> FrameFormat for Zstd<TABLE> {
    type FrameDecoder = OneShotDecoder;
    type StreamDecoder = PiecewiseDecoder;

    const MAX_WINDOW: u64 = 1 << decode::WINDOW_LOG;
    const HAS_TABLE: bool = TABLE;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        walk::header(stored, at)
    }

    fn encoder(level: i32) -> Result<Box<dyn FrameEncoder>> {
        let (min, max) = (zstd_safe::min_c_level(), zstd_safe::max_c_level());
        if !(min..=max).contains(&level) {
            return Err(fail!(InvalidArgument, "zstd level {level} is not within {min} to {max}"));
        }
        let mut context = CCtx::try_create().ok_or_else(|| Error::out_of_memory(0))?;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(TABLE), // without a table, the manifest has digests
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(parameter).map_err(internal)?;
        }
        let encoder: Box<dyn FrameEncoder> = try_box(ZstdEncoder(context))?;
        Ok(encoder)
    }
}

/// Makes frames that give their content size. Its tables are large and reused.
struct ZstdEncoder(CCtx<'static>);

impl FrameEncoder for ZstdEncoder {
    fn frame_bound(&self, size: usize) -> usize {
        zstd_safe::compress_bound(size)
    }

    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let result = self.0.compress2(out, input);
        result.map_err(|code| decoder_error(code, format_args!("compressing {} bytes", input.len())))
    }
}

#[cfg(test)]
mod tests;
