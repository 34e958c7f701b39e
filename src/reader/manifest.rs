//! Reads, decodes and checks the manifest of a source.

use super::ends::Ends;
use super::front::FrontWindow;
use super::regions::SourceRegions;
use crate::container::{self, AppendRecord, Detected, Frame, Limits};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};
use crate::source::ByteSource;

/// Detects the container, and reads, decodes and checks the manifest, as far as that takes no component's bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Manifest)> {
    read_with_budget(source, limits, &Budget::new(limits.memory_for(0)), &|e| e)
}

/// Reads a manifest as [`read_manifest`] does; its memory is charged to `budget`. A failure whose cause may be the file's
/// last bytes goes through `explain`; one of a complete manifest that claims more than a limit does not.
pub fn read_with_budget(
    source: &dyn ByteSource,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest)> {
    read_after_ends(source, read_ends(source, limits)?, limits, budget, explain)
}

/// Reads both ends of a file; of the tail, no more than a quarter of the memory that opening it may take.
pub fn read_ends(source: &dyn ByteSource, limits: &Limits) -> Result<Ends> {
    Ends::read(source, limits.memory.unwrap_or(u64::MAX) / 4)
}

/// Reads the manifest of a file whose ends were read, as [`read_with_budget`] does.
pub fn read_after_ends(
    source: &dyn ByteSource,
    mut ends: Ends,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // whatever the file ends in
    }
    match ends.detect(source, limits).map_err(explain)? {
        Detected::Frame(frame) => read_in_frame(source, &mut ends, frame, limits, budget, explain),
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
    ends: &Ends,
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
    ends: &mut Ends,
    frame: Frame,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
) -> Result<(Frame, Manifest)> {
    let range = frame.manifest.clone();
    let manifest_size = range.end.saturating_sub(range.start);
    budget.raise(limits.memory_for(manifest_size));
    let read = ends.memory_for(source, &range);
    budget.charge(read, "the manifest")?;
    let validated =
        ends.with_range(source, range, |bytes| container::decode_within(&frame, bytes, limits, budget));
    let validated = validated.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })?;
    budget.give_back(read);
    Ok((frame, validated.into_inner()))
}

/// The record in the file's first bytes, if the append has written behind the old end. Until it does, the file is whole.
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
