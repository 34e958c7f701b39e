//! Which files belong to a model. Every way of opening a model uses this.
//!
//! | path | files |
//! |---|---|
//! | an index, known by its name or its content | those that it names, and others of their numbered sets |
//! | a file that an index beside it names, or of whose set one is named | those of that index |
//! | a shard of a `.zt` file beside it | that file, which names its shards |
//! | one of several numbered files | all of them |
//! | a folder | one of these: see `folder.rs` |
//! | anything else | that file |
//!
//! If the path is a symbolic link, the other files are looked for in the folder of the link, then in the
//! folder of its target.

use super::finder::{self, folder_of, Found, ModelFiles};
use super::folder::{self, is_one_model, preferred_index};
use super::indexes::{rules, unreadable, Finder, FoundIndex};
use super::listing::{is_index_name, is_json, Listing};
use super::numbered::NumberedName;
use crate::container::{Limits, ShardIndex};
use crate::error::{fail, Result};
use crate::io::path;
use crate::memory::{push, Budget};
use crate::reader::store::{follow, Store, MAX_LINKS};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The files of the model at `path`. If `part` is set, only the file at `path`.
#[inline(never)] // its stack frame is gone before the next step
pub fn model_files(
    store: &dyn Store,
    path: &Path,
    part: bool,
    limits: &Limits,
    budget: &Budget,
) -> Result<ModelFiles> {
    let finder = Finder { store, limits, budget };
    if part {
        return finder.alone(path);
    }
    match Listing::read(store, path, budget) {
        Ok(None) => finder.of_file(path),
        Ok(Some(listing)) => {
            let found = folder::choose(&finder, path, &listing);
            found.map_err(|e| e.within(format_args!("{}", path.display())))
        }
        Err(e) => Err(e.within(format_args!("{}", path.display()))),
    }
}

/// Fails if `path` is the index of a model, for calls that need a single file.
pub fn check_is_one_file(path: &Path) -> Result<()> {
    match path.file_name().and_then(OsStr::to_str).is_some_and(is_index_name) {
        false => Ok(()),
        true => Err(fail!(
            Unsupported,
            "this is a model of several files, which cannot be changed as one: change each of its files"
        )),
    }
}

impl Finder<'_> {
    /// The files of the model at a path that is not a folder.
    #[inline(never)] // its stack frame is gone before the next step
    fn of_file(&self, path: &Path) -> Result<ModelFiles> {
        let mut place = path::copy(path)?;
        let mut incomplete = None;
        for _ in 0..MAX_LINKS {
            match self.at(&place)? {
                Found::Model(files) => return Ok(files),
                Found::Incomplete(why) => incomplete = incomplete.or(Some(why)),
                Found::Alone => {}
            }
            let Some(target) = follow(self.store, &place)? else { break };
            place = target;
        }
        match incomplete {
            Some(why) => Err(why.within(format_args!("{}", path.display()))),
            None => self.alone(path),
        }
    }

    /// What the path refers to, if symbolic links are not followed.
    #[inline(never)] // its stack frame is gone before the next step
    fn at(&self, path: &Path) -> Result<Found> {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { return Ok(Found::Alone) };
        let folder = folder_of(path);
        if is_json(name) {
            if !self.is_index(path, name)? {
                return Ok(Found::Alone);
            }
            let index = self.read_index(path)?;
            let listing = Listing::around(self.store, folder, self.budget)?;
            return self.of_index(folder, path, index, listing.as_ref());
        }
        let numbered = NumberedName::parse(name);
        let listing = Listing::around(self.store, folder, self.budget)?;
        if let Some((path, index)) = self.index_of(folder, name, numbered.as_ref(), listing.as_ref())? {
            return self.of_index(folder, &path, index, listing.as_ref());
        }
        if let Some(root) = finder::root_of(self, folder, name, listing.as_ref())? {
            return Ok(Found::Model(self.alone(&root)?));
        }
        match numbered {
            Some(numbered) => self.of_set(folder, &numbered, listing.as_ref()),
            None => Ok(Found::Alone),
        }
    }

    /// An index in the folder of a file that names the file.
    #[inline(never)] // its stack frame is gone before the next step
    fn index_of(
        &self,
        folder: &Path,
        name: &str,
        numbered: Option<&NumberedName<'_>>,
        listing: Option<&Listing>,
    ) -> Result<Option<(PathBuf, ShardIndex)>> {
        let Some(listing) = listing else {
            return match numbered {
                Some(numbered) => self.probe_index(folder, name, numbered),
                None => Ok(None),
            };
        };
        let found = self.all_indexes(folder, listing, &|_, index| rules(index, name))?;
        let (mut ruling, mut broken) = (Vec::new(), None);
        for FoundIndex { name: index_name, index } in found {
            match index {
                Ok(index) => {
                    push(&mut ruling, (index_name, index))?;
                }
                // This broken index may be the index of this file.
                Err(e) if is_index_name(index_name) && is_one_model(index_name, name)? => {
                    broken = broken.or(Some(e));
                }
                Err(_) => {}
            }
        }
        if let (true, Some(why)) = (ruling.is_empty(), broken) {
            return Err(unreadable(why));
        }
        let Some((name, index)) = preferred_index(ruling)? else { return Ok(None) };
        Ok(Some((path::join(folder, Path::new(name))?, index)))
    }

    /// The index for a numbered file, if the folder cannot be listed. Tries the names that programs give to
    /// indexes.
    fn probe_index(
        &self,
        folder: &Path,
        name: &str,
        numbered: &NumberedName<'_>,
    ) -> Result<Option<(PathBuf, ShardIndex)>> {
        for candidate in numbered.index_names()? {
            let path = path::join(folder, Path::new(&candidate))?;
            if self.store.has(&path)? {
                let index = self.read_index(&path).map_err(unreadable)?;
                if rules(&index, name) {
                    return Ok(Some((path, index)));
                }
            }
        }
        Ok(None)
    }
}
