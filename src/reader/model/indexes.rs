//! The indexes of models with several files: which files are indexes, and which index names a given file.

use super::listing::{is_index_name, is_json, Listing};
use super::numbered::NumberedName;
use crate::container::{Limits, ShardIndex};
use crate::error::{fail, Cause, Error, Result};
use crate::io::path;
use crate::memory::{push, Budget};
use crate::model::sort::sort;
use crate::reader::store::{if_readable, Opened, Store};
use crate::source::with_range;
use std::path::Path;

/// How many bytes of a JSON file are searched for the key of an index.
const SNIFFED: u64 = 64 << 10;
/// The most JSON files whose content is examined. If a folder has more, indexes are recognised by name only.
const MAX_SNIFFED: usize = 256;
/// The most indexes of one folder that are read.
const MAX_INDEXES: usize = 64;
const KEY: &[u8] = b"\"weight_map\"";

pub struct FoundIndex<'l> {
    pub name: &'l str,
    /// Its contents, or the error of reading it.
    pub index: Result<ShardIndex>,
}

/// Finds the files of a model.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    pub store: &'a dyn Store,
    pub limits: &'a Limits,
    pub budget: &'a Budget,
}

impl Finder<'_> {
    /// Whether a file that the caller named is an index, by its name or its content.
    pub fn is_index(&self, path: &Path, name: &str) -> Result<bool> {
        Ok(is_index_name(name) || is_json(name) && self.has_key(path, self.limits.manifest_size)?)
    }

    /// Whether a file begins like an index and has the key of an index. In files larger than `whole` bytes,
    /// only the first bytes are searched.
    fn has_key(&self, path: &Path, whole: u64) -> Result<bool> {
        // Opening the path reports the error.
        let Some(Opened { source, .. }) = if_readable(self.store.open(path))? else { return Ok(false) };
        let size = match source.size() {
            size if size <= whole => size,
            size => size.min(SNIFFED),
        };
        self.budget.raise(self.limits.memory_for(size));
        self.budget.charge(size, "a JSON file")?;
        let found = with_range(source.as_ref(), 0..size, |bytes| {
            let is_object = bytes.trim_ascii_start().starts_with(b"{");
            Ok(is_object && bytes.windows(KEY.len()).any(|window| window == KEY))
        });
        self.budget.give_back(size);
        found
    }

    pub fn read_index(&self, path: &Path) -> Result<ShardIndex> {
        let before = self.budget.held();
        self.decode(path).map_err(|e| {
            self.budget.give_back(self.budget.held().saturating_sub(before));
            e.within(format_args!("{}", path.display()))
        })
    }

    fn decode(&self, path: &Path) -> Result<ShardIndex> {
        let source = self.store.open(path)?.source;
        let size = source.size();
        if size > self.limits.manifest_size {
            let limit = self.limits.manifest_size;
            return Err(fail!(Limit, "the index has {size} bytes, above the limit of {limit} bytes"));
        }
        self.budget.raise(self.limits.memory_for(size));
        self.budget.charge(size, "the index")?;
        let index = with_range(source.as_ref(), 0..size, |bytes| {
            ShardIndex::decode(bytes, self.limits, self.budget)
        })?;
        self.budget.give_back(size);
        Ok(index)
    }

    /// Reads all indexes in a folder whose names pass `is_wanted`. If one cannot be read, its entry has the
    /// error.
    pub fn all_indexes<'l>(
        &self,
        folder: &Path,
        listing: &'l Listing,
        is_wanted: &dyn Fn(&str, &ShardIndex) -> bool,
    ) -> Result<Vec<FoundIndex<'l>>> {
        let names = || listing.names.iter().map(String::as_str).filter(|name| is_json(name));
        let is_sniffed = self.store.is_near() && names().nth(MAX_SNIFFED).is_none();
        let mut found = Vec::new();
        for name in names().filter(|name| !name.starts_with('.')) {
            let path = path::join(folder, Path::new(name))?;
            let is_index = is_index_name(name)
                || (is_sniffed || name.contains("index")) && self.has_key(&path, SNIFFED)?;
            if !is_index {
                continue;
            }
            let before = self.budget.held();
            let index = match self.read_index(&path) {
                Ok(index) if !is_wanted(name, &index) => {
                    self.budget.give_back(self.budget.held().saturating_sub(before));
                    continue;
                }
                Err(e) if e.cause() == Cause::OutOfMemory => return Err(e),
                index => index,
            };
            if found.len() >= MAX_INDEXES {
                return Err(fail!(Limit, "the folder has more than {MAX_INDEXES} indexes of models"));
            }
            push(&mut found, FoundIndex { name, index })?;
        }
        Ok(found)
    }
}

/// The sets of numbered files that the index uses, sorted. A set is given by the name of any one of its
/// files.
pub fn sets_of<'i>(index: &'i ShardIndex, budget: &Budget) -> Result<Vec<NumberedName<'i>>> {
    let mut sets: Vec<NumberedName<'_>> = Vec::new();
    let names = (0..index.file_count()).map(|at| in_folder(index.file(at)));
    for numbered in names.filter_map(NumberedName::parse) {
        let set = numbered.set();
        if sets.last() != Some(&set) {
            budget.charge(size_of_val(&set) as u64, "the sets of an index")?;
            push(&mut sets, set)?;
        }
    }
    sort(&mut sets);
    Ok(sets)
}

/// Whether an index names the file, or another file of the same numbered set, in its own folder.
pub fn rules(index: &ShardIndex, name: &str) -> bool {
    let numbered = NumberedName::parse(name);
    let is_of_set = |other: &str| {
        let other = numbered.and_then(|one| Some((one, NumberedName::parse(other)?)));
        other.is_some_and(|(one, other)| one.is_of_set(&other))
    };
    (0..index.file_count()).map(|at| in_folder(index.file(at))).any(|other| other == name || is_of_set(other))
}

/// Removes a leading `./` from a path.
fn in_folder(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Adds to an error that the index which may name a file cannot be read.
#[cold]
pub fn unreadable(error: Error) -> Error {
    error.within(format_args!(
        "an index beside the file cannot be read (zt_open_options.part, zt --part: open the file alone)"
    ))
}
