//! Files that end in an unfinished append: the old file is whole in front of what was added.

use super::stored::{for_each_chunk, zeroed, CHUNK};
use super::{padding, read_manifest};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::io::ByteSource;
use crate::model::manifest::Manifest;
use crate::wire::{frame, Limits};
use std::ops::Range;

/// How far back from the end of a file an open looks for the last good end. A repair looks everywhere.
const LOOK_BACK: u64 = 256 << 20;

/// Whether a failure can come from a tail that is not a tail: no footer, or, where the debris happens to
/// end in the footer's magic, a size or a manifest that is none.
pub fn is_about_the_tail(error: &Error) -> bool {
    match error.cause() {
        Cause::Limit => true, // of the manifest size; the number of objects is only known of a manifest
        Cause::Broken(rule) => matches!(
            rule,
            Rule::FooterMagic
                | Rule::ManifestEmpty
                | Rule::ManifestRange
                | Rule::RootType
                | Rule::KeyType
                | Rule::CborMalformed
                | Rule::CborTrailing
                | Rule::CborUtf8
                | Rule::CborDepth
                | Rule::CborDuplicateKey
                | Rule::VersionMissing
                | Rule::ObjectsMissing
        ),
        _ => false,
    }
}

/// The failure of a file's tail, or, if a whole file ends within it, where.
pub fn explain(source: &dyn ByteSource, limits: &Limits, error: Error) -> Error {
    if !is_about_the_tail(&error) {
        return error;
    }
    match last_good_end(source, limits, LOOK_BACK) {
        Ok(Some((end, _))) => broken!(
            Rule::UnfinishedAppend,
            "the file ends in an unfinished append; last good end at byte {end} of {}; zt_repair cuts it back",
            source.size()
        ),
        Ok(None) => error,
        Err(e) => e, // what could not be read may be a whole file's end
    }
}

/// The last byte position at which a whole 1.x file ends, and its number of objects, looking at no
/// more than `look_back` bytes.
///
/// What was being appended may itself hold a whole file (a .zt file kept as bytes in a tensor), whose end
/// is no end of this one: its manifest speaks of other places than it stands at, so that what it takes for
/// padding is not zero. So the last end with zero gaps it is, or the last one behind it that is as good: see
/// [`Later::last_behind`]. Where there is none, the last one at all.
pub fn last_good_end(source: &dyn ByteSource, limits: &Limits, look_back: u64) -> Result<Option<(u64, u64)>> {
    const OVERLAP: u64 = 7;
    /// Places that look like an end at first sight; a file made of nothing else takes no longer than this.
    const MOST_MAGICS: u32 = 1 << 20;
    let mut magics_left = MOST_MAGICS;
    let mut later = Later::default();
    let size = source.size();
    if !begins_like_1(source)? {
        return Ok(None);
    }
    let floor = size.saturating_sub(look_back);
    let mut end = size;
    // Bytes that look like an end cost a look each; together no more than a few passes over the file.
    let mut budget = size.saturating_mul(4).saturating_add(1 << 20);
    let mut buffer = zeroed(usize::try_from(size).unwrap_or(CHUNK).min(CHUNK))?;
    while end > floor {
        let start = end.saturating_sub(CHUNK as u64).max(floor);
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let window = buffer.get_mut(..length).unwrap_or_default();
        source.read_at(start, window)?;
        let magics = window.windows(8).enumerate().rev().filter(|(_, w)| *w == frame::MAGIC_1);
        for (at, _) in magics {
            magics_left = magics_left.saturating_sub(1);
            if magics_left == 0 {
                return Ok(later.last());
            }
            let behind = start.saturating_add(at as u64).saturating_add(8);
            let Some(manifest_size) = could_end_at(source, behind)?.filter(|_| behind != size) else {
                continue;
            };
            let Some(left) = budget.checked_sub(manifest_size.saturating_add(LOOK)) else {
                return Ok(later.last());
            };
            budget = left;
            let prefix = Prefix { source, size: behind };
            let (frame, manifest) = match read_manifest(&prefix, limits) {
                Ok(read) => read,
                // What could not be looked at may have been the one.
                Err(e) if matches!(e.cause(), Cause::Io | Cause::OutOfMemory) => return Err(e),
                Err(_) => continue,
            };
            let filled = filled_gaps(source, &manifest, frame.manifest.start, &mut budget)?;
            let found = End::new(frame.manifest.start..behind, &manifest)?;
            match filled {
                Some(filled) if filled.is_empty() => return later.last_behind(found).map(Some),
                filled => later.push(found, filled.unwrap_or_else(everything))?,
            }
        }
        end = if start == floor { floor } else { start.saturating_add(OVERLAP) };
    }
    Ok(later.last())
}

/// What a look at a place costs beside the manifest's bytes.
const LOOK: u64 = 4096;

/// Gaps of which nothing is known.
fn everything() -> Vec<Range<u64>> {
    let mut all = Vec::new();
    if all.try_reserve_exact(1).is_ok() {
        all.push(0..u64::MAX);
    }
    all
}

