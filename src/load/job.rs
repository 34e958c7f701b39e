//! A piece of a request that can be done in any order by any thread.

use super::slab::StridedBlocks;
use crate::codec::Codec;
use crate::digest::Digest;

/// Some bytes of a request. Small, as a batch may have a great many.
pub struct Job<'a> {
    /// Which of the sources of the batch the stored bytes are in, and where: what jobs are sorted by.
    pub source: u32,
    /// Position of the request.
    pub request: u32,
    pub offset: u64,
    /// Receives the bytes.
    pub dst: &'a mut [u8],
    pub kind: JobKind,
}

pub enum JobKind {
    /// Stored bytes, as they are, to their place.
    Copy,
    /// A whole component, hashed while it is copied; the digest that the manifest declares.
    Hash(Digest),
    /// Evenly spaced blocks that are read together and taken apart.
    Strided(StridedBlocks),
    /// Some frames of a compressed component, so many stored bytes, which decode to `dst`.
    Frames { codec: Codec, stored: u64, decoded_start: u64, borrowed: bool },
    /// All of its stored bytes, out of which the request's part is decoded; their digest.
    Decode { codec: Codec, stored: u64, borrowed: bool, expected: Option<Digest> },
    /// All else, by one thread: what has to be looked for, is of very many pieces, or is converted.
    Serial,
}

impl Job<'_> {
    /// Bytes that it delivers.
    pub fn bytes(&self) -> u64 {
        self.dst.len() as u64
    }

    /// How many stored bytes it reads from its place on, if it reads the file itself.
    pub fn stored_bytes(&self) -> u64 {
        match &self.kind {
            JobKind::Copy | JobKind::Hash(_) => self.bytes(),
            JobKind::Strided(window) => window.source_size(),
            JobKind::Frames { stored, borrowed: false, .. }
            | JobKind::Decode { stored, borrowed: false, .. } => *stored,
            JobKind::Frames { .. } | JobKind::Decode { .. } | JobKind::Serial => 0,
        }
    }

    /// Whether the stored bytes are what `dst` receives.
    pub fn is_in_place(&self) -> bool {
        matches!(self.kind, JobKind::Copy | JobKind::Hash(_))
    }

    /// Where its stored bytes end, if they are at most `most` and may be read together with its neighbours.
    pub fn coalescable_end(&self, most: u64) -> Option<u64> {
        let stored = self.stored_bytes();
        let alone = match self.kind {
            JobKind::Serial => true,
            JobKind::Frames { borrowed, .. } | JobKind::Decode { borrowed, .. } => borrowed,
            JobKind::Copy | JobKind::Hash(_) | JobKind::Strided(_) => false,
        };
        (!alone && stored <= most).then(|| self.offset.saturating_add(stored))
    }
}
