//! The stored bytes of a component as slices, whole or in parts.

use crate::codec;
use crate::error::Result;
use crate::memory::in_memory;
use crate::source::{for_each_chunk, with_range, ByteSource, READ_CHUNK};
use std::ops::Range;

/// Read at a time where a call costs next to nothing.
const SMALL_READ: usize = 4 << 10;

/// Where the stored bytes of a component are.
#[derive(Clone, Copy)]
pub struct StoredBytes<'s> {
    pub source: &'s dyn ByteSource,
    pub start: u64,
    pub size: u64,
}

impl<'s> StoredBytes<'s> {
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.size)
    }

    /// All of them where they are, if they can be borrowed.
    pub fn borrow(&self) -> Option<&'s [u8]> {
        self.source.slice(self.range())
    }

    /// Gives `body` all of them.
    pub fn with_all<T>(&self, body: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        with_range(self.source, self.range(), body)
    }

    /// Gives `body` all of them front to back.
    pub fn for_each_chunk(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for_each_chunk(self.source, self.range(), body)
    }

    /// Whether they are in the page cache, as far as the system reports it, so that a look here and there
    /// costs little.
    fn is_in_page_cache(&self) -> bool {
        /// The system reads as much ahead and more, so that it is in memory as a whole or not at all.
        const READ_AT_ONCE: u64 = 64 << 10;
        let range = self.range();
        let here = |at| self.source.page_cache().and_then(|cache| cache.resident(at)) == Some(true);
        here(range.end.saturating_sub(1)) && (self.size <= READ_AT_ONCE || here(range.start))
    }

    /// A look at the headers in them. What is cached is read a little here and there, all else in long reads,
    /// as disks and networks like it.
    pub fn reader(&self) -> Result<StoredReader<'s>> {
        if let Some(bytes) = self.borrow() {
            return Ok(StoredReader::Borrowed(bytes));
        }
        let is_small = self.size <= SMALL_READ as u64;
        self.read_in_steps(if is_small || self.is_in_page_cache() { SMALL_READ } else { READ_CHUNK })
    }

    /// As [`StoredBytes::reader`]; none if a disk had to be waited for.
    pub fn cached_reader(&self) -> Result<Option<StoredReader<'s>>> {
        match self.borrow() {
            Some(bytes) => Ok(Some(StoredReader::Borrowed(bytes))),
            None if self.is_in_page_cache() => self.read_in_steps(SMALL_READ).map(Some),
            None => Ok(None),
        }
    }

    fn read_in_steps(&self, step: usize) -> Result<StoredReader<'s>> {
        let size = in_memory(self.size)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(step.min(size))?;
        let (source, start) = (self.source, self.start);
        Ok(StoredReader::Read(ReadWindow { source, start, size, bytes, window_start: UNREAD }))
    }
}

/// The stored bytes of a component for those who look at a few here and there, front to back.
pub enum StoredReader<'s> {
    /// Where they are.
    Borrowed(&'s [u8]),
    /// Read as they are asked for.
    Read(ReadWindow<'s>),
}

/// Some of the bytes of a range, and how to get others.
pub struct ReadWindow<'s> {
    source: &'s dyn ByteSource,
    start: u64,
    size: usize,
    bytes: Vec<u8>,
    /// Where the first of them is within the range.
    window_start: usize,
}

/// Before the first read.
const UNREAD: usize = usize::MAX;

impl codec::Stored for StoredReader<'_> {
    fn size(&self) -> usize {
        match self {
            StoredReader::Borrowed(bytes) => bytes.len(),
            StoredReader::Read(window) => window.size,
        }
    }

    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        match self {
            StoredReader::Borrowed(bytes) => Ok(bytes.get(at..at.saturating_add(count))),
            StoredReader::Read(window) => window.peek(at, count),
        }
    }
}

impl ReadWindow<'_> {
    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        let left = self.size.saturating_sub(at);
        if count > left {
            return Ok(None);
        }
        let end = at.saturating_add(count);
        if at < self.window_start || end > self.window_start.saturating_add(self.bytes.len()) {
            self.window_start = UNREAD; // for the read may fail
            self.bytes.resize(self.bytes.capacity().min(left), 0); // within what was reserved
            self.source.read_at(self.start.saturating_add(at as u64), &mut self.bytes)?;
            self.window_start = at;
        }
        let at = at.saturating_sub(self.window_start);
        Ok(self.bytes.get(at..at.saturating_add(count)))
    }
}
