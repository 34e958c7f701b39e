//! Finds the files of a model: from an index, from the name of one of several numbered files, or from a shard
//! (`STEM.zt` has shards `STEM-NAME.zt`).

use super::indexes::{sets_of, Finder};
use super::listing::{Listed, Listing};
use super::numbered::NumberedName;
use crate::container::{capabilities, ShardIndex};
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::io::path;
use crate::memory::{push, with_capacity, Budget};
use crate::model::manifest::{Container, Manifest};
use crate::model::sort::sort;
use crate::reader::open::open_part;
use std::path::{Path, PathBuf};

/// How many files that a listing does not have are looked up by name.
const MAX_ASKED: usize = 64;

#[derive(Default)]
pub struct ModelFiles {
    /// In the model's order. If there is an index, the files that it names come first, in its order.
    pub paths: Vec<PathBuf>,
    /// Which file has which tensor, if there is an index.
    pub index: Option<ShardIndex>,
    pub index_path: Option<PathBuf>,
    pub passed_over: Vec<String>,
}

impl ModelFiles {
    pub fn push(&mut self, path: &Path, budget: &Budget) -> Result<()> {
        self.add(path::copy(path)?, budget)
    }

    fn add(&mut self, path: PathBuf, budget: &Budget) -> Result<()> {
        let size = path.as_os_str().len().saturating_add(size_of::<PathBuf>());
        budget.charge(size as u64, "the paths of the parts")?;
        push(&mut self.paths, path)
    }
}

/// What a path refers to.
#[allow(clippy::large_enum_variant, reason = "one is made when a model is opened")]
pub enum Found {
    Model(ModelFiles),
    /// A model with missing files. The error names them.
    Incomplete(Error),
    Alone,
}

impl Finder<'_> {
    pub fn alone(&self, path: &Path) -> Result<ModelFiles> {
        let mut files = ModelFiles::default();
        files.push(path, self.budget)?;
        Ok(files)
    }

    /// The files that an index in `folder` names, then files of the same numbered sets that it does not name.
    pub fn of_index(
        &self,
        folder: &Path,
        path: &Path,
        index: ShardIndex,
        listing: Option<&Listing>,
    ) -> Result<Found> {
        let mut files = ModelFiles { index_path: Some(path::copy(path)?), ..ModelFiles::default() };
        for at in 0..index.file_count() {
            files.add(path::join(folder, Path::new(index.file(at)))?, self.budget)?;
        }
        if self.store.is_near() {
            let missing = self.missing((0..index.file_count()).map(|at| index.file(at)), folder)?;
            if !missing.is_empty() {
                let (count, missing) = (index.file_count(), Listed(missing.iter().copied()));
                return Ok(Found::Incomplete(fail!(
                    NoFile,
                    "of the {count} files in the index, these are missing: {missing}"
                )));
            }
        }
        for name in extras(&index, listing, self.budget)? {
            files.add(path::join(folder, Path::new(name))?, self.budget)?;
        }
        files.index = Some(index);
        Ok(Found::Model(files))
    }

    /// The names in `names` that do not exist in a folder.
    fn missing<'n>(&self, names: impl Iterator<Item = &'n str>, folder: &Path) -> Result<Vec<&'n str>> {
        let mut missing = Vec::new();
        for name in names {
            if !self.store.has(&path::join(folder, Path::new(name))?)? {
                push(&mut missing, name)?;
            }
        }
        Ok(missing)
    }

    pub fn of_set(
        &self,
        folder: &Path,
        numbered: &NumberedName<'_>,
        listing: Option<&Listing>,
    ) -> Result<Found> {
        let first = match self.first_number(folder, numbered, listing)? {
            Some(first) => first,
            None => {
                let (none, last) = (numbered.name(0)?, numbered.name(numbered.count)?);
                return Err(fail!(
                    InvalidArgument,
                    "the parts are numbered from 0 or from 1, but {none:?} and {last:?} both exist"
                ));
            }
        };
        let numbers = first..first.saturating_add(numbered.count);
        let mut files = ModelFiles::default();
        let mut missing: Vec<String> = Vec::new();
        let present = present(numbered, listing)?;
        for number in numbers {
            let name = numbered.name(number)?;
            let path = path::join(folder, Path::new(&name))?;
            let is_listed = present.as_ref().is_none_or(|all| all.binary_search(&number).is_ok());
            if !is_listed && (missing.len() >= MAX_ASKED || !self.store.has(&path)?) {
                push(&mut missing, name)?;
            }
            files.add(path, self.budget)?;
        }
        if missing.is_empty() {
            return Ok(Found::Model(files));
        }
        let (count, missing) = (numbered.count, Listed(missing.iter().map(String::as_str)));
        Ok(Found::Incomplete(fail!(
            NoFile,
            "it is one of the {count} parts of a model, and these are not there: {missing} \
             (zt_open_options.part, zt --part: open it alone)"
        )))
    }

    /// The number of the first part, 0 or 1. `None` if both exist.
    fn first_number(
        &self,
        folder: &Path,
        numbered: &NumberedName<'_>,
        listing: Option<&Listing>,
    ) -> Result<Option<u32>> {
        let (has_none, has_last) = match present(numbered, listing)? {
            Some(present) => {
                let has = |number: u32| present.binary_search(&number).is_ok();
                (has(0) || numbered.number == 0, has(numbered.count) || numbered.number == numbered.count)
            }
            None if numbered.number == 0 => (true, false),
            None if numbered.number == numbered.count => (false, true),
            None => (self.store.has(&path::join(folder, Path::new(&numbered.name(0)?))?)?, false),
        };
        Ok(match (has_none, has_last) {
            (true, true) => None,
            (true, false) => Some(0),
            (false, _) => Some(1),
        })
    }
}

