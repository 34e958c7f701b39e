//! Digests of a batch's objects, computed apart from the thread that writes them.

use super::DenseSpec;
use crate::digest::{self, Algorithm, Digest};
use crate::lock::Mutex;
use crate::writer::store;

/// Bytes that a thread takes to hash at a time, at least.
const HASH_PORTION: usize = 64 << 10;

/// Whether a digest is better computed by another thread than just before the bytes are written, which brings them
/// into the cache for both: not a CRC of a few bytes, for which memory is what takes the time.
pub(super) fn is_offloaded(algorithm: Algorithm, data: &[u8]) -> bool {
    algorithm == Algorithm::Sha256 || data.len() >= store::MIN_OFFLOADED_CRC32C
}

/// What is not hashed yet, and where the digests go.
pub(super) type PendingHashes<'w, 'd> = (&'w [DenseSpec<'d>], &'w mut [Option<Digest>]);

/// Objects whose digests are computed on any number of threads.
pub(super) struct HashQueue<'w, 'd> {
    pub rest: Mutex<PendingHashes<'w, 'd>>,
    /// The digest of those that ask for none.
    pub default: Option<Algorithm>,
}

impl<'w, 'd> HashQueue<'w, 'd> {
    /// The next, of together at least so many bytes.
    fn take(&self, least: usize) -> Option<PendingHashes<'w, 'd>> {
        let mut rest = self.rest.lock();
        let (requests, digests) = std::mem::take(&mut *rest);
        let mut size = 0_usize;
        let last = requests.iter().position(|request| {
            size = size.saturating_add(request.data.len());
            size >= least
        });
        let count = last.map_or(requests.len(), |last| last.saturating_add(1));
        let (now, later) = requests.split_at_checked(count)?;
        let (places, left) = digests.split_at_mut_checked(count)?;
        *rest = (later, left);
        (!now.is_empty()).then_some((now, places))
    }

    /// Hashes until nothing is left.
    pub fn run(&self) {
        while let Some((requests, digests)) = self.take(HASH_PORTION) {
            for (request, digest) in requests.iter().zip(digests) {
                let algorithm = request.digest.unwrap_or(self.default);
                let offloaded = algorithm.filter(|of| is_offloaded(*of, request.data));
                *digest = offloaded.map(|of| digest::compute(of, request.data));
            }
        }
    }

    /// Leaves the rest: nobody will ask for it.
    pub fn stop(&self) {
        *self.rest.lock() = Default::default();
    }
}
