//! Codecs decode stored bytes and encode them, for each encoding that this version knows.
//!
//! Readers and writers first get a [`Coding`]. An unknown encoding has none, so its stored bytes are never
//! used as decoded ones. A new encoding gets a row in `model::encoding`; then the compiler demands its
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

/// Evaluates a call with the [`FrameFormat`] of a codec. The caller chooses the name for it.
macro_rules! with_format {
    ($codec:expr, $format:ident => $call:expr) => {
        match $codec.encoding() {
            Encoding::Zstd => {
                type $format = zstd::Zstd<false>;
                $call
            }
            Encoding::Deflate => {
                type $format = deflate::Deflate;
                $call
            }
            Encoding::ZstdSeekable => {
                type $format = zstd::Zstd<true>;
                $call
            }
            Encoding::Raw | Encoding::Other => Err(fail!(Internal, "this encoding has no codec")),
        }
    };
}

impl Codec {
    /// An encoder for this level.
    pub(crate) fn encoder(self, level: i32) -> Result<Encoder> {
        with_format!(self, F => Encoder::new::<F>(self, level))
    }

    /// Whether a seek table gives the positions of frames, so that their headers are not read.
    pub(crate) fn has_table(self) -> bool {
        with_format!(self, F => Ok(F::HAS_TABLE)).unwrap_or(false)
    }

    /// The decoded size that the headers of all frames give. Decodes nothing.
    pub(crate) fn known_size(self, mut stored: impl Stored) -> Result<KnownSize> {
        with_format!(self, F => frames::sum(self, Walk::<F>::from(&mut stored, 0)))
    }

    /// The known size, and runs of frames that can be decoded in parallel. A run ends once it decodes to
    /// `min_size` bytes. The runs are complete only if every frame gives its size and the sum is `wanted`.
    pub(crate) fn runs(
        self,
        mut stored: impl Stored,
        min_size: u64,
        wanted: u64,
    ) -> Result<(KnownSize, Vec<FrameRun>)> {
        with_format!(self, F => frames::runs(self, Walk::<F>::from(&mut stored, 0), min_size, wanted))
    }

    /// An index of frames, to find any range. Decodes nothing.
    pub(crate) fn index(self, mut stored: impl Stored) -> Result<FrameIndex> {
        with_format!(self, F => FrameIndex::of(self, Walk::<F>::from(&mut stored, 0)))
    }

    /// Decodes all of these frames into `dst`. They must decode to exactly its size.
    pub(crate) fn decode_into<'s>(self, stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
        with_format!(self, F => decode::decode_into::<F>(self, stored.into(), dst))
    }

    /// Fills `dst` with the decoded bytes from `offset` on. `size` is the size of all decoded bytes. `start`
    /// is what [`FrameIndex::seek`] returned for the range, and `stored` has the stored bytes that it needs.
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

    /// Decodes everything in order, and calls `sink` with small pieces. Returns the decoded size. If there
    /// are more than `limit` bytes, it fails before `sink` gets them.
    #[cfg(test)]
    pub(crate) fn decode_chunks(
        self,
        stored: &[u8],
        limit: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        with_format!(self, F => decode::decode_chunks::<F>(self, stored, limit, Some(sink), &mut |_| Ok(())))
    }

    /// Decodes everything in order, and calls `sink` with small pieces. Fails if the decoded size is not
    /// exactly `size`.
    pub(crate) fn decode_exactly(
        self,
        stored: &[u8],
        size: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        with_format!(self, F => decode::decode_exactly::<F>(self, stored, size, sink))
    }

    /// The decoded size of all frames. Only frames whose headers give no size are decoded, and no more than
    /// `limit` bytes. `step` is called meanwhile with the number of stored bytes decoded.
    pub(crate) fn decode_counted(
        self,
        stored: &[u8],
        limit: u64,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        with_format!(self, F => decode::decode_chunks::<F>(self, stored, limit, None, step))
    }
}
