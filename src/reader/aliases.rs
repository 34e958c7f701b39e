//! Components that are the very same bytes of the file, as tied weights are: what was found out about these bytes for
//! one holds for all. A file may name the same bytes a million times; looking at them costs their size once.

use super::{Component, File};
use crate::digest::Digest;
use crate::error::Result;
use crate::lock::Mutex;
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, Manifest};

/// Which components share their bytes.
#[derive(Default)]
pub(super) struct Aliases {
    /// For each component the number of its range among those that several have, from 1; 0 where it has its own.
    /// Empty where no two have the same.
    ranges: Vec<u32>,
    count: usize,
}

impl Aliases {
    /// Those of a file, in `n log n` comparisons; of one whose components follow each other in none.
    pub fn of(manifest: &Manifest) -> Result<Aliases> {
        let components = &manifest.components;
        let mut next = 0;
        let apart = components.iter().filter(|c| c.stored_size > 0).all(|c| {
            let behind = c.offset >= next;
            next = c.end();
            behind
        });
        if apart {
            return Ok(Aliases::default());
        }
        let mut order: Vec<(u64, u64, u32)> = Vec::new();
        order.try_reserve_exact(components.len())?;
        let places = (0u32..).zip(components.iter()).filter(|(_, c)| c.stored_size > 0);
        order.extend(places.map(|(at, c)| (c.offset, c.stored_size, at)));
        order.sort_unstable();
        let mut aliases = Aliases::default();
        aliases.ranges.try_reserve_exact(components.len())?;
        aliases.ranges.resize(components.len(), 0);
        let groups = order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|group| group.len() > 1);
        for (number, group) in (1u32..).zip(groups) {
            aliases.count = number as usize;
            for (.., at) in group {
                if let Some(place) = aliases.ranges.get_mut(*at as usize) {
                    *place = number;
                }
            }
        }
        Ok(aliases)
    }

    /// How many ranges several components have.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Which of these ranges a component has, if it has one of them.
    pub fn range(&self, component: usize) -> Option<usize> {
        let number = self.ranges.get(component).copied().unwrap_or(0);
        usize::try_from(number).unwrap_or(0).checked_sub(1)
    }
}

/// How a component's bytes become numbers.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Reading {
    encoding: Encoding,
    size: u64,
    dtype: Option<Dtype>,
    swaps: bool,
}

/// What was found out about bytes that several components have.
#[derive(Default)]
pub(super) struct Facts {
    /// Digests that they have; one for each algorithm at most, as another one fails.
    digests: Vec<Digest>,
    /// Sizes to which they decode, and whether their bools were looked at.
    contents: Vec<(Encoding, u64, bool)>,
    /// Row pointers that they are, and to how many entries.
    pointers: Vec<(Reading, u64)>,
    /// The largest numbers in each of so many runs of them.
    largest: Vec<(Reading, Vec<u64>)>,
}

/// What the threads of one verification found out.
#[derive(Default)]
pub(super) struct Verified {
    aliases: Aliases,
    facts: Vec<Mutex<Facts>>,
}

impl Verified {
    /// Nothing is known yet of a file's bytes.
    pub fn nothing_of(file: &File) -> Result<Verified> {
        let mut verified = Verified { aliases: Aliases::of(&file.manifest)?, facts: Vec::new() };
        verified.facts.try_reserve_exact(verified.aliases.count())?;
        verified.facts.resize_with(verified.aliases.count(), Mutex::default);
        Ok(verified)
    }

    /// Runs `check` unless `fact` is known of the bytes of `component`; then it is. Who comes meanwhile waits.
    fn once<K: PartialEq>(
        &self,
        component: &Component<'_>,
        fact: K,
        list: fn(&mut Facts) -> &mut Vec<K>,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(facts) = self.aliases.range(component.index).and_then(|at| self.facts.get(at)) else {
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
        self.once(component, claim, |facts| &mut facts.digests, check)
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

    /// Whether the numbers in each of as many runs as there are `bounds` are below the bound of the run. `largest` finds
    /// the largest of each run; none where these bytes are looked at but once, so that there is nothing to know.
    pub fn all_below(
        &self,
        component: &Component<'_>,
        bounds: &[u64],
        largest: impl FnOnce() -> Result<Vec<u64>>,
    ) -> Result<Option<bool>> {
        let Some(facts) = self.aliases.range(component.index).and_then(|at| self.facts.get(at)) else {
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
        Ok(Reading { encoding, size, dtype: self.dtype(), swaps: self.swaps() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::Component as Entry;

    #[test]
    fn components_of_the_same_bytes_are_found_and_empty_ones_have_none() {
        let ranges = [(64, 8), (128, 8), (64, 8), (0, 0), (0, 0), (256, 4), (128, 8), (64, 8)];
        let mut manifest = Manifest::default();
        let role = manifest.texts.add("data").unwrap();
        assert_eq!(Aliases::of(&manifest).unwrap().count(), 0);
        for (offset, stored_size) in ranges {
            let mut entry = Entry::new(role, Some(Dtype::U8));
            (entry.offset, entry.stored_size) = (offset, stored_size);
            manifest.components.push(entry).unwrap();
        }
        let aliases = Aliases::of(&manifest).unwrap();
        let found: Vec<_> = (0..9).map(|at| aliases.range(at)).collect();
        let (first, second) = (Some(0), Some(1));
        assert_eq!(found, [first, second, first, None, None, None, second, first, None]);
        assert_eq!(aliases.count(), 2);
    }
}
