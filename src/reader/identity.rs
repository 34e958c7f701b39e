//! Numbers that change with the content of a file.

use crate::container::Frame;
use crate::digest::{compute, Algorithm, Digest};
use crate::error::Result;
use crate::source::{with_range, ByteSource};

/// Numbers that change when the content of a file does, as far as its manifest shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Bytes of the file.
    pub size: u64,
    /// When it was changed last, in nanoseconds since 1970; 0 where it is not known.
    pub modified: i64,
    /// First byte of the manifest.
    pub manifest_offset: u64,
    /// The XXH3 of the manifest, of 64 bits.
    pub manifest_hash: u64,
    /// [`ByteSource::identity`] of the file; 0 if the source has none.
    pub source: u64,
}

/// [`Identity::manifest_hash`] of a source. Reads the manifest, unless the file says it.
pub(super) fn manifest_hash(source: &dyn ByteSource, frame: &Frame) -> Result<u64> {
    match frame.manifest_hash {
        Some(hash) => Ok(hash), // the file says it, and it was checked
        None => with_range(source, frame.manifest.clone(), |bytes| Ok(hash(bytes))),
    }
}

/// One number from [`ByteSource::identity`] of two parts; 0 if both are 0.
pub(super) fn combine(one: u64, other: u64) -> u64 {
    match u128::from(one) << 64 | u128::from(other) {
        0 => 0,
        both => hash(&both.to_be_bytes()),
    }
}

/// The XXH3 of 64 bits.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    match compute(Algorithm::Xxh3, bytes) {
        Digest::Xxh3(hash) => hash,
        _ => 0,
    }
}
