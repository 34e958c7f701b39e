//! Opening a file and asking what it holds.
//!
//! An open [`File`] never changes: any number of threads may use it at once. [`Object`] and
//! [`Component`] are places in it, as cheap as two numbers.

mod advise;
mod aliases;
mod batch;
mod bytes;
mod decoded;
mod ends;
mod frame_index;
mod front;
mod identity;
mod index;
mod item_extent;
mod lazy_sizes;
mod loaded;
mod object;
mod open_options;
mod padding;
mod recovery;
mod slab;
mod slice;
mod stored;
mod structure;
mod verify;
mod view;

pub use batch::{BatchOptions, BatchRequest, BatchStats, Direct, Progress, Selection};
pub use bytes::Caps;
pub use identity::Identity;
pub use loaded::Loaded;
pub use object::{Component, Object};
pub use open_options::{Mode, OpenOptions};
pub use slice::Hyperslab;
pub use verify::{OnFailure, VerifyOptions, VerifyReport};
pub use view::{CooView, CsrView, QuantizedView, TensorView, ViewPart};

pub(crate) use recovery::{check_cut, last_valid_end, record_of};

pub use crate::source::{Advice, ByteSource};

use crate::container::{self, Capabilities, Detected, Frame, Limits};
use crate::error::{fail, Cause, Error, Result};
use crate::lock::Mutex;
use crate::memory::{bytes_of, try_box, Budget, DecodedCache, HostAllocator};
use crate::model::manifest::{self, Manifest};
use crate::model::value::Value;
use crate::source::file::FileSource;
use crate::source::map::MapSource;
use crate::source::memory::MemorySource;
use crate::source::network::is_remote;
use crate::threads::ThreadHooks;
use ends::Ends;
use front::FrontWindow;
use std::path::Path;

/// An open `.zt` file.
pub struct File {
    source: Box<dyn ByteSource>,
    mode: Mode,
    manifest: Manifest,
    names: index::NameIndex,
    frame: Frame,
    strict: bool,
    max_decoded_size: Option<u64>,
    threads: usize,
    thread_hooks: ThreadHooks,
    allocator: Option<HostAllocator>,
    label: String,
    modified: i64,
    /// Components of the same bytes, where decoded sizes are to be found out.
    aliases: aliases::Aliases,
    /// Decoded sizes that no manifest declares, found when first asked for; see `Component::size`: those of components,
    /// and then those of bytes that several components have.
    lazy_sizes: lazy_sizes::LazySizes,
    frame_indexes: Mutex<frame_index::FrameIndexCache>,
    decoded: DecodedCache,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {} objects)", self.label, self.manifest.objects.len())
    }
}

