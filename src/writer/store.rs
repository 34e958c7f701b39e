//! Bytes on their way to the sink and the digest, side by side where there are many.

use super::reports::STEP;
use super::state::Writer;
use crate::digest::{Algorithm, Hasher};
use crate::error::{fail, Result};
use crate::lock::Mutex;
use crate::sink::WriteThreads;
use crate::threads;

/// Below, starting a thread costs more than it saves.
const MIN_PARALLEL_WRITE: usize = 4 << 20;
const MIN_OFFLOADED_SHA256: usize = 1 << 20;

/// From how many bytes on it pays to start a thread for a digest.
pub(super) fn min_offloaded(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Sha256 => MIN_OFFLOADED_SHA256,
        Algorithm::Crc32c => MIN_PARALLEL_WRITE,
    }
}

impl Writer {
    /// Appends bytes to the file. A failure is for good.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_and_hash(bytes, None)
    }

    /// Stored bytes of the component that is open.
    pub(super) fn store(&mut self, stored: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Err(fail!(Internal, "no component")) };
        open.entry.stored_size = open.entry.stored_size.saturating_add(stored.len() as u64);
        let Some(mut hasher) = open.hasher.take() else { return self.write_and_hash(stored, None) };
        self.write_and_hash(stored, Some(&mut hasher))?;
        if let Some(open) = self.component.as_mut() {
            open.hasher = Some(hasher);
        }
        Ok(())
    }

    /// Appends bytes to the file, and gives them to the digest.
    fn write_and_hash(&mut self, bytes: &[u8], mut hasher: Option<&mut Hasher>) -> Result<()> {
        if !self.reports.are_wanted() {
            return self.write_at_once(bytes, hasher);
        }
        bytes.chunks(STEP).try_for_each(|part| {
            self.write_at_once(part, hasher.as_deref_mut())?;
            self.report(part.len())
        })
    }

    fn write_at_once(&mut self, bytes: &[u8], hasher: Option<&mut Hasher>) -> Result<()> {
        let to_hash = hasher.as_ref().map_or(usize::MAX, |hasher| min_offloaded(hasher.algorithm()));
        let count = match bytes.len() >= MIN_PARALLEL_WRITE.min(to_hash) {
            true => threads::count(self.options.threads).saturating_sub(self.busy_threads),
            false => 1,
        };
        let Some(sink) = self.sink.as_mut() else { return Err(fail!(State, "the writer is finished")) };
        let written = if count > 1 {
            // Whichever thread comes first.
            let hasher = Mutex::new(hasher);
            let hash = || {
                let hasher = hasher.lock().take();
                hasher.into_iter().for_each(|hasher| hasher.update(bytes));
            };
            let other_work: Option<&(dyn Fn() + Sync)> =
                if to_hash < usize::MAX { Some(&hash) } else { None };
            sink.write_with_threads(
                bytes,
                &WriteThreads { count, hooks: self.options.thread_hooks, other_work },
            )
        } else {
            hasher.into_iter().for_each(|hasher| hasher.update(bytes));
            sink.write(bytes)
        };
        match written {
            Ok(()) => {
                self.position = self.position.saturating_add(bytes.len() as u64);
                Ok(())
            }
            Err(error) => Err(self.poison(error)),
        }
    }

    /// Zero bytes up to a multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let target = self.position.checked_next_multiple_of(alignment);
        let target = target.ok_or_else(|| fail!(Limit, "the file passes 2^64 bytes"))?;
        while self.position < target {
            let left = usize::try_from(target.saturating_sub(self.position)).unwrap_or(usize::MAX);
            self.write_bytes(ZEROS.get(..left.min(ZEROS.len())).unwrap_or_default())?;
        }
        Ok(())
    }
}
