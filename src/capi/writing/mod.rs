//! Writes files.

pub(super) mod attribute;
pub(super) mod batch;
pub(super) mod copy;
pub(super) mod dense;
pub(super) mod options;
pub(super) mod running_sink;
pub(super) mod writer;
