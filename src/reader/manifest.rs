//! From a source to the manifest that it ends in.

use super::ends::ReadEnds;
use super::front::FrontWindow;
use super::regions::SourceRegions;
use crate::container::{self, AppendRecord, Detected, Frame, Limits};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};
use crate::source::ByteSource;

/// Detects, reads and decodes; checked against everything that needs no component's bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Manifest)> {
    read_between(source, ReadEnds::read(source, limits)?, limits, &Budget::new(limits.memory_for(0)), &|e| e)
}

/// The same for a file whose ends were read; what it takes is charged to `budget`. `explain` is asked about failures that
/// the file's last bytes may be the cause of; what a whole manifest claims, and is not allowed, is none of them.
pub fn read_between(
    source: &dyn ByteSource,
    mut ends: ReadEnds,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // whatever the file ends in
    }
    match ends.detect(source, limits).map_err(explain)? {
        Detected::Frame(frame) => in_frame(source, &mut ends, frame, limits, budget, explain),
        Detected::Front(container) => at_front(source, container, limits, budget),
        Detected::Scattered(container) => in_regions(source, &ends, container, limits, budget),
        Detected::Other | Detected::NeedsHead(_) => Err(fail!(Internal, "nothing tells what the file is")),
    }
}

#[inline(never)] // each way takes only its own stack
fn at_front(
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
fn in_regions(
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
fn in_frame(
    source: &dyn ByteSource,
    ends: &mut ReadEnds,
    frame: Frame,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest)> {
    let range = frame.manifest.clone();
    let manifest_size = range.end.saturating_sub(range.start);
    budget.raise(limits.memory_for(manifest_size));
    let read = ends.held(source, &range);
    budget.charge(read, "the manifest")?;
    let validated =
        ends.with_range(source, range, |bytes| container::decode_within(&frame, bytes, limits, budget));
    let validated = validated.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })?;
    budget.give_back(read);
    Ok((frame, validated.into_inner()))
}

/// The record of an append that has written behind the old end, from the file's first bytes. Until then the file is
/// whole, with a record or without.
fn pending(head: &[u8], file_size: u64) -> Option<AppendRecord> {
    AppendRecord::find(head).filter(|record| record.tail.end != file_size)
}

/// The failure of a file that ended at byte `end` before an append.
#[cold]
pub fn unfinished(end: u64, file_size: u64) -> Error {
    broken!(
        Rule::UnfinishedAppend,
        "the file ends in an unfinished append; last good end at byte {end} of {file_size}; zt_repair cuts it back, \
         if nobody is appending to it now"
    )
}
