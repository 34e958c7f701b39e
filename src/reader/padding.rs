//! The bytes of a file that belong to nothing: between its components, and in front of its manifest.

use crate::container::HEADER_SIZE;
use crate::error::Result;
use crate::model::manifest::Manifest;
use std::ops::Range;

/// The gaps between the components of a file whose manifest begins at `manifest_start`, in file order.
pub(super) fn gaps(manifest: &Manifest, manifest_start: u64) -> Result<Vec<Range<u64>>> {
    let mut taken: Vec<(u64, u64)> = Vec::new();
    taken.try_reserve_exact(manifest.components.len().saturating_add(1))?;
    taken.extend(manifest.components.iter().filter(|c| c.stored_size > 0).map(|c| (c.offset, c.end())));
    taken.sort_unstable();
    taken.push((manifest_start, manifest_start));
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
