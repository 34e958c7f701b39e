//! Entries of a seek table: for each frame the sizes of its stored and its decoded bytes, and perhaps a
//! checksum.

use std::ops::Range;

/// Where the entries of neighbouring frames are among the stored bytes; empty if there is no table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryRange {
    /// The first byte of the first.
    start: usize,
    /// How many.
    count: u32,
    /// Bytes of each.
    size: u32,
}

impl EntryRange {
    pub(super) fn new(start: usize, count: u32, size: u32) -> EntryRange {
        EntryRange { start, count, size }
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// Their bytes among the stored ones.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.start..self.start.saturating_add(self.offset_of(self.count))
    }

    /// The entries whose bytes these are.
    pub(crate) fn read<'b>(&self, bytes: &'b [u8]) -> Entries<'b> {
        Entries { bytes, size: self.size as usize }
    }

    /// The entries, out of all stored bytes.
    pub(super) fn read_in<'s>(&self, stored: &'s [u8]) -> Entries<'s> {
        self.read(stored.get(self.bytes()).unwrap_or_default())
    }

    /// With the neighbours behind them.
    pub(super) fn and(self, next: EntryRange) -> EntryRange {
        EntryRange { count: self.count.saturating_add(next.count), ..self }
    }

    /// The entries of a range of frames.
    pub(super) fn part(&self, frames: Range<usize>) -> EntryRange {
        let [first, end] =
            [frames.start, frames.end].map(|at| u32::try_from(at).unwrap_or(u32::MAX).min(self.count));
        let start = self.start.saturating_add(self.offset_of(first));
        EntryRange { start, count: end.saturating_sub(first), ..*self }
    }

    fn offset_of(&self, number: u32) -> usize {
        (number as usize).saturating_mul(self.size as usize)
    }
}

/// Entries of neighbouring frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    /// Bytes of each.
    size: usize,
}

impl Entries<'_> {
    /// Whether there are none, also where there is no table.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Stored and decoded bytes of the next frame.
    pub(super) fn next(&mut self) -> Option<(u32, u32)> {
        let (entry, rest) = self.bytes.split_at_checked(self.size)?;
        self.bytes = rest;
        let number = |at: usize| Some(u32::from_le_bytes(*entry.get(at..)?.first_chunk()?));
        Some((number(0)?, number(4)?))
    }
}
