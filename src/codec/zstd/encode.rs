//! Writing: one independent frame at a time.

use zstd_safe::{CCtx, CParameter};

use super::context::{decoder_error, internal};
use crate::codec::interface::FrameEncoder;
use crate::error::{fail, Error, Result};

/// Compresses blocks of bytes, each into a frame of its own that says its content size.
///
/// If `CHECKSUM`, with a checksum of its content. The same bytes at the same level give the same frame,
/// whatever was compressed before.
pub(crate) struct Encoder<const CHECKSUM: bool> {
    /// Reused: its tables are large.
    context: CCtx<'static>,
}

impl<const CHECKSUM: bool> FrameEncoder for Encoder<CHECKSUM> {
    fn new(level: i32) -> Result<Self> {
        let (min, max) = (zstd_safe::min_c_level(), zstd_safe::max_c_level());
        if !(min..=max).contains(&level) {
            return Err(fail!(InvalidArgument, "zstd level {level} is not within {min} to {max}"));
        }
        let mut context = CCtx::try_create().ok_or_else(|| Error::out_of_memory(0))?;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(CHECKSUM),
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(parameter).map_err(internal)?;
        }
        Ok(Encoder { context })
    }

    fn frame_bound(size: usize) -> usize {
        zstd_safe::compress_bound(size)
    }

    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let result = self.context.compress2(out, input);
        result.map_err(|code| decoder_error(code, format_args!("compressing {} bytes", input.len())))
    }
}
