//! Models of several files. Several threads read the manifests, which are then joined into one [`File`].

mod files;
mod finder;
mod folder;
mod indexes;
mod listing;
mod numbered;

pub use files::check_is_one_file;
pub use numbered::part_of_set;

use crate::container::{self, Limits, ShardIndex, Validated};
use crate::error::{broken, fail, try_format, Cause, Quoted, Result, Rule};
use crate::lock::Mutex;
use crate::memory::{bytes_of, filled, push, try_box, with_capacity, Budget};
use crate::model::manifest::{Manifest, Object};
use crate::reader::file::{File, ModelInfo};
use crate::reader::manifest::NameIndex;
use crate::reader::open::open_part;
use crate::reader::open_options::{OpenOptions, Shards};
use crate::reader::parts::{FilePart, Parts};
use crate::reader::shards::{add_shards, ShardStore};
use crate::reader::store::{threads_to_open, FileSystem, Store};
use crate::threads;
use files::model_files;
use finder::ModelFiles;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file of the model, and its manifest.
type ReadPart = (FilePart, Validated);

/// A model that is being opened.
struct Opening<'a> {
    store: &'a dyn Store,
    options: &'a OpenOptions,
    limits: Limits,
    budget: Budget,
    label: String,
    files: ModelFiles,
}

impl File {
    /// Opens the model at `path`, which is one of its files or its folder. `files.rs` explains which files
    /// belong to it.
    pub fn open_model(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
        let store = FileSystem(options.mode);
        open_model(&store, ShardStore::Kept(try_box(store)?), path.as_ref(), options)
    }

    /// Like [`File::open_model`], with files from `store`. Shards are opened now, because the store may not
    /// exist later. If one cannot be opened, a read from it returns the error.
    pub fn open_model_from(store: &dyn Store, path: &Path, options: &OpenOptions) -> Result<File> {
        open_model(store, ShardStore::Borrowed(store), path, options)
    }

    /// The paths of the files that [`File::open_model`] opens. If there is an index, its path is the last.
    pub fn model_paths(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Vec<PathBuf>> {
        let store = FileSystem(options.mode);
        let opening = Opening::new(&store, options, String::new());
        let mut files = opening.model_files(path.as_ref())?;
        if let Some(index) = files.index_path {
            push(&mut files.paths, index)?;
        }
        Ok(files.paths)
    }

    /// What the model has that is not shown as part of it.
    pub fn model_info(&self) -> &ModelInfo {
        &self.model
    }

    /// Opens several files as one. It has the objects of all files, file by file. No two objects may have the
    /// same name.
    pub fn open_parts<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<File> {
        let Some(first) = paths.first() else {
            return Err(fail!(InvalidArgument, "a model has at least one part"));
        };
        let (first, others) = (first.as_ref().display(), paths.len().saturating_sub(1));
        let label = match others {
            0 => options.label(format_args!("{first}"))?,
            _ => options.label(format_args!("{first} and {others} more"))?,
        };
        let store = FileSystem(options.mode);
        let mut opening = Opening::new(&store, options, label);
        paths.iter().try_for_each(|path| opening.files.push(path.as_ref(), &opening.budget))?;
        opening.open(ShardStore::Kept(try_box(store)?))
    }
}

fn open_model(store: &dyn Store, shards: ShardStore<'_>, path: &Path, options: &OpenOptions) -> Result<File> {
    let mut opening = Opening::new(store, options, options.label_at(path)?);
    opening.files = opening.model_files(path)?;
    opening.open(shards)
}

impl<'a> Opening<'a> {
    fn new(store: &'a dyn Store, options: &'a OpenOptions, label: String) -> Opening<'a> {
        let limits = options.limits();
        let (budget, files) = (Budget::new(limits.memory_for(0)), ModelFiles::default());
        Opening { store, options, limits, budget, label, files }
    }

    fn model_files(&self, path: &Path) -> Result<ModelFiles> {
        model_files(self.store, path, self.options.part, &self.limits, &self.budget)
    }

    fn open(self, shards: ShardStore<'_>) -> Result<File> {
        let places = bytes_of::<ReadPart>(self.files.paths.len()).saturating_mul(2);
        let charged = self.budget.charge(places, "the parts of the model");
        charged.map_err(|e| e.within(format_args!("{}", self.label)))?;
        let fixed = self.budget.held();
        let read = self.read_all()?;
        self.file_of(read, fixed, shards)
    }

