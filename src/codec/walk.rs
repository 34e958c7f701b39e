//! A walk over the frames of any codec.

use super::frame_format::FrameFormat;
use super::frames::{Entries, EntryRange, Header, Stored, StoredPart};
use super::seek_table::{self, SeekTable};
use crate::error::Result;
use std::marker::PhantomData;

/// Returns the headers frame by frame. It ends after the first error.
pub(super) struct Walk<'s, F> {
    /// All stored bytes.
    stored: &'s mut dyn Stored,
    /// The offset of the next frame.
    at: usize,
    /// An error was returned, so the walk has ended.
    failed: bool,
    table: Table<'s>,
    format: PhantomData<F>,
}

enum Table<'s> {
    /// It was not looked for yet.
    Unread,
    /// No table follows the frames.
    None,
    /// All of it was read.
    Read(SeekTable),
    /// Only the entries for the frames of a part are known.
    Part(Entries<'s>),
}

impl<'s, F: FrameFormat> Walk<'s, F> {
    /// A walk from the frame at `at`. If there is a seek table, this must be the first frame.
    pub(super) fn from(stored: &'s mut dyn Stored, at: usize) -> Self {
        Walk { stored, at, failed: false, table: Table::Unread, format: PhantomData }
    }

    /// A walk from the frame at `at`, in a part of the stored bytes.
    pub(super) fn of_part(part: &'s mut StoredPart<'_>, at: usize) -> Self {
        let entries = part.entries;
        match entries.is_empty() {
            true => Walk::from(part, at),
            false => {
                Walk { stored: part, at, failed: false, table: Table::Part(entries), format: PhantomData }
            }
        }
    }

    /// The position of all entries, if a table was read.
    pub(super) fn entries(&self) -> EntryRange {
        match &self.table {
            Table::Read(table) => table.entries(),
            Table::Unread | Table::None | Table::Part(_) => EntryRange::default(),
        }
    }

    fn step(&mut self) -> Result<Option<Header>> {
        if let Table::Unread = self.table {
            self.table = match F::HAS_TABLE {
                true => Table::Read(SeekTable::read(self.stored)?),
                false => Table::None,
            };
        }
        match &mut self.table {
            Table::Read(table) => return table.next(self.stored),
            Table::Part(entries) => {
                let Some((stored, content)) = entries.next() else { return Ok(None) };
                let header = seek_table::header(self.at, stored, content, EntryRange::default())?;
                self.at = header.stored.end;
                return Ok(Some(header));
            }
            Table::Unread | Table::None => {}
        }
        // If there are no stored bytes at all, the codec decides whether that is an error.
        if self.at > 0 && self.at >= self.stored.size() {
            return Ok(None);
        }
        let header = F::header(self.stored, self.at)?;
        self.at = header.stored.end;
        Ok(Some(header))
    }
}

impl<F: FrameFormat> Iterator for Walk<'_, F> {
    type Item = Result<Header>;

    fn next(&mut self) -> Option<Result<Header>> {
        if self.failed {
            return None;
        }
        let header = self.step();
        self.failed = header.is_err();
        header.transpose()
    }
}
