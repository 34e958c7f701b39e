//! The codecs: how stored bytes become decoded ones and back, for each encoding that this version knows.
//!
//! Readers and writers get a [`Coding`] first. An unknown encoding has none, so its stored bytes are never
//! taken for decoded ones. A new encoding gets a row in `model::encoding`; then the compiler requires its
//! [`FrameFormat`] here.

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

mod array;
mod decode;
mod deflate;
mod frame_format;
mod frame_index;
mod frames;
mod seek_table;
mod strides;
mod walk;
mod zstd;

use crate::error::{fail, Result};
use crate::model::encoding::Encoding;
use frame_format::FrameFormat;
use walk::Walk;

pub(crate) use crate::model::encoding::{Codec, Coding};
pub(crate) use array::{Array, Decoding, Order};
pub(crate) use decode::Chunks;
pub(crate) use deflate::inflate_front;
pub(crate) use frame_format::Encoder;
pub(crate) use frame_index::{FrameIndex, Seek};
pub(crate) use frames::{Entries, EntryRange, FrameRun, KnownSize, Stored, StoredPart};
pub(crate) use seek_table::encode as encode_seek_table;

/// Evaluates a call with the [`FrameFormat`] of a codec by a name of the caller's.
macro_rules! with_format {
    ($codec:expr, $format:ident => $call:expr) => {
        match $codec.encoding() {
            Encoding::Zstd => {
                type $format = zstd::Zstd;
                $call
            }
            Encoding::Deflate => {
                type $format = deflate::Deflate;
                $call
            }
            Encoding::ZstdSeekable => {
                type $format = zstd::Seekable;
                $call
            }
            Encoding::Raw | Encoding::Other => Err(fail!(Internal, "this encoding has no codec")),
        }
    };
}

impl Codec {
    /// An encoder of some level.
    pub(crate) fn encoder(self, level: i32) -> Result<Encoder> {
        with_format!(self, F => Encoder::new::<F>(self, level))
    }

    /// Whether a table says where frames are, so that their headers are not read to find them.
    pub(crate) fn has_table(self) -> bool {
        with_format!(self, F => Ok(F::HAS_TABLE)).unwrap_or(false)
    }

    /// The decoded size, as far as the headers of all frames declare it; decodes nothing.
    pub(crate) fn known_size(self, mut stored: impl Stored) -> Result<KnownSize> {
        with_format!(self, F => frames::sum(self, Walk::<F>::from(&mut stored, 0)))
    }

    /// What is known of the size, and the frames in runs that can be decoded side by side. A run ends once it
    /// gives `min_size` bytes. Runs are only those of all frames if each declares its size and the sum is
    /// `wanted`.
    pub(crate) fn runs(
        self,
        mut stored: impl Stored,
        min_size: u64,
        wanted: u64,
    ) -> Result<(KnownSize, Vec<FrameRun>)> {
        with_format!(self, F => frames::runs(self, Walk::<F>::from(&mut stored, 0), min_size, wanted))
    }

    /// Where frames begin, for any range; decodes nothing.
    pub(crate) fn index(self, mut stored: impl Stored) -> Result<FrameIndex> {
        with_format!(self, F => FrameIndex::of(self, Walk::<F>::from(&mut stored, 0)))
    }

    /// Decodes all of these frames into `dst`: exactly as many bytes as it has, or an error.
    pub(crate) fn decode_into<'s>(self, stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
        with_format!(self, F => decode::decode_into::<F>(self, stored.into(), dst))
    }

    /// Fills `dst` with the decoded bytes from `offset` on, of `size` in all. `start` is what
    /// [`FrameIndex::seek`] gives for them, and `stored` has the stored bytes that it needs.
    pub(crate) fn decode_range(
        self,
        stored: StoredPart<'_>,
        start: Seek,
        size: u64,
        offset: u64,
        dst: &mut [u8],
    ) -> Result<()> {
        with_format!(self, F => decode::decode_range::<F>(self, stored, start, size, offset, dst))
    }

    /// Decodes everything in order and hands it to `sink` a little at a time; how many bytes it was. More
    /// than `limit` bytes are an error, before the sink sees them.
    #[cfg(test)]
    pub(crate) fn decode_chunks(
        self,
        stored: &[u8],
        limit: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        with_format!(self, F => decode::decode_chunks::<F>(self, stored, limit, sink))
    }

    /// Decodes everything in order and hands it to `sink` a little at a time. Fails if it is not exactly
    /// `size` bytes.
    pub(crate) fn decode_exactly(
        self,
        stored: &[u8],
        size: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        with_format!(self, F => decode::decode_exactly::<F>(self, stored, size, sink))
    }

    /// How many bytes the frames decode to; only frames whose headers do not say are decoded, and no more
    /// than `limit` bytes. `step` is called meanwhile with the stored bytes that were decoded.
    pub(crate) fn decode_counted(
        self,
        stored: &[u8],
        limit: u64,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        with_format!(self, F => decode::decode_counted::<F>(self, stored, limit, step))
    }
}