/// A manifest with its footer, and what it has.
struct End {
    range: Range<u64>,
    objects: u64,
    /// Where its components are and how large, sorted.
    places: Vec<(u64, u64)>,
}

impl End {
    fn new(range: Range<u64>, manifest: &Manifest) -> Result<End> {
        let mut places = Vec::new();
        places.try_reserve_exact(manifest.components.len())?;
        places.extend(manifest.components.iter().map(|c| (c.offset, c.stored_size)));
        places.sort_unstable();
        Ok(End { range, objects: manifest.objects.len() as u64, places })
    }

    /// Whether it has all that an earlier end has, and there is something to tell that by.
    fn has_grown_from(&self, earlier: &End) -> bool {
        let has = |place| self.places.binary_search(place).is_ok();
        !earlier.places.is_empty() && earlier.places.iter().all(has)
    }

    fn told(&self) -> (u64, u64) {
        (self.range.end, self.objects)
    }
}

/// Ends behind the place that is looked at, whose gaps are not zero.
#[derive(Default)]
struct Later {
    /// From the last one to the front, each with what its gaps hold.
    ends: Vec<(End, Vec<Range<u64>>)>,
}

impl Later {
    /// Kills that each leave an end uncleared come in small numbers; files that mean harm in large ones.
    const MOST: usize = 64;

    fn push(&mut self, end: End, filled: Vec<Range<u64>>) -> Result<()> {
        if self.ends.len() < Self::MOST {
            self.ends.try_reserve(1)?;
            self.ends.push((end, filled));
        }
        Ok(())
    }

    fn last(&self) -> Option<(u64, u64)> {
        self.ends.first().map(|(end, _)| end.told())
    }

    /// The last end that `first`, a good one, grew to: one whose gaps hold nothing but good ends, which a
    /// kill kept from being cleared, or one that has all that was there before. There are writers that
    /// leave what is not zero.
    fn last_behind(self, first: End) -> Result<(u64, u64)> {
        let mut good = Vec::new();
        good.try_reserve_exact(self.ends.len().saturating_add(1))?;
        good.push(first.range.clone()); // within what was reserved, as are those below
        let mut best = first;
        for (end, filled) in self.ends.into_iter().rev() {
            let old = |r: &Range<u64>| good.iter().any(|g| g.start <= r.start && r.end <= g.end);
            if end.objects >= best.objects && (filled.iter().all(old) || end.has_grown_from(&best)) {
                good.push(end.range.clone());
                best = end;
            }
        }
        Ok(best.told())
    }
}

/// What is between the components and not zero: of each gap from the first such byte to the last. Nothing
/// where that is more than kills leave, or costs too much to tell.
fn filled_gaps(
    source: &dyn ByteSource,
    manifest: &Manifest,
    manifest_start: u64,
    budget: &mut u64,
) -> Result<Option<Vec<Range<u64>>>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for gap in padding::gaps(manifest, manifest_start)? {
        let Some(left) = budget.checked_sub(gap.end.saturating_sub(gap.start)) else { return Ok(None) };
        *budget = left;
        let mut at = gap.start;
        let mut filled: Option<Range<u64>> = None;
        for_each_chunk(source, gap, &mut |chunk| {
            if let Some(first) = chunk.iter().position(|b| *b != 0) {
                let behind = chunk.iter().rposition(|b| *b != 0).unwrap_or(first).saturating_add(1);
                let start = filled.as_ref().map_or(at.saturating_add(first as u64), |f| f.start);
                filled = Some(start..at.saturating_add(behind as u64));
            }
            at = at.saturating_add(chunk.len() as u64);
            Ok(())
        })?;
        if let Some(filled) = filled {
            if all.len() == Later::MOST {
                return Ok(None);
            }
            all.try_reserve(1)?;
            all.push(filled);
        }
    }
    Ok(Some(all))
}

fn begins_like_1(source: &dyn ByteSource) -> Result<bool> {
    let mut head = [0; 8];
    if source.size() < 8 {
        return Ok(false);
    }
    source.read_at(0, &mut head)?;
    Ok(&head == frame::MAGIC_1)
}

/// Cheap to tell: in front of a footer's magic stands a size that fits, and the manifest is a map. The
/// manifest's size, if so.
fn could_end_at(source: &dyn ByteSource, end: u64) -> Result<Option<u64>> {
    const MAP: u8 = 5;
    let Some(room) = end.checked_sub(24) else { return Ok(None) };
    let mut size = [0; 8];
    source.read_at(end.saturating_sub(16), &mut size)?;
    let size = u64::from_le_bytes(size);
    if size == 0 || size > room {
        return Ok(None);
    }
    let mut first = [0; 1];
    source.read_at(end.saturating_sub(16).saturating_sub(size), &mut first)?;
    Ok(first.first().is_some_and(|b| b >> 5 == MAP).then_some(size))
}

/// The front of a source, as if the file ended there.
struct Prefix<'a> {
    source: &'a dyn ByteSource,
    size: u64,
}

impl ByteSource for Prefix<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.source.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.source.read_at(offset, dst)
    }
}
