//! The files of an open [`super::File`]: a single one, or the parts of a model.

use super::lazy_shard::{LazyShard, OpenedFile};
use super::manifest::{self, Identity, ReadEnds};
use super::open_options::Mode;
use super::recovery::{record_of, Prefix};
use crate::container::{self, AppendRecord, Capabilities, Frame, Limits};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::lock::Mutex;
use crate::memory::collected;
use crate::model::manifest::{Component, Container, Manifest, Position, TextId};
use crate::source::{ByteSource, Change};
use std::ops::Range;
use std::sync::OnceLock;

/// One of the files.
pub struct FilePart {
    /// The open file. For a shard that is not open: what the table of shards says about it, and the path that
    /// is tried first.
    pub(super) file: OpenedFile,
    /// The container that its manifest declares.
    pub(super) container: Container,
    /// Its version, as a text of the joint manifest.
    pub(super) version: Option<TextId>,
    /// The state of the file when a call found that it was changed by something else than an append.
    pub(super) refused: Mutex<Option<Change>>,
    /// The [`Identity::manifest_hash`], once it is known.
    pub(super) manifest_hash: OnceLock<u64>,
    /// The positions of its objects and components among those of all parts.
    pub(super) objects: Range<usize>,
    pub(super) components: Range<usize>,
    /// The bytes of objects that are not shown.
    pub(super) hidden: Vec<Range<u64>>,
    /// The positions of its shards among those of all parts.
    pub(super) shards: Range<usize>,
    pub(super) lazy_shard: Option<Box<LazyShard>>,
}

/// All parts: first those with a manifest that was read, then their shards. The first part is separate, so
/// that a single file needs no list.
pub struct Parts {
    pub(super) first: FilePart,
    others: Vec<FilePart>,
    shard_count: usize,
    /// The positions that objects and components had in the order of the parts, where they stand otherwise.
    positions: Option<Positions>,
}

struct Positions {
    of_objects: Vec<u32>,
    of_components: Vec<u32>,
}

impl FilePart {
    pub(super) fn new(file: OpenedFile, container: Container) -> FilePart {
        FilePart {
            file,
            container,
            version: None,
            refused: Mutex::default(),
            manifest_hash: OnceLock::new(),
            objects: 0..0,
            components: 0..0,
            hidden: Vec::new(),
            shards: 0..0,
            lazy_shard: None,
        }
    }

    /// The open file, or what is known about a shard that is not open.
    #[inline]
    fn file(&self) -> &OpenedFile {
        self.lazy_shard.as_ref().and_then(|shard| shard.opened()).unwrap_or(&self.file)
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.file.frame.file_size
    }

    /// Its container.
    pub fn container(&self) -> Container {
        self.container
    }