    /// The file of all parts that were read. `fixed` is the memory that was in use before.
    #[inline(never)] // its stack frame is not yet there when the parts are read
    fn file_of(self, read: Vec<ReadPart>, fixed: u64, shards: ShardStore<'_>) -> Result<File> {
        let shards = Some(shards).filter(|_| self.options.shards != Shards::Never);
        let mut info = ModelInfo::default();
        let joined = self.join_all(read, &mut info, fixed);
        let (parts, manifest) = joined.map_err(|e| e.within(format_args!("{}", self.label)))?;
        let Opening { store, options, budget, label, files, .. } = self;
        info.passed_over = files.passed_over;
        let mut file = File::of_parts(parts, Some(label), manifest, info, shards, budget, options)?;
        let place = files.index_path.as_ref().or(files.paths.first());
        if options.combine_quantized {
            file.combine(place.map(|path| (store, path.as_path())))?;
        }
        Ok(file)
    }

    /// Joins the files into one, if they agree.
    #[inline(never)] // its stack frame is gone before the next step
    fn join_all(
        &self,
        mut read: Vec<ReadPart>,
        info: &mut ModelInfo,
        fixed: u64,
    ) -> Result<(Parts, Validated)> {
        if !self.options.part {
            check_splits(&read)?;
        }
        let shown = match &self.files.index {
            Some(index) => {
                shown_objects(&mut read, index, self.options.include_unlisted, info, &self.budget)?
            }
            None => Vec::new(),
        };
        let (mut parts, manifest) = join(read, &shown, &self.limits, &self.budget, fixed)?;
        let path_of = |part: usize| self.files.paths.get(part).map(PathBuf::as_path);
        add_shards(self.store, &mut parts, &manifest, &path_of, self.options, &self.budget)?;
        Ok((parts, manifest))
    }

    /// Reads the manifests of all files, on several threads if that is faster. Returns the error of the first
    /// file that failed.
    #[inline(never)] // its stack frame is gone before the next step
    fn read_all(&self) -> Result<Vec<ReadPart>> {
        let count = self.files.paths.len();
        let threads = threads_to_open(self.store, self.options.threads, count);
        let before = self.budget.held();
        match self.read_by(threads.min(count)) {
            // Whether several manifests fit in the memory limit at once depends on timing. So read them
            // again, one by one.
            Err(e) if e.cause() == Cause::Limit && threads > 1 => {
                self.budget.give_back(self.budget.held().saturating_sub(before));
                self.read_by(1)
            }
            outcome => outcome,
        }
    }

    #[inline(never)] // its stack frame is gone before the next step
    fn read_by(&self, threads: usize) -> Result<Vec<ReadPart>> {
        let paths = &self.files.paths;
        let mut results: Vec<Mutex<Option<Result<ReadPart>>>> = with_capacity(paths.len())?;
        results.resize_with(paths.len(), Mutex::default);
        let (next, failed_at) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        threads::run(threads, self.options.thread_hooks, &|| loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            // Continue up to the first failure, so that every file before it is read.
            let (Some(path), Some(slot), true) =
                (paths.get(at), results.get(at), at < failed_at.load(Ordering::Relaxed))
            else {
                return;
            };
            let part = self.read_one(path);
            if part.is_err() {
                failed_at.fetch_min(at, Ordering::Relaxed);
            }
            *slot.lock() = Some(part);
        });
        let mut read = with_capacity(paths.len())?;
        for slot in results {
            let part = slot.into_inner();
            read.push(part.unwrap_or_else(|| Err(fail!(Internal, "a part of the model was not opened")))?);
        }
        Ok(read)
    }

    #[inline(never)] // its stack frame is gone before the next step
    fn read_one(&self, path: &Path) -> Result<ReadPart> {
        let label = match &self.options.name {
            Some(name) => try_format(format_args!("{name}: {}", path.display()))?,
            None => try_format(format_args!("{}", path.display()))?,
        };
        let (part, mut manifest) = open_part(self.store, path, label, &self.limits, &self.budget, false)?;
        part.mark_page_exclusive(manifest.components_mut())?;
        Ok((part, manifest))
    }
}

