//! Reads, decodes and checks the manifest of a source. Also: numbers that change when the manifest does, and
//! the bytes that no component uses.

use super::input::{ReadEnds, SourceInput};
use crate::container::{self, AppendRecord, Frame, Input, Limits, Validated, HEADER_SIZE};
use crate::digest::{compute, Algorithm, Digest};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::memory::{collected, push, Budget};
use crate::model::manifest::Component;
use crate::model::sort::sort;
use crate::source::{with_range, ByteSource};
use std::cell::Cell;
use std::ops::Range;

/// Detects the container, then reads, decodes and checks the manifest. Reads no component's bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Validated)> {
    let ends = ReadEnds::read(source, limits)?;
    read_after_ends(source, ends, limits, &Budget::new(limits.memory_for(0)), &|e| e, None)
}

/// Like [`read_manifest`], for a file whose ends were read. Memory is charged to `budget`. A failure that the
/// file's last bytes may cause is passed to `explain`; a complete manifest that exceeds a limit is not. If an
/// append would clear the manifest, `kept_hash` receives its hash.
pub fn read_after_ends(
    source: &dyn ByteSource,
    mut ends: ReadEnds,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Validated)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // the record decides, whatever the last bytes are
    }
    let frame = ends.detect(source, limits).map_err(explain)?;
    let found = decode(source, &ends, frame, limits, budget, kept_hash);
    found.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })
}

#[inline(never)] // its stack frame is gone before a failure is explained
fn decode(
    source: &dyn ByteSource,
    ends: &ReadEnds,
    frame: Frame,
    limits: &Limits,
    budget: &Budget,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Validated)> {
    budget.raise(limits.memory_for(frame.manifest_size()));
    let mut input = SourceInput::new(source, ends, budget)?;
    let capabilities = container::capabilities(frame.container);
    let is_cleared = capabilities.appends_as.is_some() && !capabilities.old_ends_stay;
    if let Some(kept_hash) = kept_hash.filter(|_| is_cleared) {
        kept_hash.set(Some(hash(input.read(frame.manifest.clone())?)));
    }
    container::decode(frame, &mut input, limits, budget)
}

/// The record in the file's first bytes, if the append has written behind the old end. Before that, the file
/// is still whole.
fn pending(head: &[u8], file_size: u64) -> Option<AppendRecord> {
    AppendRecord::find(head).filter(|record| record.tail.end != file_size)
}

/// The error for a file with an append that did not complete. The file ended at byte `end` before.
#[cold]
pub fn unfinished(end: u64, file_size: u64) -> Error {
    broken!(
        Rule::UnfinishedAppend,
        "the file ends in an unfinished append; last good end at byte {end} of {file_size}; zt_repair cuts it back, \
         if nobody is appending to it now"
    )
}

/// The gaps between the components of a file, in file order. Components that are not shown (`hidden`) leave
/// no gap.
pub(super) fn gaps<'m>(
    components: impl Iterator<Item = &'m Component> + Clone,
    hidden: &[Range<u64>],
    frame: &Frame,
) -> Result<Vec<Range<u64>>> {
    let mut taken: Vec<(u64, u64)> = collected(
        components.clone().count().saturating_add(hidden.len()).saturating_add(2),
        components.filter(|c| c.stored_size > 0).map(|c| (c.offset, c.end())),
    )?;
    taken.extend(hidden.iter().map(|range| (range.start, range.end)));
    let (manifest, end) = (&frame.manifest, frame.data.end);
    taken.push(if manifest.start < end { (manifest.start, manifest.end) } else { (end, end) });
    sort(&mut taken);
    taken.push((end, end));
    let mut gaps = Vec::new();
    let mut at = HEADER_SIZE;
    for (start, end) in taken {
        if start > at {
            push(&mut gaps, at..start)?;
        }
        at = at.max(end);
    }
    Ok(gaps)
}

/// Numbers that change when the content of a file changes, as far as the manifest shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Bytes of the file.
    pub size: u64,
    /// When the file was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
    /// The offset of the manifest.
    pub manifest_offset: u64,
    /// The 64-bit XXH3 hash of the manifest.
    pub manifest_hash: u64,
    /// [`ByteSource::identity`] of the file; 0 if the source has none.
    pub source: u64,
}

/// The [`Identity::manifest_hash`] of a source. Reads the manifest, unless the file gives the hash.
pub(super) fn manifest_hash(source: &dyn ByteSource, frame: &Frame) -> Result<u64> {
    match frame.manifest_hash {
        Some(hash) => Ok(hash), // the file gives the hash, which was checked at open
        None => with_range(source, frame.manifest.clone(), |bytes| Ok(hash(bytes))),
    }
}

/// One number from [`ByteSource::identity`] of two parts; 0 if both are 0.
pub(super) fn combine(one: u64, other: u64) -> u64 {
    match u128::from(one) << 64 | u128::from(other) {
        0 => 0,
        both => hash(&both.to_be_bytes()),
    }
}

/// The 64-bit XXH3 hash.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    match compute(Algorithm::Xxh3, bytes) {
        Digest::Xxh3(hash) => hash,
        _ => 0,
    }
}
