//! Reads, decodes and checks the manifest of a source.

use super::identity::hash;
use super::input::{ReadEnds, SourceInput};
use crate::container::{self, AppendRecord, Frame, Input, Limits, Validated};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::memory::Budget;
use crate::source::ByteSource;
use std::cell::Cell;

/// Detects the container, and reads, decodes and checks the manifest, as far as that takes no component's
/// bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Validated)> {
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
) -> Result<(Frame, Validated)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // whatever the file ends in
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
