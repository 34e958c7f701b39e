//! An index of the written components by the hash of their bytes, so that equal bytes are stored once.

use crate::digest::{Digest, Hasher};
use crate::error::{fail, Result};
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The SHA-256 of a component's bytes.
pub type ContentHash = [u8; 32];

/// The hash of a component's bytes, if it is needed, for the [`ContentIndex`].
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
pub enum Content {
    /// It is not needed: equal bytes need not be found.
    Untracked,
    /// The hash of all bytes.
    Hashed(ContentHash),
    /// The hash of the bytes that have come so far.
    Hashing(Hasher),
}

/// Bytes that were written, and where.
pub struct StoredContent {
    pub content: ContentHash,
    pub size: u64,
    pub offset: u64,
}

/// The components that were written.
pub struct ContentIndex {
    entries: HashTable<StoredContent>,
    hasher: SeedableRandomState,
}

impl ContentIndex {
    pub fn new() -> ContentIndex {
        ContentIndex { entries: HashTable::new(), hasher: crate::hash::state() }
    }

    pub fn find(&self, content: &ContentHash, size: u64) -> Option<u64> {
        let is_it = |place: &StoredContent| place.content == *content && place.size == size;
        self.entries.find(self.hasher.hash_one(content), is_it).map(|place| place.offset)
    }

    pub fn insert(&mut self, place: StoredContent) -> Result<()> {
        let hash = |place: &StoredContent| self.hasher.hash_one(place.content);
        let reserved = self.entries.try_reserve(1, hash);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of components"))?;
        self.entries.insert_unique(self.hasher.hash_one(place.content), place, hash);
        Ok(())
    }
}

/// The hash of all bytes that the hasher got.
pub fn finish(hasher: Hasher) -> ContentHash {
    match hasher.finish() {
        Digest::Sha256(content) => content,
        _ => [0; 32],
    }
}
