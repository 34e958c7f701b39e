//! The codecs: how stored bytes become decoded ones and back, for each encoding that this version knows.
//!
//! Who reads or writes asks for a [`Coding`] first. An encoding that is unknown has none, so that its stored bytes are
//! never taken for decoded ones. One that is added gets a row and a variant in `model::encoding`, and the compiler names what it has to do.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod frame_index;
mod frames;
mod zstd;

use crate::error::Result;

pub(crate) use crate::model::encoding::{Codec, Coding};
pub(crate) use frame_index::{FrameIndex, Seek};
pub(crate) use frames::{FrameRun, KnownSize, Stored, StoredPart};

/// Compresses blocks of bytes, each into a frame of its own that can be decoded by itself.
pub(crate) enum Encoder {
    /// Zstandard frames.
    Zstd(zstd::FrameEncoder),
}

impl Codec {
    /// An encoder of some level.
    pub(crate) fn encoder(self, level: i32) -> Result<Encoder> {
        match self {
            Codec::Zstd => zstd::FrameEncoder::new(level).map(Encoder::Zstd),
        }
    }

    /// What the headers of all frames say of the decoded size; decodes nothing.
    pub(crate) fn known_size(self, stored: impl Stored) -> Result<KnownSize> {
        match self {
            Codec::Zstd => frames::sum(self, zstd::Walk::new(stored)),
        }
    }

    /// What is known of the size, and all frames in runs that can be decoded side by side: as few as give `least` bytes
    /// each. Of all frames only if each says its size and all give `wanted`.
    pub(crate) fn runs(
        self,
        stored: impl Stored,
        least: u64,
        wanted: u64,
    ) -> Result<(KnownSize, Vec<FrameRun>)> {
        match self {
            Codec::Zstd => frames::runs(self, zstd::Walk::new(stored), least, wanted),
        }
    }

    /// Where frames begin, for any range; decodes nothing.
    pub(crate) fn index(self, stored: impl Stored) -> Result<FrameIndex> {
        match self {
            Codec::Zstd => FrameIndex::of(self, zstd::Walk::new(stored)),
        }
    }

    /// Decodes all of these frames into `dst`: exactly as many bytes as it has, or an error.
    pub(crate) fn decode_into<'s>(self, stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
        match self {
            Codec::Zstd => zstd::decode_into(stored, dst),
        }
    }

    /// Decodes the bytes from `offset` on of the `size` that there are, as many as `dst` has. `start` is what the index
    /// gives for them, and `stored` has what that needs.
    pub(crate) fn decode_range(
        self,
        stored: StoredPart<'_>,
        start: Seek,
        size: u64,
        offset: u64,
        dst: &mut [u8],
    ) -> Result<()> {
        match self {
            Codec::Zstd => zstd::decode_range(stored, start, size, offset, dst),
        }
    }

    /// Decodes everything in order and hands it to `sink` a little at a time; how many bytes it was. More than `limit`
    /// bytes are an error, before the sink sees them.
    pub(crate) fn decode_chunks(
        self,
        stored: &[u8],
        limit: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        match self {
            Codec::Zstd => zstd::decode_chunks(stored, limit, sink),
        }
    }

    /// How many bytes the frames decode to; only frames whose headers do not say are decoded, and no more than `limit`
    /// bytes.
    pub(crate) fn decode_counted(self, stored: &[u8], limit: u64) -> Result<u64> {
        match self {
            Codec::Zstd => zstd::decode_counted(stored, limit),
        }
    }
}

impl Encoder {
    /// The codec that decodes its frames.
    pub(crate) fn codec(&self) -> Codec {
        match self {
            Encoder::Zstd(_) => Codec::Zstd,
        }
    }

    /// Bytes that a frame of `size` bytes takes at most.
    pub(crate) fn frame_bound(&self, size: usize) -> usize {
        match self {
            Encoder::Zstd(_) => zstd::frame_bound(size),
        }
    }

    /// Appends one frame to `out`; after an error `out` is as it was.
    pub(crate) fn encode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Encoder::Zstd(encoder) => encoder.encode(input, out),
        }
    }

    /// Writes one frame to the front of `out`, which has [`Encoder::frame_bound`] bytes or more; how many it takes.
    pub(crate) fn encode_to(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        match self {
            Encoder::Zstd(encoder) => encoder.encode_to(input, out),
        }
    }
}
