//! Decoding one frame at once.

use super::context::{code_number, context, frame_error, CODE_DST_TOO_SMALL};
use crate::codec::frames::Header;
use crate::codec::interface::{Decoded, FrameDecoder};
use crate::error::Result;
use zstd_safe::DCtx;

/// libzstd's state, used for one frame after the other. Back-references are read from the decoded bytes
/// themselves: no window is allocated.
pub(crate) struct Decoder(DCtx<'static>);

impl FrameDecoder for Decoder {
    fn new() -> Result<Self> {
        context().map(Decoder)
    }

    fn decode(&mut self, frame: &[u8], header: &Header, out: &mut [u8]) -> Result<Decoded> {
        match self.0.decompress(out, frame) {
            Ok(size) => Ok(Decoded::Size(size)),
            Err(code) if code_number(code) == CODE_DST_TOO_SMALL => Ok(Decoded::TooLarge),
            Err(code) => Err(frame_error(code, header)),
        }
    }
}
