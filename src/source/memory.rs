//! Bytes that are in memory already, and stay there.

use super::byte_source::ByteSource;
use super::pages::{page_size, Pages};
use super::profile::Profile;
use crate::error::{fail, Result};
use std::ops::Range;

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
