//! Which files a model is: the one answer for every way of opening one.
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
//! If the path is a symbolic link, the other files are looked for beside the link, then beside what it leads to.

use super::folder;
use super::indexes::{rules, sets_of, unreadable, FoundIndex, Indexes};
use super::listing::{is_index_name, is_json, listed, Listing};
use super::numbered::NumberedName;
use super::roots;
use crate::container::{Limits, ShardIndex};
use crate::error::{fail, Error, Result};
use crate::io::path;
use crate::memory::Budget;
use crate::reader::store::Store;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How many symbolic links are followed from one to the next.
const MAX_LINKS: usize = 16;
/// How many files that a listing does not have are asked for by their names.
const MAX_ASKED: usize = 64;

/// The files of a model.
#[derive(Default)]
pub struct ModelFiles {
    /// In the order of the model. If there is an index, the files that it names come first, in its order.
    pub paths: Vec<PathBuf>,
    /// Which tensor is in which of them, where an index says so.
    pub index: Option<ShardIndex>,
    /// The path of that index.
    pub index_path: Option<PathBuf>,
    /// The names of other models, and of states of trainings, in the folder that was named.
    pub passed_over: Vec<String>,
}

impl ModelFiles {
    /// Adds a copy of `path`.
    pub fn push(&mut self, path: &Path, budget: &Budget) -> Result<()> {
        self.add(path::copy(path)?, budget)
    }

    fn add(&mut self, path: PathBuf, budget: &Budget) -> Result<()> {
        let size = path.as_os_str().len().saturating_add(size_of::<PathBuf>());
        budget.charge(size as u64, "the paths of the parts")?;
        self.paths.try_reserve(1)?;
        self.paths.push(path);
        Ok(())
    }
}

/// What a path leads to.
pub enum Found {
    /// A model.
    Model(ModelFiles),
    /// A model some of whose files are not there, which this says.
    Incomplete(Error),
    /// A file by itself.
    Alone,
}

/// Finds the files of a model.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    pub store: &'a dyn Store,
    pub limits: &'a Limits,
    pub budget: &'a Budget,
}

/// The files of the model at `path`; with `part` the file at `path` alone.
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

/// Refuses the index of a model, where only one file can be meant.
pub fn check_is_one_file(path: &Path) -> Result<()> {
    match path.file_name().and_then(OsStr::to_str).is_some_and(is_index_name) {
        false => Ok(()),
        true => Err(fail!(
            Unsupported,
            "it leads to a model of several files, which is not changed as one: change each of its files"
        )),
    }
}

