//! The writer's state, writing to the sink and hashing (on several threads for many bytes), and the end: the
//! manifest and footer, or the rollback after a failure.

use super::append_base::AppendBase;
use super::content_check::ContentCheck;
use super::frames::Encoders;
use super::options::{Summary, WriterOptions};
use super::shared_bytes::{Canonical, Content, CopyIndex};
use crate::container::{self, AttributeEdits, Capabilities, Frame};
use crate::digest::{Algorithm, DigestOf, Hasher};
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::lock::Mutex;
use crate::memory::{append, try_box};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    table_position, Checkpoint, Component, Encoding, Format, Manifest, Object, Position, RareNames, TextId,
};
use crate::model::value::Attributes;
use crate::sink::file_sink::FileSink;
use crate::sink::{ByteSink, WriteThreads};
use crate::threads;
use foldhash::fast::SeedableRandomState;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;
use std::path::Path;

/// The properties that determine the entry of a dense object's data.
pub(super) type EntryKind = (Dtype, Option<Logical>, Option<Encoding>, Option<Option<Algorithm>>);

/// The phase of the writer.
#[allow(clippy::large_enum_variant, reason = "a writer has one")]
pub(super) enum Phase {
    /// Between objects.
    Idle,
    /// In an object, and possibly in a component.
    Object {
        checkpoint: Checkpoint,
        entry: Object,
        attributes: Attributes,
        /// Checks the bytes of its components as they come; `None` if all were checked before.
        contents: Option<ContentCheck>,
    },
    /// Writing failed, or the writer was finished. No more calls are accepted.
    Closed(&'static str),
}

/// A component whose bytes are still coming.
pub struct OpenComponent {
    pub(super) entry: Component,
    pub(super) rare: RareNames,
    pub(super) hasher: Option<Hasher>,
    /// Whether the digest covers the decoded or the stored bytes.
    pub(super) hashes: DigestOf,
    /// How many bytes were given so far.
    pub(super) bytes_in: u64,
    /// The decoded size, if it is known.
    pub(super) expected: Option<u64>,
    /// The bytes of the last frame, which is not complete.
    pub(super) pending: Vec<u8>,
    /// Whether a frame was written.
    pub(super) has_frames: bool,
    /// The stored size of each frame, if a seek table will follow.
    pub(super) frame_sizes: Vec<u32>,
    /// The bytes of an incomplete element, if elements have to be byte-swapped.
    pub(super) partial: Vec<u8>,
    /// Whether its bytes come in calls of `data`, not all at once.
    pub(super) streamed: bool,
    /// The hash of its bytes, if it is needed.
    pub(super) content: Content,
    /// Whether it has the same bytes as another component, so that they are not written.
    pub(super) is_shared: bool,
}

/// The most bytes that are written between two progress reports.
pub(super) const MAX_UNREPORTED: usize = 16 << 20;

/// For fewer bytes, starting a thread costs more than it saves.
const MIN_PARALLEL_WRITE: usize = 4 << 20;
const MIN_OFFLOADED_SHA256: usize = 1 << 20;

/// For at least this many bytes, a separate thread for the digest pays.
pub(super) fn min_offloaded(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Sha256 => MIN_OFFLOADED_SHA256,
        Algorithm::Crc32c | Algorithm::Xxh3 => MIN_PARALLEL_WRITE,
    }
}

/// A file that is being written.
pub struct Writer {
    pub(super) options: WriterOptions,
    pub(super) sink: Option<Box<dyn ByteSink>>,
    pub(super) position: u64,
    pub(super) manifest: Manifest,
    /// The edits of the file's attributes.
    pub(super) attributes: AttributeEdits,
    pub(super) names: HashTable<u32>,
    pub(super) hasher: SeedableRandomState,
    pub(super) state: Phase,
    pub(super) component: Option<OpenComponent>,
    pub(super) encoders: Encoders,
    pub(super) append_base: Option<AppendBase>,
    /// The last entry that was made for the data of a dense object.
    pub(super) last_entry: Option<(EntryKind, Component)>,
    /// The number of threads that hash while this one writes.
    pub(super) busy_threads: usize,
    /// What was written so far, without what only the end knows.
    pub(super) written: Summary,
    pub(super) label: String,
    /// The progress callback. It gets the bytes of the file so far, and returns whether to continue.
    pub(super) progress: Option<Box<dyn Fn(u64) -> bool + Send>>,
    /// Bytes that were written or compressed since the last call of it.
    pub(super) unreported: usize,
    pub(super) canonical: Canonical,
    /// Positions in the table of shards, by name.
    pub(super) shard_names: HashTable<u32>,
    /// Positions in the table of shards, by the number of the open file.
    pub(super) shard_files: HashMap<u64, Position, SeedableRandomState>,
    /// The components that were copied.
    pub(super) copies: CopyIndex,
}

