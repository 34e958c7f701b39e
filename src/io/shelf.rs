//! Buffers that are put down once and then stay as they are: what was lent of them lives as long as
//! the shelf.

use crate::error::{fail, Result};
use crate::lock::{Held, Lock};
use crate::memory::AlignedBuffer;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;

/// Buffers by number. Nothing is taken from it or changed before it is dropped.
pub struct Shelf {
    buffers: Lock<HashMap<usize, AlignedBuffer, SeedableRandomState>>,
}

impl Default for Shelf {
    fn default() -> Self {
        Shelf { buffers: Lock::new(HashMap::with_hasher(crate::hash::state())) }
    }
}

/// Lends for as long as the shelf is there.
///
/// # Safety
/// `buffer` is on the shelf that is borrowed for `'s`.
#[allow(unsafe_code)]
unsafe fn lend<'s>(buffer: &AlignedBuffer) -> &'s [u8] {
    let bytes = buffer.as_slice();
    // SAFETY: a buffer's bytes are on the heap or in a mapping, which stay in place when the map moves
    // the handle; nothing on the shelf is written, replaced or removed before the shelf is dropped,
    // which the borrow of it for 's forbids.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

impl Shelf {
    fn held(&self) -> Held<'_, HashMap<usize, AlignedBuffer, SeedableRandomState>> {
        self.buffers.hold()
    }

    /// The bytes of that number, if they are there.
    #[allow(unsafe_code)]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        // SAFETY: it is on this shelf.
        self.held().get(&number).map(|buffer| unsafe { lend(buffer) })
    }

    /// Puts a buffer down; the bytes of that number, which are another's if that was faster.
    #[allow(unsafe_code)]
    pub fn keep(&self, number: usize, buffer: AlignedBuffer) -> Result<&[u8]> {
        let mut held = self.held();
        held.try_reserve(1).map_err(|_| fail!(OutOfMemory, "could not keep a decoded component"))?;
        // SAFETY: it is on this shelf.
        Ok(unsafe { lend(held.entry(number).or_insert(buffer)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_stays_when_more_is_kept() {
        let shelf = Shelf::default();
        let filled = |size: usize, with: u8| {
            let mut buffer = AlignedBuffer::zeroed(size).unwrap();
            buffer.as_mut_slice().fill(with);
            buffer
        };
        let lent: Vec<&[u8]> = (0..200).map(|i| shelf.keep(i, filled(i * 7, i as u8)).unwrap()).collect();
        assert_eq!(shelf.keep(5, filled(3, 9)).unwrap(), [5; 35], "the first stays");
        for (i, bytes) in lent.iter().enumerate() {
            assert!(bytes.len() == i * 7 && bytes.iter().all(|b| *b == i as u8));
            assert_eq!(shelf.get(i).unwrap().as_ptr(), bytes.as_ptr());
        }
        assert!(shelf.get(200).is_none());
    }
}