    /// The capabilities of its container.
    pub fn capabilities(&self) -> &'static Capabilities {
        container::capabilities(self.container)
    }

    /// The path of the file, in the platform's encoding, with a NUL at the end. For a shard that is not open,
    /// the path that is tried first.
    pub fn path(&self) -> Option<&[u8]> {
        Some(self.file().path.as_slice()).filter(|path| !path.is_empty())
    }

    /// Its name in messages.
    pub fn label(&self) -> &str {
        &self.file().label
    }

    /// Whether the byte at `offset` is in the page cache; `None` if that is unknown.
    pub fn is_resident(&self, offset: u64) -> Option<bool> {
        self.source().page_cache()?.resident(offset)
    }

    /// All bytes of the file, if they can be borrowed.
    pub fn borrow(&self) -> Result<&[u8]> {
        let bytes = self.source().borrow(0..self.size());
        let why =
            || fail!(NotMappable, "its bytes cannot be borrowed: the file is neither mapped nor in memory");
        bytes.ok_or_else(|| self.named(why()))
    }

    /// Its identity when it was opened. Reads the manifest, unless its hash was kept because an append would
    /// clear it.
    pub fn identity(&self) -> Result<Identity> {
        let manifest_hash = self.find_manifest_hash().map_err(|e| self.named(e))?;
        let OpenedFile { frame, modified, .. } = self.file();
        let (size, modified, manifest_offset) = (frame.file_size, *modified, frame.manifest.start);
        let source = self.source().identity();
        Ok(Identity { size, modified, manifest_offset, manifest_hash, source })
    }

    fn find_manifest_hash(&self) -> Result<u64> {
        if let Some(hash) = self.manifest_hash.get() {
            return Ok(*hash);
        }
        let hash = manifest::manifest_hash(self.source(), self.frame())?;
        Ok(*self.manifest_hash.get_or_init(|| hash))
    }

    /// The range of the record of a running append that does not change this file's content. Empty if no
    /// append is running.
    pub(super) fn record_of_append(&self) -> Result<Range<u64>> {
        if self.source().page_cache().is_none() || self.capabilities().old_ends_stay {
            return Ok(0..0);
        }
        let (frame, start) = (self.frame(), AppendRecord::OFFSET);
        let record = record_of(self.source())?;
        let keeps = record.is_some_and(|r| r.tail == (frame.manifest.start..frame.file_size));
        Ok(start..if keeps { start.saturating_add(AppendRecord::SIZE as u64) } else { start })
    }

    /// Whether the manifest at the old end is still the same as when the file was opened. Reads the manifest,
    /// or its hash if the file gives it.
    pub(super) fn has_its_end(&self) -> Result<bool> {
        let (source, frame) = (self.source(), self.frame());
        match frame.manifest_hash {
            Some(_) => {
                let old = Prefix { source, size: frame.file_size };
                let mut ends = ReadEnds::read(&old, &Limits::default())?;
                let found = ends.detect(&old, &Limits { manifest_size: u64::MAX, ..Limits::default() });
                Ok(matches!(found, Ok(found) if found == *frame))
            }
            None => Ok(manifest::manifest_hash(source, frame)? == self.find_manifest_hash()?),
        }
    }

    /// Whether its bytes can be read: it is not a shard that was not opened.
    pub fn is_open(&self) -> bool {
        self.lazy_shard.as_ref().is_none_or(|shard| shard.opened().is_some())
    }

    /// The source of its bytes. For a shard that is not open, it has no bytes.
    pub(crate) fn source(&self) -> &dyn ByteSource {
        self.file().source.as_ref()
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.file().frame
    }

    /// The error for an object whose name another one has; Ok if its container allows that.
    pub(super) fn duplicate(&self, manifest: &Manifest, object: usize) -> Result<()> {
        let name = Quoted(manifest.name_at(object));
        match self.capabilities().duplicate_names {
            true => Ok(()),
            false => Err(broken!(Rule::NameDuplicate, "object {name} is defined twice")),
        }
    }

    /// Adds the name of the file to an error.
    #[cold]
    pub(super) fn named(&self, error: Error) -> Error {
        self.capabilities().with_own_rule(error).within(format_args!("{}", self.label()))
    }
}

impl Parts {
    pub fn one(part: FilePart) -> Parts {
        Parts { first: part, others: Vec::new(), shard_count: 0, positions: None }
    }

    pub fn all(parts: impl ExactSizeIterator<Item = FilePart>) -> Result<Parts> {
        let mut parts = parts;
        let first = parts.next().ok_or_else(|| fail!(Internal, "a model of no parts"))?;
        let others = collected(parts.len(), parts)?;
        Ok(Parts { first, others, shard_count: 0, positions: None })
    }

    /// Takes the former positions of objects and components, which stand in another order now.
    pub fn set_positions(&mut self, of_objects: Vec<u32>, of_components: Vec<u32>) {
        self.positions = Some(Positions { of_objects, of_components });
    }

    #[inline(always)]
    fn former_component(&self, index: usize) -> usize {
        match &self.positions {
            None => index,
            Some(positions) => positions.of_components.get(index).map_or(index, |at| *at as usize),
        }
    }

    pub fn reserve(&mut self, shards: usize) -> Result<()> {
        Ok(self.others.try_reserve_exact(shards)?)
    }

