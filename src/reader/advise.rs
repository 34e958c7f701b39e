//! Advice to the system: what will be done with some bytes.

use super::file::File;
use super::object::Component;
use super::populate;
use crate::error::{Cause, Result};
use crate::source::direct::BLOCK;
use crate::source::{Advice, ByteSource};
use std::ops::Range;

impl File {
    /// Advises the system what will be done with the whole file, without its shards. It is not a failure
    /// if the system refuses the hint. Bytes in memory need no advice.
    pub fn advise_all(&self, advice: Advice) -> Result<()> {
        let mut own = self.parts().take(self.manifest_count());
        own.try_for_each(|part| {
            self.advise_whole(part.source(), part.size(), advice).map_err(|e| part.named(e))
        })
    }

    /// As [`File::advise_all`], for one of its files. Shards get their advice when they are opened.
    pub(super) fn advise_whole(&self, source: &dyn ByteSource, size: u64, advice: Advice) -> Result<()> {
        if advice == Advice::Normal || source.page_cache().is_none() {
            return Ok(());
        }
        let end = match advice {
            Advice::Release | Advice::Evict => source.pages().border_after(size),
            _ => size,
        };
        match self.advise(source, 0..end, advice) {
            Err(e) if e.cause() == Cause::Unsupported => Ok(()),
            outcome => outcome,
        }
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
        let source = self.source().map_err(|e| self.wrap(e))?;
        let mut range = self.entry.offset..self.entry.end();
        if self.entry.is_page_exclusive() && matches!(advice, Advice::Release | Advice::Evict) {
            // The rest of its last page is padding, or of the manifest, which is not read again.
            range.end = source.pages().border_after(range.end);
        }
        self.file.advise(source, range, advice).map_err(|e| self.wrap(e))
    }

    /// Whether it begins where direct reads can, in the real file.
    pub(super) fn is_direct_border(&self) -> bool {
        self.likely_source().pages().with_page(BLOCK).is_border(self.entry.offset)
    }
}
