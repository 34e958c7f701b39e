//! Reads, decodes and checks the manifest of a source.

use super::ends::ReadEnds;
use super::front::FrontWindow;
use super::identity::hash;
use super::regions::SourceRegions;
use crate::container::{self, AppendRecord, Detected, Frame, Limits};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};
use crate::source::ByteSource;
use std::cell::Cell;

/// Detects the container, and reads, decodes and checks the manifest, as far as that takes no component's
/// bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Manifest)> {
    let ends = ReadEnds::read(source, limits)?;
    read_after_ends(source, ends, limits, &Budget::new(limits.memory_for(0)), &|e| e, None)
}

/// Reads the manifest of a file whose ends were read, as [`read_manifest`] does; its memory is charged to
/// `budget`. A failure whose cause may be the file's last bytes goes through `explain`; one of a complete
/// manifest that claims more than a limit does not. `kept_hash` receives the hash of a manifest that an
/// append would clear.
pub fn read_after_ends(
    source: &dyn ByteSource,
    mut ends: ReadEnds,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Manifest)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // whatever the file ends in
    }
    match ends.detect(source, limits).map_err(explain)? {
        Detected::Frame(frame) => read_in_frame(source, &mut ends, frame, limits, budget, explain, kept_hash),
        Detected::Front(container) => read_at_front(source, container, limits, budget),
        Detected::Scattered(container) => read_in_regions(source, &ends, container, limits, budget),
        Detected::Other | Detected::NeedsHead(_) => Err(fail!(Internal, "nothing tells what the file is")),
    }
}

#[inline(never)] // each of the three has a stack frame of its own
fn read_at_front(
    source: &dyn ByteSource,
    container: Container,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Frame, Manifest)> {
    let mut window = FrontWindow::new(source, budget)?;
    let (frame, validated) = container::decode_front(container, &mut window, limits, budget)?;
    Ok((frame, validated.into_inner()))
}

#[inline(never)]
fn read_in_regions(
    source: &dyn ByteSource,
    ends: &ReadEnds,
    container: Container,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Frame, Manifest)> {
    let mut regions = SourceRegions::new(source, ends, budget)?;
    let (frame, validated) = container::decode_scattered(container, &mut regions, limits, budget)?;
    Ok((frame, validated.into_inner()))
}

#[inline(never)]
fn read_in_frame(
    source: &dyn ByteSource,
    ends: &mut ReadEnds,
    frame: Frame,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Manifest)> {
    let range = frame.manifest.clone();
    let manifest_size = range.end.saturating_sub(range.start);
    budget.raise(limits.memory_for(manifest_size));
    let read = ends.memory_for(source, &range);
    budget.charge(read, "the manifest")?;
    let capabilities = container::capabilities(frame.container);
    let is_cleared = capabilities.appends_as.is_some() && !capabilities.old_ends_stay;
    let validated = ends.with_range(source, range, |bytes| {
        if let Some(kept_hash) = kept_hash.filter(|_| is_cleared) {
            kept_hash.set(Some(hash(bytes)));
        }
        container::decode_within(&frame, bytes, limits, budget)
    });
    let validated = validated.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })?;
    budget.give_back(read);
    Ok((frame, validated.into_inner()))
}

/// The record in the file's first bytes, if the append has written behind the old end. Until it does, the
/// file is whole.
fn pending(head: &[u8], file_size: u64) -> Option<AppendRecord> {
    AppendRecord::find(head).filter(|record| record.tail.end != file_size)
}

/// The failure of a file that ended at byte `end` before an append that did not complete.
#[cold]
pub fn unfinished(end: u64, file_size: u64) -> Error {
    broken!(
        Rule::UnfinishedAppend,
        "the file ends in an unfinished append; last good end at byte {end} of {file_size}; zt_repair cuts it back, \
         if nobody is appending to it now"
    )
}
