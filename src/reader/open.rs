//! Opens a file: makes its source, reads its manifest, and runs the checks that are due at open.

use super::file::{File, ModelInfo};
use super::lazy_shard::{OpenedFile, ShardOpener};
use super::lazy_sizes::LazySizes;
use super::manifest::{read_after_ends, NameIndex, ReadEnds};
use super::open_options::{OpenOptions, Shards};
use super::parts::{FilePart, Parts};
use super::shards::{add_shards, ShardStore};
use super::store::{opened, unfinished_download, FileSystem, Opened, Store};
use super::{file, recovery, structure};
use crate::container::{Frame, Limits, Validated};
use crate::error::{fail, Cause, Error, Result, Rule};
use crate::load::FrameIndexCache;
use crate::lock::Mutex;
use crate::memory::{bytes_of, try_box, Budget, DecodedCache};
use crate::model::manifest::Component;
use crate::source::file::FileSource;
use crate::source::{ByteSource, MemorySource};
use std::cell::Cell;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

impl File {
    /// Opens the file at `path`.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
        File::open_path(path.as_ref(), options, false)
    }

    /// Opens the file at `path` for a caller that holds the lock against other writers.
    pub(crate) fn open_as_writer(path: &Path, options: &OpenOptions) -> Result<File> {
        File::open_path(path, options, true)
    }

    fn open_path(path: &Path, options: &OpenOptions, is_writer: bool) -> Result<File> {
        let label = options.label_at(path)?;
        let limits = options.limits();
        let budget = Budget::new(limits.memory_for(0));
        let (part, manifest) =
            open_part(&FileSystem(options.mode), path, label, &limits, &budget, is_writer)?;
        let shards = match options.shards {
            Shards::OfModels | Shards::Never => None,
            Shards::OnUse | Shards::AtOpen => Some(ShardStore::Kept(try_box(FileSystem(options.mode))?)),
        };
        File::of_one(part, manifest, Some(path), shards, budget, options)
    }

    /// Opens `length` bytes of an open file, from `offset` on. If `length` is `u64::MAX`, up to its end.
    pub fn open_file(file: std::fs::File, offset: u64, length: u64, options: &OpenOptions) -> Result<File> {
        let label = options.label(format_args!("the file at offset {offset}"))?;
        let limits = options.limits();
        let budget = Budget::new(limits.memory_for(0));
        let mut open = || {
            let twin = file.try_clone().map_err(|e| Error::io("could not duplicate its handle", &e))?;
            opened(FileSource::from_file(twin, offset, length)?, options.mode, Vec::new())
        };
        let (part, manifest) = Looks::new(&limits, &budget, false).read(label, &mut open)?;
        File::of_one(part, manifest, None, None, budget, options)
    }

    /// Opens bytes that are in memory.
    pub fn open_memory<B>(bytes: B, options: &OpenOptions) -> Result<File>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let label = options.label(format_args!("the file in memory"))?;
        File::from_source(try_box(MemorySource::new(bytes))?, options, label)
    }

    /// Opens anything that can be read at an offset; `label` is its name in messages.
    pub fn from_source(source: Box<dyn ByteSource>, options: &OpenOptions, label: String) -> Result<File> {
        File::of_source(source, options, label, true)
    }

    /// Opens a source without a name. Errors do not explain how an incomplete file ends.
    pub(crate) fn from_whole(source: Box<dyn ByteSource>, options: &OpenOptions) -> Result<File> {
        File::of_source(source, options, String::new(), false)
    }

    fn of_source(
        source: Box<dyn ByteSource>,
        options: &OpenOptions,
        label: String,
        explained: bool,
    ) -> Result<File> {
        let limits = options.limits();
        let budget = Budget::new(limits.memory_for(0));
        let explain = |e| match explained {
            true => recovery::explain(source.as_ref(), &limits, e),
            false => e,
        };
        let ends = ReadEnds::read(source.as_ref(), &limits);
        let found =
            ends.and_then(|ends| read_after_ends(source.as_ref(), ends, &limits, &budget, &explain, None));
        let found = found.map(|(frame, manifest)| (frame, manifest, None));
        let opened = Opened { source, label: None, path: Vec::new(), modified: 0 };
        let (part, manifest) = part_of(opened, found, label)?;
        File::of_one(part, manifest, None, None, budget, options)
    }

    fn of_one(
        mut part: FilePart,
        mut manifest: Validated,
        path: Option<&Path>,
        shards: Option<ShardStore<'_>>,
        budget: Budget,
        options: &OpenOptions,
    ) -> Result<File> {
        part.mark_page_exclusive(manifest.components_mut())?;
        (part.objects, part.components) = (0..manifest.objects.len(), 0..manifest.components.len());
        part.shards = 0..manifest.shards.len();
        let (mut parts, system) = (Parts::one(part), FileSystem(options.mode));
        if !manifest.shards.is_empty() {
            add_shards(&system, &mut parts, &manifest, &|_| path, options, &budget)
                .map_err(|e| parts.first.named(e))?;
        }
        let info = ModelInfo::default();
        let mut file = File::of_parts(parts, None, manifest, info, shards, budget, options)?;
        if options.combine_quantized {
            file.combine(path.map(|path| (&system as &dyn Store, path)))?;
        }
        Ok(file)
    }

    /// Makes a file of these parts. The manifest covers all of them.
    pub(super) fn of_parts(
        parts: Parts,
        label: Option<String>,
        manifest: Validated,
        model: ModelInfo,
        shards: Option<ShardStore<'_>>,
        budget: Budget,
        options: &OpenOptions,
    ) -> Result<File> {
        let (names, lazy_sizes) = side_tables(&parts, &manifest, &budget)
            .map_err(|e| e.within(format_args!("{}", label.as_ref().unwrap_or(&parts.first.file.label))))?;
        let mut file = File {
            number: file::next_number(),
            mode: parts.mode(),
            parts,
            model,
            shards: ShardOpener {
                store: None,
                limits: options.limits(),
                budget: Mutex::new(budget),
                advice: options.advice,
            },
            manifest,
            names,
            strict: options.strict,
            max_decoded_size: options.max_decoded_size,
            threads: options.threads,
            thread_hooks: options.thread_hooks,
            allocator: options.allocator,
            label,
            lazy_sizes,
            frame_indexes: FrameIndexCache::default(),
            decoded: DecodedCache::default(),
            source_checks: OnceLock::new(),
        };
        if let Some(store) = shards {
            file.open_shards(store, options)?;
        }
        if let Some(sizes) = &file.lazy_sizes {
            structure::check_short_frames(&file, &sizes.shared_ranges)?;
        }
        if options.strict {
            structure::check_strict_metadata(&file)?;
        }
        file.advise_all(options.advice)?;
        Ok(file)
    }
}

