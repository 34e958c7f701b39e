//! The interface to a file's bytes, functions that read a range, and the two smallest sources: memory, and a
//! shard that is not open.

use super::advice::{unsupported, Advice};
use super::profile::{page_size, Change, PageCache, Pages, Profile, ReadRange};
use crate::error::{fail, Result};
use crate::memory::{in_memory, part, whole_units, zeroed, AlignedBuffer};
use std::ops::Range;

/// How many bytes are read at a time if not all of them are needed at once.
pub(crate) const READ_CHUNK: usize = 1 << 20;

/// The source of a file's bytes. Any number of threads may read from it at once.
pub trait ByteSource: Send + Sync {
    /// The number of bytes.
    fn size(&self) -> u64;

    /// These bytes, if they can be borrowed.
    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    /// These bytes for C to borrow, if possible: the same as [`ByteSource::slice`], or those of a private
    /// mapping, which the caller may change.
    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Fills `dst` completely with the bytes from `offset` on, or fails.
    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()>;

    /// Fills all of `ranges`, as [`Profile::read_many`] says. After an error, all of them are undefined.
    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.dst))
    }

    /// Advises how the bytes of `range` will be used. Fails if that is not possible for these bytes.
    fn advise(&self, _range: Range<u64>, advice: Advice) -> Result<()> {
        match advice {
            Advice::Normal => Ok(()),
            _ => Err(unsupported(advice, "the bytes do not belong to a file that the library opened")),
        }
    }

    /// How the bytes are arranged in pages.
    fn pages(&self) -> Pages {
        Pages::new(page_size(), 0, self.size(), true)
    }

    /// The cost of reading.
    fn profile(&self) -> Profile {
        Profile::calls()
    }

    /// A number that differs for other bytes; 0 if none is known.
    fn identity(&self) -> u64 {
        0
    }

    /// Access to their state in the page cache; `None` if they are not in a file of this system.
    fn page_cache(&self) -> Option<&dyn PageCache> {
        None
    }
}

/// Whether each read calls a function of the caller, which may use a network.
pub fn is_callback_source(source: &dyn ByteSource) -> bool {
    source.page_cache().is_none() && source.slice(0..0).is_none()
}

/// The current size and time of the source's file, if they changed since it was opened. `None` if the file is
/// mapped.
pub fn change_since_open(source: &dyn ByteSource) -> Result<Option<Change>> {
    match source.page_cache() {
        Some(cache) if source.slice(0..0).is_none() => cache.change(),
        _ => Ok(None),
    }
}

/// Calls `body` with the bytes of `range`: borrowed if possible, else read into newly allocated memory. The
/// range was already compared with the size of the source.
pub fn with_range<T>(
    source: &dyn ByteSource,
    range: Range<u64>,
    body: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    if let Some(bytes) = source.slice(range.clone()) {
        return body(bytes);
    }
    // On huge pages if there are many bytes.
    let mut bytes = AlignedBuffer::zeroed(in_memory(range.end.saturating_sub(range.start))?)?;
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

/// Like [`for_each_chunk`], in whole elements of `unit` bytes.
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

/// Bytes in memory, which the source owns or borrows.
pub struct MemorySource<B> {
    bytes: B,
}

impl<B: AsRef<[u8]> + Send + Sync> MemorySource<B> {
    /// Reads from `bytes`.
    pub fn new(bytes: B) -> Self {
        MemorySource { bytes }
    }
}

impl<B: AsRef<[u8]> + Send + Sync> ByteSource for MemorySource<B> {
    fn size(&self) -> u64 {
        self.bytes.as_ref().len() as u64
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        part(self.bytes.as_ref(), &range)
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

/// A source that refuses every read.
pub(crate) struct UnopenedShard;

impl ByteSource for UnopenedShard {
    fn size(&self) -> u64 {
        u64::MAX
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Err(fail!(Unsupported, "its bytes are in another file, a shard, which is not open"))
    }
}