    /// Adds a shard: the next one of the joint manifest. [`Parts::reserve`] has reserved memory for it.
    pub fn push(&mut self, shard: FilePart) {
        let last = self.others.last().unwrap_or(&self.first);
        let (objects, components) = (last.objects.end, last.components.end);
        let shard = FilePart { objects: objects..objects, components: components..components, ..shard };
        self.others.push(shard);
        self.shard_count = self.shard_count.saturating_add(1);
    }

    pub fn count(&self) -> usize {
        self.others.len().saturating_add(1)
    }

    /// The number of parts with a manifest that was read: all but shards.
    pub fn manifest_count(&self) -> usize {
        self.count().saturating_sub(self.shard_count)
    }

    pub fn number_of_shard(&self, at: Position) -> usize {
        self.manifest_count().saturating_add(at.index())
    }

    pub fn get(&self, index: usize) -> Option<&FilePart> {
        match index.checked_sub(1) {
            None => Some(&self.first),
            Some(behind) => self.others.get(behind),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &FilePart> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The part whose manifest has this component.
    #[inline(always)]
    pub fn of_component(&self, index: usize) -> &FilePart {
        let index = self.former_component(index);
        match index < self.first.components.end {
            true => &self.first,
            false => self.get(self.number_in_order(index)).unwrap_or(&self.first),
        }
    }

    /// The number of the one that has a component by its former position.
    fn number_in_order(&self, index: usize) -> usize {
        match index < self.first.components.end {
            true => 0,
            false => self.others.partition_point(|part| part.components.end <= index).saturating_add(1),
        }
    }

    /// The number of the part that has the bytes of this component.
    pub fn number_of_component(&self, manifest: &Manifest, index: usize) -> usize {
        let entry = manifest.components.get(index).filter(|entry| entry.is_in_shard());
        match entry.and_then(|entry| manifest.rare(entry).shard) {
            Some(at) => self.number_of_shard(at),
            None => self.number_in_order(self.former_component(index)),
        }
    }

    /// The components of one of them.
    pub fn components_of<'m>(
        &'m self,
        part: &'m FilePart,
        manifest: &'m Manifest,
    ) -> impl Iterator<Item = &'m Component> + Clone {
        // Without former positions they follow each other.
        let likely =
            if self.positions.is_some() { 0..manifest.components.len() } else { part.components.clone() };
        let entries = manifest.components.get(likely.clone()).unwrap_or_default();
        let is_of_part = |at: usize| part.components.contains(&self.former_component(at));
        likely.zip(entries).filter(move |(at, _)| is_of_part(*at)).map(|(_, component)| component)
    }

    /// The one that has an object.
    pub fn of_object(&self, index: usize) -> &FilePart {
        let former = self.positions.as_ref().and_then(|positions| positions.of_objects.get(index));
        let index = former.map_or(index, |at| *at as usize);
        if index < self.first.objects.end {
            return &self.first;
        }
        let at = self.others.partition_point(|part| part.objects.end <= index);
        self.others.get(at).map_or(&self.first, |part| part)
    }

    /// The error for two objects with the same name; Ok if they are in one file that may have such objects.
    pub fn duplicate(&self, manifest: &Manifest, one: usize, other: usize) -> Result<()> {
        let (first, second) = (self.of_object(one), self.of_object(other));
        if std::ptr::eq(first, second) {
            let outcome = first.duplicate(manifest, one);
            return if self.others.is_empty() { outcome } else { outcome.map_err(|e| first.named(e)) };
        }
        let (name, first, second) = (Quoted(manifest.name_at(one)), first.label(), second.label());
        Err(broken!(Rule::NameDuplicate, "object {name} is in two parts: {first} and {second}"))
    }

    pub fn of_source(&self, source: &dyn ByteSource) -> &FilePart {
        self.iter().find(|part| std::ptr::addr_eq(part.source(), source)).unwrap_or(&self.first)
    }

    /// How the parts that are open from the start are accessed.
    pub fn mode(&self) -> Mode {
        let first = Mode::of(self.first.source());
        match self.iter().take(self.manifest_count()).all(|part| Mode::of(part.source()) == first) {
            true => first,
            false => Mode::Read,
        }
    }
}