impl<'a> Finder<'a> {
    pub fn indexes(&self) -> Indexes<'a> {
        Indexes { store: self.store, limits: self.limits, budget: self.budget }
    }

    pub fn alone(&self, path: &Path) -> Result<ModelFiles> {
        let mut files = ModelFiles::default();
        files.push(path, self.budget)?;
        Ok(files)
    }

    /// The files of the model at a path that is no folder.
    fn of_file(&self, path: &Path) -> Result<ModelFiles> {
        let mut place = path::copy(path)?;
        let mut incomplete = None;
        for _ in 0..MAX_LINKS {
            match self.at(&place)? {
                Found::Model(files) => return Ok(files),
                Found::Incomplete(why) => incomplete = incomplete.or(Some(why)),
                Found::Alone => {}
            }
            let Some(target) = self.store.link_target(&place)? else { break };
            place = path::join(folder_of(&place), &target)?;
        }
        match incomplete {
            Some(why) => Err(why.within(format_args!("{}", path.display()))),
            None => self.alone(path),
        }
    }

    /// What a path leads to, if links are not followed.
    fn at(&self, path: &Path) -> Result<Found> {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { return Ok(Found::Alone) };
        let folder = folder_of(path);
        if is_json(name) {
            if !self.indexes().is_index(path, name)? {
                return Ok(Found::Alone);
            }
            let index = self.indexes().read(path)?;
            let listing = Listing::beside(self.store, folder, self.budget)?;
            return self.of_index(folder, path, index, listing.as_ref());
        }
        let numbered = NumberedName::parse(name);
        let listing = Listing::beside(self.store, folder, self.budget)?;
        if let Some((path, index)) = self.index_of(folder, name, numbered.as_ref(), listing.as_ref())? {
            return self.of_index(folder, &path, index, listing.as_ref());
        }
        if let Some(root) = roots::root_of(self, folder, name, listing.as_ref())? {
            return Ok(Found::Model(self.alone(&root)?));
        }
        match numbered {
            Some(numbered) => self.of_set(folder, &numbered, listing.as_ref()),
            None => Ok(Found::Alone),
        }
    }

    /// The index beside a file that names it.
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
        let found = self.indexes().all(folder, listing, &|_, index| rules(index, name))?;
        let (mut ruling, mut broken) = (Vec::new(), None);
        for FoundIndex { name: index_name, index } in found {
            match index {
                Ok(index) => {
                    ruling.try_reserve(1)?;
                    ruling.push((index_name, index));
                }
                // It may be the index of this file.
                Err(e) if is_index_name(index_name) && folder::is_one_model(index_name, name)? => {
                    broken = broken.or(Some(e));
                }
                Err(_) => {}
            }
        }
        if let (true, Some(why)) = (ruling.is_empty(), broken) {
            return Err(unreadable(why));
        }
        let Some((name, index)) = folder::preferred_index(ruling)? else { return Ok(None) };
        Ok(Some((path::join(folder, Path::new(name))?, index)))
    }

    /// The index beside a numbered file in a folder that cannot be listed: under the names that programs give to it.
    fn probe_index(
        &self,
        folder: &Path,
        name: &str,
        numbered: &NumberedName<'_>,
    ) -> Result<Option<(PathBuf, ShardIndex)>> {
        for candidate in numbered.index_names()? {
            let path = path::join(folder, Path::new(&candidate))?;
            if self.store.has(&path)? {
                let index = self.indexes().read(&path).map_err(unreadable)?;
                if rules(&index, name) {
                    return Ok(Some((path, index)));
                }
            }
        }
        Ok(None)
    }

    /// The files that an index in `folder` names, then those of their sets that it does not name.
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
                let (count, missing) = (index.file_count(), listed(missing.iter().copied()));
                return Ok(Found::Incomplete(fail!(
                    NoFile,
                    "of the {count} files that the index names, these are not there: {missing}"
                )));
            }
        }
        for name in extras(&index, listing, self.budget)? {
            files.add(path::join(folder, Path::new(name))?, self.budget)?;
        }
        files.index = Some(index);
        Ok(Found::Model(files))
    }

    /// Those of `names` that are not in a folder.
    fn missing<'n>(&self, names: impl Iterator<Item = &'n str>, folder: &Path) -> Result<Vec<&'n str>> {
        let mut missing = Vec::new();
        for name in names {
            if !self.store.has(&path::join(folder, Path::new(name))?)? {
                missing.try_reserve(1)?;
                missing.push(name);
            }
        }
        Ok(missing)
    }

    /// All files of a numbered set.
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
                    "the parts are numbered from 0 or from 1, but {none:?} and {last:?} are both there"
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
                missing.try_reserve(1)?;
                missing.push(name);
            }
            files.add(path, self.budget)?;
        }
        if missing.is_empty() {
            return Ok(Found::Model(files));
        }
        let (count, missing) = (numbered.count, listed(missing.iter().map(String::as_str)));
        Ok(Found::Incomplete(fail!(
            NoFile,
            "it is one of the {count} parts of a model, and these are not there: {missing} \
             (zt_open_options.part, zt --part: open it alone)"
        )))
    }

    /// The number of the first part: 0 or 1; none if parts of both ways to count are there.
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

/// The numbers of a set that are in a folder, sorted; none if the folder was not listed.
fn present(numbered: &NumberedName<'_>, listing: Option<&Listing>) -> Result<Option<Vec<u32>>> {
    let Some(listing) = listing else { return Ok(None) };
    let mut numbers = Vec::new();
    let all = listing.names.iter().filter(|name| name.starts_with(numbered.prefix));
    let of_set = all.filter_map(|name| NumberedName::parse(name)).filter(|other| other.is_of_set(numbered));
    for other in of_set {
        numbers.try_reserve(1)?;
        numbers.push(other.number);
    }
    crate::model::sort::sort(&mut numbers);
    Ok(Some(numbers))
}

/// The files in the folder of an index that it does not name, and of whose set it names another one.
pub fn extras<'l>(index: &ShardIndex, listing: Option<&'l Listing>, budget: &Budget) -> Result<Vec<&'l str>> {
    let Some(listing) = listing else { return Ok(Vec::new()) };
    let sets = sets_of(index, budget)?;
    let mut found = Vec::new();
    for name in &listing.names {
        let set = NumberedName::parse(name).map(NumberedName::set);
        let is_of_set = set.is_some_and(|set| sets.binary_search(&set).is_ok());
        if is_of_set && !index.has_file(name) {
            found.try_reserve(1)?;
            found.push(name.as_str());
        }
    }
    budget.give_back(size_of_val(sets.as_slice()) as u64);
    Ok(found)
}

pub fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
