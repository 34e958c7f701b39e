//! Finds objects by name.

use crate::container::Validated;
use crate::error::{fail, Result};
use crate::memory::bytes_of;
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::{Entry, HashTable};
use std::hash::{BuildHasher, Hasher};

/// Object positions by name. The hash is seeded anew for each file, so that no file can be made
/// whose names all collide.
pub struct NameIndex {
    table: HashTable<u32>,
    hasher: SeedableRandomState,
}

impl NameIndex {
    /// Bytes of memory for this many names: positions in a table with a power-of-two size, at most 7/8 full,
    /// and one byte for each.
    pub fn size(names: usize) -> u64 {
        let places =
            (names as u64).saturating_mul(8).div_ceil(7).checked_next_power_of_two().unwrap_or(u64::MAX);
        places.saturating_mul(bytes_of::<u32>(1).saturating_add(1)).saturating_add(64)
    }

    /// Looks at every name once. `duplicate` is called for two objects of one name: it returns an error, or
    /// the first one is the one that is found (0.1).
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

    /// The position of the object of that name.
    pub fn find(&self, manifest: &Validated, name: &[u8]) -> Option<usize> {
        let hash = hash(&self.hasher, name);
        let found = self.table.find(hash, |at| {
            let object = manifest.objects.get(*at as usize);
            object.is_some_and(|o| name == manifest.texts.get_bytes(o.name))
        });
        found.map(|at| *at as usize)
    }
}

/// The hash of the bytes alone: `hash_one` of a slice hashes its length, too, which a single name does not
/// need.
#[inline(always)]
fn hash(hasher: &SeedableRandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
