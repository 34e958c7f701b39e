//! A container as the rest of the library meets it: one row of the table in `mod.rs`. And the edits of a
//! manifest that is carried over to the new end of its file.

use super::capabilities::Capabilities;
use super::frame::{Detected, Ends, Frame, Input, Limits};
use crate::digest::{Algorithm, Digest};
use crate::error::Result;
use crate::memory::Budget;
use crate::model::manifest::{table_position, Container, Manifest};
use crate::model::value::{Attributes, OwnedValue, Value};
use std::ops::Range;

/// Whether a file has this container. If it can only be this one but breaks its rules, this is an error.
pub type Detect = fn(Ends<'_>, &Limits) -> Result<Detected>;

/// The manifest of a file that was detected to be framed so. Sets the frame where detection does not know it.
pub type Decode = fn(&mut Frame, &mut dyn Input, &Limits, &Budget) -> Result<Manifest>;

/// How files of a container are written.
pub struct Encode {
    /// The first bytes of a file.
    pub header: &'static [u8],
    /// A manifest.
    pub manifest: fn(&Manifest, &Capabilities, &mut Vec<u8>) -> Result<()>,
    /// The frame of a file whose manifest begins there and has these bytes.
    pub frame: fn(u64, &[u8], &Capabilities) -> Frame,
    /// What stands behind the manifest of such a frame.
    pub footer: fn(&Frame, &mut Vec<u8>) -> Result<()>,
    /// Whether the manifest begins at a multiple of the alignment of components.
    pub aligns_manifest: bool,
    /// An encoded manifest with more objects and with edits.
    pub extend: Option<Extend>,
}

/// The arguments are those of `container::extend`, and what the added objects are encoded as.
type Extend =
    fn(&[u8], &Manifest, &Manifest, &Capabilities, &AttributeEdits, &ObjectEdits) -> Result<Vec<u8>>;

/// Reads bytes of a file from an offset on.
pub type ReadAt<'r> = &'r dyn Fn(u64, &mut [u8]) -> Result<()>;

/// A file, or the first of a model, that a copy notes something of.
pub struct OriginOf<'a> {
    /// The manifest of the file, or the joint one of the model.
    pub manifest: &'a Manifest,
    /// Where its manifest and its data are.
    pub frame: &'a Frame,
    /// Reads its bytes.
    pub read: ReadAt<'a>,
    /// Whether the manifest is this file's own and complete: otherwise its offsets cannot be used.
    pub is_whole: bool,
}

/// What a file says beside objects and attributes.
pub type Origin = fn(&OriginOf<'_>) -> Result<Option<OwnedValue>>;

/// A place that looks like the end of a file.
pub struct PossibleEnd {
    /// Where its manifest would be.
    pub manifest: Range<u64>,
    /// Behind its footer.
    pub end: u64,
}

/// See [`EndSearch::find`].
pub type FindEnds = fn(&[u8], u64, &mut dyn FnMut(PossibleEnd) -> Result<()>) -> Result<()>;

/// How the places are found where a file may have ended before it was appended to.
pub struct EndSearch {
    /// First bytes of such a file.
    pub header: &'static [u8],
    /// Bytes by which a place is known: windows have to overlap by one less.
    pub size: usize,
    /// Returns the places in a window that begins this many bytes into the file.
    pub find: FindEnds,
    /// Whether the last of several is the one: each append leaves the end before it where it is. Otherwise
    /// only one that is alone is, in a file whose gaps are zero.
    pub last_wins: bool,
}

/// What a file says of the model that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Which one it is, from 0.
    pub number: u64,
    /// How many there are.
    pub count: u64,
    /// Tensors of all of them, where it is said.
    pub tensors: Option<u64>,
}

/// See [`Row::split`].
pub type SplitOf = fn(&Manifest) -> Result<Option<Split>>;

/// The digest of what a file's objects are, from the bytes of its manifest and where these begin.
pub type ContentDigest = fn(&[u8], u64, Algorithm) -> Result<Digest>;

