//! Where the zstd frames of a few components begin, kept from one range to the next.

use super::{Component, Part};
use crate::error::Result;
use crate::model::manifest::Encoding;
use crate::payload::zstd::{self, Marks, Start};

/// Components whose marks are kept, those walked last: up to 4 KiB each.
const COMPONENTS: usize = 16;
/// Of less than this the headers are walked in no time.
const WORTH: u64 = 128 << 10;

/// Marks of components, by their index.
#[derive(Default)]
pub(super) struct Marked {
    kept: [Option<(usize, Marks)>; COMPONENTS],
    /// The place that is taken next.
    next: usize,
}

impl Marked {
    fn find(&self, index: usize) -> Option<&Marks> {
        self.kept.iter().flatten().find(|(of, _)| *of == index).map(|(_, marks)| marks)
    }

    /// Two threads may have walked the same component: the marks of one do.
    fn keep(&mut self, index: usize, marks: Marks) {
        if self.find(index).is_none() {
            if let Some(place) = self.kept.get_mut(self.next) {
                *place = Some((index, marks));
            }
            self.next = self.next.saturating_add(1) % COMPONENTS;
        }
    }
}

impl Component<'_> {
    /// Where to begin for `length` decoded bytes from `offset` on; all headers were walked, if not now then
    /// before, and its frames can hold `size` bytes.
    pub(super) fn range_start(&self, size: u64, offset: u64, length: u64) -> Result<Start> {
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

    /// Fills `dst` with the decoded bytes from there on. Of its stored bytes no others are read than those that this
    /// needs; how many those are.
    pub(super) fn decode_range(&self, start: Start, size: u64, offset: u64, dst: &mut [u8]) -> Result<u64> {
        let all = usize::try_from(self.stored_size()).unwrap_or(usize::MAX);
        let needed = start.needed(all);
        let count = needed.len() as u64;
        self.with_part(needed, |stored| zstd::decode_range(stored, start, size, offset, dst))?;
        Ok(count)
    }

    /// Memory that reading a part of it, or all, as one takes beside the destination.
    pub(super) fn temporary_memory(&self, part: &Part<'_>) -> Result<u64> {
        let lent = || self.file.source().slice(self.stored_range()).is_some();
        if self.encoding() == Encoding::Raw || lent() {
            return Ok(0);
        }
        match part {
            Part::Range { offset, length } => {
                let start = self.range_start(self.size_inner()?, *offset, *length)?;
                let all = usize::try_from(self.stored_size()).unwrap_or(usize::MAX);
                Ok(start.needed(all).len() as u64)
            }
            Part::Whole | Part::Slab(_) => Ok(self.stored_size()),
        }
    }
}