impl Writer {
    /// Makes a writer for a new file at `path`. The file is published when it is finished.
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

    /// Makes a writer for a new file that goes to `sink`.
    pub fn to_sink(sink: Box<dyn ByteSink>, options: &WriterOptions) -> Result<Writer> {
        options.check()?;
        Writer::begin_file(sink, options)
    }

    pub(super) fn begin_file(sink: Box<dyn ByteSink>, options: &WriterOptions) -> Result<Writer> {
        let mut writer = Writer::with_sink(sink, &options.resolved()?, 0);
        writer.write_bytes(container::header(options.version))?;
        Ok(writer)
    }

    pub(super) fn with_sink(sink: Box<dyn ByteSink>, options: &WriterOptions, position: u64) -> Writer {
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
            written: Summary::default(),
            label: String::new(),
            progress: None,
            unreported: 0,
            canonical: Canonical::new(options.canonical),
            shard_names: HashTable::new(),
            shard_files: HashMap::with_hasher(crate::hash::state()),
            copies: CopyIndex::with_hasher(crate::hash::state()),
        }
    }

    pub(super) fn capabilities(&self) -> &'static Capabilities {
        container::capabilities(self.options.version)
    }

    /// Whether the object with this name is open.
    pub fn has_open(&self, name: &str) -> bool {
        matches!(&self.state, Phase::Object { entry, .. } if self.manifest.texts.get(entry.name) == name)
    }

    pub(super) fn check_idle(&self) -> Result<()> {
        self.check_not_closed()?;
        let Phase::Object { entry, .. } = &self.state else { return Ok(()) };
        let name = self.manifest.texts.get(entry.name);
        Err(fail!(State, "object {name:?} is still open; end it first"))
    }

    /// Refuses calls on a writer that failed or was finished.
    pub(super) fn check_not_closed(&self) -> Result<()> {
        match self.state {
            Phase::Closed(why) => Err(fail!(State, "{why}")),
            Phase::Idle | Phase::Object { .. } => Ok(()),
        }
    }

    pub(super) fn open_object(&self) -> Result<Object> {
        self.check_not_closed()?;
        match &self.state {
            Phase::Object { entry, .. } => Ok(*entry),
            _ => Err(fail!(State, "no object is open")),
        }
    }

    /// Removes everything since the checkpoint from the manifest.
    pub(super) fn roll_back_manifest(&mut self, checkpoint: &Checkpoint) {
        self.manifest.rollback(checkpoint);
        self.last_entry = None; // the name of its role may have been removed
    }

    /// The entry of an object without components. Components that are added next belong to it.
    pub(super) fn object_entry(&mut self, name: TextId, format: Format, shape: &[u64]) -> Result<Object> {
        let shape_start = table_position(self.manifest.dimensions.len())?;
        append(&mut self.manifest.dimensions, shape)?;
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

    /// Whether an object with this name exists.
    pub(super) fn has_name(&self, name: &str) -> bool {
        if self.append_base.as_ref().is_some_and(|base| base.find(name).is_some()) {
            return true;
        }
        let hash = self.hasher.hash_one(name.as_bytes());
        self.names.find(hash, |at| self.manifest.name_at(*at as usize) == name.as_bytes()).is_some()
    }

    /// Reserves space in the index for `more` names.
    pub(super) fn reserve_names(&mut self, more: usize) -> Result<()> {
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        if self.names.capacity().saturating_sub(self.names.len()) >= more {
            return Ok(());
        }
        // Grow to four times the size, because growing hashes every name again.
        let more = more.max(self.names.len().saturating_mul(3));
        let reserved = self.names.try_reserve(more, |at| hasher.hash_one(manifest.name_at(*at as usize)));
        reserved.map_err(|_| {
            Error::new(Cause::OutOfMemory, format_args!("could not allocate the index of names"))
        })
    }

    /// Adds the name of the last object to the index.
    pub(super) fn index_last_name(&mut self) {
        let Some(at) = self.manifest.objects.len().checked_sub(1).and_then(|at| u32::try_from(at).ok())
        else {
            return;
        };
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let hash = |at: u32| hasher.hash_one(manifest.name_at(at as usize));
        self.names.insert_unique(hash(at), at, |at| hash(*at));
    }
}

