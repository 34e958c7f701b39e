//! More objects for a file that is there, whose manifest is carried over.

use super::attributes::owned_text;
use super::{Phase, Summary, Writer, WriterOptions};
use crate::container::{self, AppendRecord, Limits, ObjectEdit, ObjectEdits};
use crate::error::{fail, try_format, Result};
use crate::memory::try_box;
use crate::memory::AlignedBuffer;
use crate::model::manifest::{table_position, Version};
use crate::model::value::Value;
use crate::reader::{record_of, File, Mode, OpenOptions};
use crate::sink::append_sink::{AppendSink, HeadRecord};
use crate::sink::file_sink::FileSink;
use crate::sink::ByteSink;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::path::Path;

/// The file that is appended to.
pub struct AppendBase {
    file: File,
    /// Its manifest as it is encoded.
    manifest: AlignedBuffer,
    /// What becomes of its objects.
    edits: ObjectEdits,
    /// Objects that have another name, by that name.
    renamed: HashTable<u32>,
    hasher: SeedableRandomState,
}

impl AppendBase {
    fn new(file: File, manifest: AlignedBuffer) -> AppendBase {
        let (edits, renamed) = (ObjectEdits::default(), HashTable::new());
        AppendBase { file, manifest, edits, renamed, hasher: crate::hash::state() }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether an object of it has that name now.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The position of the object that has that name now.
    pub fn find(&self, name: &str) -> Option<usize> {
        let renamed = self.renamed.find(self.hash(name), |at| new_name(&self.edits, *at) == name);
        let keeps_its_name =
            |at: &usize| self.edits.get(*at).is_none_or(|edit| edit.name.is_none() && !edit.is_removed);
        match renamed {
            Some(at) => Some(*at as usize),
            None => self.file.find_position(name).filter(keeps_its_name),
        }
    }

    /// The edit of the object at that position, and the attributes that the file has of it.
    pub fn edit(&mut self, at: usize) -> Result<(&mut ObjectEdit, Option<Value<'_>>)> {
        let manifest = self.file.manifest();
        self.edits.reserve(at, manifest.objects.len())?;
        let old = manifest.objects.get(at).and_then(|object| manifest.object_attributes(object));
        let edit = self.edits.get_mut(at).ok_or_else(|| fail!(Internal, "the file has no object {at}"))?;
        Ok((edit, old))
    }

    /// Takes the object at that position away.
    pub fn remove(&mut self, at: usize) -> Result<()> {
        self.edit(at)?.0.is_removed = true;
        self.forget_new_name(at);
        Ok(())
    }

    /// Gives the object at that position another name, which no object has.
    pub fn rename(&mut self, at: usize, name: &str) -> Result<()> {
        let (hash, name, number) = (self.hash(name), owned_text(name)?, table_position(at)?);
        self.edit(at)?;
        let (edits, hasher) = (&self.edits, &self.hasher);
        let hash_of = |at: &u32| hasher.hash_one(new_name(edits, *at));
        let reserved = self.renamed.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of names"))?;
        self.forget_new_name(at);
        self.edit(at)?.0.name = Some(name);
        let (edits, hasher) = (&self.edits, &self.hasher);
        self.renamed.insert_unique(hash, number, |at| hasher.hash_one(new_name(edits, *at)));
        Ok(())
    }

    fn hash(&self, name: &str) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Nobody finds the object by its new name any more, if it has one.
    fn forget_new_name(&mut self, at: usize) {
        let Some(name) = self.edits.get(at).and_then(|edit| edit.name.as_deref()) else { return };
        if let Ok(place) = self.renamed.find_entry(self.hash(name), |other| *other as usize == at) {
            place.remove();
        }
    }
}

/// The new name of an object that has one.
fn new_name(edits: &ObjectEdits, at: u32) -> &str {
    edits.get(at as usize).and_then(|edit| edit.name.as_deref()).unwrap_or_default()
}

impl Writer {
    /// More objects for the file at `path`, if its container allows that.
    pub fn append(path: impl AsRef<Path>, options: &WriterOptions) -> Result<Writer> {
        let path = path.as_ref();
        // No mapping: the file is about to change.
        let open = OpenOptions { mode: Mode::Read, max_objects: u64::MAX, ..OpenOptions::default() };
        let file = File::open(path, &open)?;
        let label = try_format(format_args!("{}", path.display()))?;
        let mut writer =
            Writer::over_file(file, path, options).map_err(|e| e.within(format_args!("{label}")))?;
        writer.label = label;
        Ok(writer)
    }

