//! What a codec has to implement, and an encoder of any codec. Everything else is made of it: see
//! `decode.rs`.

use super::frames::{Header, Stored};
use crate::error::{fail, Error, Result};
use crate::model::encoding::Codec;

/// An encoding that compresses. Its stored bytes are frames, one behind the other, that can be decoded one by
/// one; where they are one stream, that is one frame.
pub(super) trait FrameFormat {
    /// Decodes a frame at once.
    type FrameDecoder: FrameDecoder;
    /// Decodes frames piece by piece.
    type StreamDecoder: StreamDecoder;

    /// The largest window of a frame that a stream decoder takes.
    const MAX_WINDOW: u64;

    /// The most points that a [`super::FrameIndex`] keeps, of 16 bytes each.
    const MAX_POINTS: usize = 256;

    /// Whether a seek table is behind all frames: then their headers are not read.
    const HAS_TABLE: bool = false;

    /// What the headers of the frame say that begins at `at`, without decoding anything. No memory is sized
    /// by a header alone: what it promises, the rest of the frame must be able to hold. Also asked where
    /// there are no bytes at all.
    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header>;

    /// An encoder of that level.
    fn encoder(_level: i32) -> Result<Box<dyn FrameEncoder>> {
        Err(fail!(Unsupported, "this encoding cannot be written"))
    }
}

/// Decodes frames one by one, each at once.
pub(super) trait FrameDecoder: Sized {
    /// Before the first frame.
    fn new() -> Result<Self>;

    /// Decodes a frame to the front of `out`.
    fn decode(&mut self, frame: &[u8], header: &Header, out: &mut [u8]) -> Result<Decoded>;
}

/// The outcome of decoding a frame.
pub(super) enum Decoded {
    /// All of it was decoded, to this many bytes.
    Size(usize),
    /// It holds more than `out`.
    TooLarge,
}

/// Decodes frames from pieces of the stored bytes, in order.
pub(super) trait StreamDecoder: Sized {
    /// Before the first byte.
    fn new() -> Result<Self>;

    /// Takes from the front of `input` and writes decoded bytes to the front of `out`. Returns how many were
    /// written.
    ///
    /// Returns when `out` is full or `input` is used up, whichever comes first. Where `out` was filled,
    /// more may be waiting: call again, with no input if none is left. Fewer bytes than `out` takes
    /// mean that nothing waits.
    fn decode(&mut self, input: &mut &[u8], out: &mut [u8]) -> Result<usize>;

    /// Fails if the stored bytes must not end here.
    fn check_end(&self) -> Result<()>;
}

/// Compresses each block of bytes into one frame that can be decoded independently. Equal bytes at the same
/// level always give an equal frame.
pub(super) trait FrameEncoder: Send {
    /// Bytes that a frame of `size` bytes takes at most.
    fn frame_bound(&self, size: usize) -> usize;

    /// Writes one frame to the front of `out`, which has at least [`FrameEncoder::frame_bound`] bytes; how
    /// many it takes.
    fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize>;
}

/// Puts the frame before the error's message.
#[cold]
pub(super) fn in_frame(codec: Codec, header: &Header, error: Error) -> Error {
    error.within(format_args!("{} frame at byte {} of the stored bytes", codec.name(), header.stored.start))
}

/// Compresses blocks of bytes, each into one frame that can be decoded by itself.
pub(crate) struct Encoder {
    codec: Codec,
    encoder: Box<dyn FrameEncoder>,
}

impl Encoder {
    /// An encoder of that level.
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
