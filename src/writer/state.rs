//! The writer's state, and what every part of it needs.

use super::append_base::AppendBase;
use super::content_index::{Content, ContentIndex};
use super::copied::CopiedIndex;
use super::frames::Encoders;
use super::specs::WriterOptions;
use crate::container::{self, AttributeEdits, Capabilities};
use crate::digest::{Algorithm, DigestOf, Hasher};
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::memory::try_box;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    table_position, Checkpoint, Component, Encoding, Format, Manifest, Object, Position, RareNames, TextId,
};
use crate::model::value::Attributes;
use crate::sink::file_sink::FileSink;
use crate::sink::ByteSink;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::path::Path;

/// What an entry of the data of a dense object follows from.
pub(super) type EntryKind = (Dtype, Option<Logical>, Option<Encoding>, Option<Option<Algorithm>>);

/// Where the writer is.
#[allow(clippy::large_enum_variant, reason = "a writer has one")]
pub(super) enum Phase {
    /// Between objects.
    Idle,
    /// Within one; perhaps within a component.
    Object { checkpoint: Checkpoint, entry: Object, attributes: Attributes },
    /// Writing failed, or the writer was finished: nothing more goes.
    Closed(&'static str),
}

/// A component whose bytes are still coming.
pub struct OpenComponent {
    pub(super) entry: Component,
    pub(super) rare: RareNames,
    pub(super) hasher: Option<Hasher>,
    /// What the hasher takes: decoded bytes, before they are compressed, or stored ones.
    pub(super) hashes: DigestOf,
    /// Bytes given so far.
    pub(super) bytes_in: u64,
    /// Bytes that have to come, where that is known.
    pub(super) expected: Option<u64>,
    /// What is not compressed yet.
    pub(super) pending: Vec<u8>,
    /// Whether a frame was written.
    pub(super) has_frames: bool,
    /// Stored bytes of each frame, where a table of them follows.
    pub(super) frame_sizes: Vec<u32>,
    /// The part of an element that a call ended in, where elements have to be byte-swapped.
    pub(super) partial: Vec<u8>,
    /// Its bytes come with `data`, not all at once.
    pub(super) streamed: bool,
    /// What is known of its bytes, where that is asked.
    pub(super) content: Content,
    /// Its bytes are there: those of another component.
    pub(super) is_shared: bool,
}

/// Bytes that are written between two reports, at most.
pub(super) const STEP: usize = 16 << 20;

/// Whom to ask whether to go on: after so many bytes of the file.
pub(super) trait Progress: Send {
    fn goes_on(&self, written: u64) -> bool;
}

impl<F: Fn(u64) -> bool + Send> Progress for F {
    fn goes_on(&self, written: u64) -> bool {
        self(written)
    }
}

/// Who is asked, and when that was.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) asked: Option<Box<dyn Progress>>,
    /// Bytes that were written or compressed since.
    pub(super) since: usize,
}

impl Reports {
    pub(super) fn are_wanted(&self) -> bool {
        self.asked.is_some()
    }
}

/// A file that is being written.
pub struct Writer {
    pub(super) options: WriterOptions,
    pub(super) sink: Option<Box<dyn ByteSink>>,
    pub(super) position: u64,
    pub(super) manifest: Manifest,
    /// Those of the file.
    pub(super) attributes: AttributeEdits,
    pub(super) names: HashTable<u32>,
    pub(super) hasher: SeedableRandomState,
    pub(super) state: Phase,
    pub(super) component: Option<OpenComponent>,
    pub(super) encoders: Encoders,
    pub(super) append_base: Option<AppendBase>,
    /// The entry that was made last for the data of a dense object.
    pub(super) last_entry: Option<(EntryKind, Component)>,
    /// Threads that do something else meanwhile.
    pub(super) busy_threads: usize,
    pub(super) stored_bytes: u64,
    pub(super) data_bytes: u64,
    pub(super) label: String,
    pub(super) reports: Reports,
    /// In canonical form: what was written.
    pub(super) canonical: Option<ContentIndex>,
    /// Positions in the table of shards, by their names.
    pub(super) shard_names: HashTable<u32>,
    /// Positions in it, by the numbers of the open files.
    pub(super) shard_files: HashTable<(u64, Position)>,
    /// What was copied.
    pub(super) copied: CopiedIndex,
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

    pub(super) fn begin_file(sink: Box<dyn ByteSink>, options: &WriterOptions) -> Result<Writer> {
        let mut writer = Writer::over(sink, &options.resolved()?, 0);
        writer.canonical = options.canonical.then(ContentIndex::new);
        writer.write_bytes(container::header(options.version))?;
        Ok(writer)
    }

