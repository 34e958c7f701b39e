//! What a verification found out about bytes that several components have.

use super::aliases::Aliases;
use super::file::File;
use super::object::Component;
use crate::digest::Digest;
use crate::error::{fail, Error, Result};
use crate::load::decoded_limit;
use crate::lock::Mutex;
use crate::model::dtype::Dtype;
use crate::model::manifest::Encoding;
use crate::model::sort::sort;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a component's bytes become numbers.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Reading {
    encoding: Encoding,
    size: u64,
    dtype: Option<Dtype>,
    swaps: bool,
}

/// How bytes are decoded, and to how many.
type Decoding = (Encoding, Option<u64>);

/// What was found out about bytes that several components have.
#[derive(Default)]
pub(super) struct Facts {
    /// Digests that they have, of decoded bytes with how they are decoded; one for each algorithm and way at most, as another
    /// one fails.
    digests: Vec<(Digest, Option<Decoding>)>,
    /// Sizes to which they decode, and whether their bools were looked at.
    contents: Vec<(Encoding, u64, bool)>,
    /// Row pointers that they are, and to how many entries.
    pointers: Vec<(Reading, u64)>,
    /// The largest numbers in each of so many runs of them.
    largest: Vec<(Reading, Vec<u64>)>,
    /// Row pointers, by the part, the place and how they are read, for which they rise within each row.
    rows: Vec<(Reading, PartAndStart, Reading)>,
    /// Ranks of shapes in which they are coordinates of different elements: those that are in range are so in any.
    cells: Vec<(Reading, u32)>,
}

/// What the threads of one verification found out.
#[derive(Default)]
pub(super) struct Verified {
    /// The first of the components that it is about.
    first: usize,
    aliases: Aliases,
    facts: Vec<Mutex<Facts>>,
    /// Checksums of archives by their parts and where the bytes begin that they are of, and what came of looking.
    checksums: Vec<(PartAndStart, Outcome)>,
    /// Bytes that were decoded for the order within rows.
    rows_decoded: AtomicU64,
    /// Why shards could not be opened, by their parts.
    unopened: Mutex<Failures>,
}

struct Failures(HashMap<usize, Error, SeedableRandomState>);

impl Default for Failures {
    fn default() -> Failures {
        Failures(HashMap::with_hasher(crate::hash::state()))
    }
}

/// Where bytes begin: the number of their part, and a position in it.
type PartAndStart = (usize, u64);

/// What came of looking at a checksum; none before.
type Outcome = Mutex<Option<Result<()>>>;

impl Verified {
    /// Nothing is known yet of the bytes of some components of a file.
    pub fn nothing_of(file: &File, components: Range<usize>) -> Result<Verified> {
        let first = components.start;
        let components = file.manifest.components.get(components).unwrap_or_default();
        let part_of = |at: usize| file.part_of(first.saturating_add(at));
        let aliases = Aliases::of(components, part_of)?;
        let mut verified = Verified { first, aliases, facts: Vec::new(), ..Verified::default() };
        verified.facts.try_reserve_exact(verified.aliases.count())?;
        verified.facts.resize_with(verified.aliases.count(), Mutex::default);
        let mut starts: Vec<PartAndStart> = Vec::new();
        let most = file.manifest.layouts.len().min(components.len());
        starts.try_reserve_exact(most)?;
        let components = components.iter().enumerate();
        let sums = components.filter_map(|(at, c)| Some((at, file.manifest.layout(c)?.checksum?.start)));
        starts.extend(sums.map(|(at, start)| (part_of(at), start)).take(most));
        sort(&mut starts);
        starts.dedup();
        verified.checksums.try_reserve_exact(starts.len())?;
        verified.checksums.extend(starts.into_iter().map(|start| (start, Mutex::default())));
        Ok(verified)
    }

    /// Opens the file that its bytes are in. A shard that cannot be opened is tried once, and not for each component in it:
    /// all of its manifest may have to be read before it is found to be broken.
    pub fn open(&self, component: &Component<'_>) -> Result<()> {
        if !component.entry.is_in_shard() {
            return component.source().map(drop);
        }
        let part = component.part_number();
        if let Some(failure) = self.unopened.lock().0.get(&part) {
            return Err(failure.again());
        }
        component.source().map(drop).inspect_err(|failure| {
            let mut unopened = self.unopened.lock();
            if unopened.0.try_reserve(1).is_ok() {
                unopened.0.insert(part, failure.again());
            }
        })
    }

    /// Looks at a checksum once, however many components are views of the bytes from `start` on that it is of.
    pub fn checksum(
        &self,
        component: &Component<'_>,
        start: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let place = (component.part_number(), start);
        let found = self.checksums.binary_search_by_key(&place, |(place, _)| *place).ok();
        let Some((_, outcome)) = found.and_then(|at| self.checksums.get(at)) else { return check() };
        match outcome.lock().get_or_insert_with(check) {
            Ok(()) => Ok(()),
            Err(e) => Err(e.again()),
        }
    }

