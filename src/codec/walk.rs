//! From frame to frame, whichever codec they are of.

use super::frames::{Header, Stored};
use super::interface::FrameFormat;
use crate::error::Result;
use std::marker::PhantomData;

/// Goes from frame to frame; ends after the first error.
pub(super) struct Walk<'s, F> {
    /// All frames.
    stored: &'s mut dyn Stored,
    /// Where the next one begins.
    at: usize,
    /// Nothing follows an error.
    failed: bool,
    format: PhantomData<F>,
}

impl<'s, F: FrameFormat> Walk<'s, F> {
    /// Begins where a frame does.
    pub(super) fn from(stored: &'s mut dyn Stored, at: usize) -> Self {
        Walk { stored, at, failed: false, format: PhantomData }
    }
}

impl<F: FrameFormat> Iterator for Walk<'_, F> {
    type Item = Result<Header>;

    fn next(&mut self) -> Option<Result<Header>> {
        // No bytes at all are for the codec to judge.
        if self.failed || (self.at > 0 && self.at >= self.stored.size()) {
            return None;
        }
        let header = F::header(self.stored, self.at);
        match &header {
            Ok(header) => self.at = header.stored.end,
            Err(_) => self.failed = true,
        }
        Some(header)
    }
}
