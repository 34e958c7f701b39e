//! An index of the copied components by their source, so that components that share bytes in the source file
//! share them in the copy.

use super::specs::ComponentSpec;
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component, Encoding, TextId};
use crate::reader::StoredPlace;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Identifies a copy: the bytes in the source file, and how they are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CopyKey {
    from: StoredPlace,
    /// None if the stored bytes are copied as they are.
    recoded: Option<Recoded>,
}

/// How bytes are written that are decoded first: two copies of one source with equal values have equal bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Recoded {
    dtype: Dtype,
    encoding: Option<Encoding>,
    digest: Option<Option<Algorithm>>,
    size: Option<u64>,
}

/// Where the bytes of a copy are in the written file.
#[derive(Clone, Copy)]
pub struct Copied {
    pub offset: u64,
    pub stored_size: u64,
    pub digest: Option<TextId>,
}

/// All copies that were written.
pub struct CopiedIndex {
    entries: HashTable<(CopyKey, Copied)>,
    hasher: SeedableRandomState,
}

impl CopyKey {
    /// The key of a copy of the stored bytes as they are.
    pub fn stored(from: StoredPlace) -> CopyKey {
        CopyKey { from, recoded: None }
    }

    /// The key of a copy that is decoded, and written as `spec` says.
    pub fn recoded(from: StoredPlace, spec: &ComponentSpec<'_>) -> CopyKey {
        let ComponentSpec { dtype, encoding, digest, size, .. } = *spec;
        CopyKey { from, recoded: Some(Recoded { dtype, encoding, digest, size }) }
    }
}

impl CopiedIndex {
    pub fn new() -> CopiedIndex {
        CopiedIndex { entries: HashTable::new(), hasher: crate::hash::state() }
    }

    pub fn find(&self, copy: &CopyKey) -> Option<Copied> {
        let found = self.entries.find(self.hash(copy), |(other, _)| other == copy);
        found.map(|(_, copied)| *copied)
    }

    /// Adds a copy, unless it is empty: an empty component has no position.
    pub fn insert(&mut self, copy: CopyKey, entry: &Component, digest: Option<TextId>) -> Result<()> {
        if entry.stored_size == 0 {
            return Ok(());
        }
        let copied = Copied { offset: entry.offset, stored_size: entry.stored_size, digest };
        let (hash, hasher) = (self.hash(&copy), &self.hasher);
        let hash_of = |(copy, _): &(CopyKey, Copied)| hasher.hash_one(copy.from.bytes());
        let reserved = self.entries.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of copies"))?;
        self.entries.insert_unique(hash, (copy, copied), hash_of);
        Ok(())
    }

    fn hash(&self, copy: &CopyKey) -> u64 {
        self.hasher.hash_one(copy.from.bytes())
    }
}
