//! Reports of progress while a file is written, and its cancellation.

use super::reports::STEP;
use super::state::Writer;
use crate::error::{fail, Result};
use crate::memory::try_box;

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