impl Writer {
    /// Sets the progress callback. It is called at least every 64 MiB, and before the file is published. If
    /// it returns false, the writer fails.
    pub fn on_progress(&mut self, continues: impl Fn(u64) -> bool + Send + 'static) -> Result<()> {
        self.progress = Some(try_box(continues)?);
        Ok(())
    }

    /// Counts processed bytes, and calls the progress callback if it is due.
    pub(super) fn report(&mut self, done: usize) -> Result<()> {
        self.unreported = self.unreported.saturating_add(done);
        match self.unreported < MAX_UNREPORTED {
            true => Ok(()),
            false => self.report_now(),
        }
    }

    pub(super) fn report_now(&mut self) -> Result<()> {
        self.unreported = 0;
        match &self.progress {
            Some(callback) if !callback(self.position) => {
                let error = fail!(Cancelled, "the caller stopped it after {} bytes", self.position);
                Err(self.abort(error))
            }
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// Appends bytes to the file. A failure closes the writer.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_and_hash(bytes, None)
    }

    /// Stores bytes of the open component.
    pub(super) fn store(&mut self, stored: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Err(fail!(Internal, "no component")) };
        open.entry.stored_size = open.entry.stored_size.saturating_add(stored.len() as u64);
        if let Content::Hashing(hasher) = &mut open.content {
            hasher.update(stored);
        }
        if open.is_shared {
            open.hasher.iter_mut().for_each(|hasher| hasher.update(stored));
            return Ok(());
        }
        let hashes = open.hashes_stored();
        let Some(mut hasher) = open.hasher.take_if(|_| hashes) else {
            return self.write_and_hash(stored, None);
        };
        self.write_and_hash(stored, Some(&mut hasher))?;
        if let Some(open) = self.component.as_mut() {
            open.hasher = Some(hasher);
        }
        Ok(())
    }

    /// Appends bytes to the file, and hashes them.
    pub(super) fn write_and_hash(&mut self, bytes: &[u8], mut hasher: Option<&mut Hasher>) -> Result<()> {
        if self.progress.is_none() {
            return self.write_at_once(bytes, hasher);
        }
        bytes.chunks(MAX_UNREPORTED).try_for_each(|part| {
            self.write_at_once(part, hasher.as_deref_mut())?;
            self.report(part.len())
        })
    }

    fn write_at_once(&mut self, bytes: &[u8], hasher: Option<&mut Hasher>) -> Result<()> {
        let to_hash = hasher.as_ref().map_or(usize::MAX, |hasher| min_offloaded(hasher.algorithm()));
        let count = match bytes.len() >= MIN_PARALLEL_WRITE.min(to_hash) {
            true => threads::count(self.options.threads).saturating_sub(self.busy_threads),
            false => 1,
        };
        let Some(sink) = self.sink.as_mut() else { return Err(fail!(State, "the writer is finished")) };
        let written = if count > 1 {
            // The first thread that calls this does the hashing.
            let hasher = Mutex::new(hasher);
            let hash = || {
                let hasher = hasher.lock().take();
                hasher.into_iter().for_each(|hasher| hasher.update(bytes));
            };
            let other_work: Option<&(dyn Fn() + Sync)> =
                if to_hash < usize::MAX { Some(&hash) } else { None };
            sink.write_with_threads(
                bytes,
                &WriteThreads { count, hooks: self.options.thread_hooks, other_work },
            )
        } else {
            hasher.into_iter().for_each(|hasher| hasher.update(bytes));
            sink.write(bytes)
        };
        match written {
            Ok(()) => {
                self.position = self.position.saturating_add(bytes.len() as u64);
                Ok(())
            }
            Err(error) => Err(self.abort(error)),
        }
    }

