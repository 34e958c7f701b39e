//! The slices that slots have, and what is known of them.

use super::key::Key;
use crate::error::Result;
use std::ptr::NonNull;

/// Bytes that a slot can hold, and how they are read.
pub trait Slice: Send + 'static {
    /// Bytes of it.
    fn size(&self) -> usize;

    /// The caller's name for it.
    fn tag(&self) -> u64;

    /// Whether only threads that call the library may read it.
    fn is_callers_thread(&self) -> bool;

    /// Fills all of `dst`, which has its size.
    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()>;
}

/// A slice that may be evicted.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Candidate {
    /// The caller's name for it.
    pub tag: u64,
    /// Bytes of it.
    pub size: u64,
    /// How often it was got since it was read.
    pub uses: u64,
}

/// Returns the index of the candidate to evict. An index that is none stands for the first.
pub type Choose = dyn Fn(&[Candidate]) -> usize + Send;

/// A slice that stays where it is until it is unpinned.
pub struct Pinned {
    /// Where its bytes are.
    pub data: NonNull<u8>,
    /// How many.
    pub size: usize,
    /// The number to give to `Cache::unpin`.
    pub number: u64,
}
