//! Where the bytes of components are that were copied: those that have the same bytes in the file they come from have them
//! in the copy, too.

use super::specs::ComponentSpec;
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component, Encoding, TextId};
use crate::reader::StoredPlace;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Which bytes of a file, and as what they are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CopyOf {
    from: StoredPlace,
    /// None where stored bytes are copied.
    anew: Option<Anew>,
}

/// What bytes that are written again follow from, beside those that they were.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Anew {
    dtype: Dtype,
    encoding: Option<Encoding>,
    digest: Option<Option<Algorithm>>,
    size: Option<u64>,
}

/// What was written of them.
#[derive(Clone, Copy)]
pub struct Copied {
    pub offset: u64,
    pub stored_size: u64,
    pub digest: Option<TextId>,
}

/// All that were written.
pub struct CopiedIndex {
    places: HashTable<(CopyOf, Copied)>,
    hasher: SeedableRandomState,
}

impl CopyOf {
    /// A copy of stored bytes.
    pub fn stored(from: StoredPlace) -> CopyOf {
        CopyOf { from, anew: None }
    }

    /// A copy that is decoded and written as `spec` says.
    pub fn anew(from: StoredPlace, spec: &ComponentSpec<'_>) -> CopyOf {
        let ComponentSpec { dtype, encoding, digest, size, .. } = *spec;
        CopyOf { from, anew: Some(Anew { dtype, encoding, digest, size }) }
    }
}

impl CopiedIndex {
    pub fn new() -> CopiedIndex {
        CopiedIndex { places: HashTable::new(), hasher: crate::hash::state() }
    }

    pub fn find(&self, copy: &CopyOf) -> Option<Copied> {
        let found = self.places.find(self.hash(copy), |(other, _)| other == copy);
        found.map(|(_, copied)| *copied)
    }

    /// Notes what was written; an empty component has no place.
    pub fn insert(&mut self, copy: CopyOf, entry: &Component, digest: Option<TextId>) -> Result<()> {
        if entry.stored_size == 0 {
            return Ok(());
        }
        let copied = Copied { offset: entry.offset, stored_size: entry.stored_size, digest };
        let (hash, hasher) = (self.hash(&copy), &self.hasher);
        let hash_of = |(copy, _): &(CopyOf, Copied)| hasher.hash_one(copy.from.bytes());
        let reserved = self.places.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of copies"))?;
        self.places.insert_unique(hash, (copy, copied), hash_of);
        Ok(())
    }

    fn hash(&self, copy: &CopyOf) -> u64 {
        self.hasher.hash_one(copy.from.bytes())
    }
}
