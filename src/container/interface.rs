//! A container as the rest of the library sees it: a row of the table in `mod.rs`. Also the edits of a
//! manifest that is written again at the new end of its file.

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{Detected, Ends, Frame, Input, Limits};
use crate::digest::{Algorithm, Digest};
use crate::error::Result;
use crate::memory::Budget;
use crate::model::manifest::{table_position, Container, Manifest};
use crate::model::value::{Attributes, Element, OwnedValue, Value, ValueBuilder};
use std::ops::Range;

/// Detects whether a file that begins with [`Row::header`] has this container. It is an error if the file can
/// only have this container but breaks its rules.
pub type Detect = fn(Ends<'_>, &Limits) -> Result<Detected>;

/// Decodes the manifest of a file with this frame. Completes the frame if detection could not.
pub type Decode = fn(&mut Frame, &mut dyn Input, &Limits, &Budget) -> Result<Manifest>;

/// How to write files of a container.
pub struct Encode {
    pub manifest: fn(&Manifest, &Capabilities, &mut Vec<u8>) -> Result<()>,
    /// The frame of a file whose manifest begins at this offset and has these bytes.
    pub frame: fn(u64, &[u8], &Capabilities) -> Frame,
    /// Encodes the footer for this frame.
    pub footer: fn(&Frame, &mut Vec<u8>) -> Result<()>,
    /// Whether the manifest begins at a multiple of the components' alignment.
    pub aligns_manifest: bool,
    /// Encodes an existing manifest with more objects and with edits.
    pub extend: Option<Extend>,
}

/// The arguments are those of `container::extend`, and the capabilities for encoding the added objects.
type Extend =
    fn(&[u8], &Manifest, &Manifest, &Capabilities, &AttributeEdits, &ObjectEdits) -> Result<Vec<u8>>;

/// Reads bytes of a file from an offset on.
pub type ReadAt<'r> = &'r dyn Fn(u64, &mut [u8]) -> Result<()>;

/// The file, or first file of a model, whose origin a copy records.
pub struct OriginOf<'a> {
    /// The manifest of the file, or the joint manifest of the model.
    pub manifest: &'a Manifest,
    /// The positions of its manifest and data.
    pub frame: &'a Frame,
    /// Reads its bytes.
    pub read: ReadAt<'a>,
    /// Whether the manifest is the file's own and complete. If not, its offsets cannot be used.
    pub is_whole: bool,
}

impl OriginOf<'_> {
    /// Records where each component begins, counted from the start of the data.
    pub(super) fn put_offsets(&self, map: &mut ValueBuilder<'_>) -> Result<()> {
        map.text("offsets")?;
        map.begin_array(Element::Any, None)?;
        let start = self.frame.data.start;
        self.manifest.components.iter().try_for_each(|c| map.unsigned(c.offset.saturating_sub(start)))?;
        map.end().map(drop)
    }
}

pub type Origin = fn(&OriginOf<'_>) -> Result<Option<OwnedValue>>;

/// How to find positions where a file may have ended before it was appended to.
pub struct EndSearch {
    /// The last bytes of a footer.
    pub magic: &'static [u8; 8],
    /// How many bytes a footer has. Windows have to overlap by one byte less.
    pub size: usize,
    /// The range of the manifest, if these bytes at this offset can be a footer.
    pub manifest: fn(&[u8], u64) -> Option<Range<u64>>,
    /// Whether the last of several positions is accepted, because each append leaves the old end in the file.
    /// If not, a position is accepted only if it is the only one and the file's gaps are zero.
    pub last_wins: bool,
}

impl EndSearch {
    /// Calls `found` for each possible footer in a window that begins at offset `start` of the file, with the
    /// range of the manifest and the offset just after the footer.
    pub fn find(
        &self,
        window: &[u8],
        start: u64,
        found: &mut dyn FnMut(Range<u64>, u64) -> Result<()>,
    ) -> Result<()> {
        for (at, footer) in window.windows(self.size).enumerate() {
            let at = start.saturating_add(at as u64);
            let is_footer = footer.last_chunk() == Some(self.magic);
            if let Some(manifest) = is_footer.then(|| (self.manifest)(footer, at)).flatten() {
                found(manifest, at.saturating_add(self.size as u64))?;
            }
        }
        Ok(())
    }
}

/// What a file declares about the model that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The number of the part, from 0.
    pub number: u64,
    /// How many parts there are.
    pub count: u64,
    /// How many tensors all parts have, if declared.
    pub tensors: Option<u64>,
}

