//! The table behind the frames of a seekable stream: where each begins and what it decodes to.
//!
//! It is a skippable frame at the end: its magic number, its size, an entry for each frame (stored bytes, decoded bytes,
//! perhaps a checksum), how many there are, what they have, and another magic number.

use super::frames::{Header, Stored};
use crate::error::{broken, Error, Result, Rule};

/// The first four bytes of the skippable frame that is the table.
const FIRST_WORD: u64 = 0x184D_2A5E;
/// The last four bytes of all.
const LAST_WORD: u64 = 0x8F92_EAB1;
/// Bytes behind the entries: how many there are, what they have, the magic number.
const END_SIZE: usize = 9;
/// Bytes in front of the entries: the magic number and the size.
const HEAD_SIZE: usize = 8;
/// No frame decodes to more.
const MAX_FRAME: u64 = 16 << 20;

/// A table that was found to fit its frames.
#[derive(Debug)]
pub(super) struct SeekTable {
    /// The next entry.
    at: usize,
    /// Bytes of an entry.
    entry_size: usize,
    /// Entries that are left.
    left: usize,
    /// Where the next frame begins.
    frame_start: usize,
    sizes: FrameSizes,
}

/// What frames decode to: all to the same size, but the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameSizes {
    /// Bytes of each but the last.
    each: u64,
    /// Where the last begins among the decoded bytes.
    last_start: u64,
}

impl FrameSizes {
    /// Decoded bytes of the frame that begins at `start` of the `size` that there are.
    pub(super) fn of_frame(&self, start: u64, size: u64) -> u64 {
        match start < self.last_start {
            true => self.each,
            false => size.saturating_sub(start),
        }
    }
}

/// `count` (up to 8) bytes from `at` on as a little-endian number.
fn number(stored: &mut dyn Stored, at: usize, count: usize) -> Result<u64> {
    let bytes = stored.peek(at, count)?;
    let number = bytes.map(|bytes| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    number.ok_or_else(|| wrong(format_args!("the stored bytes end within it")))
}

#[cold]
fn wrong(what: std::fmt::Arguments<'_>) -> Error {
    broken!(Rule::ZstdCorrupt, "its seek table: {what}")
}

impl SeekTable {
    /// Reads the table behind all frames, and checks every entry.
    pub(super) fn read(stored: &mut dyn Stored) -> Result<SeekTable> {
        let size = stored.size();
        let Some(end) = size.checked_sub(END_SIZE).filter(|end| *end >= HEAD_SIZE) else {
            return Err(wrong(format_args!("{size} stored bytes; the smallest one takes 17")));
        };
        let magic = number(stored, end.saturating_add(5), 4)?;
        if magic != LAST_WORD {
            return Err(wrong(format_args!("the stored bytes end in {magic:#010x}, not {LAST_WORD:#010x}")));
        }
        let descriptor = number(stored, end.saturating_add(4), 1)?;
        if descriptor & 0x7f != 0 {
            return Err(wrong(format_args!("its descriptor {descriptor:#04x} has reserved bits")));
        }
        let entry_size = if descriptor & 0x80 == 0 { 8 } else { 12 };
        let count = number(stored, end, 4)?;
        let entries = usize::try_from(count).ok().and_then(|count| count.checked_mul(entry_size));
        let first = entries.and_then(|entries| end.checked_sub(entries));
        let Some((entries, start)) = entries.zip(first.and_then(|first| first.checked_sub(HEAD_SIZE))) else {
            return Err(wrong(format_args!("{count} entries do not fit into {size} stored bytes")));
        };
        let at = start.saturating_add(HEAD_SIZE);
        let (magic, said) = (number(stored, start, 4)?, number(stored, start.saturating_add(4), 4)?);
        let table_size = entries.saturating_add(END_SIZE);
        if magic != FIRST_WORD || said != table_size as u64 {
            return Err(wrong(format_args!(
                "at {start} of the stored bytes is no table of {count} entries and {table_size} bytes"
            )));
        }
        let left = entries.checked_div(entry_size).unwrap_or(0);
        let sizes = FrameSizes { each: 0, last_start: 0 };
        let mut table = SeekTable { at, entry_size, left, frame_start: 0, sizes };
        table.sizes = table.check(stored, start)?;
        Ok(SeekTable { at, left, frame_start: 0, ..table })
    }

    /// Checks the entries against each other and against where the table begins.
    fn check(&mut self, stored: &mut dyn Stored, start: usize) -> Result<FrameSizes> {
        let (mut each, mut last_start, mut end) = (None, 0u64, 0u64);
        let mut number = 0u64;
        while let Some(header) = self.next(stored)? {
            let size = header.most;
            let is_last = self.left == 0;
            if size > MAX_FRAME {
                return Err(wrong(format_args!("frame {number} has {size} bytes, more than {MAX_FRAME}")));
            }
            if header.stored.is_empty() {
                return Err(wrong(format_args!("frame {number} has no stored bytes")));
            }
            let usual = *each.get_or_insert(size);
            if size != usual && !is_last {
                return Err(wrong(format_args!("frame {number} has {size} bytes, those before it {usual}")));
            }
            (last_start, end) = (end, end.saturating_add(size));
            number = number.saturating_add(1);
        }
        let (found, _) = (self.frame_start, end);
        match found == start {
            true => Ok(FrameSizes { each: each.unwrap_or(0), last_start }),
            false => {
                Err(wrong(format_args!("its frames have {found} stored bytes, but it begins at {start}")))
            }
        }
    }

    /// What the next entry says of its frame.
    pub(super) fn next(&mut self, stored: &mut dyn Stored) -> Result<Option<Header>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let stored_size = number(stored, self.at, 4)?;
        let content = number(stored, self.at.saturating_add(4), 4)?;
        let stored_size = usize::try_from(stored_size).unwrap_or(usize::MAX);
        let start = self.frame_start;
        self.frame_start = start.saturating_add(stored_size);
        self.at = self.at.saturating_add(self.entry_size);
        self.left = left;
        // Its own header may say any window: then it is decoded at once, which takes none.
        let (stored, window) = (start..self.frame_start, u64::MAX);
        Ok(Some(Header { stored, content: Some(content), most: content, window, skippable: false }))
    }

    /// What all of them decode to.
    pub(super) fn sizes(&self) -> FrameSizes {
        self.sizes
    }
}

#[cfg(test)]
#[path = "seek_table_tests.rs"]
mod tests;
