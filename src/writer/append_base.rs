//! The file that is appended to, and the edits of its objects.

use crate::container::{ObjectEdit, ObjectEdits};
use crate::error::{fail, Result};
use crate::memory::{owned_text, AlignedBuffer};
use crate::model::manifest::table_position;
use crate::model::value::Value;
use crate::reader::File;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The file that is appended to.
pub struct AppendBase {
    /// On the heap, because a writer is moved on the stack.
    pub(super) file: Box<File>,
    /// Its encoded manifest.
    pub(super) manifest: AlignedBuffer,
    /// The edits of its objects.
    pub(super) edits: ObjectEdits,
    /// The renamed objects, by their new names.
    renamed: HashTable<u32>,
    hasher: SeedableRandomState,
}

impl AppendBase {
    pub(super) fn new(file: Box<File>, manifest: AlignedBuffer) -> AppendBase {
        let (edits, renamed) = (ObjectEdits::default(), HashTable::new());
        AppendBase { file, manifest, edits, renamed, hasher: crate::hash::state() }
    }

    /// The position of the object that currently has this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let renamed = self.renamed.find(self.hash(name), |at| new_name(&self.edits, *at) == name);
        let keeps_its_name =
            |at: &usize| self.edits.get(*at).is_none_or(|edit| edit.name.is_none() && !edit.is_removed);
        match renamed {
            Some(at) => Some(*at as usize),
            None => self.file.find_position(name).filter(keeps_its_name),
        }
    }

    /// The edit of the object at this position, and the attributes that the object has in the file.
    pub fn edit(&mut self, at: usize) -> Result<(&mut ObjectEdit, Option<Value<'_>>)> {
        let manifest = self.file.manifest();
        self.edits.reserve(at, manifest.objects.len())?;
        let old = manifest.objects.get(at).and_then(|object| manifest.object_attributes(object));
        let edit = self.edits.get_mut(at).ok_or_else(|| fail!(Internal, "the file has no object {at}"))?;
        Ok((edit, old))
    }

    /// Removes the object at this position.
    pub fn remove(&mut self, at: usize) -> Result<()> {
        self.edit(at)?.0.is_removed = true;
        self.forget_new_name(at);
        Ok(())
    }

    /// Renames the object at this position. No other object has the new name.
    pub fn rename(&mut self, at: usize, name: &str) -> Result<()> {
        let (hash, name, number) = (self.hash(name), owned_text(name)?, table_position(at)?);
        self.edit(at)?;
        let (edits, hasher) = (&self.edits, &self.hasher);
        let hash_of = |at: &u32| hasher.hash_one(new_name(edits, *at));
        let reserved = self.renamed.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of names"))?;
        self.forget_new_name(at);
        self.edit(at)?.0.name = Some(name);
        let (edits, hasher) = (&self.edits, &self.hasher);
        self.renamed.insert_unique(hash, number, |at| hasher.hash_one(new_name(edits, *at)));
        Ok(())
    }

    fn hash(&self, name: &str) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Removes the object's new name, if it has one, from the index.
    fn forget_new_name(&mut self, at: usize) {
        let Some(name) = self.edits.get(at).and_then(|edit| edit.name.as_deref()) else { return };
        if let Ok(place) = self.renamed.find_entry(self.hash(name), |other| *other as usize == at) {
            place.remove();
        }
    }
}

/// The new name of a renamed object.
fn new_name(edits: &ObjectEdits, at: u32) -> &str {
    edits.get(at as usize).and_then(|edit| edit.name.as_deref()).unwrap_or_default()
}
