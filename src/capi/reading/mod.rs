//! Reads bytes and numbers: single components, batches, buffers.

pub(super) mod batch;
pub(super) mod buffer;
pub(super) mod options;
