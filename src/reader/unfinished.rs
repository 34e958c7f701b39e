//! Files that end in an unfinished append: the old file is whole in front of what was added.

use super::read_manifest;
use super::stored::{zeroed, CHUNK};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::io::ByteSource;
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
pub fn last_good_end(source: &dyn ByteSource, limits: &Limits, look_back: u64) -> Result<Option<(u64, u64)>> {
    /// Bytes that look like the end of a file cost a look each, and a look costs a manifest.
    const MOST_CANDIDATES: usize = 64;
    const OVERLAP: u64 = 7;
    let size = source.size();
    if !begins_like_1(source)? {
        return Ok(None);
    }
    let floor = size.saturating_sub(look_back);
    let mut end = size;
    let mut candidates = 0;
    let mut buffer = zeroed(usize::try_from(size).unwrap_or(CHUNK).min(CHUNK))?;
    while end > floor {
        let start = end.saturating_sub(CHUNK as u64).max(floor);
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let window = buffer.get_mut(..length).unwrap_or_default();
        source.read_at(start, window)?;
        let magics = window.windows(8).enumerate().rev().filter(|(_, w)| *w == frame::MAGIC_1);
        for (at, _) in magics {
            let behind = start.saturating_add(at as u64).saturating_add(8);
            if behind == size || !could_end_at(source, behind)? {
                continue;
            }
            candidates += 1;
            if candidates > MOST_CANDIDATES {
                return Ok(None);
            }
            let prefix = Prefix { source, size: behind };
            if let Ok((_, manifest)) = read_manifest(&prefix, limits) {
                return Ok(Some((behind, manifest.objects.len() as u64)));
            }
        }
        end = if start == floor { floor } else { start.saturating_add(OVERLAP) };
    }
    Ok(None)
}

fn begins_like_1(source: &dyn ByteSource) -> Result<bool> {
    let mut head = [0; 8];
    if source.size() < 8 {
        return Ok(false);
    }
    source.read_at(0, &mut head)?;
    Ok(&head == frame::MAGIC_1)
}

/// Cheap to tell: in front of a footer's magic stands a size that fits, and the manifest is a map.
fn could_end_at(source: &dyn ByteSource, end: u64) -> Result<bool> {
    const MAP: u8 = 5;
    let Some(room) = end.checked_sub(24) else { return Ok(false) };
    let mut size = [0; 8];
    source.read_at(end.saturating_sub(16), &mut size)?;
    let size = u64::from_le_bytes(size);
    if size == 0 || size > room {
        return Ok(false);
    }
    let mut first = [0; 1];
    source.read_at(end.saturating_sub(16).saturating_sub(size), &mut first)?;
    Ok(first.first().is_some_and(|b| b >> 5 == MAP))
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
