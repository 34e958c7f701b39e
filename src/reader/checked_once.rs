//! Checks that run only once for bytes that several components share. Verification uses them. A copy uses
//! them, too, to check all checksums of its source before it copies bytes.

use super::file::File;
use super::object::Component;
use super::shared_bytes::{Fact, Facts, NumberFormat, PartAndStart, SharedChecks, SharedRanges};
use crate::digest::{Digest, DigestOf};
use crate::error::{fail, Cause, Error, Result};
use crate::load::decoded_limit;
use crate::lock::Mutex;
use crate::memory::{collected, push, try_box};
use crate::model::manifest::Encoding;
use crate::model::sort::sort;
use std::ops::Range;
use std::sync::atomic::Ordering;

impl SharedChecks {
    /// The state for verifying these components of a file. Nothing has been checked yet.
    pub fn new(file: &File, components: Range<usize>) -> Result<SharedChecks> {
        let first = components.start;
        let components = file.manifest.components.get(components).unwrap_or_default();
        let part_of = |at: usize| file.part_of(first.saturating_add(at));
        let shared_ranges = SharedRanges::of(components, part_of)?;
        let facts = collected(shared_ranges.count(), std::iter::repeat_with(Mutex::default))?;
        let most = file.manifest.layouts.len().min(components.len());
        let sums = components.iter().enumerate().filter_map(|(at, c)| {
            let start = file.manifest.layout(c)?.checksum?.start;
            Some((part_of(at), start))
        });
        let mut starts: Vec<PartAndStart> = collected(most, sums)?;
        sort(&mut starts);
        starts.dedup();
        let checksums = collected(starts.len(), starts.into_iter().map(|start| (start, Mutex::default())))?;
        Ok(SharedChecks { first, shared_ranges, facts, checksums, ..SharedChecks::default() })
    }

    /// Opens the file that has a component's bytes. A shard that cannot be opened is tried once, not for each
    /// component in it, because finding the failure may mean reading all of its manifest.
    pub fn open(&self, component: &Component<'_>) -> Result<()> {
        if !component.entry.is_in_shard() {
            return component.source().map(drop);
        }
        let part = component.part_number();
        if let Some(Some(failure)) = self.unopened.lock().get(part) {
            return Err(failure.again());
        }
        component.source().map(drop).inspect_err(|failure| {
            let mut failures = self.unopened.lock();
            let count = failures.len().max(part.saturating_add(1));
            let more = count.saturating_sub(failures.len());
            if failures.try_reserve(more).is_ok() {
                failures.resize_with(count, || None);
                if let Some(place) = failures.get_mut(part) {
                    *place = Some(failure.again());
                }
            }
        })
    }

    /// Checks a checksum of the bytes from `start` on once, even if several components are views of them. The
    /// failure names this component even if another one was checked first.
    pub fn checksum(&self, component: &Component<'_>, start: u64) -> Result<()> {
        let place = (component.part_number(), start);
        let found = self.checksums.binary_search_by_key(&place, |(place, _)| *place).ok();
        let Some((_, outcome)) = found.and_then(|at| self.checksums.get(at)) else {
            return component.verify_digest();
        };
        let check = || component.verify_digest_inner();
        let outcome = outcome.lock().get_or_insert_with(check).as_ref().map_err(Error::again).copied();
        component.unless_changed(outcome)
    }

    /// Checks all bytes of a shard once.
    pub fn shard(&self, part: usize, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let again = |outcome: &Result<()>| outcome.as_ref().map_err(Error::again).copied();
        let mut shards = self.shards.lock();
        if let Some((_, outcome)) = shards.iter().find(|(other, _)| *other == part) {
            return again(outcome);
        }
        shards.try_reserve(1)?;
        let outcome = check();
        let answer = again(&outcome);
        shards.push((part, outcome));
        answer
    }

    /// The facts about a component's bytes; `None` if no other component shares them.
    fn facts_of(&self, component: &Component<'_>) -> Option<&Mutex<Facts>> {
        let at = self.shared_ranges.range(component.index.checked_sub(self.first)?)?;
        self.facts.get(at)
    }

    /// Runs `check`, unless its `fact` is already known for the bytes of `component`. Other threads that need
    /// facts about the same bytes wait.
    pub fn once(
        &self,
        component: &Component<'_>,
        fact: Fact,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(facts) = self.facts_of(component) else { return check() };
        let mut facts = facts.lock();
        if !facts.checked.contains(&fact) {
            check()?;
            push(&mut facts.checked, fact)?;
        }
        Ok(())
    }

    /// Counts the bytes that are decoded for pairs of indices and row pointers, because a file may use one
    /// blob in many pairs.
    pub fn charge_rows(&self, indices: &Component<'_>, indptr: &Component<'_>) -> Result<()> {
        let limit = decoded_limit(indices.source()?.size(), indices.file.max_decoded_size);
        let more = indices.size()?.saturating_add(indptr.size()?);
        let before = self.rows_decoded.fetch_add(more, Ordering::Relaxed);
        match before.saturating_add(more) {
            bytes if bytes > limit => Err(fail!(
                Limit,
                "checking the order within rows takes {bytes} decoded bytes of shared components, above the \
                 limit of {limit}"
            )),
            _ => Ok(()),
        }
    }

