//! A component that is being written.

use crate::digest::Hasher;
use crate::model::manifest::{Component, RareNames};

/// A component whose bytes are still coming.
pub struct OpenComponent {
    pub(super) entry: Component,
    pub(super) rare: RareNames,
    pub(super) hasher: Option<Hasher>,
    /// Bytes given so far.
    pub(super) bytes_in: u64,
    /// Bytes that have to come, where that is known.
    pub(super) expected: Option<u64>,
    /// What is not compressed yet.
    pub(super) pending: Vec<u8>,
    /// Whether a frame was written.
    pub(super) has_frames: bool,
    /// The part of an element that a call ended in, where elements have to be turned.
    pub(super) partial: Vec<u8>,
    /// Its bytes come with `data`, not all at once.
    pub(super) streamed: bool,
}
