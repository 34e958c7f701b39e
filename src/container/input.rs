//! What a manifest is decoded from: the bytes of a file, as far as they are asked for.

use super::frame::Frame;
use crate::error::{fail, Result};
use std::ops::Range;

/// Receives the number of a range and its bytes.
pub type OnRange<'b> = dyn FnMut(usize, &[u8]) -> Result<()> + 'b;

/// A file of which any bytes can be looked at.
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
            fail!(Internal, "bytes {range:?} are wanted of {} from {} on", self.bytes.len(), self.start)
        })
    }

    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()> {
        ranges.iter().enumerate().try_for_each(|(at, range)| body(at, self.read(range.clone())?))
    }
}
