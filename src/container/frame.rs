//! The positions of a file's parts, and the input of manifest decoders: the requested bytes of a file.

use crate::error::{broken, fail, Error, Result, Rule};
use crate::memory::part;
use crate::model::manifest::Container;
use std::ops::Range;

/// Components start at multiples of this (0.1 section 3.2, 1.1 part I.2, 1.2 section 4).
pub(crate) const ALIGNMENT: u64 = 64;
/// The size of the magic, which comes before everything else.
pub(crate) const HEADER_SIZE: u64 = 8;
/// The limit for a manifest in the specifications (1.1 part IV.1.4, 1.2 section 5.4).
pub(crate) const MANIFEST_LIMIT: u64 = 1 << 30;

/// The most shards that a file, or all parts of a model together, may list. Each may become an open file.
pub(crate) const MAX_SHARDS: usize = 1 << 16;

/// A container, and the position of its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The container, as far as the ends of the file show it: 1.1 and 1.2 look the same.
    pub container: Container,
    /// The manifest's bytes.
    pub manifest: Range<u64>,
    /// Where components may be.
    pub data: Range<u64>,
    /// The size of the file.
    pub file_size: u64,
    /// The XXH3 hash of the manifest, if the file gives it.
    pub manifest_hash: Option<u64>,
}

/// The ends of a file whose container is not known yet.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The size of the file.
    pub file_size: u64,
    /// The first bytes: `HEAD_BYTES`, the requested number, or the whole file.
    pub head: &'a [u8],
    /// The last bytes: `END_BYTES`, or the whole file.
    pub tail: &'a [u8],
}

/// What a container finds out from the ends of a file.
#[derive(Debug)]
pub enum Detected {
    /// The file has another container.
    Other,
    /// The file has this container. The frame has the position of the manifest, unless only decoding can find
    /// it.
    Frame(Frame),
    /// The file has this container, but this many of its first bytes are needed to find the end of the
    /// manifest: more than were given, at most the file's size.
    NeedsHead(u64),
}

/// The limits for what a file may declare.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest manifest, in bytes.
    pub manifest_size: u64,
    /// The most objects.
    pub objects: u64,
    /// The most memory that opening it may take. `None` for the default of [`Limits::memory_for`].
    pub memory: Option<u64>,
    /// The allowed containers, as a set of bits; 0 for all.
    pub containers: u32,
    /// Whether bytes after the end of the file's content are accepted.
    pub allow_trailing: bool,
}

/// What an error about bytes after the content suggests.
pub(super) const TRAILING_HELP: &str = "zt convert --allow-trailing writes the file without them";

/// The default limit for the memory that opening any file may take.
const DEFAULT_MEMORY: u64 = 256 << 20;
/// The default limit for a file with a large manifest: bytes of memory for each byte of the manifest.
const MEMORY_PER_BYTE: u64 = 16;

impl Limits {
    /// The memory limit for opening a file with a manifest of this size.
    pub fn memory_for(&self, manifest_size: u64) -> u64 {
        let default = manifest_size.saturating_mul(MEMORY_PER_BYTE).max(DEFAULT_MEMORY);
        self.memory.unwrap_or(default)
    }

    /// Checks that a file with `count` objects may have one more.
    pub(super) fn check_more_objects(&self, count: usize) -> Result<()> {
        match (count as u64) < self.objects {
            true => Ok(()),
            false => Err(fail!(Limit, "the file has more than {} objects", self.objects)),
        }
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

    /// The frame of a `.zt` file, which has its data before the manifest.
    pub fn with_data_first(container: Container, manifest: Range<u64>, file_size: u64) -> Frame {
        Frame { container, data: ALIGNMENT..manifest.start, manifest, file_size, manifest_hash: None }
    }

    /// The frame of a file whose manifest is found by decoding.
    pub fn of_unknown_manifest(container: Container, file_size: u64) -> Frame {
        Frame { container, manifest: 0..0, data: 0..file_size, file_size, manifest_hash: None }
    }
}

/// The frame for a manifest of `size` bytes before a footer. There is space for `capacity` bytes.
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

/// Receives the index of a range and its bytes.
pub type OnRange<'b> = dyn FnMut(usize, &[u8]) -> Result<()> + 'b;

/// A file that can be read at any offset.
pub trait Input {
    /// Bytes of the file.
    fn file_size(&self) -> u64;

    /// The bytes of `range`. The file has that many.
    fn read(&mut self, range: Range<u64>) -> Result<&[u8]>;

    /// Calls `body` with the bytes of each range, in order. The file has all of them. Ranges that are close
    /// to each other are read at once, so they should be sorted by offset.
    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()>;
}

/// Bytes of a file that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'b> {
    bytes: &'b [u8],
    /// The file offset of the first byte.
    start: u64,
    file_size: u64,
}

impl<'b> InMemory<'b> {
    /// The bytes of a manifest; they are at `frame.manifest`.
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
        let place = |offset: u64| offset.checked_sub(self.start);
        let place = place(range.start).zip(place(range.end));
        let bytes = place.and_then(|(from, to)| part(self.bytes, &(from..to)));
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
