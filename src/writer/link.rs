//! Objects whose bytes stay in other files, which become shards of the file that is written.

use super::copy::{Plan, Stored};
use super::specs::ObjectSpec;
use super::state::Writer;
use crate::container::MAX_SHARDS;
use crate::digest::{to_text, Algorithm, Hasher};
use crate::error::{fail, Error, Quoted, Result};
use crate::model::manifest::{table_position, Manifest, Position, RareNames, Shard};
use crate::model::value::Attributes;
use crate::reader::{Component, File, Object};
use std::hash::BuildHasher;

impl Writer {
    /// Makes an open file a shard of the file that is written. Readers look for it by that name: as
    /// `STEM-NAME.zt` next to `STEM.zt`. All of its bytes are read, for its own digests and for the new one.
    pub fn add_shard(&mut self, name: &str, file: &File) -> Result<()> {
        self.check_idle()?;
        let named = |e: Error| e.within(format_args!("shard {}", Quoted(name.as_bytes())));
        self.check_shard(name, file).map_err(named)?;
        // The table of shards has a new digest of the whole file.
        let mut components = file.objects().flat_map(|object| object.components());
        components.try_for_each(|component| component.check_source()).map_err(named)?;
        let mut hasher = Hasher::new(Algorithm::Xxh3);
        let size = file.for_each_byte(&mut |chunk| {
            hasher.update(chunk);
            self.report(chunk.len())
        })?;
        let digest = to_text(&hasher.finish())?;
        let hash = self.hasher.hash_one(name.as_bytes());
        let (name, digest) = (self.manifest.texts.add(name)?, self.manifest.texts.add(&digest)?);
        let number = table_position(self.manifest.shards.len())?;
        let at = Position::after(self.manifest.shards.len())?;
        self.manifest.shards.try_reserve(1)?;
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let hash_of = |at: &u32| hasher.hash_one(name_of(manifest, *at));
        let reserved = self.shard_names.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of shards"))?;
        let file_hash = |(file, _): &(u64, Position)| hasher.hash_one(file);
        let reserved = self.shard_files.try_reserve(1, file_hash);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of shards"))?;
        self.shard_names.insert_unique(hash, number, hash_of);
        if self.shard_of(file.number()).is_none() {
            self.shard_files.insert_unique(hasher.hash_one(file.number()), (file.number(), at), file_hash);
        }
        self.manifest.shards.push(Shard { name, size, digest });
        Ok(())
    }

    /// The first shard that was made of that open file.
    fn shard_of(&self, file: u64) -> Option<Position> {
        let found = self.shard_files.find(self.hasher.hash_one(file), |(other, _)| *other == file);
        found.map(|(_, at)| *at)
    }

    fn check_shard(&self, name: &str, file: &File) -> Result<()> {
        let to = self.capabilities();
        if self.canonical.is_some() {
            return Err(fail!(InvalidArgument, "the canonical form has no shards"));
        }
        if self.append_base.is_some() {
            return Err(fail!(
                Unsupported,
                "only a new file gets shards: one that is there keeps its own table"
            ));
        }
        to.check_shard_name(name)?;
        if file.container() != to.container {
            let (from, to) = (file.container().name(), to.container.name());
            return Err(fail!(
                Unsupported,
                "it is a file of {from}; a file of {to} has only shards of its own kind"
            ));
        }
        if file.manifest_count() != 1 {
            return Err(fail!(Unsupported, "it is a model of several files; each of them may be a shard"));
        }
        let hash = self.hasher.hash_one(name.as_bytes());
        if self.shard_names.find(hash, |at| name_of(&self.manifest, *at) == name.as_bytes()).is_some() {
            return Err(fail!(Exists, "there is a shard of that name"));
        }
        match self.manifest.shards.len() < MAX_SHARDS {
            true => Ok(()),
            false => Err(fail!(Limit, "there are {MAX_SHARDS} shards already, which is the limit")),
        }
    }

    /// Adds an object of a file that was made a shard, under `name`; its bytes stay where they are.
    pub fn link(&mut self, object: &Object<'_>, name: &str) -> Result<()> {
        self.check_idle()?;
        let shard = self.shard_of(object.file_number()).ok_or_else(|| {
            let what = fail!(InvalidArgument, "the file that it is of was not made a shard");
            what.within(format_args!("object {}", Quoted(object.name_bytes())))
        })?;
        let spec = ObjectSpec { name, format: object.format_name(), shape: object.shape() };
        self.begin(&spec, Attributes::of(object.attributes())?)?;
        let linked = self.link_components(shard, object);
        linked.and_then(|()| self.end()).inspect_err(|_| self.discard_object())
    }

    /// Adds the entries of all components; what they hold is checked as that of a copy.
    fn link_components(&mut self, shard: Position, object: &Object<'_>) -> Result<()> {
        let mut plans = Vec::new();
        plans.try_reserve_exact(object.components().len())?;
        for component in object.components() {
            plans.push(Plan::Stored(self.plan_link(component)?));
        }
        self.check_plans(&plans, true)?;
        for plan in plans {
            if let Plan::Stored(Stored { mut entry, rare, .. }) = plan {
                entry.set_in_shard(true);
                self.push_component(entry, RareNames { shard: Some(shard), ..rare })?;
            }
        }
        Ok(())
    }

    fn plan_link<'f>(&mut self, component: Component<'f>) -> Result<Stored<'f>> {
        if component.entry().is_in_shard() {
            return Err(component.wrap(fail!(
                Unsupported,
                "it is in a shard of that file; shards of shards are not followed"
            )));
        }
        if component.is_never_interpreted() {
            let name = component.logical_name().unwrap_or_default();
            let why = self.capabilities().cannot_represent(format_args!("the type {name:?}"));
            return Err(component.wrap(why));
        }
        self.plan_stored(component)
    }
}

/// The name of a shard.
fn name_of(manifest: &Manifest, at: u32) -> &[u8] {
    let shard = manifest.shards.get(at as usize);
    shard.map(|shard| manifest.texts.get_bytes(shard.name)).unwrap_or_default()
}