/// What an open file has besides its manifest: the index of names, and a table for decoded sizes that are
/// found later, if there are any.
fn side_tables(
    parts: &Parts,
    manifest: &Validated,
    budget: &Budget,
) -> Result<(NameIndex, Option<LazySizes>)> {
    let (objects, components) = (manifest.objects.len(), manifest.components.len());
    // Besides the names: the handles that C borrows, offsets that are sorted, and decoded sizes that are
    // found later.
    let handles = bytes_of::<usize>(objects.max(components)).saturating_add(bytes_of::<u32>(components));
    let sizes = bytes_of::<(u64, u64, u64)>(components);
    let size = NameIndex::size(objects).saturating_add(handles).saturating_add(sizes);
    budget.charge(size, "the index of names and handles")?;
    let names = NameIndex::build(manifest, |one, other| parts.duplicate(manifest, one, other))?;
    let is_undeclared = |c: &Component| c.encoding.is_compressed() && !c.is_size_declared();
    let has_undeclared = manifest.components.iter().any(is_undeclared);
    let sizes = || LazySizes::of(manifest, |at| parts.number_of_component(manifest, at));
    Ok((names, has_undeclared.then(sizes).transpose()?))
}

/// Reads the manifest of the file at `path`.
pub(super) fn open_part(
    store: &dyn Store,
    path: &Path,
    label: String,
    limits: &Limits,
    budget: &Budget,
    is_writer: bool,
) -> Result<(FilePart, Validated)> {
    Looks::new(limits, budget, is_writer).read(label, &mut || store.open(path))
}

/// Makes a part from what was found in a file. Messages call the file `label` if it has no other label.
fn part_of(opened: Opened, found: Found, label: String) -> Result<(FilePart, Validated)> {
    let Opened { source, label: own, path, modified } = opened;
    let label = own.unwrap_or(label);
    let (frame, manifest, hash) = match found {
        Ok(found) => found,
        Err(e) if label.is_empty() => return Err(e),
        Err(e) => return Err(unfinished_download(source.as_ref(), &label, e).within(format_args!("{label}"))),
    };
    let container = manifest.container.unwrap_or(frame.container);
    let mut part = FilePart::new(OpenedFile { source, frame, label, path, modified }, container);
    part.version = manifest.version_text;
    part.manifest_hash = hash.map(OnceLock::from).unwrap_or_default();
    Ok((part, manifest))
}

