//! Where the frames of a few components begin, kept from one range to the next.

use super::{Component, Selection};
use crate::codec::{Codec, Coding, FrameIndex, Seek, StoredPart};
use crate::error::Result;
use std::ops::Range;

/// Components whose index is cached, those walked last: up to 4 KiB each.
const MAX_CACHED: usize = 64;
/// Of less than this the headers are walked in no time.
const MIN_INDEXED: u64 = 128 << 10;

/// Frame indexes of components, by the position of the component.
#[derive(Default)]
pub(super) struct FrameIndexCache {
    /// At most [`MAX_CACHED`]; on the heap, as an open file is moved about on the stack.
    entries: Vec<(usize, FrameIndex)>,
    /// The place that is taken next.
    next: usize,
}

impl FrameIndexCache {
    fn find(&self, index: usize) -> Option<&FrameIndex> {
        self.entries.iter().find(|(of, _)| *of == index).map(|(_, frames)| frames)
    }

    /// Two threads may have walked the same component: the index of one is enough.
    fn insert(&mut self, index: usize, frames: FrameIndex) {
        if self.find(index).is_none() {
            if let Some(place) = self.entries.get_mut(self.next) {
                *place = (index, frames);
            } else if self.entries.try_reserve(1).is_ok() {
                self.entries.push((index, frames));
            } else {
                return; // they are walked again next time
            }
            self.next = self.next.saturating_add(1) % MAX_CACHED;
        }
    }
}

impl Component<'_> {
    /// Gives `body` the stored bytes that the `length` decoded bytes from `offset` on need, and where to begin among
    /// them. All headers are walked, if not now then before, and its frames can hold `size` bytes. How many stored
    /// bytes those were, beside what `body` gives.
    pub(super) fn with_range_of<T>(
        &self,
        codec: Codec,
        size: u64,
        offset: u64,
        length: u64,
        body: impl FnOnce(StoredPart<'_>, Seek) -> Result<T>,
    ) -> Result<(T, u64)> {
        if self.is_read_whole() {
            let given = self.with_stored(|stored| {
                let start = codec.index(stored)?.seek(offset, length);
                self.check_size_bound(codec, start.size, size)?;
                body(stored.into(), start)
            })?;
            return Ok((given, self.stored_size()));
        }
        let start = self.seek_range(codec, size, offset, length)?;
        let needed = self.needed(start);
        let count = needed.len() as u64;
        Ok((self.with_part(needed, |stored| body(stored, start))?, count))
    }

    /// So few stored bytes that have to be read are read at once.
    fn is_read_whole(&self) -> bool {
        self.stored_size() < MIN_INDEXED && self.file.source().slice(self.stored_range()).is_none()
    }

    fn needed(&self, start: Seek) -> Range<usize> {
        start.needed(usize::try_from(self.stored_size()).unwrap_or(usize::MAX))
    }

    fn seek_range(&self, codec: Codec, size: u64, offset: u64, length: u64) -> Result<Seek> {
        let known = self.file.frame_indexes.lock().find(self.index).map(|frames| frames.seek(offset, length));
        let start = match known {
            Some(start) => start,
            None => {
                let frames = codec.index(self.stored_reader()?)?;
                let start = frames.seek(offset, length);
                if self.stored_size() >= MIN_INDEXED {
                    self.file.frame_indexes.lock().insert(self.index, frames);
                }
                start
            }
        };
        self.check_size_bound(codec, start.size, size)?;
        Ok(start)
    }

    /// Memory that reading a part of it, or all, as one takes beside the destination.
    pub(super) fn temporary_memory(&self, part: &Selection<'_>) -> Result<u64> {
        let codec = match self.coding()? {
            Coding::Raw => return Ok(0),
            Coding::Compressed(codec) => codec,
        };
        let range = match part {
            Selection::Whole => None,
            Selection::Range { offset, length } => Some((*offset, *length, 0)),
            Selection::Slab(slab) => self.slab(slab)?.covering().map(|range| {
                let length = range.end.saturating_sub(range.start);
                (range.start, length, length) // decoded beside the destination
            }),
        };
        let stored = match range {
            _ if self.file.source().slice(self.stored_range()).is_some() => 0,
            Some((offset, length, _)) if !self.is_read_whole() => {
                self.needed(self.seek_range(codec, self.decoded_size()?, offset, length)?).len() as u64
            }
            _ => self.stored_size(),
        };
        Ok(stored.saturating_add(range.map_or(0, |(.., decoded)| decoded)))
    }
}
