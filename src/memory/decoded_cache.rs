//! Decoded components, kept until the file is closed: what was borrowed of them lives as long as the
//! cache.

use super::buffer::AlignedBuffer;
use crate::error::{fail, Result};
use crate::lock::{Mutex, MutexGuard};
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_map::{Entry, HashMap};

/// Buffers by number. None is removed or changed before the cache is dropped.
pub struct DecodedCache {
    buffers: Mutex<HashMap<usize, AlignedBuffer, SeedableRandomState>>,
}

impl Default for DecodedCache {
    fn default() -> Self {
        DecodedCache { buffers: Mutex::new(HashMap::with_hasher(crate::hash::state())) }
    }
}

/// Borrows for as long as the cache is there.
///
/// # Safety
/// `buffer` is in the cache that is borrowed for `'s`.
#[allow(unsafe_code)]
unsafe fn borrow<'s>(buffer: &AlignedBuffer) -> &'s [u8] {
    let bytes = buffer.as_slice();
    // SAFETY: a buffer's bytes are on the heap or in a mapping, which stay in place when the map moves
    // the handle; nothing in the cache is written, replaced or removed before the cache is dropped,
    // which the borrow of it for 's forbids.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

impl DecodedCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, AlignedBuffer, SeedableRandomState>> {
        self.buffers.lock()
    }

    /// The bytes of that number, if they are there.
    #[allow(unsafe_code)]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        // SAFETY: it is in this cache.
        self.lock().get(&number).map(|buffer| unsafe { borrow(buffer) })
    }

    /// Inserts a buffer. Returns the bytes of that number: of another buffer, if one was inserted before.
    #[allow(unsafe_code)]
    pub fn insert(&self, number: usize, buffer: AlignedBuffer) -> Result<&[u8]> {
        // A buffer that is not inserted is dropped after the lock is released, as a parameter is: freeing it
        // may call the host.
        let mut buffers = self.lock();
        buffers.try_reserve(1).map_err(|_| fail!(OutOfMemory, "could not keep a decoded component"))?;
        let kept = match buffers.entry(number) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(free) => free.insert(buffer),
        };
        // SAFETY: it is in this cache.
        Ok(unsafe { borrow(kept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_borrowed_stays_when_more_is_cached() {
        let cache = DecodedCache::default();
        let filled = |size: usize, with: u8| {
            let mut buffer = AlignedBuffer::zeroed(size).unwrap();
            buffer.as_mut_slice().fill(with);
            buffer
        };
        let borrowed: Vec<&[u8]> =
            (0..200).map(|i| cache.insert(i, filled(i * 7, i as u8)).unwrap()).collect();
        assert_eq!(cache.insert(5, filled(3, 9)).unwrap(), [5; 35], "the first stays");
        for (i, bytes) in borrowed.iter().enumerate() {
            assert!(bytes.len() == i * 7 && bytes.iter().all(|b| *b == i as u8));
            assert_eq!(cache.get(i).unwrap().as_ptr(), bytes.as_ptr());
        }
        assert!(cache.get(200).is_none());
    }
}
