//! zstd: sizes from headers, decoding in one shot, in ranges and piece by piece, and writing frames.
//!
//! Where the stored bytes are in memory as a whole, headers are walked first: nothing is decoded
//! that cannot give the wanted size, and no memory is sized by a header alone, because its blocks
//! must be able to hold what it promises.

mod context;
mod decode;
mod encode;
mod stream;
mod walk;

#[cfg(test)]
pub(super) use context::CREATED;

use super::frames::{Header, Stored};
use super::interface::FrameFormat;
use crate::error::Result;

/// Zstandard frames (RFC 8878).
pub(super) struct Zstd;

impl FrameFormat for Zstd {
    type FrameDecoder = decode::Decoder;
    type StreamDecoder = stream::Decoder;
    type Encoder = encode::Encoder<false>; // the manifest has digests

    const MAX_WINDOW: u64 = 1 << stream::WINDOW_LOG;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        walk::header(stored, at)
    }
}

/// Frames with a table of where each begins.
pub(super) struct Seekable;

impl FrameFormat for Seekable {
    type FrameDecoder = decode::Decoder;
    type StreamDecoder = stream::Decoder;
    type Encoder = encode::Encoder<true>;

    const MAX_WINDOW: u64 = Zstd::MAX_WINDOW;
    const MAX_POINTS: usize = 4096;
    const HAS_TABLE: bool = true;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        walk::header(stored, at)
    }
}

#[cfg(test)]
mod tests;
