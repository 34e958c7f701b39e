//! The bytes of a file whose manifest is in front of its data, as far as they are asked for.

use crate::error::Result;

/// A window that moves through a file.
pub trait Window {
    /// Bytes of the file.
    fn file_size(&self) -> u64;

    /// The bytes from `start` on: at least `least`, which the file has, and more where they are in memory or
    /// a read is worth it. `start` and `start + least` never become less.
    fn bytes(&mut self, start: u64, least: u64) -> Result<&[u8]>;
}

impl Window for &[u8] {
    fn file_size(&self) -> u64 {
        self.len() as u64
    }

    fn bytes(&mut self, start: u64, _: u64) -> Result<&[u8]> {
        Ok(usize::try_from(start).ok().and_then(|start| self.get(start..)).unwrap_or_default())
    }
}
