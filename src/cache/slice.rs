//! A slice: its key, and how it is read.

use crate::error::{fail, Result};
use std::ptr::NonNull;

/// Most numbers of a key: of a hyperslab, three for each dimension.
const MAX_WORDS: usize = 40;

/// A key has a fixed size, so that a lookup allocates nothing, and a cache nothing after it was made.
#[derive(Clone, Copy)]
pub struct Key {
    words: [u64; MAX_WORDS],
    count: usize,
}

impl Key {
    /// A key of no numbers.
    pub fn new() -> Key {
        Key { words: [0; MAX_WORDS], count: 0 }
    }

    /// Adds numbers.
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

    /// The numbers.
    pub fn words(&self) -> &[u64] {
        self.words.get(..self.count).unwrap_or_default()
    }
}

/// Bytes that a slot can hold, and how they are read.
pub trait Slice: Send + 'static {
    /// Bytes of it.
    fn size(&self) -> usize;

    /// Whether only threads that call the library may read it.
    fn is_callers_thread(&self) -> bool;

    /// Fills all of `dst`, which has its size.
    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()>;
}

/// A slice that stays where it is until it is unpinned.
pub struct Pinned {
    /// Where its bytes are.
    pub data: NonNull<u8>,
    /// How many.
    pub size: usize,
    /// The number to give to `Cache::unpin`.
    pub number: u64,
}
