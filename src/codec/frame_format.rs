//! What a codec has to implement, and an encoder for any codec. `decode.rs` builds everything else on it.

use super::frames::{Header, Stored};
use crate::error::{fail, Error, Result};
use crate::model::encoding::Codec;

/// A codec. Stored bytes are frames, one after the other, which can be decoded independently. If a codec's
/// data is a single stream, that stream is one frame.
pub(super) trait FrameFormat {
    type FrameDecoder: FrameDecoder;
    type StreamDecoder: StreamDecoder;

    /// The largest window of a frame that the stream decoder accepts.
    const MAX_WINDOW: u64;

    /// Whether a seek table follows the frames. If so, the frames' headers are not read.
    const HAS_TABLE: bool = false;

    /// The most points that a [`super::FrameIndex`] keeps. A point takes 16 bytes.
    const MAX_POINTS: usize = if Self::HAS_TABLE { 4096 } else { 256 };

    /// Reads the headers of the frame at `at`, without decoding. A header alone never determines the size of
    /// an allocation: the rest of the frame must be able to have as much content as the header promises. This
    /// is also called if there are no stored bytes.
    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header>;

    fn encoder(_level: i32) -> Result<Box<dyn FrameEncoder>> {
        Err(fail!(Unsupported, "this encoding cannot be written"))
    }
}

/// Decodes whole frames, one by one.
pub(super) trait FrameDecoder: Sized {
    /// A decoder for the first frame.
    fn new() -> Result<Self>;

    /// Decodes a frame to the front of `out`.
    fn decode(&mut self, frame: &[u8], header: &Header, out: &mut [u8]) -> Result<Decoded>;
}

pub(super) enum Decoded {
    /// The whole frame was decoded, to this many bytes.
    Size(usize),
    /// The frame has more content than `out` has space for.
    TooLarge,
}

/// Decodes frames from pieces of the stored bytes, in order.
pub(super) trait StreamDecoder: Sized {
    /// A decoder before its first byte.
    fn new() -> Result<Self>;

    /// Consumes bytes from the front of `input`, and writes decoded bytes to the front of `out`. Returns how
    /// many were written.
    ///
    /// Returns when `out` is full or `input` is empty. If `out` is full, there may be more decoded bytes:
    /// call it again, with empty input if none is left. If `out` is not full, all decoded bytes were written.
    fn decode(&mut self, input: &mut &[u8], out: &mut [u8]) -> Result<usize>;

    /// Fails if the stored bytes end too early.
    fn check_end(&self) -> Result<()>;
}

/// Compresses each block of bytes into a frame that can be decoded independently. Equal bytes at the same
/// level always give equal frames.
pub(super) trait FrameEncoder: Send {
    /// The most bytes of a frame with `size` decoded bytes.
    fn frame_bound(&self, size: usize) -> usize;

    /// Writes a frame to the front of `out`, which has at least [`FrameEncoder::frame_bound`] bytes. Returns
    /// the size of the frame.
    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize>;
}

/// Adds the position of the frame to an error.
#[cold]
pub(super) fn in_frame(codec: Codec, header: &Header, error: Error) -> Error {
    error.within(format_args!("{} frame at byte {} of the stored bytes", codec.name(), header.stored.start))
}

/// Compresses blocks of bytes, each into a frame that can be decoded independently.
pub(crate) struct Encoder {
    codec: Codec,
    encoder: Box<dyn FrameEncoder>,
}

impl Encoder {
    pub(super) fn new<F: FrameFormat>(codec: Codec, level: i32) -> Result<Encoder> {
        Ok(Encoder { codec, encoder: F::encoder(level)? })
    }

    /// The codec that decodes its frames.
    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// The most bytes that a frame of `size` decoded bytes takes.
    pub(crate) fn frame_bound(&self, size: usize) -> usize {
        self.encoder.frame_bound(size)
    }

    /// Appends a frame to `out`. On failure `out` is unchanged.
    pub(crate) fn encode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let bound = self.frame_bound(input.len());
        out.try_reserve(bound).map_err(|_| Error::out_of_memory(bound))?;
        out.resize(start.saturating_add(bound), 0);
        let result = self.encode_to(input, out.get_mut(start..).unwrap_or_default());
        out.truncate(start.saturating_add(*result.as_ref().unwrap_or(&0)));
        result.map(drop)
    }

    /// Writes a frame to the front of `out`, which has at least [`Encoder::frame_bound`] bytes. Returns the
    /// size of the frame.
    pub(crate) fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        self.encoder.encode_to(input, out)
    }
}
