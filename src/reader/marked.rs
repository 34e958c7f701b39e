//! Where the zstd frames of a few components begin, kept from one range to the next.

use super::Component;
use crate::error::Result;
use crate::payload::zstd::{Marks, Start};

/// Components whose marks are kept, those walked last: up to 4 KiB each.
const COMPONENTS: usize = 16;
/// Of less than this the headers are walked in no time.
const WORTH: usize = 128 << 10;

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
    /// Where to begin for its decoded bytes from `offset` on; all headers were walked, if not now then
    /// before, and its frames can hold `size` bytes.
    pub(super) fn range_start(&self, stored: &[u8], size: u64, offset: u64) -> Result<Start> {
        let known = self.file.marked.hold().find(self.index).map(|marks| marks.start(offset));
        let start = match known {
            Some(start) => start,
            None => {
                let marks = Marks::of(stored)?;
                let start = marks.start(offset);
                if stored.len() >= WORTH {
                    self.file.marked.hold().keep(self.index, marks);
                }
                start
            }
        };
        self.check_known_claim(start.size, size)?;
        Ok(start)
    }
}
