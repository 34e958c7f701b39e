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
        _ => error,
    }
}

/// The last byte position at which a whole 1.x file ends, and its number of objects, looking at no
/// more than `look_back` bytes.
///
/// What was being appended may itself hold a whole file (a .zt file kept as bytes in a tensor), whose end
/// is no end of this one: its manifest speaks of other places than it stands at, so that what it takes for
/// padding is not zero. Then an earlier end with zero padding is the one, unless the later has grown from
/// it: there are writers that leave what is not zero.
pub fn last_good_end(source: &dyn ByteSource, limits: &Limits, look_back: u64) -> Result<Option<(u64, u64)>> {
    const OVERLAP: u64 = 7;
    let mut last: Option<Candidate> = None;
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
            let behind = start.saturating_add(at as u64).saturating_add(8);
            let Some(manifest_size) = could_end_at(source, behind)?.filter(|_| behind != size) else {
                continue;
            };
            let Some(left) = budget.checked_sub(manifest_size.saturating_add(LOOK)) else {
                return Ok(last.map(|l| l.told()));
            };
            budget = left;
            let prefix = Prefix { source, size: behind };
            let (frame, manifest) = match read_manifest(&prefix, limits) {
                Ok(read) => read,
                // What could not be looked at may have been the one.
                Err(e) if matches!(e.cause(), Cause::Io | Cause::OutOfMemory) => return Err(e),
                Err(_) => continue,
            };
            let found = Candidate { end: behind, manifest_start: frame.manifest.start, manifest };
            let clean = found.gaps_are_zero(source, &mut budget)?;
            match &last {
                None if clean => return Ok(Some(found.told())),
                None => last = Some(found),
                Some(last) if clean && !last.has_grown_from(&found)? => return Ok(Some(found.told())),
                Some(_) => {}
            }
        }
        end = if start == floor { floor } else { start.saturating_add(OVERLAP) };
    }
    Ok(last.map(|l| l.told()))
}

/// What a look at a place costs beside the manifest's bytes.
const LOOK: u64 = 4096;

/// Where a whole file may end.
struct Candidate {
    end: u64,
    manifest_start: u64,
    manifest: Manifest,
}

impl Candidate {
    fn told(&self) -> (u64, u64) {
        (self.end, self.manifest.objects.len() as u64)
    }

    /// Whether there is nothing between the components; stops at the first byte that is something.
    fn gaps_are_zero(&self, source: &dyn ByteSource, budget: &mut u64) -> Result<bool> {
        let mut zero = true;
        for gap in padding::gaps(&self.manifest, self.manifest_start)? {
            let Some(left) = budget.checked_sub(gap.end.saturating_sub(gap.start)) else { return Ok(false) };
            *budget = left;
            for_each_chunk(source, gap, &mut |chunk| {
                zero = zero && chunk.iter().all(|b| *b == 0);
                Ok(())
            })?;
            if !zero {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it has all that an earlier one has: an append that does not clear the old manifest leaves
    /// that in a gap, but keeps its objects.
    fn has_grown_from(&self, earlier: &Candidate) -> Result<bool> {
        let mut ours: Vec<(u64, u64)> = Vec::new();
        ours.try_reserve_exact(self.manifest.components.len())?;
        ours.extend(self.manifest.components.iter().map(|c| (c.offset, c.stored_size)));
        ours.sort_unstable();
        let theirs = &earlier.manifest.components;
        Ok(theirs.iter().all(|c| ours.binary_search(&(c.offset, c.stored_size)).is_ok()))
    }
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
