//! Whom to ask whether a write goes on, and when that was done.

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
    pub(super) asked: Option<Box<dyn Progress>>,
    /// Bytes that were written or compressed since.
    pub(super) since: usize,
}

impl Reports {
    pub(super) fn are_wanted(&self) -> bool {
        self.asked.is_some()
    }
}
