//! The seek table after the frames of a seekable stream: the stored and decoded size of each frame.
//!
//! It is a skippable frame at the end. It has a magic number, its size, an entry for each frame (stored size,
//! decoded size, possibly a checksum), the number of entries, flags that describe the entries, and another
//! magic number.

use super::frames::{EntryRange, Header, Stored};
use crate::error::{broken, fail, Error, Result, Rule};

/// The first four bytes of the skippable frame that is the table.
const FIRST_WORD: u64 = 0x184D_2A5E;
/// The last four bytes of the stored bytes.
const LAST_WORD: u64 = 0x8F92_EAB1;
/// The bytes after the entries: their number, the flags, the magic number.
const END_SIZE: usize = 9;
/// Bytes before the entries: the magic number and the size.
const HEAD_SIZE: usize = 8;
/// How many bytes at the end are read at once.
const END_READ: usize = 4 << 10;
/// The most bytes that a frame decodes to.
const MAX_FRAME: u64 = 16 << 20;

/// The header of the frame that an entry describes.
pub(super) fn header(start: usize, stored: u32, content: u32, entries: EntryRange) -> Result<Header> {
    let content = u64::from(content);
    if content > MAX_FRAME {
        return Err(wrong(format_args!("the frame at {start} has {content} bytes, more than {MAX_FRAME}")));
    }
    let stored = start..start.saturating_add(stored as usize);
    // The window in the frame's own header does not matter, because decoding a whole frame at once needs
    // none.
    Ok(Header {
        stored,
        content: Some(content),
        max_size: content,
        window: u64::MAX,
        entries,
        ..Header::default()
    })
}

/// A seek table that was checked against the frames.
#[derive(Debug)]
pub(super) struct SeekTable {
    all: EntryRange,
    /// How many entries the walk has passed.
    next: usize,
    /// Where the next frame begins.
    frame_start: usize,
}

/// `count` bytes (at most 8) from `at` on, as a little-endian number.
fn number(stored: &mut dyn Stored, at: usize, count: usize) -> Result<u64> {
    let bytes = stored.peek(at, count)?;
    let number = bytes.map(|bytes| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    number.ok_or_else(|| wrong(format_args!("the stored bytes end within it")))
}

#[cold]
fn wrong(what: std::fmt::Arguments<'_>) -> Error {
    broken!(Rule::ZstdCorrupt, "its seek table: {what}")
}

/// Appends the seek table for frames with these stored sizes. Each frame decodes to `frame` bytes, and the
/// last one to the rest of `size`.
pub(crate) fn encode(frames: &[u32], frame: u64, mut size: u64, out: &mut Vec<u8>) -> Result<()> {
    let too_many = || fail!(Limit, "a table of {} frames passes 2^32 bytes", frames.len());
    let entries = u32::try_from(frames.len()).ok().and_then(|count| count.checked_mul(8));
    let table_size = entries.and_then(|entries| entries.checked_add(9)).ok_or_else(too_many)?; // END_SIZE
    out.try_reserve((table_size as usize).saturating_add(HEAD_SIZE))?;
    let mut put = |number: u64| out.extend_from_slice(number.to_le_bytes().get(..4).unwrap_or_default());
    put(FIRST_WORD);
    put(u64::from(table_size));
    for stored in frames {
        let decoded = frame.min(size);
        size = size.saturating_sub(decoded);
        put(u64::from(*stored));
        put(decoded);
    }
    put(frames.len() as u64);
    out.push(0); // no checksums, because the frames have their own
    out.extend_from_slice(LAST_WORD.to_le_bytes().get(..4).unwrap_or_default());
    Ok(())
}

impl SeekTable {
    /// Reads the seek table after all frames, and checks every entry.
    pub(super) fn read(stored: &mut dyn Stored) -> Result<SeekTable> {
        let size = stored.size();
        let Some(end) = size.checked_sub(END_SIZE).filter(|end| *end >= HEAD_SIZE) else {
            return Err(wrong(format_args!("{size} stored bytes; the smallest one takes 17")));
        };
        stored.peek(size.saturating_sub(END_READ), size.min(END_READ))?; // reads a small table at once
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
        let (magic, said) = (number(stored, start, 4)?, number(stored, start.saturating_add(4), 4)?);
        let table_size = entries.saturating_add(END_SIZE);
        if magic != FIRST_WORD || said != table_size as u64 {
            return Err(wrong(format_args!(
                "at {start} of the stored bytes, there is no table of {count} entries and {table_size} bytes"
            )));
        }
        let [count, size] = [count, entry_size as u64].map(|number| u32::try_from(number).unwrap_or(0));
        let all = EntryRange::new(start.saturating_add(HEAD_SIZE), count, size);
        SeekTable { all, next: 0, frame_start: 0 }.check(stored, start)?;
        Ok(SeekTable { all, next: 0, frame_start: 0 })
    }

    /// Checks the entries against each other and against the start of the table.
    fn check(mut self, stored: &mut dyn Stored, start: usize) -> Result<()> {
        let (mut each, count) = (None, self.all.count());
        while let Some(header) = self.next(stored)? {
            let (size, number) = (header.max_size, self.next);
            let usual = *each.get_or_insert(size);
            if size != usual && number != count {
                return Err(wrong(format_args!(
                    "frame {number} of {count} has {size} bytes, those before it {usual}"
                )));
            }
        }
        match self.frame_start {
            found if found == start => Ok(()),
            found => {
                Err(wrong(format_args!("its frames have {found} stored bytes, but it begins at {start}")))
            }
        }
    }

    /// The header of the next frame, from its entry.
    pub(super) fn next(&mut self, stored: &mut dyn Stored) -> Result<Option<Header>> {
        let entry = self.all.part(self.next..self.next.saturating_add(1));
        if entry.count() == 0 {
            return Ok(None);
        }
        let sizes = number(stored, entry.bytes().start, 8)?;
        let [stored, content] =
            [sizes & u64::from(u32::MAX), sizes >> 32].map(|n| u32::try_from(n).unwrap_or(0));
        let header = header(self.frame_start, stored, content, entry)?;
        self.next = self.next.saturating_add(1);
        self.frame_start = header.stored.end;
        Ok(Some(header))
    }

    pub(super) fn entries(&self) -> EntryRange {
        self.all
    }
}

#[cfg(test)]
#[path = "seek_table_tests.rs"]
mod tests;
