//! Gives bytes to the sink and to the digest, on several threads if there are many; at the end writes the
//! manifest and the footer, and publishes the file.

use super::content_index::Content;
use super::specs::Summary;
use super::state::{Phase, Writer, MAX_UNREPORTED};
use crate::container::{self, Frame};
use crate::digest::{Algorithm, Hasher};
use crate::error::{fail, Error, Result};
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
        Algorithm::Crc32c | Algorithm::Xxh3 => MIN_PARALLEL_WRITE,
    }
}

impl Writer {
    /// Appends bytes to the file. A failure poisons the writer.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_and_hash(bytes, None)
    }

    /// Stored bytes of the component that is open.
    pub(super) fn store(&mut self, stored: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Err(fail!(Internal, "no component")) };
        open.entry.stored_size = open.entry.stored_size.saturating_add(stored.len() as u64);
        if let Content::Hashing(hasher) = &mut open.content {
            hasher.update(stored);
        }
        if open.is_shared {
            open.hasher.iter_mut().for_each(|hasher| hasher.update(stored));
            return Ok(());
        }
        let hashes = open.hashes_stored();
        let Some(mut hasher) = open.hasher.take_if(|_| hashes) else {
            return self.write_and_hash(stored, None);
        };
        self.write_and_hash(stored, Some(&mut hasher))?;
        if let Some(open) = self.component.as_mut() {
            open.hasher = Some(hasher);
        }
        Ok(())
    }

    /// Appends bytes to the file, and gives them to the digest.
    pub(super) fn write_and_hash(&mut self, bytes: &[u8], mut hasher: Option<&mut Hasher>) -> Result<()> {
        if !self.reports.is_enabled() {
            return self.write_at_once(bytes, hasher);
        }
        bytes.chunks(MAX_UNREPORTED).try_for_each(|part| {
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
            // The first thread that calls this hashes.
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

    /// Writes zero bytes up to a multiple of `alignment`.
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

impl Writer {
    /// Writes manifest and footer and publishes the file. The writer is closed then, whatever is returned; if
    /// it failed, the destination is as it was before.
    pub fn finish(&mut self) -> Result<Summary> {
        self.check_idle()?;
        let outcome = match self.append_base.take() {
            Some(base) => self.finish_append(base),
            None => self.finish_new(),
        };
        match outcome {
            Ok(summary) => {
                self.sink = None;
                self.state = Phase::Closed("the writer is finished");
                Ok(summary)
            }
            Err(e) => Err(self.abort(e)),
        }
    }

    /// Closes the writer, and leaves the destination as it was before; if that fails, the error says so, too.
    pub fn abort(&mut self, error: Error) -> Error {
        match self.is_open() {
            true => self.poison(error),
            false => error,
        }
    }

    fn finish_new(&mut self) -> Result<Summary> {
        let mut manifest = std::mem::take(&mut self.manifest);
        manifest.container = Some(self.options.version);
        if !self.attributes.set.is_empty() {
            manifest.attributes = Some(self.attributes.set.put(&mut manifest.values, None)?);
        }
        self.align_manifest()?;
        let mut bytes = Vec::new();
        container::encode_manifest(&manifest, self.options.version, &mut bytes)?;
        let (objects, components) = (manifest.objects.len() as u64, manifest.components.len() as u64);
        let frame = container::frame_of(self.options.version, self.position, &bytes)?;
        container::check_encoded(manifest, &frame, &bytes)?; // the rules that every reader checks
        self.write_end(&frame, &bytes)?;
        Ok(self.summary(objects, components))
    }

    /// Pads the file up to where the manifest begins.
    pub(super) fn align_manifest(&mut self) -> Result<()> {
        match container::aligns_manifest(self.options.version) {
            true => self.align(self.alignment_of(Some(0))),
            false => Ok(()),
        }
    }

    /// Writes the manifest and the footer, and publishes the file.
    pub(super) fn write_end(&mut self, frame: &Frame, manifest: &[u8]) -> Result<()> {
        let size = frame.manifest_size();
        if size > self.capabilities().manifest_limit {
            let limit = self.capabilities().manifest_limit;
            return Err(fail!(
                Limit,
                "a manifest of {size} bytes is above the specs' limit of {limit} bytes"
            ));
        }
        let mut footer = Vec::new();
        container::encode_footer(frame, &mut footer)?;
        self.write_bytes(manifest)?;
        if let Some(Err(e)) = self.sink.as_mut().map(|sink| sink.settle()) {
            return Err(self.poison(e));
        }
        self.write_bytes(&footer)?;
        self.report_now()?;
        let published = match self.sink.as_mut() {
            Some(sink) => sink.publish(),
            None => Err(fail!(State, "the writer is finished")),
        };
        published.map_err(|e| self.poison(e))
    }

    /// Closes the writer for a failure, and rolls the sink back, so that the destination is as it was. If
    /// that fails, the error says what the destination is.
    pub(super) fn poison(&mut self, error: Error) -> Error {
        let rolled_back = self.sink.take().map(|mut sink| sink.roll_back());
        self.component = None;
        self.state = Phase::Closed("the writer has failed");
        let label = if self.label.is_empty() { "the file" } else { self.label.as_str() };
        let error = error.within(format_args!("{label}"));
        match rolled_back {
            Some(Err(e)) => Error::new(error.cause(), format_args!("{error}; {e}")),
            _ => error,
        }
    }

    pub(super) fn summary(&self, objects: u64, components: u64) -> Summary {
        Summary {
            file_size: self.position,
            objects,
            components,
            stored_bytes: self.stored_bytes,
            data_bytes: self.data_bytes,
            damaged: self.damaged,
        }
    }
}
