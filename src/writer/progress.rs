//! Reports of progress while a file is written, and its cancellation.

use super::Writer;
use crate::error::{fail, Result};
use crate::memory::try_box;

/// Bytes that are written between two reports, at most.
pub(super) const STEP: usize = 16 << 20;

/// Whom to ask whether to go on: after so many bytes of the file.
pub(super) trait Progress: Send {
    fn goes_on(&self, written: u64) -> bool;
}

impl<F: Fn(u64) -> bool + Send> Progress for F {
    fn goes_on(&self, written: u64) -> bool {
        self(written)
    }
}

/// Who is asked, and when that was.
#[derive(Default)]
pub(super) struct Reports {
    asked: Option<Box<dyn Progress>>,
    /// Bytes that were written or compressed since.
    since: usize,
}

impl Reports {
    pub(super) fn are_wanted(&self) -> bool {
        self.asked.is_some()
    }
}

impl Writer {
    /// Asks `goes_on` at least every 64 MiB, and before the file is published; false fails the writer for good.
    pub fn on_progress(&mut self, goes_on: impl Fn(u64) -> bool + Send + 'static) -> Result<()> {
        self.reports.asked = Some(try_box(goes_on)?);
        Ok(())
    }

    /// So many bytes are done: asks, if it is time to.
    pub(super) fn report(&mut self, done: usize) -> Result<()> {
        self.reports.since = self.reports.since.saturating_add(done);
        match self.reports.since < STEP {
            true => Ok(()),
            false => self.report_now(),
        }
    }

    pub(super) fn report_now(&mut self) -> Result<()> {
        self.reports.since = 0;
        match &self.reports.asked {
            Some(asked) if !asked.goes_on(self.position) => {
                let error = fail!(Cancelled, "the caller stopped it after {} bytes", self.position);
                Err(self.poison(error))
            }
            _ => Ok(()),
        }
    }
}