    pub(super) fn over(sink: Box<dyn ByteSink>, options: &WriterOptions, position: u64) -> Writer {
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
            encoders: Encoders::default(),
            append_base: None,
            last_entry: None,
            busy_threads: 0,
            stored_bytes: 0,
            data_bytes: 0,
            label: String::new(),
            reports: Reports::default(),
            canonical: None,
            shard_names: HashTable::new(),
            shard_files: HashTable::new(),
            copied: CopiedIndex::new(),
        }
    }

    /// What the file can represent.
    pub(super) fn capabilities(&self) -> &'static Capabilities {
        container::capabilities(self.options.version)
    }

    /// Whether nothing has failed for good.
    pub(super) fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    pub(super) fn check_idle(&self) -> Result<()> {
        match &self.state {
            Phase::Idle => Ok(()),
            Phase::Object { entry, .. } => {
                let name = self.manifest.texts.get(entry.name);
                Err(fail!(State, "object {name:?} is still open; end it first"))
            }
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }

    /// The object that is open.
    pub(super) fn open_object(&self) -> Result<Object> {
        match &self.state {
            Phase::Object { entry, .. } => Ok(*entry),
            Phase::Idle => Err(fail!(State, "no object is open")),
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }

    /// Counts a component that was pushed.
    pub(super) fn count_component(&mut self) {
        if let Phase::Object { entry, .. } = &mut self.state {
            entry.component_count = entry.component_count.saturating_add(1);
        }
    }

    /// The manifest as it was.
    pub(super) fn roll_back_manifest(&mut self, checkpoint: &Checkpoint) {
        self.manifest.rollback(checkpoint);
        self.last_entry = None; // its role's name may be gone
    }

    /// The entry of an object whose components come next, of which there is none so far.
    pub(super) fn object_entry(&mut self, name: TextId, format: Format, shape: &[u64]) -> Result<Object> {
        let shape_start = table_position(self.manifest.dimensions.len())?;
        self.manifest.dimensions.try_reserve(shape.len())?;
        self.manifest.dimensions.extend_from_slice(shape);
        Ok(Object {
            name,
            format,
            shape_start,
            rank: table_position(shape.len())?,
            component_start: table_position(self.manifest.components.len())?,
            component_count: 0,
            attributes: None,
        })
    }

    /// Whether an object of that name is there.
    pub(super) fn has_name(&self, name: &str) -> bool {
        if self.append_base.as_ref().is_some_and(|base| base.has(name)) {
            return true;
        }
        let hash = self.hasher.hash_one(name.as_bytes());
        self.names.find(hash, |at| name_at(&self.manifest, *at) == name.as_bytes()).is_some()
    }

    /// Reserves the places that `more` names will need.
    pub(super) fn reserve_names(&mut self, more: usize) -> Result<()> {
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        if self.names.capacity().saturating_sub(self.names.len()) >= more {
            return Ok(());
        }
        // Four times as many: to grow the index takes the hash of every name in it.
        let more = more.max(self.names.len().saturating_mul(3));
        let reserved = self.names.try_reserve(more, |at| hasher.hash_one(name_at(manifest, *at)));
        reserved.map_err(|_| {
            Error::new(Cause::OutOfMemory, format_args!("could not allocate the index of names"))
        })
    }

    /// Notes the name of the object that was pushed last.
    pub(super) fn remember_last(&mut self) {
        let Some(at) = self.manifest.objects.len().checked_sub(1).and_then(|at| u32::try_from(at).ok())
        else {
            return;
        };
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let hash = |at: u32| hasher.hash_one(name_at(manifest, at));
        self.names.insert_unique(hash(at), at, |at| hash(*at));
    }
}

impl Writer {
    /// Asks `goes_on` at least every 64 MiB, and before the file is published; false fails the writer for good.
    pub fn on_progress(&mut self, goes_on: impl Fn(u64) -> bool + Send + 'static) -> Result<()> {
        self.reports.asked = Some(try_box(goes_on)?);
        Ok(())
    }

    /// So many bytes are done: asks, if it is time to.
    pub(super) fn report(&mut self, done: usize) -> Result<()> {
        self.reports.since = self.reports.since.saturating_add(done);
        match self.reports.since < STEP {
            true => Ok(()),
            false => self.report_now(),
        }
    }

    pub(super) fn report_now(&mut self) -> Result<()> {
        self.reports.since = 0;
        match &self.reports.asked {
            Some(asked) if !asked.goes_on(self.position) => {
                let error = fail!(Cancelled, "the caller stopped it after {} bytes", self.position);
                Err(self.poison(error))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
pub(super) fn name_exists() -> Error {
    fail!(Exists, "an object of that name is there already")
}

pub(super) fn name_at(manifest: &Manifest, at: u32) -> &[u8] {
    let object = manifest.objects.get(at as usize);
    object.map(|o| manifest.texts.get_bytes(o.name)).unwrap_or_default()
}
