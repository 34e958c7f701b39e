//! Stored bytes on their way to the sink and the hash, side by side where there are many.

use super::progress::STEP;
use super::{Algorithm, Writer};
use crate::digest::Hasher;
use crate::error::Result;
use crate::lock::Mutex;
use crate::sink::direct_sink::WRITE_BUFFERS;
use crate::threads;

/// Below, starting a thread costs more than it saves.
const MIN_PARALLEL_WRITE: usize = 4 << 20;
const MIN_OFFLOADED_SHA256: usize = 1 << 20;
pub(super) const MIN_OFFLOADED_CRC32C: usize = 8 << 20;

/// A hash that takes in some bytes once, on whichever thread comes first.
struct HashOnce<'h>(Mutex<Option<&'h mut Hasher>>);

impl HashOnce<'_> {
    fn is_due(&self) -> bool {
        self.0.lock().is_some()
    }

    fn update(&self, bytes: &[u8]) {
        let hasher = self.0.lock().take();
        hasher.into_iter().for_each(|hasher| hasher.update(bytes));
    }
}

/// How many threads beside the caller's it pays to start for hashing so many bytes.
pub(super) fn helpers_to_hash(sha256: usize, crc32c: usize) -> usize {
    (sha256 / MIN_OFFLOADED_SHA256).saturating_add(crc32c / MIN_OFFLOADED_CRC32C)
}

/// Whether several threads may write so many bytes.
pub(super) fn is_large(size: usize) -> bool {
    size >= MIN_PARALLEL_WRITE
}

impl Writer {
    /// Appends bytes that are hashed elsewhere: large ones on up to so many threads, where the sink takes it so.
    pub(super) fn write_hashed_elsewhere(&mut self, bytes: &[u8], threads: usize) -> Result<()> {
        if threads > 1 && is_large(bytes.len()) {
            if let Some(outcome) = self.write_in_pieces(bytes, &HashOnce(Mutex::new(None)), threads) {
                return outcome.map_err(|e| self.poison(e));
            }
        }
        self.write_bytes(bytes)
    }

    /// Stored bytes, to the file and the hash.
    pub(super) fn store(&mut self, stored: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return self.write_bytes(stored) };
        open.entry.stored_size = open.entry.stored_size.saturating_add(stored.len() as u64);
        let mut hasher = open.hasher.take();
        let outcome = self.write_and_hash(stored, hasher.as_mut());
        if let Some(open) = self.component.as_mut() {
            open.hasher = hasher;
        }
        outcome
    }

    fn write_and_hash(&mut self, stored: &[u8], mut hasher: Option<&mut (Algorithm, Hasher)>) -> Result<()> {
        if !self.reports.are_wanted() {
            return self.write_and_hash_at_once(stored, hasher);
        }
        stored.chunks(STEP).try_for_each(|part| {
            self.write_and_hash_at_once(part, hasher.as_deref_mut())?;
            self.report(part.len())
        })
    }

    fn write_and_hash_at_once(
        &mut self,
        stored: &[u8],
        hasher: Option<&mut (Algorithm, Hasher)>,
    ) -> Result<()> {
        let to_hash = match &hasher {
            Some((Algorithm::Sha256, _)) => MIN_OFFLOADED_SHA256,
            Some((Algorithm::Crc32c, _)) => MIN_OFFLOADED_CRC32C,
            None => usize::MAX,
        };
        let mut hasher = hasher.map(|(_, hasher)| hasher);
        let many = stored.len() >= MIN_PARALLEL_WRITE.min(to_hash);
        let threads = if many { threads::count(self.options.threads) } else { 1 };
        if threads < 2 {
            hasher.iter_mut().for_each(|hasher| hasher.update(stored));
            return self.write_bytes(stored);
        }
        let hashing = HashOnce(Mutex::new(hasher));
        if let Some(outcome) = self.write_in_pieces(stored, &hashing, threads) {
            return outcome.map_err(|e| self.poison(e));
        }
        if stored.len() >= to_hash {
            return self.write_while_hashing(stored, &hashing);
        }
        hashing.update(stored);
        self.write_bytes(stored)
    }

    /// Writes on several threads, where the sink takes it so; one of them hashes first.
    fn write_in_pieces(
        &mut self,
        stored: &[u8],
        hashing: &HashOnce<'_>,
        threads: usize,
    ) -> Option<Result<()>> {
        // One that hashes, and those that the sink has work for.
        let most = if hashing.is_due() { WRITE_BUFFERS.saturating_add(1) } else { WRITE_BUFFERS };
        let pieces = match self.sink.as_mut()?.pieces(stored, threads).transpose()? {
            Ok(pieces) => pieces,
            Err(e) => return Some(Err(e)),
        };
        threads::run(threads.min(most), self.options.thread_hooks, &|| {
            hashing.update(stored);
            pieces.write();
        });
        let done = pieces.done();
        if done.is_ok() {
            self.position = self.position.saturating_add(stored.len() as u64);
        }
        Some(done)
    }

    /// Hashes on a thread of its own while this one writes: a sink's functions are called from the caller's alone.
    fn write_while_hashing(&mut self, stored: &[u8], hashing: &HashOnce<'_>) -> Result<()> {
        let hooks = self.options.thread_hooks;
        let writing = Mutex::new((self, Ok(())));
        let write = || {
            let mut guard = writing.lock();
            guard.1 = guard.0.write_bytes(stored);
            drop(guard);
            hashing.update(stored); // where there was no thread to be had
        };
        threads::with_worker(hooks, &|| hashing.update(stored), &write);
        writing.into_inner().1
    }
}