/// Reads a file's manifest. If the file changes meanwhile, tries again.
struct Looks<'l> {
    limits: &'l Limits,
    budget: &'l Budget,
    /// Whether the caller holds the lock against other writers.
    is_writer: bool,
    count: u32,
}

/// What a try found. It includes the hash of the manifest if an append would clear the manifest.
type Found = Result<(Frame, Validated, Option<u64>)>;

impl<'l> Looks<'l> {
    /// If the file still changes after this many tries, the open fails.
    const MAX: u32 = 24;
    /// From this try on, there is a pause before each.
    const UNPAUSED: u32 = 4;
    const PAUSE: Duration = Duration::from_millis(1);

    fn new(limits: &'l Limits, budget: &'l Budget, is_writer: bool) -> Looks<'l> {
        Looks { limits, budget, is_writer, count: 0 }
    }

    /// Opens a file with `open`, and reads its manifest. Messages call the file `label`.
    fn read(
        mut self,
        label: String,
        open: &mut dyn FnMut() -> Result<Opened>,
    ) -> Result<(FilePart, Validated)> {
        loop {
            let opened = open().map_err(|e| e.within(format_args!("{label}")))?;
            if let Some(found) = self.look(opened.source.as_ref()) {
                return part_of(opened, found, label);
            }
        }
    }

    /// Reads the manifest. Returns `None` if the file changed meanwhile and the caller should open it again.
    fn look(&mut self, source: &dyn ByteSource) -> Option<Found> {
        self.count = self.count.saturating_add(1);
        let before = self.budget.held();
        let explained = Cell::new(false);
        let explain = |e| match has_changed(source) || self.has_writer(source) {
            true => e, // an explanation takes long, and the file may have changed again by then
            false => {
                explained.set(true);
                recovery::explain(source, self.limits, e)
            }
        };
        let hash = Cell::new(None);
        let kept = source.page_cache().map(|_| &hash);
        let ends = ReadEnds::read(source, self.limits);
        let found =
            ends.and_then(|ends| read_after_ends(source, ends, self.limits, self.budget, &explain, kept));
        let found = found.map(|(frame, manifest)| (frame, manifest, hash.get()));
        let may_be_torn = match &found {
            Ok(_) => true,
            Err(e) => {
                matches!(e.cause(), Cause::Broken(_) | Cause::NotZtensor | Cause::Limit | Cause::Io)
            }
        };
        let is_broken = matches!(&found, Err(e) if matches!(e.cause(), Cause::Broken(_)));
        let has_writer = is_broken && self.has_writer(source);
        // Look at the file after looking for a writer: a writer that finished after the read has changed the
        // file.
        let (changed, is_last) = (may_be_torn && has_changed(source), self.count >= Self::MAX);
        match found {
            Ok(_) if !changed || is_last => Some(found),
            Err(e) if has_writer => Some(Err(busy(&e, true))),
            Err(e) if changed && is_last => Some(Err(busy(&e, false))),
            // Return an error about an unfinished file only after a second try: its writer may have finished
            // after the first.
            Err(e) if !changed && (explained.get() || self.count > 1 || !is_unfinished(&e)) => Some(Err(e)),
            _ => {
                self.budget.give_back(self.budget.held().saturating_sub(before));
                if self.count >= Self::UNPAUSED {
                    std::thread::sleep(Self::PAUSE);
                }
                None
            }
        }
    }

    fn has_writer(&self, source: &dyn ByteSource) -> bool {
        !self.is_writer && source.page_cache().is_some_and(|cache| cache.has_writer())
    }
}

fn has_changed(source: &dyn ByteSource) -> bool {
    source.page_cache().is_some_and(|cache| matches!(cache.change(), Ok(Some(_))))
}

fn is_unfinished(error: &Error) -> bool {
    error.rule() == Some(Rule::UnfinishedAppend)
}

#[cold]
fn busy(error: &Error, has_writer: bool) -> Error {
    let busy = match has_writer {
        true => fail!(Busy, "a writer has locked the file; open it again when the writer has finished"),
        false => fail!(Busy, "another program keeps changing the file; open it again later ({error})"),
    };
    busy.called(error.rule())
}
