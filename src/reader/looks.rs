//! What an open makes of a file that somebody changes while it is being opened: it looks again.

use super::manifest::read_after_ends;
use super::{ends::ReadEnds, recovery};
use crate::container::{Frame, Limits};
use crate::error::{fail, Cause, Error, Result};
use crate::memory::Budget;
use crate::model::manifest::Manifest;
use crate::source::ByteSource;
use std::cell::Cell;
use std::time::Duration;

/// Looks at one file.
pub struct Looks<'l> {
    limits: &'l Limits,
    budget: &'l Budget,
    /// The caller holds the lock of a writer.
    is_writer: bool,
    count: u32,
}

/// What a look found: the hash of the manifest, too, if an append would clear the manifest.
pub type Found = Result<(Frame, Manifest, Option<u64>)>;

impl<'l> Looks<'l> {
    /// After so many looks at a file that goes on changing, the open fails.
    const MAX: u32 = 24;
    /// From this look on there is a pause before each.
    const UNPAUSED: u32 = 4;
    const PAUSE: Duration = Duration::from_millis(1);

    pub fn new(limits: &'l Limits, budget: &'l Budget, is_writer: bool) -> Looks<'l> {
        Looks { limits, budget, is_writer, count: 0 }
    }

    /// Reads the manifest; none if the caller is to open the file once more, since it has changed meanwhile.
    pub fn look(&mut self, source: &dyn ByteSource) -> Option<Found> {
        self.count = self.count.saturating_add(1);
        let before = self.budget.held();
        let explained = Cell::new(false);
        let explain = |e| match has_changed(source) || self.has_writer(source) {
            true => e, // it takes long, and would be of a file that is another one by then
            false => {
                explained.set(true);
                recovery::explain(source, self.limits, e)
            }
        };
        let hash = Cell::new(None);
        let kept = source.page_cache().map(|_| &hash);
        let ends = ReadEnds::read(source, self.limits);
        let found =
            ends.and_then(|ends| read_after_ends(source, ends, self.limits, self.budget, &explain, kept));
        let found = found.map(|(frame, manifest)| (frame, manifest, hash.get()));
        let may_be_torn = match &found {
            Ok(_) => true,
            Err(e) => {
                matches!(e.cause(), Cause::Broken(_) | Cause::NotZtensor | Cause::Limit | Cause::Io)
            }
        };
        let is_broken = matches!(&found, Err(e) if matches!(e.cause(), Cause::Broken(_)));
        let has_writer = is_broken && self.has_writer(source);
        // After the look for a writer: one that has ended since the file was read has changed it.
        let (changed, is_last) = (may_be_torn && has_changed(source), self.count >= Self::MAX);
        match found {
            Ok(_) if !changed || is_last => Some(found),
            Err(e) if has_writer => Some(Err(busy(&e, true))),
            Err(e) if changed && is_last => Some(Err(busy(&e, false))),
            // What it ends in was read, and then its writer may have ended: once more shows that.
            Err(e) if !changed && (explained.get() || self.count > 1 || !is_unfinished(&e)) => Some(Err(e)),
            _ => {
                self.budget.give_back(self.budget.held().saturating_sub(before));
                if self.count >= Self::UNPAUSED {
                    std::thread::sleep(Self::PAUSE);
                }
                None
            }
        }
    }

    fn has_writer(&self, source: &dyn ByteSource) -> bool {
        !self.is_writer && source.page_cache().is_some_and(|cache| cache.has_writer())
    }
}

fn has_changed(source: &dyn ByteSource) -> bool {
    source.page_cache().is_some_and(|cache| matches!(cache.change(), Ok(Some(_))))
}

fn is_unfinished(error: &Error) -> bool {
    error.rule() == Some(crate::error::Rule::UnfinishedAppend)
}

#[cold]
fn busy(error: &Error, has_writer: bool) -> Error {
    let busy = match has_writer {
        true => fail!(Busy, "a writer has the file, and has not ended; open it again after that"),
        false => fail!(Busy, "another program goes on changing the file; open it again after that ({error})"),
    };
    match error.rule() {
        Some(rule) => busy.called(rule),
        None => busy,
    }
}
