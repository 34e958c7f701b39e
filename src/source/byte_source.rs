//! The interface to a file's bytes, how a range of them is read, and its two smallest sources: memory, and a
//! shard that is not opened.

use super::advice::{unsupported, Advice};
use super::pages::{page_size, Pages};
use super::profile::{Change, PageCache, Profile, ReadRange};
use crate::error::{fail, Result};
use crate::memory::{in_memory, whole_units, zeroed, AlignedBuffer};
use std::ops::Range;

/// How many bytes are read at a time where not all are needed at once.
pub(crate) const READ_CHUNK: usize = 1 << 20;

/// Where a file's bytes come from. Any number of threads may read at once.
pub trait ByteSource: Send + Sync {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// These bytes, if they can be borrowed without copying.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]>;

    /// These bytes as C borrows them, if that is possible: those of [`ByteSource::slice`], or of a private
    /// mapping that the caller may change.
    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Fills `dst` with the bytes from `offset` on: all of it, or an error.
    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()>;

    /// Fills all of `ranges`, as [`Profile::read_many`] says. After an error any of them may be undefined.
    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.dst))
    }

    /// Says what will be done with the bytes of `range`; an error where that cannot be done for them.
    fn advise(&self, _range: Range<u64>, advice: Advice) -> Result<()> {
        match advice {
            Advice::Normal => Ok(()),
            _ => Err(unsupported(advice, "the bytes do not belong to a file that the library opened")),
        }
    }

    /// How the bytes lie in pages.
    fn pages(&self) -> Pages {
        Pages::new(crate::io::page_size() as u64, 0, self.size(), true)
    }

    /// What reading costs.
    fn profile(&self) -> Profile {
        Profile::calls()
    }

    /// A number that differs for other bytes; 0 if it is not known.
    fn identity(&self) -> u64 {
        0
    }

    /// The page cache's view of them; none if they are in no file of this system.
    fn page_cache(&self) -> Option<&dyn PageCache> {
        None
    }
}

/// Whether each read calls a function of the host, which may go over a network.
pub fn is_callback_source(source: &dyn ByteSource) -> bool {
    source.page_cache().is_none() && source.slice(0..0).is_none()
}

/// How the file of a source that is read, not mapped, is now, if it is not as it was when it was opened.
pub fn change_since_open(source: &dyn ByteSource) -> Result<Option<Change>> {
    match source.page_cache() {
        Some(cache) if source.slice(0..0).is_none() => cache.change(),
        _ => Ok(None),
    }
}

/// Calls `body` with the bytes of `range`: borrowed if possible, else read into fresh memory. The range
/// was checked against the size of the source.
pub fn with_range<T>(
    source: &dyn ByteSource,
    range: Range<u64>,
    body: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    if let Some(bytes) = source.slice(range.clone()) {
        return body(bytes);
    }
    let mut bytes = AlignedBuffer::zeroed(in_memory(range.end.saturating_sub(range.start))?)?; // huge pages if many
    source.read_at(range.start, bytes.as_mut_slice())?;
    body(bytes.as_slice())
}

/// Calls `body` with the bytes of `range` front to back, at most [`READ_CHUNK`] at a time.
pub fn for_each_chunk(
    source: &dyn ByteSource,
    range: Range<u64>,
    body: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    for_each_chunk_of(source, range, 1, body)
}

/// As [`for_each_chunk`], in whole elements of `unit` bytes.
pub fn for_each_chunk_of(
    source: &dyn ByteSource,
    range: Range<u64>,
    unit: usize,
    body: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let step = whole_units(READ_CHUNK, unit);
    if let Some(bytes) = source.slice(range.clone()) {
        return bytes.chunks(step).try_for_each(body);
    }
    let whole = range.end.saturating_sub(range.start);
    let mut buffer = zeroed(usize::try_from(whole).unwrap_or(step).min(step))?;
    let mut at = range.start;
    while at < range.end {
        let left = usize::try_from(range.end.saturating_sub(at)).unwrap_or(step);
        let chunk = buffer.get_mut(..left.min(step)).unwrap_or_default();
        source.read_at(at, chunk)?;
        body(chunk)?;
        at = at.saturating_add(chunk.len() as u64);
    }
    Ok(())
}

/// Bytes that the source owns or borrows.
pub struct MemorySource<B> {
    bytes: B,
}

impl<B: AsRef<[u8]> + Send + Sync> MemorySource<B> {
    /// Reads from `bytes`.
    pub fn new(bytes: B) -> Self {
        MemorySource { bytes }
    }
}

/// The part `range` of `bytes`; none if it passes their end.
pub fn part(bytes: &[u8], range: Range<u64>) -> Option<&[u8]> {
    let start = usize::try_from(range.start).ok()?;
    let end = usize::try_from(range.end).ok()?;
    bytes.get(start..end)
}

impl<B: AsRef<[u8]> + Send + Sync> ByteSource for MemorySource<B> {
    fn size(&self) -> u64 {
        self.bytes.as_ref().len() as u64
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        part(self.bytes.as_ref(), range)
    }

    /// The pages of the memory, by its address.
    fn pages(&self) -> Pages {
        let bytes = self.bytes.as_ref();
        Pages::new(page_size(), bytes.as_ptr().addr() as u64 % page_size(), bytes.len() as u64, false)
    }

    fn profile(&self) -> Profile {
        Profile::memory()
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(dst.len() as u64);
        let found = self.slice(offset..end);
        let size = self.size();
        let bytes = found
            .ok_or_else(|| fail!(Io, "bytes {offset} to {end} are not in the {size} bytes of memory"))?;
        dst.copy_from_slice(bytes);
        Ok(())
    }
}

/// Refuses every read.
pub(crate) struct Elsewhere;

impl ByteSource for Elsewhere {
    fn size(&self) -> u64 {
        u64::MAX
    }

    fn slice(&self, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Err(fail!(Unsupported, "its bytes are in another file, a shard, which is not open"))
    }
}
