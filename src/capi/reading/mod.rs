//! Bytes and numbers: one by one, in batches, in buffers.

pub(super) mod batch;
pub(super) mod buffer;
pub(super) mod options;