    /// What is known of bytes that several of the components have.
    fn facts_of(&self, component: &Component<'_>) -> Option<&Mutex<Facts>> {
        let at = self.aliases.range(component.index.checked_sub(self.first)?)?;
        self.facts.get(at)
    }

    /// Runs `check` unless `fact` is known of the bytes of `component`; then it is. Who comes meanwhile waits.
    fn once<K: PartialEq>(
        &self,
        component: &Component<'_>,
        fact: K,
        list: fn(&mut Facts) -> &mut Vec<K>,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(facts) = self.facts_of(component) else {
            return check();
        };
        let mut facts = facts.lock();
        if !list(&mut facts).contains(&fact) {
            check()?;
            list(&mut facts).try_reserve(1)?;
            list(&mut facts).push(fact);
        }
        Ok(())
    }

    /// Checks a digest.
    pub fn digest(
        &self,
        component: &Component<'_>,
        claim: Digest,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let entry = component.entry;
        let decoded = entry.has_digest_of_decoded().then_some((entry.encoding, entry.size()));
        self.once(component, (claim, decoded), |facts| &mut facts.digests, check)
    }

    /// Decodes to `size` bytes, and looks at bools.
    pub fn contents(
        &self,
        component: &Component<'_>,
        size: u64,
        bools: bool,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.once(component, (component.encoding(), size, bools), |facts| &mut facts.contents, check)
    }

    /// Looks at row pointers to `nnz` entries.
    pub fn pointers(
        &self,
        component: &Component<'_>,
        nnz: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let reading = component.reading()?;
        self.once(component, (reading, nnz), |facts| &mut facts.pointers, check)
    }

    /// Looks at column indices within rows.
    pub fn rows(
        &self,
        indices: &Component<'_>,
        indptr: &Component<'_>,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let place = (indptr.part_number(), indptr.entry.offset);
        let fact = (indices.reading()?, place, indptr.reading()?);
        self.once(
            indices,
            fact,
            |facts| &mut facts.rows,
            || self.charge_rows(indices, indptr).and_then(|()| check()),
        )
    }

    /// Counts what is decoded for pairs of indices and row pointers: a file may name each blob in many of them.
    fn charge_rows(&self, indices: &Component<'_>, indptr: &Component<'_>) -> Result<()> {
        let limit = decoded_limit(indices.source()?.size(), indices.file.max_decoded_size);
        let more = indices.size()?.saturating_add(indptr.size()?);
        let before = self.rows_decoded.fetch_add(more, Ordering::Relaxed);
        match before.saturating_add(more) {
            bytes if bytes > limit => Err(fail!(
                Limit,
                "the order within rows takes {bytes} decoded bytes of shared parts, above {limit}"
            )),
            _ => Ok(()),
        }
    }

    /// Looks for coordinates of the same element of a shape.
    pub fn cells(&self, coords: &Component<'_>, rank: u32, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let fact = (coords.reading()?, rank);
        self.once(coords, fact, |facts| &mut facts.cells, check)
    }

    /// Whether the numbers in each of as many runs as there are `bounds` are below the bound of the run. `largest` finds
    /// the largest of each run; none where these bytes are looked at but once, so that there is nothing to know.
    pub fn all_below(
        &self,
        component: &Component<'_>,
        bounds: &[u64],
        largest: impl FnOnce() -> Result<Vec<u64>>,
    ) -> Result<Option<bool>> {
        let Some(facts) = self.facts_of(component) else {
            return Ok(None);
        };
        let reading = component.reading()?;
        let mut facts = facts.lock();
        let below = |found: &[u64]| found.iter().zip(bounds).all(|(found, bound)| found < bound);
        let met = |(other, found): &&(Reading, Vec<u64>)| *other == reading && found.len() == bounds.len();
        if let Some((_, found)) = facts.largest.iter().find(met) {
            return Ok(Some(below(found)));
        }
        let found = largest()?;
        let below = below(&found);
        facts.largest.try_reserve(1)?;
        facts.largest.push((reading, found));
        Ok(Some(below))
    }
}

impl Component<'_> {
    fn reading(&self) -> Result<Reading> {
        let (encoding, size) = (self.encoding(), self.decoded_size()?);
        Ok(Reading { encoding, size, dtype: self.dtype(), swaps: self.entry.swaps() })
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
        assert!(Verified::nothing_of(&file, 0..all).unwrap().aliases.count() > 0);
        for component in file.objects().flat_map(|object| object.components()) {
            let at = component.index;
            let one = Verified::nothing_of(&file, at..at + 1).unwrap();
            assert_eq!((one.aliases.count(), one.facts.len(), one.first), (0, 0, at));
            assert!(one.facts_of(&component).is_none());
        }
    }
}
