//! The front of a file, read through a window that moves on: how long a manifest is may be known when it was
//! read.

use crate::container::Window;
use crate::error::Result;
use crate::memory::{in_memory, AlignedBuffer, Budget};
use crate::source::ByteSource;

/// Bytes of the first read; each one behind it is twice as large as the one before.
const FIRST_READ: u64 = 64 << 10;
/// Bytes of the largest one.
const MAX_READ: u64 = 1 << 20;

/// What was read last of a source, or what it lends.
pub struct FrontWindow<'s> {
    source: &'s dyn ByteSource,
    budget: &'s Budget,
    buffer: AlignedBuffer,
    next_read: u64,
}

impl<'s> FrontWindow<'s> {
    /// At the first byte of `source`; memory is charged to `budget`.
    pub fn new(source: &'s dyn ByteSource, budget: &'s Budget) -> Result<Self> {
        Ok(FrontWindow { source, budget, buffer: AlignedBuffer::zeroed(0)?, next_read: FIRST_READ })
    }
}

impl Window for FrontWindow<'_> {
    fn file_size(&self) -> u64 {
        self.source.size()
    }

    fn bytes(&mut self, start: u64, least: u64) -> Result<&[u8]> {
        let left = self.file_size().saturating_sub(start);
        if let Some(bytes) = self.source.slice(start..start.saturating_add(left)) {
            return Ok(bytes);
        }
        let size = least.max(self.next_read).min(left);
        self.next_read = self.next_read.saturating_mul(2).min(MAX_READ);
        self.budget.give_back(self.buffer.as_slice().len() as u64);
        self.buffer = AlignedBuffer::zeroed(0)?;
        self.budget.charge(size, "the manifest")?;
        self.buffer = AlignedBuffer::zeroed(in_memory(size)?)?;
        self.source.read_at(start, self.buffer.as_mut_slice())?;
        Ok(self.buffer.as_slice())
    }
}

impl Drop for FrontWindow<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.buffer.as_slice().len() as u64);
    }
}
