//! A slice: its key, and how it is read.

use crate::error::{fail, Result};
use std::ptr::NonNull;

/// The most numbers in a key. A hyperslab needs three for each dimension.
const MAX_WORDS: usize = 44;

/// Identifies a slice. It has a fixed size, so lookups and the cache's tables do not allocate.
#[derive(Clone, Copy)]
pub struct Key {
    words: [u64; MAX_WORDS],
    count: usize,
}

impl Key {
    pub fn new() -> Key {
        Key { words: [0; MAX_WORDS], count: 0 }
    }

    pub fn extend(&mut self, more: &[u64]) -> Result<()> {
        let end = self.count.saturating_add(more.len());
        let Some(place) = self.words.get_mut(self.count..end) else {
            return Err(fail!(
                Unsupported,
                "a slice with this many dimensions cannot be cached: its key has {end} numbers, above \
                 {MAX_WORDS}"
            ));
        };
        place.copy_from_slice(more);
        self.count = end;
        Ok(())
    }

    pub fn words(&self) -> &[u64] {
        self.words.get(..self.count).unwrap_or_default()
    }
}

/// Bytes that a slot can hold, and how they are read.
pub trait Slice: Send + 'static {
    fn size(&self) -> usize;

    /// Whether only threads of the caller may read it.
    fn is_callers_thread(&self) -> bool;

    /// Fills `dst`, which has exactly the size of the slice.
    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()>;
}

/// A slice that stays in memory until it is unpinned.
pub struct Pinned {
    pub data: NonNull<u8>,
    pub size: usize,
    /// The number for `Cache::unpin`.
    pub number: u64,
}
