//! Where the parts of a file are, and the input of manifest decoders: the bytes of a file that were
//! requested.

use crate::error::{broken, fail, Error, Result, Rule};
use crate::model::manifest::Container;
use std::ops::Range;

/// Components start at multiples of this (0.1 section 3.2, 1.1 part I.2, 1.2 section 4).
pub(crate) const ALIGNMENT: u64 = 64;
/// Bytes before everything else: the magic.
pub(crate) const HEADER_SIZE: u64 = 8;
/// The specs' own limit on a manifest (1.1 part IV.1.4, 1.2 section 5.4).
pub(crate) const MANIFEST_LIMIT: u64 = 1 << 30;

/// Most shards that a file, or the parts of a model together, may name: each may become an open file.
pub(crate) const MAX_SHARDS: usize = 1 << 16;

/// A container and where its manifest stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The container as far as the file's ends show: 1.1 and 1.2 look the same.
    pub container: Container,
    /// The manifest's bytes.
    pub manifest: Range<u64>,
    /// Where components may stand.
    pub data: Range<u64>,
    /// Bytes of the whole file.
    pub file_size: u64,
    /// The XXH3 of the manifest, where the file says it.
    pub manifest_hash: Option<u64>,
}

/// What is seen of a file that may be of any container.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Bytes of the file.
    pub file_size: u64,
    /// Its first bytes: `HEAD_BYTES`, the requested number, or all.
    pub head: &'a [u8],
    /// Its last ones: `END_BYTES`, or all there are.
    pub tail: &'a [u8],
}

/// What a container says of a file's ends.
#[derive(Debug)]
pub enum Detected {
    /// It is another one.
    Other,
    /// It is this one, and its manifest stands there: nowhere, where only decoding it tells.
    Frame(Frame),
    /// It is this container, but this many bytes of its front are needed to find the end of the manifest.
    /// More than were given, and at most the file's size.
    NeedsHead(u64),
}

/// What a caller allows a file to claim.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the manifest.
    pub manifest_size: u64,
    /// Number of objects.
    pub objects: u64,
    /// Bytes of memory that opening it may take; none for [`Limits::memory_for`]'s default.
    pub memory: Option<u64>,
    /// Bits of the containers that it may be of; 0 for all.
    pub containers: u32,
    /// Whether bytes that follow the end of the file's content are passed over.
    pub allow_trailing: bool,
}

/// What the message of a refused file says about bytes behind its content.
pub(super) const TRAILING_HELP: &str = "zt convert --allow-trailing writes the file without them";

/// Memory that opening any file may take by default.
const DEFAULT_MEMORY: u64 = 256 << 20;
/// Memory that opening a file with a large manifest may take by default, in bytes for each of its bytes.
const MEMORY_PER_BYTE: u64 = 16;

impl Limits {
    /// Bytes of memory that opening a file with a manifest of that size may take.
    pub fn memory_for(&self, manifest_size: u64) -> u64 {
        let default = manifest_size.saturating_mul(MEMORY_PER_BYTE).max(DEFAULT_MEMORY);
        self.memory.unwrap_or(default)
    }
}

impl Default for Limits {
    fn default() -> Self {
        let (manifest_size, objects) = (MANIFEST_LIMIT, 1 << 24);
        Limits { manifest_size, objects, memory: None, containers: 0, allow_trailing: false }
    }
}

impl Frame {
    /// Bytes of the manifest.
    pub fn manifest_size(&self) -> u64 {
        self.manifest.end.saturating_sub(self.manifest.start)
    }

    /// The frame of a `.zt` file: the data is before the manifest.
    pub fn with_data_first(container: Container, manifest: Range<u64>, file_size: u64) -> Frame {
        Frame { container, data: ALIGNMENT..manifest.start, manifest, file_size, manifest_hash: None }
    }

    /// The frame of a file whose manifest is found by decoding.
    pub fn of_unknown_manifest(container: Container, file_size: u64) -> Frame {
        Frame { container, manifest: 0..0, data: 0..file_size, file_size, manifest_hash: None }
    }

    /// The frame of a file whose data begins behind its manifest and goes to its end.
    pub fn with_manifest_first(
        container: Container,
        manifest: Range<u64>,
        data_start: u64,
        file_size: u64,
    ) -> Frame {
        Frame { container, manifest, data: data_start..file_size, file_size, manifest_hash: None }
    }
}

/// The frame of a manifest of `size` bytes before a footer, with space for `capacity` bytes.
pub(super) fn frame(
    container: Container,
    file_size: u64,
    footer_size: u64,
    size: u64,
    capacity: u64,
    limits: &Limits,
) -> Result<Detected> {
    if size > capacity {
        return Err(broken!(
            Rule::ManifestRange,
            "the manifest size is {size}, but the file of {file_size} bytes has room for {capacity}"
        ));
    }
    if size > limits.manifest_size {
        return Err(over_limit(size, limits));
    }
    let end = file_size.saturating_sub(footer_size);
    let manifest = end.saturating_sub(size)..end;
    Ok(Detected::Frame(Frame::with_data_first(container, manifest, file_size)))
}

#[cold]
pub(super) fn over_limit(size: u64, limits: &Limits) -> Error {
    fail!(Limit, "the manifest size is {size}, above the limit of {} bytes", limits.manifest_size)
}

/// Receives the number of a range and its bytes.
pub type OnRange<'b> = dyn FnMut(usize, &[u8]) -> Result<()> + 'b;

/// A file whose bytes can be read anywhere.
pub trait Input {
    /// Bytes of the file.
    fn file_size(&self) -> u64;

    /// The bytes of `range`, which the file has.
    fn read(&mut self, range: Range<u64>) -> Result<&[u8]>;

    /// Gives `body` the bytes of each range, in their order; the file has all of them. Those that follow each
    /// other closely are read together, so they are best in the order of the file.
    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()>;
}

/// Bytes of a file that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'b> {
    bytes: &'b [u8],
    /// Where in the file they begin.
    start: u64,
    file_size: u64,
}

impl<'b> InMemory<'b> {
    /// The bytes of a manifest, which are those of `frame.manifest`.
    pub fn manifest(frame: &Frame, bytes: &'b [u8]) -> InMemory<'b> {
        InMemory { bytes, start: frame.manifest.start, file_size: frame.file_size }
    }

    /// All bytes of a file.
    #[cfg(test)]
    pub fn file(bytes: &'b [u8]) -> InMemory<'b> {
        InMemory { bytes, start: 0, file_size: bytes.len() as u64 }
    }
}

impl Input for InMemory<'_> {
    fn file_size(&self) -> u64 {
        self.file_size
    }

    fn read(&mut self, range: Range<u64>) -> Result<&[u8]> {
        let place = |offset: u64| usize::try_from(offset.checked_sub(self.start)?).ok();
        let bytes = place(range.start).zip(place(range.end)).and_then(|(from, to)| self.bytes.get(from..to));
        bytes.ok_or_else(|| {
            fail!(
                Internal,
                "bytes {range:?} are outside of the {} bytes from {} on",
                self.bytes.len(),
                self.start
            )
        })
    }

    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()> {
        ranges.iter().enumerate().try_for_each(|(at, range)| body(at, self.read(range.clone())?))
    }
}
