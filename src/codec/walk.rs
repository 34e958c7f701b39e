//! From frame to frame, whichever codec they are of.

use super::frames::{Header, Stored};
use super::interface::FrameFormat;
use super::seek_table::{FrameSizes, SeekTable};
use crate::error::Result;
use std::marker::PhantomData;

/// Goes from frame to frame; ends after the first error.
pub(super) struct Walk<'s, F> {
    /// All frames.
    stored: &'s mut dyn Stored,
    /// Where the next one begins.
    at: usize,
    /// Nothing follows an error.
    failed: bool,
    table: Table,
    format: PhantomData<F>,
}

/// The table of all frames.
enum Table {
    /// Not looked for so far.
    Unread,
    /// There is none.
    None,
    /// It says where they are.
    Read(SeekTable),
}

impl<'s, F: FrameFormat> Walk<'s, F> {
    /// Begins where a frame does; with the first, where all have a table.
    pub(super) fn from(stored: &'s mut dyn Stored, at: usize) -> Self {
        Walk { stored, at, failed: false, table: Table::Unread, format: PhantomData }
    }

    /// What all frames decode to, where their table was read.
    pub(super) fn sizes(&self) -> Option<FrameSizes> {
        match &self.table {
            Table::Read(table) => Some(table.sizes()),
            Table::Unread | Table::None => None,
        }
    }

    fn step(&mut self) -> Result<Option<Header>> {
        if let Table::Unread = self.table {
            self.table = F::table(self.stored)?.map_or(Table::None, Table::Read);
        }
        if let Table::Read(table) = &mut self.table {
            return table.next(self.stored);
        }
        // No bytes at all are for the codec to judge.
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