/// The form in which a container has one file for the same objects; its step is
/// [`Capabilities::canonical_step`].
pub struct Canonical {
    /// The first rule that keeps a file from it, as its manifest shows it, which is encoded as these bytes.
    pub violation: fn(&Manifest, &Frame, &[u8]) -> Result<Option<String>>,
    /// Bytes that are 0 in it, of a file of that size.
    pub reserved: fn(u64) -> Range<u64>,
}

/// A container.
pub struct Row {
    /// What it can represent, and its name.
    pub capabilities: Capabilities,
    /// Whether a file has this container; `None` if another row detects its files.
    pub detect: Option<Detect>,
    /// The other containers that a file which is detected as this one may be of; its manifest decides.
    pub may_be: &'static [Container],
    /// How its manifest is read; none where it is not read here.
    pub decode: Option<Decode>,
    /// Whether decoding a manifest checks all of its rules. Otherwise `validate` checks those that containers
    /// share.
    pub has_own_rules: bool,
    /// How it is written; none where it is not.
    pub encode: Option<Encode>,
    /// What a copy of its files records, so that converting back gives the same file; none if nothing is
    /// recorded.
    pub origin: Option<Origin>,
    /// How to find the end that a file had before it was appended to; none if its files are not appended to.
    pub ends: Option<EndSearch>,
    /// How a file names the model of several files that it is a part of; none where none does.
    pub split: Option<SplitOf>,
    /// What tells its objects from others; none where only all bytes of a file do.
    pub content_digest: Option<ContentDigest>,
    /// Its canonical form, if it has one.
    pub canonical: Option<Canonical>,
}

/// Attributes to remove and to set. An existing key keeps its place; others come last.
#[derive(Debug, Default)]
pub struct AttributeEdits {
    /// Keys that are taken away; they may be set again.
    pub removed: Vec<String>,
    /// Attributes that are set, no key twice.
    pub set: Attributes,
}

impl AttributeEdits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.set.is_empty()
    }

    /// Whether the existing value of that key is removed.
    pub fn removes(&self, key: Value<'_>) -> bool {
        key.as_text().is_some_and(|key| self.removed.iter().any(|removed| removed == key))
    }
}

/// The edit of an object that the file has.
#[derive(Debug, Default)]
pub struct ObjectEdit {
    /// Nothing is left of it.
    pub is_removed: bool,
    /// Its other name.
    pub name: Option<String>,
    /// Its attributes.
    pub attributes: AttributeEdits,
}

/// The edits of the file's objects; most have none, and keep their encoded form.
#[derive(Debug, Default)]
pub struct ObjectEdits {
    /// For each object the number of its edit, counted from 1; nothing at all while there is no edit.
    numbers: Vec<u32>,
    edits: Vec<ObjectEdit>,
}

impl ObjectEdits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    fn position(&self, object: usize) -> Option<usize> {
        (self.numbers.get(object).copied()? as usize).checked_sub(1)
    }

    /// The edit of the object at that position.
    pub fn get(&self, object: usize) -> Option<&ObjectEdit> {
        self.edits.get(self.position(object)?)
    }

    /// The edit of the object at that position, to be changed.
    pub fn get_mut(&mut self, object: usize) -> Option<&mut ObjectEdit> {
        let at = self.position(object)?;
        self.edits.get_mut(at)
    }

    /// Whether the object at that position is taken away.
    pub fn removes(&self, object: usize) -> bool {
        self.get(object).is_some_and(|edit| edit.is_removed)
    }

    /// How many objects are taken away.
    pub fn removed_count(&self) -> usize {
        self.edits.iter().filter(|edit| edit.is_removed).count()
    }

    /// A place for the edit of that object, of `count` that there are.
    pub fn reserve(&mut self, object: usize, count: usize) -> Result<()> {
        if self.position(object).is_some() {
            return Ok(());
        }
        self.numbers.try_reserve_exact(count.saturating_sub(self.numbers.len()))?;
        self.edits.try_reserve(1)?;
        let number = table_position(self.edits.len().saturating_add(1))?;
        self.numbers.resize(count.max(self.numbers.len()), 0);
        if let Some(place) = self.numbers.get_mut(object) {
            *place = number;
            self.edits.push(ObjectEdit::default());
        }
        Ok(())
    }
}
