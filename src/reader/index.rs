//! Finds objects by name.

use crate::container::Validated;
use crate::error::{fail, Result};
use crate::memory::bytes_of;
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::{Entry, HashTable};
use std::hash::{BuildHasher, Hasher};

/// The positions of objects by name. The hash has a new seed for each file, so that nobody can make a file
/// whose names all collide.
pub struct NameIndex {
    table: HashTable<u32>,
    hasher: SeedableRandomState,
}

impl NameIndex {
    /// The memory for this many names. The table of positions has a power-of-two size and is at most 7/8
    /// full; each position takes one byte more.
    pub fn size(names: usize) -> u64 {
        let places =
            (names as u64).saturating_mul(8).div_ceil(7).checked_next_power_of_two().unwrap_or(u64::MAX);
        places.saturating_mul(bytes_of::<u32>(1).saturating_add(1)).saturating_add(64)
    }

    /// Adds all names. If two objects have the same name, calls `duplicate`, which returns an error, or Ok to
    /// keep the first object (0.1).
    pub fn build(manifest: &Validated, duplicate: impl Fn(usize, usize) -> Result<()>) -> Result<NameIndex> {
        let hasher = crate::hash::state();
        let name_at = |at: u32| {
            let object = manifest.objects.get(at as usize);
            object.map(|o| manifest.texts.get_bytes(o.name)).unwrap_or_default()
        };
        let mut table = HashTable::new();
        let count = manifest.objects.len();
        table
            .try_reserve(count, |at: &u32| hash(&hasher, name_at(*at)))
            .map_err(|_| fail!(OutOfMemory, "could not allocate an index of {count} names"))?;
        for (at, object) in manifest.objects.iter().enumerate() {
            let at = u32::try_from(at).map_err(|_| fail!(Limit, "more than 2^32 objects"))?;
            let name = manifest.texts.get_bytes(object.name);
            let same = |other: &u32| name == name_at(*other);
            match table.entry(hash(&hasher, name), same, |at: &u32| hash(&hasher, name_at(*at))) {
                Entry::Vacant(place) => drop(place.insert(at)),
                Entry::Occupied(other) => duplicate(*other.get() as usize, at as usize)?,
            }
        }
        Ok(NameIndex { table, hasher })
    }

    /// The position of the object with that name.
    pub fn find(&self, manifest: &Validated, name: &[u8]) -> Option<usize> {
        let hash = hash(&self.hasher, name);
        let found = self.table.find(hash, |at| {
            let object = manifest.objects.get(*at as usize);
            object.is_some_and(|o| name == manifest.texts.get_bytes(o.name))
        });
        found.map(|at| *at as usize)
    }
}

/// Hashes the bytes alone. `hash_one` of a slice also hashes the length, which is not needed here.
#[inline(always)]
fn hash(hasher: &SeedableRandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
