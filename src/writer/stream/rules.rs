//! What a component has to keep that is written: its size, and the dtype of an index.

use crate::container::Capabilities;
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Format};
use crate::writer::specs::{ComponentSpec, LogicalSpec};

/// Bytes that a component must have, if its object's shape gives them.
pub fn expected_size(format: Format, shape: &[u64], spec: &ComponentSpec<'_>) -> Result<Option<u64>> {
    if format != Format::Dense || spec.role != "data" {
        return Ok(None);
    }
    let overflow = || fail!(InvalidArgument, "the size of the shape {shape:?} leaves 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let block = match spec.logical {
        None => spec.dtype.block(),
        Some(LogicalSpec::Known(logical)) if logical.is_in_spec() => logical.block(),
        // The spec says nothing of their sizes, and files of other writers have them packed or not.
        Some(LogicalSpec::Known(_) | LogicalSpec::Other(_)) => return Ok(None),
    };
    block.size(elements).ok_or_else(overflow).map(Some)
}

/// Whether a component of such a type may end with so many bytes.
pub fn check_final_size(
    dtype: Dtype,
    logical: Option<Logical>,
    expected: Option<u64>,
    size: u64,
) -> Result<()> {
    // Of packed elements the last ones may leave some of their bytes out.
    let block = logical.map_or(dtype.block(), Logical::block);
    let unit = if block.elements > 1 { 1 } else { block.bytes };
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

/// Whether the container to be written allows a component of that type in such an object.
pub fn check_index_dtype(format: Format, spec: &ComponentSpec<'_>, to: &Capabilities) -> Result<()> {
    let allowed = to.index_dtypes;
    if !format.is_index(spec.role) || spec.logical.is_none() && allowed.contains(spec.dtype) {
        return Ok(());
    }
    let wanted = allowed.wanted();
    let (dtype, more) = (spec.dtype.name(), if spec.logical.is_some() { " with a type" } else { "" });
    Err(fail!(InvalidArgument, "its dtype is \"{dtype}\"{more}, but an index has to be {wanted}"))
}

/// The logical type, where its ratio is known.
pub fn known(logical: Option<LogicalSpec<'_>>) -> Option<Logical> {
    logical.as_ref().and_then(known_of)
}

/// Never inlined: with it the compiler looks at the type before it asks whether there is one, and valgrind complains.
#[inline(never)]
fn known_of(logical: &LogicalSpec<'_>) -> Option<Logical> {
    match *logical {
        LogicalSpec::Known(logical) => Some(logical),
        LogicalSpec::Other(_) => None,
    }
}