    fn over_file(file: File, path: &Path, options: &WriterOptions) -> Result<Writer> {
        options.check()?;
        let Some(version) = file.capabilities().appends_as else {
            let name = file.container().name();
            return Err(fail!(
                Unsupported,
                "a file of {name} cannot be appended to or edited; copy it to a new one"
            ));
        };
        let range = file.frame().manifest.clone();
        let size = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| fail!(Unsupported, "the manifest does not fit this process's address space"))?;
        let mut manifest = AlignedBuffer::zeroed(size)?;
        file.source().read_at(range.start, manifest.as_mut_slice())?;
        let end = file.size();
        let sink: Box<dyn ByteSink> = if AppendRecord::fits_before(range.start) {
            let record = head_record(&file, range.start, manifest.as_slice())?;
            try_box(AppendSink::open(path, range.start..end, record, options.durable)?)?
        } else {
            try_box(new_file(path, version, end, options.durable)?)?
        };
        // Whether the file then says that it is of this version is decided at the end.
        let options = WriterOptions { version, ..options.clone() };
        let mut writer = Writer::over(sink, &options, end);
        writer.append_base = Some(AppendBase::new(file, manifest));
        Ok(writer)
    }

    pub(super) fn finish_append(&mut self, base: AppendBase) -> Result<Summary> {
        if let Phase::Closed(why) = self.state {
            return Err(fail!(State, "{why}"));
        }
        let (encoded, old) = (base.manifest.as_slice(), base.file.manifest());
        let bytes = container::extend(encoded, old, &self.manifest, &self.attributes, &base.edits)?;
        let combined = self.check_combined(&bytes)?;
        drop(base); // where a file that is open cannot be replaced, it is to be closed by then
        self.write_end(&bytes)?;
        Ok(self.summary(combined.0, combined.1))
    }

    /// The whole manifest once more, as a reader will see it: nothing that does not open is published.
    fn check_combined(&self, bytes: &[u8]) -> Result<(u64, u64)> {
        let end = self.position.saturating_add(bytes.len() as u64);
        let frame = container::frame_of(self.options.version, self.position..end);
        let limits = Limits { objects: u64::from(u32::MAX), ..Limits::default() };
        let manifest = container::decode(&frame, bytes, &limits)?.into_inner();
        Ok((manifest.objects.len() as u64, manifest.components.len() as u64))
    }
}

/// The record of an append to `file`, whose manifest begins at `start` and is `manifest`.
fn head_record(file: &File, start: u64, manifest: &[u8]) -> Result<HeadRecord> {
    let record = AppendRecord::of(start, manifest);
    let mut before = [0; AppendRecord::SIZE];
    if record_of(file.source())?.is_none() {
        file.source().read_at(AppendRecord::OFFSET, &mut before)?;
    } // else of an append that was killed before it wrote anything: that one is not put back
    Ok(HeadRecord { offset: AppendRecord::OFFSET, bytes: record.to_bytes(), before })
}

/// A file without data has no room for a record; its bytes are all in the manifest, which is written anew. So it
/// is replaced by a new file: padding up to the old end, and what is added.
fn new_file(path: &Path, version: Version, old_end: u64, durable: bool) -> Result<FileSink> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut sink = FileSink::create(path, durable)?;
    let header = container::header(version);
    sink.write(header)?;
    let mut left = old_end.saturating_sub(header.len() as u64);
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        sink.write(ZEROS.get(..now).unwrap_or_default())?;
        left = left.saturating_sub(now as u64);
    }
    Ok(sink)
}
