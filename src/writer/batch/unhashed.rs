//! Digests of a batch's objects, computed apart from the thread that writes them.

use super::DenseSpec;
use crate::lock::Lock;
use crate::payload::digest::{self, Algorithm, Claim};
use crate::writer::store;

/// Bytes that a thread takes to hash at a time, at least.
const PORTION: usize = 64 << 10;

/// Whether a digest is better computed by another thread than just before the bytes are written, which brings them
/// into the cache for both: not a CRC of a few bytes, for which memory is what takes the time.
pub(super) fn is_apart(algorithm: Algorithm, data: &[u8]) -> bool {
    algorithm == Algorithm::Sha256 || data.len() >= store::TO_HASH_CRC32C
}

/// What is not hashed yet, and where the digests go.
pub(super) type Rest<'w, 'd> = (&'w [DenseSpec<'d>], &'w mut [Option<Claim>]);

/// Objects whose digests are computed on any number of threads.
pub(super) struct Unhashed<'w, 'd> {
    pub rest: Lock<Rest<'w, 'd>>,
    /// The digest of those that ask for none.
    pub default: Option<Algorithm>,
}

impl<'w, 'd> Unhashed<'w, 'd> {
    /// The next, of together at least so many bytes.
    fn take(&self, least: usize) -> Option<Rest<'w, 'd>> {
        let mut rest = self.rest.hold();
        let (requests, claims) = std::mem::take(&mut *rest);
        let mut size = 0_usize;
        let last = requests.iter().position(|request| {
            size = size.saturating_add(request.data.len());
            size >= least
        });
        let count = last.map_or(requests.len(), |last| last.saturating_add(1));
        let (now, later) = requests.split_at_checked(count)?;
        let (places, left) = claims.split_at_mut_checked(count)?;
        *rest = (later, left);
        (!now.is_empty()).then_some((now, places))
    }

    /// Hashes until nothing is left.
    pub fn help(&self) {
        while let Some((requests, claims)) = self.take(PORTION) {
            for (request, claim) in requests.iter().zip(claims) {
                let algorithm = request.digest.unwrap_or(self.default);
                let apart = algorithm.filter(|of| is_apart(*of, request.data));
                *claim = apart.map(|of| digest::compute(of, request.data));
            }
        }
    }

    /// Leaves the rest: nobody will ask for it.
    pub fn stop(&self) {
        *self.rest.hold() = Default::default();
    }
}
