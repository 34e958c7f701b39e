//! zstd: sizes from headers, decoding in one shot, in ranges and piece by piece, and writing frames.
//!
//! Where the stored bytes are in memory as a whole, headers are walked first: nothing is decoded
//! that cannot give the wanted size, and no memory is sized by a header alone, because its blocks
//! must be able to hold what it promises.

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

/// Zstandard frames (RFC 8878).
pub(super) struct Zstd;

impl FrameFormat for Zstd {
    type FrameDecoder = OneShotDecoder;
    type StreamDecoder = PiecewiseDecoder;

    const MAX_WINDOW: u64 = 1 << decode::WINDOW_LOG;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        walk::header(stored, at)
    }

    fn encoder(level: i32) -> Result<Box<dyn FrameEncoder>> {
        zstd_encoder(level, false) // the manifest has digests
    }
}

/// Frames with a table of where each begins.
pub(super) struct Seekable;

impl FrameFormat for Seekable {
    type FrameDecoder = OneShotDecoder;
    type StreamDecoder = PiecewiseDecoder;

    const MAX_WINDOW: u64 = Zstd::MAX_WINDOW;
    const MAX_POINTS: usize = 4096;
    const HAS_TABLE: bool = true;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        walk::header(stored, at)
    }

    fn encoder(level: i32) -> Result<Box<dyn FrameEncoder>> {
        zstd_encoder(level, true)
    }
}

/// Frames that say their content size. Its tables are large, and used again.
struct ZstdEncoder(CCtx<'static>);

/// An encoder whose frames have a checksum of their content where that is wanted.
fn zstd_encoder(level: i32, checksum: bool) -> Result<Box<dyn FrameEncoder>> {
    let (min, max) = (zstd_safe::min_c_level(), zstd_safe::max_c_level());
    if !(min..=max).contains(&level) {
        return Err(fail!(InvalidArgument, "zstd level {level} is not within {min} to {max}"));
    }
    let mut context = CCtx::try_create().ok_or_else(|| Error::out_of_memory(0))?;
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(checksum),
        CParameter::DictIdFlag(false),
    ] {
        context.set_parameter(parameter).map_err(internal)?;
    }
    let encoder: Box<dyn FrameEncoder> = try_box(ZstdEncoder(context))?;
    Ok(encoder)
}

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
