//! A container as the rest of the library meets it: one row of the table in `mod.rs`.

use super::capabilities::Capabilities;
use super::edits::{AttributeEdits, ObjectEdits};
use super::frame::{Detected, Ends, Frame, Limits};
use super::input::Input;
use crate::digest::{Algorithm, Digest};
use crate::error::Result;
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};
use crate::model::value::OwnedValue;
use std::ops::Range;

/// Whether a file is of the container. What can only be one and breaks its rules is an error.
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
    /// Whether the manifest is that of this file alone, with all that it has: else places in it are of no
    /// use.
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
    /// Gives the places in a window, which begins so many bytes into the file.
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
    /// Whether a file is of it; none if another row detects its files.
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
