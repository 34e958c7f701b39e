//! Writing: one independent frame at a time.

use zstd_safe::{CCtx, CParameter};

use super::context::{decoder_error, internal};
use crate::error::{fail, Error, Result};

/// Compresses blocks of bytes, each into a frame of its own that says its content size.
///
/// The same bytes at the same level give the same frame, whatever was compressed before.
pub(crate) struct FrameEncoder {
    /// Reused: its tables are large.
    context: CCtx<'static>,
}

impl FrameEncoder {
    /// An encoder of this level; 0 is libzstd's default.
    pub(crate) fn new(level: i32) -> Result<Self> {
        let (least, most) = (zstd_safe::min_c_level(), zstd_safe::max_c_level());
        if !(least..=most).contains(&level) {
            return Err(fail!(InvalidArgument, "zstd level {level} is not within {least} to {most}"));
        }
        let mut context = CCtx::try_create().ok_or_else(|| Error::out_of_memory(0))?;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(false), // the manifest has digests
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(parameter).map_err(internal)?;
        }
        Ok(FrameEncoder { context })
    }

    /// Appends one frame to `out`; after an error `out` is as it was.
    pub(crate) fn encode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let bound = frame_bound(input.len());
        let Some(end) = start.checked_add(bound) else {
            return Err(Error::out_of_memory(bound));
        };
        out.try_reserve(bound).map_err(|_| Error::out_of_memory(bound))?;
        out.resize(end, 0);
        let result = self.encode_to(input, out.get_mut(start..).unwrap_or_default());
        out.truncate(start.saturating_add(*result.as_ref().unwrap_or(&0)));
        result.map(drop)
    }

    /// Writes one frame to the front of `out`, which has at least [`frame_bound`] bytes; how many it takes.
    pub(crate) fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let result = self.context.compress2(out, input);
        result.map_err(|code| decoder_error(code, format_args!("compressing {} bytes", input.len())))
    }
}

/// Bytes that a frame of `size` bytes takes at most.
pub(crate) fn frame_bound(size: usize) -> usize {
    zstd_safe::compress_bound(size)
}
