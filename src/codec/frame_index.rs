//! Remembers where some of the frames begin, after one walk over all headers. With this, a range is found
//! without reading the headers of all frames again.

use super::frame_format::FrameFormat;
use super::frames::{EntryRange, KnownSize, StoredPart};
use super::walk::Walk;
use crate::error::Result;
use crate::memory::push;
use crate::model::encoding::Codec;
use std::ops::Range;

/// Where a frame begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FramePoint {
    /// Its offset in the stored bytes.
    pub(super) stored: usize,
    /// Its offset in the decoded bytes.
    pub(super) decoded: u64,
}

/// An index of frames, to find any range.
#[derive(Debug)]
pub(crate) struct FrameIndex {
    /// The decoded size that the headers of all frames give.
    size: KnownSize,
    /// Every `step`th frame in order, up to the first one whose header gives no size.
    points: Vec<FramePoint>,
    /// How many frames there are from one point to the next; a power of two.
    step: usize,
    /// All entries of the seek table, if there is one.
    entries: EntryRange,
}

/// Where to begin decoding, for one range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seek {
    /// The decoded size that the headers of all frames give.
    pub(crate) size: KnownSize,
    /// The last point at or before the start of the range.
    pub(super) point: FramePoint,
    /// If there is a seek table: the entries of the frames from the point to the end of the range.
    pub(crate) entries: EntryRange,
    /// The stored offset of the first point after the range. `None` if all bytes up to the end may be needed.
    end: Option<usize>,
}

impl Seek {
    /// Which stored bytes the range needs. `size` is the size of all stored bytes.
    pub(crate) fn needed(&self, size: usize) -> Range<usize> {
        self.point.stored..self.end.unwrap_or(size)
    }

    /// The stored bytes that decoding the range needs.
    pub(crate) fn part_of<'s>(&self, stored: &'s [u8]) -> StoredPart<'s> {
        StoredPart { bytes: stored, from: 0, entries: self.entries.read_in(stored) }
    }
}

impl FrameIndex {
    /// The index of all frames of a walk.
    pub(super) fn of<F: FrameFormat>(codec: Codec, mut walk: Walk<'_, F>) -> Result<FrameIndex> {
        let (size, entries) = (KnownSize::NONE, EntryRange::default());
        let mut found = FrameIndex { size, points: Vec::new(), step: 1, entries };
        let mut frame = 0usize;
        for header in walk.by_ref() {
            let header = header?;
            if let (KnownSize::Exact(decoded), false) = (found.size, header.skippable) {
                // The number is a multiple of `step`, which is a power of two.
                if frame & found.step.saturating_sub(1) == 0 {
                    if found.points.len() == F::MAX_POINTS {
                        found.drop_every_other();
                    }
                    push(&mut found.points, FramePoint { stored: header.stored.start, decoded })?;
                }
                frame = frame.saturating_add(1);
            }
            found.size = found.size.with(codec, &header)?;
        }
        found.entries = walk.entries();
        Ok(found)
    }

    /// Keeps the first point, the third, and so on. The number of points is even, so the next point is one
    /// new step after the last kept point.
    fn drop_every_other(&mut self) {
        self.step = self.step.saturating_mul(2);
        let mut keep = false;
        self.points.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Where to begin to get `length` decoded bytes from `offset` on.
    pub(crate) fn seek(&self, offset: u64, length: u64) -> Seek {
        let after = self.points.partition_point(|point| point.decoded <= offset);
        let first = after.saturating_sub(1);
        let point = self.points.get(first).copied().unwrap_or_default();
        let range_end = offset.saturating_add(length);
        let range_end = self.points.partition_point(|point| point.decoded < range_end);
        let [first, last] = [first, range_end].map(|at| at.saturating_mul(self.step));
        let end = match length {
            0 => Some(point.stored),
            _ => self.points.get(range_end).map(|point| point.stored),
        };
        Seek { size: self.size, point, entries: self.entries.part(first..last), end }
    }
}