    /// Whether the numbers in each run are below the run's bound in `bounds`. `largest` finds the largest
    /// number of each run. `None` if no other component shares the bytes: then it is useless to keep the
    /// largest numbers.
    pub fn all_below(
        &self,
        component: &Component<'_>,
        bounds: &[u64],
        largest: impl FnOnce() -> Result<Vec<u64>>,
    ) -> Result<Option<bool>> {
        let Some(facts) = self.facts_of(component) else { return Ok(None) };
        let format = component.number_format()?;
        let mut facts = facts.lock();
        let below = |found: &[u64]| found.iter().zip(bounds).all(|(found, bound)| found < bound);
        let matches =
            |(other, found): &&(NumberFormat, Vec<u64>)| *other == format && found.len() == bounds.len();
        if let Some((_, found)) = facts.largest.iter().find(matches) {
            return Ok(Some(below(found)));
        }
        let found = largest()?;
        let below = below(&found);
        push(&mut facts.largest, (format, found))?;
        Ok(Some(below))
    }
}

impl File {
    fn source_checks(&self) -> Result<&SharedChecks> {
        let kept = &self.source_checks;
        if let Some(known) = kept.get() {
            return Ok(known);
        }
        let new = try_box(SharedChecks::new(self, 0..self.manifest.components.len())?)?;
        Ok(kept.get_or_init(|| new))
    }
}

impl Component<'_> {
    pub(super) fn number_format(&self) -> Result<NumberFormat> {
        let (encoding, size) = (self.encoding(), self.decoded_size()?);
        Ok(NumberFormat { encoding, size, dtype: self.dtype(), swaps: self.entry.swaps() })
    }

    /// The fact that its digest is `claim`.
    pub(super) fn digest_fact(&self, claim: Digest) -> Fact {
        let entry = self.entry;
        Fact::Digest(claim, entry.has_digest_of_decoded().then_some((entry.encoding, entry.size())))
    }

    /// Checks the bytes against the component's digest or the CRC-32 of an archive member. If the file has
    /// neither, checks the digest of the shard and the checksums of compressed frames. Bytes that several
    /// components share are read once, even in later calls for other components. A digest of an unknown
    /// algorithm is not checked.
    pub fn check_source(&self) -> Result<()> {
        let known = self.file.source_checks()?;
        let claim = self.digest().map(|text| self.parse_digest(text));
        let checked = match (claim, self.checksum()) {
            (Some(Ok(Digest::Unknown)), _) | (None, None) => None,
            (Some(Ok(claim)), _) => Some(known.once(self, self.digest_fact(claim), || self.verify_digest())),
            (Some(Err(_)), _) => Some(self.verify_digest()), // returns the error
            (None, Some(sum)) => Some(known.checksum(self, sum.start)),
        };
        match checked {
            None => {}
            // The bytes cannot be decoded, so a digest of decoded bytes cannot be checked.
            Some(Err(e)) if e.cause() == Cause::Unsupported => {}
            Some(outcome) => return outcome,
        }
        if self.entry.is_in_shard() {
            known.shard(self.part_number(), || {
                self.file.verify_shard(self.bytes_part(), &mut |_| Ok(())).map(drop)
            })?;
        }
        match self.decoding() {
            Ok(_) if self.entry.encoding.is_compressed() => {
                let decode = || self.for_each_decoded(&mut |_| Ok(()));
                let fact = |size| Fact::Contents(self.encoding(), size, false);
                self.size().and_then(|size| known.once(self, fact(size), decode))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Calls `body` with the decoded bytes in the file's byte order. A digest of decoded bytes covers these.
    pub(crate) fn for_each_digested(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.stored_component()
            .and_then(|stored| stored.for_each_decoded_byte(body))
            .map_err(|e| self.wrap(e))
    }

    /// Whether the digest of a copy covers the stored bytes, in a container with digests `of` these bytes.
    pub(crate) fn digests_stored_bytes(&self, of: DigestOf) -> bool {
        of == DigestOf::Stored || self.entry.encoding == Encoding::Raw
    }

    /// Whether a copy that keeps the stored bytes can get a new digest. For a digest of decoded bytes, the
    /// encoding has to be known.
    pub(crate) fn can_be_digested(&self, of: DigestOf) -> bool {
        self.digests_stored_bytes(of) || self.decoding().is_ok()
    }
}

impl Error {
    /// Whether the error reports that bytes differ from those that were written.
    pub fn is_damage(&self) -> bool {
        matches!(self.cause(), Cause::Broken(_) | Cause::DigestMismatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::OpenOptions;

    #[test]
    fn of_one_object_no_more_is_prepared_than_it_has() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/valid-odd/alias.zt");
        let file = File::open(path, &OpenOptions::default()).unwrap();
        let all = file.manifest.components.len();
        assert!(SharedChecks::new(&file, 0..all).unwrap().shared_ranges.count() > 0);
        for component in file.objects().flat_map(|object| object.components()) {
            let at = component.index;
            let one = SharedChecks::new(&file, at..at + 1).unwrap();
            assert_eq!((one.shared_ranges.count(), one.facts.len(), one.first), (0, 0, at));
            assert!(one.facts_of(&component).is_none());
        }
    }
}
