//! Writing files: a state machine over a sink that never seeks. Every call checks everything that it
//! can before it writes a byte, so that a refused call leaves the writer as it was.

mod append;
mod attributes;
mod batch;
mod copy;
mod edit;
mod finish;
mod frames;
mod objects;
mod progress;
mod repair;
mod store;
mod stream;

pub use batch::DenseSpec;
pub use copy::Recode;
pub use repair::{repair, repair_with_progress, RepairOptions, RepairReport};

use crate::container::{self, AttributeEdits, Capabilities};
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::memory::try_box;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Checkpoint, Component, Encoding, Manifest, Object, Version};
use crate::model::value::Attributes;
use crate::sink::file_sink::FileSink;
use crate::sink::ByteSink;
use crate::threads::ThreadHooks;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::path::Path;
use stream::OpenComponent;

pub use crate::digest::Algorithm;

/// Longest name that is written, in bytes.
const NAME_LIMIT: usize = 64 << 10;

/// How to write.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Which text of the spec to follow.
    pub version: Version,
    /// Components start at multiples of this.
    pub alignment: u64,
    /// Large ones at multiples of this; 0 for no difference.
    pub large_alignment: u64,
    /// From how many bytes a component is large.
    pub large_size: u64,
    /// Where a component asks for none.
    pub encoding: Encoding,
    /// The level of zstd.
    pub zstd_level: i32,
    /// Where a component asks for none.
    pub digest: Option<Algorithm>,
    /// Threads that compress; 0 for as many as there are processors.
    pub threads: usize,
    /// What is called on each thread that is started.
    pub thread_hooks: ThreadHooks,
    /// Sync file and folder before the end.
    pub durable: bool,
    /// Bytes of an independent zstd frame.
    pub frame_size: u64,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            version: container::NEWEST,
            alignment: container::capabilities(container::NEWEST).alignment,
            large_alignment: 0,
            large_size: 1 << 20,
            encoding: Encoding::Raw,
            zstd_level: 3,
            digest: None,
            threads: 0,
            thread_hooks: ThreadHooks::default(),
            durable: false,
            frame_size: 1 << 20,
        }
    }
}

impl WriterOptions {
    fn check(&self) -> Result<()> {
        let to = container::capabilities(self.version);
        for (name, value) in [("alignment", self.alignment), ("large_alignment", self.large_alignment)] {
            let none = name == "large_alignment" && value == 0;
            if !none && (!value.is_power_of_two() || !(to.alignment..=1 << 40).contains(&value)) {
                return Err(fail!(
                    InvalidArgument,
                    "{name} is {value}, not a power of two from {} to 2^40",
                    to.alignment
                ));
            }
        }
        if !(1024..=1 << 30).contains(&self.frame_size) {
            return Err(fail!(InvalidArgument, "frame_size is {}, not from 1024 to 2^30", self.frame_size));
        }
        if self.encoding == Encoding::Other || to.number.is_none() {
            return Err(fail!(InvalidArgument, "that encoding or version cannot be written"));
        }
        if !(-7..=22).contains(&self.zstd_level) {
            return Err(fail!(InvalidArgument, "zstd_level is {}, not from -7 to 22", self.zstd_level));
        }
        Ok(())
    }
}

/// A logical type to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalSpec<'a> {
    /// One that this version knows.
    Known(Logical),
    /// Any other.
    Other(&'a str),
}

/// An object to be written.
#[derive(Clone, Copy, Debug)]
pub struct ObjectSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of its format.
    pub format: &'a str,
    /// Its dimensions.
    pub shape: &'a [u64],
}

/// A component to be written.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSpec<'a> {
    /// Its name within the object.
    pub role: &'a str,
    /// Its storage type.
    pub dtype: Dtype,
    /// Its logical type.
    pub logical: Option<LogicalSpec<'a>>,
    /// Its encoding; none for the writer's.
    pub encoding: Option<Encoding>,
    /// Its digest; the outer none for the writer's, the inner one for no digest.
    pub digest: Option<Option<Algorithm>>,
    /// How many bytes will be streamed, if that is known.
    pub size: Option<u64>,
}

