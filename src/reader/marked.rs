//! Where the zstd frames of a few components begin, kept from one range to the next.

use super::{Component, Part};
use crate::error::Result;
use crate::model::manifest::Encoding;
use crate::payload::zstd::{self, Marks, Start};
use std::ops::Range;

/// Components whose marks are kept, those walked last: up to 4 KiB each.
const COMPONENTS: usize = 64;
/// Of less than this the headers are walked in no time.
const WORTH: u64 = 128 << 10;

/// Marks of components, by their index.
#[derive(Default)]
pub(super) struct Marked {
    /// At most [`COMPONENTS`]; on the heap, as an open file is moved about on the stack.
    kept: Vec<(usize, Marks)>,
    /// The place that is taken next.
    next: usize,
}

impl Marked {
    fn find(&self, index: usize) -> Option<&Marks> {
        self.kept.iter().find(|(of, _)| *of == index).map(|(_, marks)| marks)
    }

    /// Two threads may have walked the same component: the marks of one do.
    fn keep(&mut self, index: usize, marks: Marks) {
        if self.find(index).is_none() {
            if let Some(place) = self.kept.get_mut(self.next) {
                *place = (index, marks);
            } else if self.kept.try_reserve(1).is_ok() {
                self.kept.push((index, marks));
            } else {
                return; // they are walked again next time
            }
            self.next = self.next.saturating_add(1) % COMPONENTS;
        }
    }
}

impl Component<'_> {
    /// Gives `body` the stored bytes that the `length` decoded bytes from `offset` on need, and where to begin among
    /// them. All headers are walked, if not now then before, and its frames can hold `size` bytes. How many stored
    /// bytes those were, beside what `body` gives.
    pub(super) fn with_range_of<T>(
        &self,
        size: u64,
        offset: u64,
        length: u64,
        body: impl FnOnce(zstd::Part<'_>, Start) -> Result<T>,
    ) -> Result<(T, u64)> {
        if self.is_read_whole() {
            let given = self.with_stored(|stored| {
                let start = Marks::of(stored)?.start(offset, length);
                self.check_known_claim(start.size, size)?;
                body(stored.into(), start)
            })?;
            return Ok((given, self.stored_size()));
        }
        let start = self.range_start(size, offset, length)?;
        let needed = self.needed(start);
        let count = needed.len() as u64;
        Ok((self.with_part(needed, |stored| body(stored, start))?, count))
    }

    /// So few stored bytes that have to be read are read at once.
    fn is_read_whole(&self) -> bool {
        self.stored_size() < WORTH && self.file.source().slice(self.stored_range()).is_none()
    }

    fn needed(&self, start: Start) -> Range<usize> {
        start.needed(usize::try_from(self.stored_size()).unwrap_or(usize::MAX))
    }

    fn range_start(&self, size: u64, offset: u64, length: u64) -> Result<Start> {
        let known = self.file.marked.hold().find(self.index).map(|marks| marks.start(offset, length));
        let start = match known {
            Some(start) => start,
            None => {
                let marks = Marks::of(self.headers()?)?;
                let start = marks.start(offset, length);
                if self.stored_size() >= WORTH {
                    self.file.marked.hold().keep(self.index, marks);
                }
                start
            }
        };
        self.check_known_claim(start.size, size)?;
        Ok(start)
    }

    /// Memory that reading a part of it, or all, as one takes beside the destination.
    pub(super) fn temporary_memory(&self, part: &Part<'_>) -> Result<u64> {
        let range = match part {
            _ if self.encoding() == Encoding::Raw => return Ok(0),
            Part::Whole => None,
            Part::Range { offset, length } => Some((*offset, *length, 0)),
            Part::Slab(slab) => self.slab(slab)?.covering().map(|range| {
                let length = range.end.saturating_sub(range.start);
                (range.start, length, length) // decoded beside the destination
            }),
        };
        let stored = match range {
            _ if self.file.source().slice(self.stored_range()).is_some() => 0,
            Some((offset, length, _)) if !self.is_read_whole() => {
                self.needed(self.range_start(self.size_inner()?, offset, length)?).len() as u64
            }
            _ => self.stored_size(),
        };
        Ok(stored.saturating_add(range.map_or(0, |(.., decoded)| decoded)))
    }
}
