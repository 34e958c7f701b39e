//! Finds the files of a model: by a folder, by an index, or by the name of one of several numbered files.

use super::numbered::NumberedName;
use crate::container::{Limits, ShardIndex};
use crate::error::{fail, try_format, Error, Quoted, Result};
use crate::io::path;
use crate::memory::Budget;
use crate::model::manifest::Manifest;
use crate::reader::store::Store;
use crate::source::with_range;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The end of the name of an index.
const INDEX: &str = ".index.json";
/// The extensions of files that are models when they are found in a folder.
const MODEL_EXTENSIONS: [&str; 6] = ["zt", "safetensors", "gguf", "npz", "pt", "pth"];
/// How many candidates an error lists.
const MAX_LISTED: usize = 8;
/// How many candidates are kept: enough for a model and its shards.
const MAX_CANDIDATES: usize = 4096;

/// The files of a model.
#[derive(Default)]
pub struct ModelFiles {
    /// In the order of the model.
    pub paths: Vec<PathBuf>,
    /// Which tensor is in which of them, where an index says so.
    pub index: Option<ShardIndex>,
    /// The candidates in the folder, where one of them was taken because the others may be its shards.
    candidates: Option<Names>,
}

impl ModelFiles {
    /// Adds a copy of `path`.
    pub fn push(&mut self, path: &Path, budget: &Budget) -> Result<()> {
        self.add(path::copy(path)?, budget)
    }

    /// Refuses a folder that holds another model beside the one that was taken: a candidate that is none of its shards. If
    /// numbered files are none, a replacement of the model was stopped before they were named, or before they were removed.
    pub fn check_unambiguous(&self, manifest: &Manifest) -> Result<()> {
        let Some((candidates, root)) = self.candidates.as_ref().and_then(|all| Some((all, all.root()?)))
        else {
            return Ok(());
        };
        let stem = root.strip_suffix(".zt").unwrap_or(root);
        let is_numbered = |name: &str| NumberedName::parse(name).is_some();
        let mut known = 0usize;
        for shard in &manifest.shards {
            let name = manifest.texts.get(shard.name);
            let file = || stem.bytes().chain(*b"-").chain(name.bytes()).chain(*b".zt");
            let found = candidates.sorted.binary_search_by(|other| other.bytes().cmp(file()));
            let found = found.ok().and_then(|at| candidates.sorted.get(at));
            known = known.saturating_add(usize::from(found.is_some_and(|name| !is_numbered(name))));
        }
        let others = candidates.sorted.iter().filter(|name| *name != root && !is_numbered(name)).count();
        match known == others {
            true => Ok(()),
            false => Err(candidates.ambiguous()),
        }
    }

    fn add(&mut self, path: PathBuf, budget: &Budget) -> Result<()> {
        let size = path.as_os_str().len().saturating_add(size_of::<PathBuf>());
        budget.charge(size as u64, "the paths of the parts")?;
        self.paths.try_reserve(1)?;
        self.paths.push(path);
        Ok(())
    }
}

/// The files of the model at `path`.
#[inline(never)] // its stack frame is gone before the next step
pub fn model_files(store: &dyn Store, path: &Path, limits: &Limits, budget: &Budget) -> Result<ModelFiles> {
    let mut candidates = Candidates::default();
    let listed = store.for_each_name(path, &mut |name| candidates.consider(name));
    let found = match listed {
        Ok(false) => return files_of(store, path, limits, budget),
        listed => listed.and_then(|_| candidates.choose()),
    };
    let found = found.map_err(|e| e.within(format_args!("{}", path.display())))?;
    let name = found.sorted.first().map(String::as_str).filter(|_| found.sorted.len() == 1);
    let name = name.or(found.root()).unwrap_or_default();
    let mut files = files_of(store, &path::join(path, Path::new(name))?, limits, budget)?;
    files.candidates = Some(found);
    Ok(files)
}

/// Refuses the index of a model, where only one file can be meant.
pub fn check_is_one_file(path: &Path) -> Result<()> {
    let is_index = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.ends_with(INDEX));
    match is_index {
        false => Ok(()),
        true => Err(fail!(
            Unsupported,
            "it leads to a model of several files, which is not changed as one: change each of its files"
        )),
    }
}

