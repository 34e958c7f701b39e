//! The key of a slice: numbers that are equal if the bytes are the same.

use crate::error::{fail, Result};

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
                "a slice of so many dimensions is not cached: its key has {end} numbers, above {MAX_WORDS}"
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
