//! Advice to the system: what will be done with some bytes.

use super::file::File;
use super::object::Component;
use super::populate;
use crate::error::{Cause, Result};
use crate::source::direct::BLOCK;
use crate::source::{Advice, ByteSource};
use std::ops::Range;

impl File {
    /// Advises the system what will be done with the whole file, which is being opened. A hint that it does not take is no
    /// reason not to open it; a lock is more than a hint. Bytes that are in no file need none.
    pub(super) fn advise_all(&self, advice: Advice) -> Result<()> {
        for part in self.parts() {
            if advice == Advice::Normal || part.source().page_cache().is_none() {
                continue;
            }
            match self.advise(part.source(), 0..part.size(), advice) {
                Err(e) if e.cause() == Cause::Unsupported && advice != Advice::Lock => {}
                outcome => outcome.map_err(|e| part.named(e))?,
            }
        }
        Ok(())
    }

    /// Advises the system what will be done with the bytes of `range`.
    fn advise(&self, source: &dyn ByteSource, range: Range<u64>, advice: Advice) -> Result<()> {
        let threads = match advice {
            Advice::Populate if source.page_cache().is_some() => {
                self.threads_for(range.end.saturating_sub(range.start))
            }
            _ => 1,
        };
        populate::advise(source, range, advice, threads, self.thread_hooks)
    }
}

impl Component<'_> {
    /// Advises the system what will be done with the stored bytes.
    pub fn advise(&self, advice: Advice) -> Result<()> {
        let mut range = self.stored().range();
        if self.entry.is_page_exclusive() && matches!(advice, Advice::Release | Advice::Evict) {
            // The rest of its last page is padding, or of the manifest, which is not read again.
            range.end = self.source().pages().border_after(range.end);
        }
        self.file.advise(self.source(), range, advice).map_err(|e| self.wrap(e))
    }

    /// Whether it begins where direct reads can, in the real file.
    pub(super) fn is_direct_border(&self) -> bool {
        self.source().pages().with_page(BLOCK).is_border(self.entry.offset)
    }
}