/// Checks that the files agree on the model that they are parts of.
#[inline(never)] // its stack frame is gone before the next step
fn check_splits(read: &[ReadPart]) -> Result<()> {
    let tensors = read.iter().map(|(_, manifest)| manifest.objects.len() as u64).fold(0, u64::saturating_add);
    let mut is_split = None;
    for (at, (part, manifest)) in read.iter().enumerate() {
        let split = container::split(manifest).map_err(|e| part.named(e))?;
        let count = read.len();
        if *is_split.get_or_insert(split.is_some()) != split.is_some() {
            return Err(part.named(broken!(
                Rule::SplitKeys,
                "some of the {count} parts say that they are parts of a model, and others do not"
            )));
        }
        let Some(split) = split else { continue };
        if split.count != count as u64 || split.number != at as u64 {
            return Err(part.named(broken!(
                Rule::SplitKeys,
                "it says that it is part {} of {}, but it was opened as part {} of {count}",
                split.number.saturating_add(1),
                split.count,
                at.saturating_add(1)
            )));
        }
        if let Some(said) = split.tensors.filter(|said| *said != tensors) {
            return Err(part.named(broken!(
                Rule::SplitKeys,
                "it says that all parts have {said} tensors, but they have {tensors}"
            )));
        }
    }
    Ok(())
}

/// Whether each object of each part is shown. Objects in the index are shown, and must exist. Objects that
/// are not in the index are shown if the options include them.
#[inline(never)] // its stack frame is gone before the next step
fn shown_objects(
    read: &mut [ReadPart],
    index: &ShardIndex,
    include_unlisted: bool,
    info: &mut ModelInfo,
    budget: &Budget,
) -> Result<Vec<Vec<bool>>> {
    let mut all = with_capacity(read.len())?;
    for (at, (part, manifest)) in read.iter_mut().enumerate() {
        let count = manifest.objects.len();
        let size = NameIndex::size(count);
        budget.charge(size.saturating_add(count as u64), "the names of a part")?;
        let names =
            NameIndex::build(manifest, |one, _| part.duplicate(manifest, one)).map_err(|e| part.named(e))?;
        let mut shown = filled(false, count)?;
        for tensor in index.tensors(at) {
            let slot = names.find(manifest, tensor).and_then(|at| shown.get_mut(at));
            *slot.ok_or_else(|| {
                let (tensor, file) = (Quoted(tensor), part.label());
                broken!(
                    Rule::IndexTensor,
                    "the index assigns tensor {tensor} to {file}, which does not have it"
                )
            })? = true;
        }
        for (object, shown) in manifest.objects.iter().zip(&mut shown).filter(|(_, shown)| !**shown) {
            let name = manifest.texts.get_bytes(object.name);
            if !index.has_tensor(name) {
                *shown = include_unlisted;
                if !include_unlisted {
                    info.add_unlisted(name, budget)?;
                }
            }
            if !*shown {
                hide(part, manifest, object)?;
            }
        }
        all.push(shown);
        budget.give_back(size);
    }
    Ok(all)
}

/// Notes the bytes of an object that is not shown.
fn hide(part: &mut FilePart, manifest: &Manifest, object: &Object) -> Result<()> {
    for component in manifest.components(object).iter().filter(|component| component.stored_size > 0) {
        push(&mut part.hidden, component.offset..component.end())?;
    }
    Ok(())
}

#[inline(never)] // its stack frame is gone before the next step
fn join(
    mut read: Vec<ReadPart>,
    shown: &[Vec<bool>],
    limits: &Limits,
    budget: &Budget,
    fixed: u64,
) -> Result<(Parts, Validated)> {
    let size = read.iter().map(|(_, manifest)| manifest.size()).fold(0, u64::saturating_add);
    let separate = budget.held().saturating_sub(fixed);
    budget.charge(size, "the parts' manifests together")?;
    let mut joint = Validated::default();
    joint.reserve_for(read.iter().map(|(_, manifest)| manifest))?;
    for (at, (part, manifest)) in read.iter_mut().enumerate() {
        let shown = shown.get(at);
        let is_shown = |object: usize| shown.is_none_or(|shown| shown.get(object) == Some(&true));
        let (objects, components) = (joint.objects.len(), joint.components.len());
        let shards = joint.shards.len();
        part.version = joint.append(manifest, &is_shown)?;
        (part.objects, part.components) = (objects..joint.objects.len(), components..joint.components.len());
        part.shards = shards..joint.shards.len();
        *manifest = Validated::default();
        if joint.objects.len() as u64 > limits.objects {
            return Err(fail!(Limit, "its parts together have more than {} objects", limits.objects));
        }
    }
    budget.give_back(separate);
    Ok((Parts::all(read.into_iter().map(|(part, _)| part))?, joint))
}
