//! Which files a model consists of: by a folder, by an index, by the name of one of several.

use super::store::Store;
use crate::container::{Limits, ShardIndex};
use crate::error::{fail, try_format, Error, Quoted, Result};
use crate::io::path;
use crate::memory::Budget;
use crate::model::manifest::Manifest;
use crate::source::with_range;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// What the name of an index ends with.
const INDEX: &str = ".index.json";
/// What names of numbered files end with.
const NUMBERED: [&str; 3] = ["zt", "safetensors", "gguf"];
/// What names of files end with that are models in a folder.
const MODELS: [&str; 6] = ["zt", "safetensors", "gguf", "npz", "pt", "pth"];
/// The most files of a numbered model.
const MOST: u32 = 99_999;
/// How many candidates an error lists.
const LISTED: usize = 8;
/// How many candidates are remembered: a model and its shards, where there are not more.
const REMEMBERED: usize = 4096;

/// The files of a model.
#[derive(Default)]
pub struct ModelFiles {
    /// In their order.
    pub paths: Vec<PathBuf>,
    /// Which tensor is in which of them, where an index says so.
    pub index: Option<ShardIndex>,
    /// The candidates in the folder, where one of them was taken because the others may be its shards.
    family: Option<Names>,
}

impl ModelFiles {
    /// One more.
    pub fn push(&mut self, path: &Path, budget: &Budget) -> Result<()> {
        self.add(path::copy(path)?, budget)
    }

    /// Refuses a folder with another model than the one that was taken, as its shards show.
    pub fn check_family(&self, manifest: &Manifest) -> Result<()> {
        let Some((family, root)) = self.family.as_ref().and_then(|all| Some((all, all.root()?))) else {
            return Ok(());
        };
        let stem = root.strip_suffix(".zt").unwrap_or(root);
        let mut known = 1usize;
        for shard in &manifest.shards {
            let name = manifest.texts.get(shard.name);
            let file = || stem.bytes().chain(*b"-").chain(name.bytes()).chain(*b".zt");
            let found = family.sorted.binary_search_by(|other| other.bytes().cmp(file()));
            known = known.saturating_add(usize::from(found.is_ok()));
        }
        match known == family.sorted.len() {
            true => Ok(()),
            false => Err(family.ambiguous()),
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
#[inline(never)] // the stack of a step is not there in the next
pub fn model_files(store: &dyn Store, path: &Path, limits: &Limits, budget: &Budget) -> Result<ModelFiles> {
    let mut candidates = Candidates::default();
    let listed = store.for_each_name(path, &mut |name| candidates.consider(name));
    let found = match listed {
        Ok(false) => return files_of(store, path, limits, budget),
        listed => listed.and_then(|_| candidates.only()),
    };
    let found = found.map_err(|e| e.within(format_args!("{}", path.display())))?;
    let name = found.sorted.first().map(String::as_str).filter(|_| found.sorted.len() == 1);
    let name = name.or(found.root()).unwrap_or_default();
    let mut files = files_of(store, &path::join(path, Path::new(name))?, limits, budget)?;
    files.family = Some(found);
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

/// The files of the model that a path that is no folder leads to.
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
    } else if let Some(numbered) = Numbered::parse(name) {
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

/// The name of a file that is one of several: `PREFIX-00001-of-00005.EXTENSION`.
struct Numbered<'n> {
    prefix: &'n str,
    extension: &'n str,
    /// Digits of the number and of the count.
    digits: (usize, usize),
    count: u32,
}

impl<'n> Numbered<'n> {
    fn parse(name: &'n str) -> Option<Numbered<'n>> {
        let (stem, extension) = name.rsplit_once('.')?;
        let (front, count) = stem.rsplit_once("-of-")?;
        let (prefix, number) = front.rsplit_once('-')?;
        let parse = |digits: &str| -> Option<u32> {
            let is_number = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse().ok().filter(|count| is_number && *count <= MOST)
        };
        let (digits, number, count) = ((number.len(), count.len()), parse(number)?, parse(count)?);
        let is_one = NUMBERED.contains(&extension) && (1..=count).contains(&number);
        is_one.then_some(Numbered { prefix, extension, digits, count })
    }

    /// The name of another one.
    fn name(&self, number: u32) -> Result<String> {
        let Numbered { prefix, extension, digits: (of_number, of_count), count } = self;
        try_format(format_args!("{prefix}-{number:0of_number$}-of-{count:0of_count$}.{extension}"))
    }
}

/// The models in a folder: their indexes, or, if there is none, files and first files of several.
#[derive(Default)]
struct Candidates {
    indexes: Names,
    models: Names,
}

/// The first few of many names.
#[derive(Default)]
struct Names {
    sorted: Vec<String>,
    /// There are more.
    is_cut: bool,
}

impl Candidates {
    fn consider(&mut self, name: &OsStr) -> Result<()> {
        // A name that is no text is no name of a model: those are written by programs.
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { return Ok(()) };
        if name.ends_with(INDEX) {
            return self.indexes.add(try_format(format_args!("{name}"))?);
        }
        let is_model = name.rsplit_once('.').is_some_and(|(_, extension)| MODELS.contains(&extension));
        match (is_model, Numbered::parse(name)) {
            (false, _) => Ok(()),
            (true, Some(numbered)) => self.models.add(numbered.name(1)?),
            (true, None) => self.models.add(try_format(format_args!("{name}"))?),
        }
    }

    /// The only one that counts, or one and what may be its shards.
    fn only(self) -> Result<Names> {
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
        self.is_cut |= self.sorted.len() > REMEMBERED;
        self.sorted.truncate(REMEMBERED);
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
        (!self.is_cut && others.clone().count() == others.filter(is_shard).count()).then_some(root)
    }

    #[cold]
    fn ambiguous(&self) -> Error {
        fail!(InvalidArgument, "the folder holds several models, so name one of them: {self}")
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.sorted.iter().take(LISTED).enumerate() {
            let between = if at == 0 { "" } else { ", " };
            write!(f, "{between}{}", Quoted(name.as_bytes()))?;
        }
        f.write_str(if self.sorted.len() > LISTED { " and more" } else { "" })
    }
}
