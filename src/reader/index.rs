//! Finding things in a manifest: by name, and who shares whose pages.

use crate::error::{broken, fail, Result, Rule};
use crate::model::manifest::Manifest;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Object positions by name. The hash is seeded anew for each file, so that no file can be made
/// whose names all collide.
pub struct Names {
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// Looks at every name once. Two of one name are an error, unless `first_wins` (0.1).
    pub fn build(manifest: &Manifest, first_wins: bool) -> Result<Names> {
        let hasher = RandomState::default();
        let name_at = |at: u32| {
            let object = manifest.objects.get(at as usize);
            object.map(|o| manifest.texts.get_bytes(o.name)).unwrap_or_default()
        };
        let mut table = HashTable::new();
        let count = manifest.objects.len();
        table
            .try_reserve(count, |at: &u32| hasher.hash_one(name_at(*at)))
            .map_err(|_| fail!(OutOfMemory, "could not allocate an index of {count} names"))?;
        for (at, object) in manifest.objects.iter().enumerate() {
            let at = u32::try_from(at).map_err(|_| fail!(Limit, "more than 2^32 objects"))?;
            let name = manifest.texts.get_bytes(object.name);
            let hash = hasher.hash_one(name);
            if table.find(hash, |other| name_at(*other) == name).is_none() {
                table.insert_unique(hash, at, |at: &u32| hasher.hash_one(name_at(*at)));
            } else if !first_wins {
                let name = manifest.texts.get(object.name);
                return Err(broken!(Rule::NameDuplicate, "object {name:?} is defined twice"));
            }
        }
        Ok(Names { table, hasher })
    }

    /// The position of the object of that name. Bytes that are no UTF-8 are nobody's name.
    pub fn find(&self, manifest: &Manifest, name: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(name);
        let found = self.table.find(hash, |at| {
            let object = manifest.objects.get(*at as usize);
            object.is_some_and(|o| manifest.texts.get_bytes(o.name) == name)
        });
        found.map(|at| *at as usize)
    }
}

/// Marks the components whose pages hold no byte of another component.
pub fn mark_page_exclusive(manifest: &mut Manifest, page: u64) -> Result<()> {
    let mask = page.saturating_sub(1);
    let candidates = |m: &Manifest| m.components.iter().any(|c| c.offset & mask == 0 && c.stored_size > 0);
    if !candidates(manifest) {
        return Ok(());
    }
    let mut starts: Vec<u64> = Vec::new();
    starts.try_reserve_exact(manifest.components.len())?;
    starts.extend(manifest.components.iter().filter(|c| c.stored_size > 0).map(|c| c.offset));
    if !starts.is_sorted() {
        starts.sort_unstable();
    }
    for component in &mut manifest.components {
        if component.offset & mask != 0 || component.stored_size == 0 {
            continue;
        }
        let last_page_end = component.end().checked_next_multiple_of(page).unwrap_or(u64::MAX);
        let here = starts.partition_point(|s| *s < component.offset);
        let sharers = starts.get(here..).unwrap_or_default();
        // Itself, and whoever stands at the very same bytes, which is sharing too.
        let within = sharers.iter().take_while(|s| **s < last_page_end).take(2).count();
        component.page_exclusive = within == 1;
    }
    Ok(())
}