impl File {
    /// Opens the file at `path`.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
        let path = path.as_ref();
        let label = options.label(format_args!("{}", path.display()))?;
        File::open_source_file(FileSource::open(path), options, label)
    }

    /// Opens `length` bytes from `offset` of an open file; a length of `u64::MAX` means to its end.
    pub fn open_file(file: std::fs::File, offset: u64, length: u64, options: &OpenOptions) -> Result<File> {
        let label = options.label(format_args!("the file at offset {offset}"))?;
        File::open_source_file(FileSource::from_file(file, offset, length), options, label)
    }

    fn open_source_file(file: Result<FileSource>, options: &OpenOptions, label: String) -> Result<File> {
        let modified = file.as_ref().map_or(0, |file| identity::modified(file.parts().0));
        let source = file.and_then(|file| with_mode(file, options));
        let source = source.map_err(|e| e.within(format_args!("{label}")))?;
        let mut opened = File::from_source(source, options, label)?;
        opened.modified = modified;
        Ok(opened)
    }

    /// Opens bytes that are in memory.
    pub fn open_memory<B>(bytes: B, options: &OpenOptions) -> Result<File>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let label = options.label(format_args!("the file in memory"))?;
        File::from_source(try_box(MemorySource::new(bytes))?, options, label)
    }

    /// Opens whatever can be read at an offset; `label` is what messages call it.
    pub fn from_source(source: Box<dyn ByteSource>, options: &OpenOptions, label: String) -> Result<File> {
        match File::assemble(source, options, true) {
            Ok(mut file) => {
                file.label = label;
                Ok(file)
            }
            Err(e) => Err(e.within(format_args!("{label}"))),
        }
    }

    /// The same without a word on how the file ends where it does not end as a file does.
    pub(crate) fn from_whole(source: Box<dyn ByteSource>, options: &OpenOptions) -> Result<File> {
        File::assemble(source, options, false)
    }

    fn assemble(source: Box<dyn ByteSource>, options: &OpenOptions, explained: bool) -> Result<File> {
        let limits = Limits {
            manifest_size: options.max_manifest_size.min(u64::from(u32::MAX)),
            objects: options.max_objects.min(u64::from(u32::MAX)),
            memory: options.max_memory,
            containers: options.containers,
        };
        let explain = |e| match explained {
            true => recovery::explain(source.as_ref(), &limits, e),
            false => e,
        };
        let (frame, mut manifest, budget) = read_within(source.as_ref(), &limits, &explain)?;
        budget.charge(side_tables(&manifest), "the index of names and handles")?;
        let names =
            index::NameIndex::build(&manifest, container::capabilities_of(&manifest).duplicate_names)?;
        index::mark_page_exclusive(&mut manifest, &source.pages())?;
        let undeclared = |c: &manifest::Component| c.encoding.is_compressed() && !c.is_size_declared();
        let undeclared = manifest.components.iter().any(undeclared);
        let aliases = if undeclared { aliases::Aliases::of(&manifest)? } else { aliases::Aliases::default() };
        let mut lazy_sizes = lazy_sizes::LazySizes::default();
        if undeclared && manifest.components.iter().any(|c| c.size().is_none() && c.encoding.is_compressed())
        {
            lazy_sizes.reserve(manifest.components.len().saturating_add(aliases.count()))?;
        }
        let file = File {
            mode: Mode::of(source.as_ref()),
            source,
            manifest,
            names,
            frame,
            strict: options.strict,
            max_decoded_size: options.max_decoded_size,
            threads: options.threads,
            thread_hooks: options.thread_hooks,
            allocator: options.allocator,
            modified: 0,
            label: String::new(), // `from_source` puts it in front of what goes wrong here
            aliases,
            lazy_sizes,
            frame_indexes: Mutex::default(),
            decoded: DecodedCache::default(),
        };
        if undeclared {
            stored::check_short_frames(&file)?;
        }
        if options.strict {
            structure::check_strict_metadata(&file)?;
        }
        file.advise_all(options.advice)?;
        if options.verify {
            let digests_only = VerifyOptions { contents: false, ..VerifyOptions::default() };
            file.verify(&digests_only, &|_, _| true, &mut VerifyReport::default())?;
        }
        Ok(file)
    }

    /// What its container can represent.
    pub fn capabilities(&self) -> &'static Capabilities {
        container::capabilities_of(&self.manifest)
    }

    /// The version as the file says it: "0.1.0", "1.0", "1.1.0", "1.2.0"; "" where files say none.
    pub fn version(&self) -> &str {
        self.manifest.version_text()
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.frame.file_size
    }

    /// How its bytes are reached: never [`Mode::Auto`]. Bytes in memory are as good as mapped, those of any other source
    /// are read.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// All bytes of the file, where they can be lent.
    pub fn borrow(&self) -> Result<&[u8]> {
        let bytes = self.source.borrow(0..self.size());
        bytes.ok_or_else(|| {
            self.in_file(fail!(
                NotMappable,
                "its bytes cannot be lent: the file is neither mapped nor in memory"
            ))
        })
    }

    /// The file's own attributes, a map.
    pub fn attributes(&self) -> Option<Value<'_>> {
        self.manifest.file_attributes()
    }

    /// Number of objects.
    pub fn object_count(&self) -> usize {
        self.manifest.objects.len()
    }

    /// The object at `index`, in file order.
    pub fn object(&self, index: usize) -> Option<Object<'_>> {
        self.manifest.objects.get(index).map(|entry| Object { file: self, entry })
    }

    /// All objects, in file order.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = Object<'_>> {
        self.manifest.objects.iter().map(|entry| Object { file: self, entry })
    }

    /// The object of that name; the first one where a 0.1 file has several.
    pub fn find(&self, name: &str) -> Option<Object<'_>> {
        self.find_position(name).and_then(|at| self.object(at))
    }

    /// The object of that name, or an error that says which file has none.
    pub fn required(&self, name: &str) -> Result<Object<'_>> {
        self.find(name).ok_or_else(|| self.in_file(fail!(NotFound, "there is no object {name:?}")))
    }

    /// The position of the object of that name.
    pub fn find_position(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        self.names.find(&self.manifest, name.as_ref())
    }

    /// The component at position `index` of all, which is part of the object at position `object`.
    pub fn component_at(&self, object: usize, index: usize) -> Option<Component<'_>> {
        let object = self.manifest.objects.get(object)?;
        let entry = self.manifest.components.get(index)?;
        Some(Component { file: self, object, entry, index })
    }

    /// What the file claims to hold, as plain data.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the manifest stands and how the file is framed.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    pub(crate) fn source(&self) -> &dyn ByteSource {
        self.source.as_ref()
    }

    #[cold]
    fn in_file(&self, error: Error) -> Error {
        if self.label.is_empty() {
            return error;
        }
        error.within(format_args!("{}", self.label))
    }
}