    /// Writes zero bytes up to a multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> Result<()> {
        let target = self.position.checked_next_multiple_of(alignment);
        self.pad_to(target.ok_or_else(|| fail!(Limit, "the file passes 2^64 bytes"))?)
    }

    /// Writes zero bytes up to this position.
    pub(super) fn pad_to(&mut self, target: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while self.position < target {
            let left = usize::try_from(target.saturating_sub(self.position)).unwrap_or(usize::MAX);
            self.write_bytes(ZEROS.get(..left.min(ZEROS.len())).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Writer {
    /// Writes the manifest and footer, and publishes the file. Afterwards the writer is closed in any case.
    /// On failure the destination is unchanged.
    pub fn finish(&mut self) -> Result<Summary> {
        self.check_idle()?;
        let outcome = match self.append_base.take() {
            Some(base) => self.finish_append(base),
            None => self.finish_new(),
        };
        match outcome {
            Ok(summary) => {
                self.sink = None;
                self.state = Phase::Closed("the writer is finished");
                Ok(summary)
            }
            Err(e) => Err(self.abort(e)),
        }
    }

    fn finish_new(&mut self) -> Result<Summary> {
        let mut manifest = std::mem::take(&mut self.manifest);
        manifest.container = Some(self.options.version);
        if !self.attributes.set.is_empty() {
            manifest.attributes = Some(self.attributes.set.put(&mut manifest.values, None)?);
        }
        self.align_manifest()?;
        let mut bytes = Vec::new();
        container::encode_manifest(&manifest, self.options.version, &mut bytes)?;
        let (objects, components) = (manifest.objects.len() as u64, manifest.components.len() as u64);
        let frame = container::frame_of(self.options.version, self.position, &bytes)?;
        container::check_encoded(manifest, &frame, &bytes)?; // the rules that every reader checks
        self.write_end(&frame, &bytes)?;
        Ok(self.summary(objects, components))
    }

    /// Pads the file up to the start of the manifest.
    pub(super) fn align_manifest(&mut self) -> Result<()> {
        match container::aligns_manifest(self.options.version) {
            true => self.align(self.alignment_of(Some(0))),
            false => Ok(()),
        }
    }

    /// Writes the manifest and the footer, and publishes the file.
    pub(super) fn write_end(&mut self, frame: &Frame, manifest: &[u8]) -> Result<()> {
        let size = frame.manifest_size();
        if size > self.capabilities().manifest_limit {
            let limit = self.capabilities().manifest_limit;
            return Err(fail!(
                Limit,
                "a manifest of {size} bytes is above the specs' limit of {limit} bytes"
            ));
        }
        let mut footer = Vec::new();
        container::encode_footer(frame, &mut footer)?;
        self.write_bytes(manifest)?;
        self.sink()?.settle()?;
        self.write_bytes(&footer)?;
        self.report_now()?;
        self.sink()?.publish()
    }

    fn sink(&mut self) -> Result<&mut Box<dyn ByteSink>> {
        self.sink.as_mut().ok_or_else(|| fail!(State, "the writer is finished"))
    }

    /// Closes the writer after a failure, and rolls the sink back, so that the destination is unchanged. If
    /// that fails, the error says what state the destination has. A closed writer stays closed.
    pub fn abort(&mut self, error: Error) -> Error {
        let Some(rolled_back) = self.sink.take().map(|mut sink| sink.roll_back()) else { return error };
        self.component = None;
        self.state = Phase::Closed("the writer has failed");
        let label = if self.label.is_empty() { "the file" } else { self.label.as_str() };
        let error = error.within(format_args!("{label}"));
        match rolled_back {
            Err(e) => Error::new(error.cause(), format_args!("{error}; {e}")),
            Ok(()) => error,
        }
    }

    pub(super) fn summary(&self, objects: u64, components: u64) -> Summary {
        Summary { file_size: self.position, objects, components, ..self.written }
    }
}

#[cold]
pub(super) fn name_exists() -> Error {
    fail!(Exists, "an object of that name exists already")
}

pub(super) fn last_name(manifest: &Manifest) -> Option<&str> {
    manifest.objects.last().map(|object| manifest.texts.get(object.name))
}