/// The files of the model at a path that is no folder.
fn files_of(store: &dyn Store, path: &Path, limits: &Limits, budget: &Budget) -> Result<ModelFiles> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = ModelFiles::default();
    if name.ends_with(INDEX) {
        let index = read_index(store, path, limits, budget)
            .map_err(|e| e.within(format_args!("{}", path.display())))?;
        for at in 0..index.file_count() {
            files.add(path::join(folder, Path::new(index.file(at)))?, budget)?;
        }
        files.index = Some(index);
    } else if let Some(numbered) = NumberedName::parse(name) {
        for number in 1..=numbered.count {
            let name = numbered.name(number)?;
            files.add(path::join(folder, Path::new(&name))?, budget)?;
        }
    } else {
        files.push(path, budget)?;
    }
    Ok(files)
}

fn read_index(store: &dyn Store, path: &Path, limits: &Limits, budget: &Budget) -> Result<ShardIndex> {
    let source = store.open(path)?.source;
    let size = source.size();
    if size > limits.manifest_size {
        let limit = limits.manifest_size;
        return Err(fail!(Limit, "the index has {size} bytes, above the limit of {limit} bytes"));
    }
    budget.raise(limits.memory_for(size));
    budget.charge(size, "the index")?;
    let index = with_range(source.as_ref(), 0..size, |bytes| ShardIndex::decode(bytes, limits, budget))?;
    budget.give_back(size);
    Ok(index)
}

/// The models in a folder. `models` has single files, and of numbered files the first; it counts if there is no index.
#[derive(Default)]
struct Candidates {
    indexes: Names,
    models: Names,
}

/// The first few of many names.
#[derive(Default)]
struct Names {
    sorted: Vec<String>,
    /// There are more names than were kept.
    is_truncated: bool,
}

impl Candidates {
    fn consider(&mut self, name: &OsStr) -> Result<()> {
        // Programs write models, and give them names in UTF-8.
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { return Ok(()) };
        if name.ends_with(INDEX) {
            return self.indexes.add(try_format(format_args!("{name}"))?);
        }
        let is_model =
            name.rsplit_once('.').is_some_and(|(_, extension)| MODEL_EXTENSIONS.contains(&extension));
        match (is_model, NumberedName::parse(name)) {
            (false, _) => Ok(()),
            (true, Some(numbered)) => self.models.add(numbered.name(1)?),
            (true, None) => self.models.add(try_format(format_args!("{name}"))?),
        }
    }

    /// The names that count, if they are one model: one name, or one and its possible shards.
    fn choose(self) -> Result<Names> {
        let names = if self.indexes.sorted.is_empty() { self.models } else { self.indexes };
        match names.sorted.len() {
            0 => Err(fail!(
                NoFile,
                "the folder holds no model: no *{INDEX}, and no file that ends in .zt, .safetensors, .gguf, .npz, .pt or .pth"
            )),
            1 => Ok(names),
            _ if names.root().is_some() => Ok(names),
            _ => Err(names.ambiguous()),
        }
    }
}

impl Names {
    fn add(&mut self, name: String) -> Result<()> {
        if let Err(at) = self.sorted.binary_search(&name) {
            self.sorted.try_reserve(1)?;
            self.sorted.insert(at, name);
        }
        self.is_truncated |= self.sorted.len() > MAX_CANDIDATES;
        self.sorted.truncate(MAX_CANDIDATES);
        Ok(())
    }

    /// The one named `STEM.zt` where all others are named `STEM-NAME.zt`, as its shards would be.
    fn root(&self) -> Option<&str> {
        let root = self.sorted.iter().min_by_key(|name| name.len())?;
        let stem = root.strip_suffix(".zt")?;
        let is_shard = |name: &&str| {
            name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".zt"))
        };
        let others = self.sorted.iter().map(String::as_str).filter(|name| name != root);
        (!self.is_truncated && others.clone().count() == others.filter(is_shard).count()).then_some(root)
    }

    #[cold]
    fn ambiguous(&self) -> Error {
        fail!(InvalidArgument, "the folder holds several models, so name one of them: {self}")
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.sorted.iter().take(MAX_LISTED).enumerate() {
            let between = if at == 0 { "" } else { ", " };
            write!(f, "{between}{}", Quoted(name.as_bytes()))?;
        }
        f.write_str(if self.sorted.len() > MAX_LISTED { " and more" } else { "" })
    }
}