impl Mode {
    /// The mode that a source is of.
    fn of(source: &dyn ByteSource) -> Mode {
        match (source.slice(0..0), source.borrow(0..0)) {
            (Some(_), _) => Mode::Map,
            (None, Some(_)) => Mode::Private,
            (None, None) => Mode::Read,
        }
    }
}

fn with_mode(file: FileSource, options: &OpenOptions) -> Result<Box<dyn ByteSource>> {
    let auto = options.mode == Mode::Auto;
    if options.mode == Mode::Read || (auto && is_remote(file.parts().0)) {
        return Ok(try_box(file)?);
    }
    match MapSource::new(file, options.mode == Mode::Private) {
        Ok(mapped) => Ok(try_box(mapped)?),
        Err((file, _)) if auto => Ok(try_box(file)?),
        Err((_, e)) => Err(e),
    }
}

/// Bytes of memory that an open file takes beside its manifest: the index of names, the handles that C borrows, decoded
/// sizes that are found later, and places that are sorted.
fn side_tables(manifest: &Manifest) -> u64 {
    let (objects, components) = (manifest.objects.len(), manifest.components.len());
    let handles = bytes_of::<usize>(objects.max(components)).saturating_add(bytes_of::<u32>(components));
    let sizes = bytes_of::<(u64, u64, u64)>(components);
    index::NameIndex::size(objects).saturating_add(handles).saturating_add(sizes)
}

/// Detects, reads and decodes; checked against everything that needs no component's bytes.
pub(crate) fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Manifest)> {
    read_within(source, limits, &|e| e).map(|(frame, manifest, _)| (frame, manifest))
}

/// The same, and what the manifest takes of the memory that `limits` allow. `explain` is asked about failures that the
/// file's last bytes may be the cause of; what a whole manifest claims, and is not allowed, is none of them.
fn read_within(
    source: &dyn ByteSource,
    limits: &Limits,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest, Budget)> {
    let size = source.size();
    let mut ends = Ends::read(source, limits.memory.unwrap_or(u64::MAX) / 4)?;
    if let Some(record) = recovery::pending(ends.head(source), size) {
        return Err(recovery::has_record(&record, size)); // whatever the file ends in
    }
    let frame = match ends.detect(source, limits).map_err(explain)? {
        Detected::Frame(frame) => frame,
        Detected::Front(container) => {
            let budget = Budget::new(limits.memory_for(0));
            let mut window = FrontWindow::new(source, &budget)?;
            let (frame, validated) = container::decode_front(container, &mut window, limits, &budget)?;
            drop(window);
            return Ok((frame, validated.into_inner(), budget));
        }
        Detected::Other | Detected::NeedsHead(_) => {
            return Err(fail!(Internal, "nothing tells what the file is"))
        }
    };
    let range = frame.manifest.clone();
    let manifest_size = range.end.saturating_sub(range.start);
    let budget = Budget::new(limits.memory_for(manifest_size));
    let read = ends.held(source, &range);
    budget.charge(read, "the manifest")?;
    let validated =
        ends.with_range(source, range, |bytes| container::decode_within(&frame, bytes, limits, &budget));
    let validated = validated.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })?;
    budget.give_back(read);
    Ok((frame, validated.into_inner(), budget))
}