/// The numbers of a set that exist in a folder, sorted; `None` if the folder was not listed.
fn present(numbered: &NumberedName<'_>, listing: Option<&Listing>) -> Result<Option<Vec<u32>>> {
    let Some(listing) = listing else { return Ok(None) };
    let mut numbers = Vec::new();
    let all = listing.names.iter().filter(|name| name.starts_with(numbered.prefix));
    let of_set = all.filter_map(|name| NumberedName::parse(name)).filter(|other| other.is_of_set(numbered));
    for other in of_set {
        push(&mut numbers, other.number)?;
    }
    sort(&mut numbers);
    Ok(Some(numbers))
}

/// Files in the index's folder that the index does not name, but that belong to the same numbered set as one
/// it names.
pub fn extras<'l>(index: &ShardIndex, listing: Option<&'l Listing>, budget: &Budget) -> Result<Vec<&'l str>> {
    let Some(listing) = listing else { return Ok(Vec::new()) };
    let sets = sets_of(index, budget)?;
    let mut found = Vec::new();
    for name in &listing.names {
        let set = NumberedName::parse(name).map(NumberedName::set);
        let is_of_set = set.is_some_and(|set| sets.binary_search(&set).is_ok());
        if is_of_set && !index.has_file(name) {
            push(&mut found, name.as_str())?;
        }
    }
    budget.give_back(size_of_val(sets.as_slice()) as u64);
    Ok(found)
}

pub fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The file in the same folder that lists this shard; `None` if no file does.
pub fn root_of(
    finder: &Finder<'_>,
    folder: &Path,
    name: &str,
    listing: Option<&Listing>,
) -> Result<Option<PathBuf>> {
    let Some(stem) = name.strip_suffix(".zt") else { return Ok(None) };
    // In the name of a numbered shard, try the position before its number.
    let numbered = NumberedName::parse(name).and_then(|numbered| numbered.prefix.len().checked_sub(1));
    for (at, _) in stem.match_indices('-').filter(|(at, _)| *at > 0) {
        let (root, shard) =
            (stem.get(..at).unwrap_or_default(), stem.get(at.saturating_add(1)..).unwrap_or_default());
        let root = try_format(format_args!("{root}.zt"))?;
        let path = path::join(folder, Path::new(&root))?;
        let is_there = match listing {
            Some(listing) => listing.has(&root),
            None => numbered == Some(at) && finder.store.has(&path)?,
        };
        if !is_there {
            continue;
        }
        match shards_of(finder, &path) {
            Ok(shards) if shards.iter().any(|name| name == shard) => return Ok(Some(path)),
            Err(e) if numbered == Some(at) || e.cause() == Cause::OutOfMemory => return Err(e),
            _ => {}
        }
    }
    Ok(None)
}

pub fn shards_of(finder: &Finder<'_>, path: &Path) -> Result<Vec<String>> {
    with_manifest(finder, path, |_, manifest| {
        let mut names = with_capacity(manifest.shards.len())?;
        for shard in &manifest.shards {
            names.push(try_format(format_args!("{}", manifest.texts.get(shard.name)))?);
        }
        Ok(names)
    })
}

/// Whether a file may be a shard: its container allows shards, and the file has no objects and no shards.
pub fn is_shard(finder: &Finder<'_>, path: &Path) -> Result<bool> {
    with_manifest(finder, path, |container, manifest| {
        Ok(capabilities(container).has_shards && manifest.objects.is_empty() && manifest.shards.is_empty())
    })
}

fn with_manifest<T>(
    finder: &Finder<'_>,
    path: &Path,
    body: impl FnOnce(Container, &Manifest) -> Result<T>,
) -> Result<T> {
    let label = try_format(format_args!("{}", path.display()))?;
    // The memory is freed before the model is opened.
    let budget = Budget::new(finder.limits.memory_for(0));
    let (part, manifest) = open_part(finder.store, path, label, finder.limits, &budget, false)?;
    body(part.container(), &manifest)
}