pub type SplitOf = fn(&Manifest) -> Result<Option<Split>>;

/// The digest of a file's objects, computed from the bytes of its manifest and their offset.
pub type ContentDigest = fn(&[u8], u64, Algorithm) -> Result<Digest>;

/// The canonical form of a container: equal objects give equal files. Its alignment is
/// [`Capabilities::canonical_step`].
pub struct Canonical {
    /// The first rule of the form that the file violates, as far as its manifest shows it. The bytes are the
    /// encoded manifest.
    pub violation: fn(&Manifest, &Frame, &[u8]) -> Result<Option<String>>,
    /// The bytes that must be 0 in a file of this size.
    pub reserved: fn(u64) -> Range<u64>,
}

pub struct Row {
    /// Its capabilities, including its name.
    pub capabilities: Capabilities,
    /// The first bytes of its files. Empty if not all of them begin with the same bytes.
    pub header: &'static [u8],
    /// Detects files with this container; `None` if another row does that.
    pub detect: Option<Detect>,
    /// Other containers that a file detected as this one may have. Its manifest decides.
    pub may_be: &'static [Container],
    /// Decodes its manifest; `None` if the container is not read.
    pub decode: Option<Decode>,
    /// Whether decoding a manifest checks all rules. If not, `validate` checks the rules that containers
    /// share.
    pub has_own_rules: bool,
    /// How to write it; `None` if it is not written.
    pub encode: Option<Encode>,
    /// What a copy of its files records, so that converting back gives the same file. `None` if nothing is
    /// recorded.
    pub origin: Option<Origin>,
    /// How to find the end that a file had before an append. `None` if files are not appended to.
    pub ends: Option<EndSearch>,
    /// Returns how a file describes the model of several files that it is a part of. `None` if files do not.
    pub split: Option<SplitOf>,
    /// The digest of a file's objects. `None` if the container does not define one.
    pub content_digest: Option<ContentDigest>,
    /// Its canonical form, if it has one.
    pub canonical: Option<Canonical>,
}

impl Row {
    /// The base for other rows: a container without any of the optional parts.
    pub const BASE: Row = Row {
        capabilities: FOREIGN,
        header: b"",
        detect: None,
        may_be: &[],
        decode: None,
        has_own_rules: false,
        encode: None,
        origin: None,
        ends: None,
        split: None,
        content_digest: None,
        canonical: None,
    };
}

/// Attributes to remove and to set. Existing keys keep their position; new ones come last.
#[derive(Debug, Default)]
pub struct AttributeEdits {
    /// Keys to remove. They may be set again.
    pub removed: Vec<String>,
    /// Attributes to set. No key occurs twice.
    pub set: Attributes,
}

impl AttributeEdits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.set.is_empty()
    }

    /// Whether the existing value of this key is removed.
    pub fn removes(&self, key: Value<'_>) -> bool {
        key.as_text().is_some_and(|key| self.removed.iter().any(|removed| removed == key))
    }
}

/// The edit of an existing object.
#[derive(Debug, Default)]
pub struct ObjectEdit {
    /// Whether the object is removed.
    pub is_removed: bool,
    /// Its new name, if it is renamed.
    pub name: Option<String>,
    /// The edits of its attributes.
    pub attributes: AttributeEdits,
}

/// The edits of the file's objects. Most objects have no edit and keep their encoded form.
#[derive(Debug, Default)]
pub struct ObjectEdits {
    /// For each object, the number of its edit, counted from 1. Empty if there are no edits.
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

    /// The edit of the object at this position, if there is one.
    pub fn get(&self, object: usize) -> Option<&ObjectEdit> {
        self.edits.get(self.position(object)?)
    }

    /// The edit of the object at this position, for changes.
    pub fn get_mut(&mut self, object: usize) -> Option<&mut ObjectEdit> {
        let at = self.position(object)?;
        self.edits.get_mut(at)
    }

    /// Whether the object at this position is removed.
    pub fn removes(&self, object: usize) -> bool {
        self.get(object).is_some_and(|edit| edit.is_removed)
    }

    /// How many objects are removed.
    pub fn removed_count(&self) -> usize {
        self.edits.iter().filter(|edit| edit.is_removed).count()
    }

    /// Makes an edit for this object. The file has `count` objects.
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
