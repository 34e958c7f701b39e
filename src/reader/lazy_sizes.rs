//! Decoded sizes that the manifest does not give. Each is kept once it was found, so that nothing is decoded
//! twice to find it. A failure that the file causes is kept, too.

use super::shared_bytes::SharedRanges;
use crate::error::{Cause, Error, Result};
use crate::lock::Mutex;
use crate::memory::{collected, push};
use crate::model::manifest::{Component, Manifest};
use std::sync::atomic::{AtomicU64, Ordering};

/// A size for each component of a file, then for each range that several components share. Each is found when
/// needed.
#[derive(Default)]
pub struct LazySizes {
    /// Which components share the same bytes, and so have the same size.
    pub(super) shared_ranges: SharedRanges,
    components: usize,
    /// 0 if the size was not found yet, else the size plus one, or [`FAILED`] plus the position of the
    /// failure. Empty if shapes give all sizes.
    sizes: Vec<AtomicU64>,
    failures: Mutex<Vec<Error>>,
}

/// Larger than every size: decoding to that many bytes exceeds every limit.
const FAILED: u64 = 1 << 63;

impl LazySizes {
    /// Sizes for the components of a manifest, none of them found yet. `part_of` returns the number of the
    /// part that has a component's bytes.
    pub fn of(manifest: &Manifest, part_of: impl Fn(usize) -> usize) -> Result<LazySizes> {
        let components = manifest.components.len();
        let mut sizes = LazySizes {
            shared_ranges: SharedRanges::of(&manifest.components, part_of)?,
            components,
            ..LazySizes::default()
        };
        let is_unknown = |c: &Component| c.encoding.is_compressed() && c.size().is_none();
        if manifest.components.iter().any(is_unknown) {
            let places = components.saturating_add(sizes.shared_ranges.count());
            sizes.sizes = collected(places, std::iter::repeat_with(AtomicU64::default))?;
        }
        Ok(sizes)
    }

    fn place(&self, component: usize) -> Option<&AtomicU64> {
        let shared = self.shared_ranges.range(component);
        self.sizes.get(shared.map_or(component, |range| self.components.saturating_add(range)))
    }

    pub fn kept(&self, component: usize) -> Option<u64> {
        let kept = self.place(component)?.load(Ordering::Acquire);
        kept.checked_sub(1).filter(|_| kept < FAILED)
    }

    /// The kept size or failure, else the result of `find`. If several threads call this at once, each may
    /// run `find`.
    pub fn get_or_find(&self, component: usize, find: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let Some(place) = self.place(component) else { return find() };
        let kept = place.load(Ordering::Acquire);
        if let Some(failure) = kept.checked_sub(FAILED) {
            return self.failure(failure).unwrap_or_else(find);
        }
        if let Some(size) = kept.checked_sub(1) {
            return Ok(size);
        }
        match find() {
            Ok(size) => {
                place.store(size.saturating_add(1).min(FAILED - 1), Ordering::Release);
                Ok(size)
            }
            Err(error) => {
                // Other failures, such as those of a disk or of memory, may not happen the next time.
                if matches!(error.cause(), Cause::Broken(_) | Cause::Limit | Cause::Unsupported) {
                    if let Ok(at) = self.keep(&error) {
                        place.store(FAILED | at, Ordering::Release);
                    }
                }
                Err(error)
            }
        }
    }

    fn failure(&self, at: u64) -> Option<Result<u64>> {
        let failures = self.failures.lock();
        failures.get(usize::try_from(at).ok()?).map(|error| Err(error.again()))
    }

    /// Keeps a failure. Returns its position.
    fn keep(&self, error: &Error) -> Result<u64> {
        let mut failures = self.failures.lock();
        push(&mut failures, error.again())?;
        Ok(failures.len().saturating_sub(1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{broken, fail, Rule};
    use crate::model::manifest::Encoding;

    #[test]
    fn what_was_found_is_not_looked_for_again_unless_the_file_is_not_to_blame() {
        let mut manifest = Manifest::default();
        let role = manifest.texts.add("data").unwrap();
        for at in 0..4 {
            let mut entry = Component::new(role, None);
            (entry.offset, entry.stored_size, entry.encoding) = (64 * at, 64, Encoding::Zstd);
            manifest.components.push(entry).unwrap();
        }
        let sizes = LazySizes::of(&manifest, |_| 0).unwrap();
        let never = || -> Result<u64> { panic!("looked for again") };
        assert_eq!(sizes.kept(2), None);
        assert_eq!(sizes.get_or_find(2, || Ok(0)).unwrap(), 0);
        assert_eq!(sizes.kept(2), Some(0));
        assert_eq!(sizes.get_or_find(2, never).unwrap(), 0);
        for component in [3, 1] {
            let looked = sizes.get_or_find(component, || Err(broken!(Rule::ZstdCorrupt, "at {component}")));
            let again = sizes.get_or_find(component, never).unwrap_err();
            assert_eq!(again.message(), looked.unwrap_err().message());
            assert_eq!((again.rule(), sizes.kept(component)), (Some(Rule::ZstdCorrupt), None));
        }
        assert_eq!(sizes.get_or_find(0, || Err(fail!(Io, "gone"))).unwrap_err().cause(), Cause::Io);
        assert_eq!(sizes.get_or_find(0, || Ok(7)).unwrap(), 7);
        assert_eq!(sizes.get_or_find(9, || Ok(5)).unwrap(), 5, "no room is no failure");
    }
}
