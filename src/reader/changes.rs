//! Detects that a file was changed while it is open. After reading, a call checks once whether the file's
//! size or time changed: then the bytes may be partly old, partly new. A file that has only grown by an
//! append still has all its old bytes.

use super::file::File;
use super::manifest::read_manifest;
use super::parts::FilePart;
use super::recovery::{record_of, Prefix};
use crate::container;
use crate::error::{fail, Cause, Error, Result};
use crate::load::is_of_the_file;
use crate::memory::collected;
use crate::model::manifest::Manifest;
use crate::model::sort::sort;
use crate::source::{change_since_open, Change};
use std::time::Duration;

impl File {
    /// The error if the part was changed since it was opened, so that bytes read from it may be of both
    /// states. `None` if it is mapped or unchanged.
    fn changed(&self, part: &FilePart) -> Option<Error> {
        match change_since_open(part.source()) {
            Ok(None) => None,
            Ok(Some(change)) => self.check_change(part, change).err(),
            Err(e) => Some(e),
        }
    }

    /// Returns the failure. If a change of the file may be its cause, returns the error about the change
    /// instead.
    #[cold]
    pub(super) fn or_changed(&self, part: &FilePart, error: Error) -> Error {
        match is_of_the_file(&error) {
            true => self.changed(part).unwrap_or(error),
            false => error,
        }
    }

    /// Returns the outcome of a read. If the file was changed meanwhile, returns that error instead.
    pub(super) fn unless_changed<T>(&self, part: &FilePart, outcome: Result<T>) -> Result<T> {
        match outcome {
            Ok(read) => self.changed(part).map_or(Ok(read), Err),
            Err(error) => Err(self.or_changed(part, error)),
        }
    }

    /// Like [`File::unless_changed`], for all parts that are open.
    pub(super) fn unless_any_changed(&self, outcome: Result<()>) -> Result<()> {
        if outcome.as_ref().err().is_none_or(is_of_the_file) {
            for part in self.parts().filter(|part| part.is_open()) {
                self.changed(part).map_or(Ok(()), |error| Err(part.named(error)))?;
            }
        }
        outcome
    }

    /// Fails unless the file of `part` has only grown by an append.
    #[cold]
    #[inline(never)]
    pub(super) fn check_change(&self, part: &FilePart, mut change: Change) -> Result<()> {
        /// How often to look. An append that is rolled back restores the file's time a moment after its size.
        const LOOKS: u32 = 4;
        const PAUSE: Duration = Duration::from_millis(1);
        let was_refused = *part.refused.lock() == Some(change);
        for look in 0..LOOKS {
            if was_refused {
                break;
            }
            if look > 0 {
                std::thread::sleep(PAUSE);
                match change_since_open(part.source())? {
                    None => return Ok(()),
                    Some(next) => change = next,
                }
            }
            if self.has_only_grown(part, change)? {
                // If there is no writer, the file does not change any more. But a writer that has just
                // finished may have changed it since the last look, so look once more.
                if let Some(cache) = part.source().page_cache().filter(|cache| !cache.has_writer()) {
                    if cache.change()? == Some(change) {
                        cache.accept(change);
                    }
                }
                return Ok(());
            }
        }
        *part.refused.lock() = Some(change);
        let (old, new) = (part.size(), change.size);
        let how = match (change.to_end, old == new) {
            (false, _) => "the file around it was changed",
            (true, true) => "its bytes were written to",
            (true, false) => "its size changed",
        };
        Err(fail!(
            Io,
            "the file was changed since it was opened ({how}: {old} bytes then, {new} now), so what was \
             read may mix old and new bytes; open it again"
        ))
    }

    /// Whether the change is an append: one that is running, was killed, has finished, or was rolled back.
    fn has_only_grown(&self, part: &FilePart, change: Change) -> Result<bool> {
        let (source, frame) = (part.source(), part.frame());
        let end = frame.file_size;
        if part.capabilities().appends_as.is_none() || !change.to_end || change.size < end {
            return Ok(false);
        }
        let same_size = source.page_cache().and_then(|cache| cache.same_size(change));
        if change.size == end && same_size == Some(true) && part.has_its_end()? {
            return Ok(true);
        }
        let now = Prefix { source, size: change.size };
        let record = if part.capabilities().old_ends_stay { None } else { record_of(&now)? };
        let new_end = match record {
            Some(record) if record.tail == (frame.manifest.start..end) => return Ok(true),
            Some(ref record) => record.tail.end,
            None => change.size,
        };
        // `Some(false)` means that the file already had this size at the last accepted change, and was
        // written to since.
        if change.size > end && same_size != Some(false) && part.has_its_end()? {
            return Ok(true);
        }
        if new_end <= end || new_end > change.size || part.capabilities().old_ends_stay {
            return Ok(false);
        }
        let prefix = Prefix { source, size: new_end };
        match read_manifest(&prefix, &self.shards.limits) {
            Ok((new, manifest)) if new.manifest.start >= end && self.is_carried_over(part, &manifest)? => {
                Ok(record.is_some() || same_size != Some(false))
            }
            Err(e) if matches!(e.cause(), Cause::Io | Cause::OutOfMemory) => Err(e),
            _ => Ok(false),
        }
    }

    /// Whether all data that a later manifest has below the old end was there before.
    fn is_carried_over(&self, part: &FilePart, later: &Manifest) -> Result<bool> {
        let end = part.size();
        let old = self.parts.components_of(part, &self.manifest);
        let mut known: Vec<(u64, u64, &str)> = collected(
            part.components.len(),
            old.map(|c| (c.offset, c.stored_size, self.manifest.digest(c).unwrap_or_default())),
        )?;
        sort(&mut known);
        let is_known = |c: &crate::model::manifest::Component| {
            let place = (c.offset, c.stored_size, later.digest(c).unwrap_or_default());
            c.offset >= end || c.stored_size == 0 || known.binary_search(&place).is_ok()
        };
        let capabilities = container::capabilities(later.container.unwrap_or(part.container()));
        Ok(capabilities.appends_as.is_some() && later.components.iter().all(is_known))
    }
}