impl<'a> ComponentSpec<'a> {
    /// A component as the writer's options have it.
    pub fn new(role: &'a str, dtype: Dtype) -> Self {
        ComponentSpec { role, dtype, logical: None, encoding: None, digest: None, size: None }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of the file.
    pub file_size: u64,
    /// Objects in it.
    pub objects: u64,
    /// Components in it.
    pub components: u64,
    /// Stored bytes that this writer wrote.
    pub stored_bytes: u64,
    /// Bytes before encoding.
    pub data_bytes: u64,
}

/// Where the writer is.
#[allow(clippy::large_enum_variant, reason = "a writer has one")]
enum Phase {
    /// Between objects.
    Idle,
    /// Within one; perhaps within a component.
    Object { checkpoint: Checkpoint, entry: Object, attributes: Attributes },
    /// Writing failed, or the writer was finished: nothing more goes.
    Closed(&'static str),
}

/// A file that is being written.
pub struct Writer {
    options: WriterOptions,
    sink: Option<Box<dyn ByteSink>>,
    position: u64,
    manifest: Manifest,
    /// Those of the file.
    attributes: AttributeEdits,
    names: HashTable<u32>,
    hasher: SeedableRandomState,
    state: Phase,
    component: Option<OpenComponent>,
    encoders: frames::Encoders,
    append_base: Option<append::AppendBase>,
    /// The entry that was made last for the data of a dense object.
    last_entry: Option<(batch::EntryKind, Component)>,
    /// Threads that do something else meanwhile.
    busy_threads: usize,
    stored_bytes: u64,
    data_bytes: u64,
    label: String,
    reports: progress::Reports,
}

impl Writer {
    /// A new file at `path`, published when it is finished.
    pub fn create(path: impl AsRef<Path>, options: &WriterOptions) -> Result<Writer> {
        let path = path.as_ref();
        let label = try_format(format_args!("{}", path.display()))?;
        let create = || {
            options.check()?;
            let sink = try_box(FileSink::create(path, options.durable)?)?;
            Writer::begin_file(sink, options)
        };
        let mut writer = create().map_err(|e| e.within(format_args!("{label}")))?;
        writer.label = label;
        Ok(writer)
    }

    /// A new file that goes to `sink`.
    pub fn to_sink(sink: Box<dyn ByteSink>, options: &WriterOptions) -> Result<Writer> {
        options.check()?;
        Writer::begin_file(sink, options)
    }

    fn begin_file(sink: Box<dyn ByteSink>, options: &WriterOptions) -> Result<Writer> {
        let mut writer = Writer::over(sink, options, 0);
        writer.write_bytes(container::header(options.version))?;
        Ok(writer)
    }

    fn over(sink: Box<dyn ByteSink>, options: &WriterOptions, position: u64) -> Writer {
        Writer {
            options: options.clone(),
            sink: Some(sink),
            position,
            manifest: Manifest::default(),
            attributes: AttributeEdits::default(),
            names: HashTable::new(),
            hasher: crate::hash::state(),
            state: Phase::Idle,
            component: None,
            encoders: frames::Encoders::default(),
            append_base: None,
            last_entry: None,
            busy_threads: 0,
            stored_bytes: 0,
            data_bytes: 0,
            label: String::new(),
            reports: progress::Reports::default(),
        }
    }

    /// What the file can represent.
    fn capabilities(&self) -> &'static Capabilities {
        container::capabilities(self.options.version)
    }

    /// Whether nothing has failed for good.
    fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    fn check_idle(&self) -> Result<()> {
        match &self.state {
            Phase::Idle => Ok(()),
            Phase::Object { entry, .. } => {
                let name = self.manifest.texts.get(entry.name);
                Err(fail!(State, "object {name:?} is still open; end it first"))
            }
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }

    /// The manifest as it was.
    fn roll_back_manifest(&mut self, checkpoint: &Checkpoint) {
        self.manifest.rollback(checkpoint);
        self.last_entry = None; // its role's name may be gone
    }

    /// Whether an object of that name is there.
    fn has_name(&self, name: &str) -> bool {
        if self.append_base.as_ref().is_some_and(|base| base.has(name)) {
            return true;
        }
        let hash = self.hasher.hash_one(name.as_bytes());
        self.names.find(hash, |at| name_at(&self.manifest, *at) == name.as_bytes()).is_some()
    }

    /// Reserves the places that `more` names will need.
    fn reserve_names(&mut self, more: usize) -> Result<()> {
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let reserved = self.names.try_reserve(more, |at| hasher.hash_one(name_at(manifest, *at)));
        reserved.map_err(|_| {
            Error::new(Cause::OutOfMemory, format_args!("could not allocate the index of names"))
        })
    }

    /// Notes the name of the object that was pushed last.
    fn remember_last(&mut self) {
        let Some(at) = self.manifest.objects.len().checked_sub(1).and_then(|at| u32::try_from(at).ok())
        else {
            return;
        };
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let hash = |at: u32| hasher.hash_one(name_at(manifest, at));
        self.names.insert_unique(hash(at), at, |at| hash(*at));
    }
}

#[cold]
fn name_exists() -> Error {
    fail!(Exists, "an object of that name is there already")
}

fn name_at(manifest: &Manifest, at: u32) -> &[u8] {
    let object = manifest.objects.get(at as usize);
    object.map(|o| manifest.texts.get_bytes(o.name)).unwrap_or_default()
}
