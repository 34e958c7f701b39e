//! The bytes of a file that belong to nothing: between its components, and around them.

use crate::container::{Frame, HEADER_SIZE};
use crate::error::Result;
use crate::model::manifest::Component;
use crate::model::sort::sort;
use std::ops::Range;

/// The gaps between the components of a file, in file order. Components that are not shown (`hidden`) leave
/// no gap.
pub(super) fn gaps(
    components: &[Component],
    hidden: &[Range<u64>],
    frame: &Frame,
) -> Result<Vec<Range<u64>>> {
    let mut taken: Vec<(u64, u64)> = Vec::new();
    taken.try_reserve_exact(components.len().saturating_add(hidden.len()).saturating_add(2))?;
    taken.extend(components.iter().filter(|c| c.stored_size > 0).map(|c| (c.offset, c.end())));
    taken.extend(hidden.iter().map(|range| (range.start, range.end)));
    let (manifest, end) = (&frame.manifest, frame.data.end);
    taken.push(if manifest.start < end { (manifest.start, manifest.end) } else { (end, end) });
    sort(&mut taken);
    taken.push((end, end));
    let mut gaps = Vec::new();
    let mut at = HEADER_SIZE;
    for (start, end) in taken {
        if start > at {
            gaps.try_reserve(1)?;
            gaps.push(at..start);
        }
        at = at.max(end);
    }
    Ok(gaps)
}
