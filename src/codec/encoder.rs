//! An encoder of any codec.

use super::interface::FrameEncoder;
use crate::error::{Error, Result};
use crate::memory::try_box;
use crate::model::encoding::Codec;

/// A [`FrameEncoder`] behind a pointer.
trait AnyEncoder: Send {
    fn frame_bound(&self, size: usize) -> usize;
    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize>;
}

impl<E: FrameEncoder> AnyEncoder for E {
    fn frame_bound(&self, size: usize) -> usize {
        E::frame_bound(size)
    }

    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        FrameEncoder::encode_to(self, input, out)
    }
}

/// Compresses blocks of bytes, each into a frame of its own that can be decoded by itself.
pub(crate) struct Encoder {
    codec: Codec,
    encoder: Box<dyn AnyEncoder>,
}

impl Encoder {
    /// An encoder of that level.
    pub(super) fn new<E: FrameEncoder>(codec: Codec, level: i32) -> Result<Encoder> {
        Ok(Encoder { codec, encoder: try_box(E::new(level)?)? })
    }

    /// The codec that decodes its frames.
    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// The most bytes that a frame of `size` decoded bytes takes.
    pub(crate) fn frame_bound(&self, size: usize) -> usize {
        self.encoder.frame_bound(size)
    }

    /// Appends one frame to `out`; after an error `out` is as it was.
    pub(crate) fn encode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let bound = self.frame_bound(input.len());
        let Some(end) = start.checked_add(bound) else {
            return Err(Error::out_of_memory(bound));
        };
        out.try_reserve(bound).map_err(|_| Error::out_of_memory(bound))?;
        out.resize(end, 0);
        let result = self.encode_to(input, out.get_mut(start..).unwrap_or_default());
        out.truncate(start.saturating_add(*result.as_ref().unwrap_or(&0)));
        result.map(drop)
    }

    /// Writes one frame to the front of `out`, which has [`Encoder::frame_bound`] bytes or more. Returns how
    /// many it takes.
    pub(crate) fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        self.encoder.encode_to(input, out)
    }
}
