//! Where the bytes of components are that were written, by the hash of these bytes: equal ones are stored once.

use crate::digest::{Digest, Hasher};
use crate::error::{fail, Result};
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The SHA-256 of bytes, by which they are known again.
pub type ContentHash = [u8; 32];

/// What is known of the bytes of a component that is written.
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
pub enum Content {
    /// Nothing is asked.
    Any,
    /// Their hash.
    Known(ContentHash),
    /// They are still coming.
    Coming(Hasher),
}

/// Where bytes are.
pub struct Place {
    pub content: ContentHash,
    pub size: u64,
    pub offset: u64,
}

/// The components that were written.
pub struct ContentIndex {
    places: HashTable<Place>,
    hasher: SeedableRandomState,
}

impl ContentIndex {
    pub fn new() -> ContentIndex {
        ContentIndex { places: HashTable::new(), hasher: crate::hash::state() }
    }

    pub fn find(&self, content: &ContentHash, size: u64) -> Option<u64> {
        let is_it = |place: &Place| place.content == *content && place.size == size;
        self.places.find(self.hasher.hash_one(content), is_it).map(|place| place.offset)
    }

    pub fn insert(&mut self, place: Place) -> Result<()> {
        let hash = |place: &Place| self.hasher.hash_one(place.content);
        let reserved = self.places.try_reserve(1, hash);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of components"))?;
        self.places.insert_unique(self.hasher.hash_one(place.content), place, hash);
        Ok(())
    }
}

/// The hash of all that was given.
pub fn finish(hasher: Hasher) -> ContentHash {
    match hasher.finish() {
        Digest::Sha256(content) => content,
        _ => [0; 32],
    }
}
