//! Where the frames of a few components begin, kept from one range to the next.

use crate::codec::{FrameIndex, Seek};
use crate::lock::Mutex;

/// Components whose index is cached, those walked last: up to 4 KiB each.
const MAX_CACHED: usize = 64;

/// Frame indexes of components, by the position of the component.
#[derive(Default)]
pub struct FrameIndexCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    /// At most [`MAX_CACHED`]; on the heap, as an open file is moved about on the stack.
    list: Vec<(usize, FrameIndex)>,
    /// The place that is taken next.
    next: usize,
}

impl FrameIndexCache {
    /// Where to begin for `length` bytes from `offset` on, if the component's index is here.
    pub fn seek(&self, index: usize, offset: u64, length: u64) -> Option<Seek> {
        let entries = self.0.lock();
        let found = entries.list.iter().find(|(of, _)| *of == index);
        found.map(|(_, frames)| frames.seek(offset, length))
    }

    /// Two threads may have walked the same component: the index of one is enough.
    pub fn insert(&self, index: usize, frames: FrameIndex) {
        let mut entries = self.0.lock();
        let Entries { list, next } = &mut *entries;
        if list.iter().any(|(of, _)| *of == index) {
            return;
        }
        if let Some(place) = list.get_mut(*next) {
            *place = (index, frames);
        } else if list.try_reserve(1).is_ok() {
            list.push((index, frames));
        } else {
            return; // they are walked again next time
        }
        *next = next.saturating_add(1) % MAX_CACHED;
    }
}
