//! Where some of the frames begin, found in one walk: a range of a component of very many frames is
//! then found without the headers of all of them.

use super::walk::{Stored, Walk};
use super::KnownSize;
use crate::error::Result;
use std::ops::Range;

/// Places that are kept at most, of however many frames: 4 KiB.
const MOST: usize = 256;

/// Where a frame begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Among the stored bytes.
    pub(super) stored: usize,
    /// Among the decoded ones.
    pub(super) decoded: u64,
}

/// What a walk found, for any range.
#[derive(Debug)]
pub(crate) struct Marks {
    /// What the headers of all frames tell.
    size: KnownSize,
    /// In order; evenly spaced, counted in frames, as far as every frame says its size.
    marks: Vec<Mark>,
}

/// What a walk found, for one range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// What the headers of all frames tell.
    pub(crate) size: KnownSize,
    /// Not after the range, and not far before it.
    pub(super) mark: Mark,
    /// Where the stored bytes of the range have ended, not far behind it; none: perhaps with the last.
    end: Option<usize>,
}

impl Start {
    /// The stored bytes, of `size` in all, that the range needs.
    pub(crate) fn needed(&self, size: usize) -> Range<usize> {
        self.mark.stored..self.end.unwrap_or(size)
    }
}

impl Marks {
    /// Walks all frame and block headers; decodes nothing.
    pub(crate) fn of(stored: impl Stored) -> Result<Marks> {
        let mut found = Marks { size: KnownSize::NONE, marks: Vec::new() };
        let (mut frame, mut step) = (0usize, 1usize);
        for header in Walk::new(stored) {
            let header = header?;
            if let (KnownSize::Exact(decoded), false) = (found.size, header.skippable) {
                // The step is a power of two.
                if frame & step.saturating_sub(1) == 0 {
                    if found.marks.len() == MOST {
                        step = step.saturating_mul(2);
                        found.drop_every_other();
                    }
                    found.marks.try_reserve(1)?;
                    found.marks.push(Mark { stored: header.stored.start, decoded });
                }
                frame = frame.saturating_add(1);
            }
            found.size = found.size.with(&header)?;
        }
        Ok(found)
    }

    /// Keeps the first, the third and so on. Of an even number, so that the next is as far from the last
    /// that is kept as they are from each other.
    fn drop_every_other(&mut self) {
        let mut keep = false;
        self.marks.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Where to begin for `length` decoded bytes from `offset` on.
    pub(crate) fn start(&self, offset: u64, length: u64) -> Start {
        let after = self.marks.partition_point(|mark| mark.decoded <= offset);
        let mark = after.checked_sub(1).and_then(|at| self.marks.get(at));
        let mark = mark.copied().unwrap_or_default();
        let behind = offset.saturating_add(length);
        let behind = self.marks.partition_point(|mark| mark.decoded < behind);
        let end = match length {
            0 => Some(mark.stored),
            _ => self.marks.get(behind).map(|mark| mark.stored),
        };
        Start { size: self.size, mark, end }
    }
}
