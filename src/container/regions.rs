//! The bytes of a file whose manifest stands at several places of it, as far as they are asked for.

use crate::error::{fail, Result};
use std::ops::Range;

/// Receives the number of a range and its bytes.
pub type OnRegion<'b> = dyn FnMut(usize, &[u8]) -> Result<()> + 'b;

/// A file of which any bytes can be looked at.
pub trait Regions {
    /// Bytes of the file.
    fn file_size(&self) -> u64;

    /// The bytes of `range`, which the file has.
    fn bytes(&mut self, range: Range<u64>) -> Result<&[u8]>;

    /// Gives `body` the bytes of each range, in their order; the file has all of them. Those that follow each
    /// other closely are read together, so they are best in the order of the file.
    fn for_each(&mut self, ranges: &[Range<u64>], body: &mut OnRegion<'_>) -> Result<()>;
}

impl Regions for &[u8] {
    fn file_size(&self) -> u64 {
        self.len() as u64
    }

    fn bytes(&mut self, range: Range<u64>) -> Result<&[u8]> {
        let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
        let bytes = start.ok().zip(end.ok()).and_then(|(start, end)| self.get(start..end));
        bytes.ok_or_else(|| fail!(Internal, "bytes {range:?} of a file of {} are wanted", self.len()))
    }

    fn for_each(&mut self, ranges: &[Range<u64>], body: &mut OnRegion<'_>) -> Result<()> {
        for (at, range) in ranges.iter().enumerate() {
            body(at, self.bytes(range.clone())?)?;
        }
        Ok(())
    }
}
