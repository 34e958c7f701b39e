//! What a component has to keep that is written: its size, and the dtype of an index.

use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Format, Version};
use crate::writer::{ComponentSpec, LogicalSpec};

/// Bytes that a component must have, if its object's shape gives them.
pub fn expected_size(format: Format, shape: &[u64], spec: &ComponentSpec<'_>) -> Result<Option<u64>> {
    if format != Format::Dense || spec.role != "data" {
        return Ok(None);
    }
    let overflow = || fail!(InvalidArgument, "the size of the shape {shape:?} leaves 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let ratio = match spec.logical {
        None => 1,
        Some(LogicalSpec::Known(logical)) => logical.ratio(),
        Some(LogicalSpec::Other(_)) => return Ok(None),
    };
    let width = spec.dtype.size() as u64;
    elements.checked_mul(ratio).and_then(|n| n.checked_mul(width)).ok_or_else(overflow).map(Some)
}

/// Whether a component of such a type may end with so many bytes.
pub fn check_final_size(
    dtype: Dtype,
    logical: Option<Logical>,
    expected: Option<u64>,
    size: u64,
) -> Result<()> {
    let unit = (dtype.size() as u64).saturating_mul(logical.map_or(1, Logical::ratio)).max(1);
    match expected {
        Some(expected) if expected != size => {
            Err(fail!(BufferSize, "it takes {expected} bytes, {size} are given"))
        }
        _ if size % unit != 0 => {
            Err(fail!(BufferSize, "{size} bytes are no whole number of {unit}-byte elements"))
        }
        _ => Ok(()),
    }
}

/// Whether a component is the positions of the values of a sparse object.
pub fn is_index(format: Format, role: &str) -> bool {
    matches!(format, Format::SparseCsr | Format::SparseCoo) && matches!(role, "indices" | "indptr" | "coords")
}

/// Whether the version to be written allows a component of that type in such an object.
pub fn check_index_dtype(format: Format, spec: &ComponentSpec<'_>, version: Version) -> Result<()> {
    let plain = spec.dtype.is_integer() && spec.logical.is_none();
    if !is_index(format, spec.role) || plain && (spec.dtype == Dtype::U64 || version < Version::V1_2) {
        return Ok(());
    }
    let wanted = if version < Version::V1_2 { "an integer" } else { "u64, as spec 1.2 demands" };
    let (dtype, more) = (spec.dtype.name(), if spec.logical.is_some() { " with a type" } else { "" });
    Err(fail!(InvalidArgument, "its dtype is \"{dtype}\"{more}, but an index has to be {wanted}"))
}

/// The logical type, where its ratio is known.
pub fn known(logical: Option<LogicalSpec<'_>>) -> Option<Logical> {
    match logical {
        Some(LogicalSpec::Known(logical)) => Some(logical),
        _ => None,
    }
}
