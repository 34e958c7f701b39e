//! safetensors: the size of a header, the header (a JSON object), the data.
//!
//! The header names each tensor's dtype, shape and place; the places tile the data without holes or overlap,
//! up to the end of the file. `__metadata__` becomes the attributes of the file.

mod decode;
pub mod dtypes;
mod origin;

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{over_limit, Detected, Ends, Frame, Limits};
use super::row::Row;
use crate::error::{broken, Result, Rule};
use crate::model::manifest::Container;

/// The largest header, by the released reader.
const MAX_HEADER: u64 = 100_000_000;
/// The header's size (u64, little-endian), in front of it.
const SIZE_BYTES: u64 = 8;

/// Its row.
pub(crate) const ROW: Row = Row {
    capabilities: Capabilities {
        container: Container::Safetensors,
        manifest_limit: MAX_HEADER,
        unknown_names: true,
        ..FOREIGN
    },
    detect: Some(detect),
    may_be: &[],
    decode: Some(decode::decode),
    has_own_rules: false,
    encode: None,
    origin: Some(origin::origin),
    ends: None,
    split: None,
    content_digest: None,
    canonical: None,
};

/// Bytes 0 to 8 are a size and byte 8 begins an object. A size of more than 32 bits is taken for something
/// else.
fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let Some((size, [b'{', ..])) = ends.head.split_first_chunk::<8>() else { return Ok(Detected::Other) };
    let size = u64::from_le_bytes(*size);
    let capacity = ends.file_size.saturating_sub(SIZE_BYTES);
    match size {
        0 => Ok(Detected::Other),
        _ if size > u64::from(u32::MAX) => Ok(Detected::Other),
        _ if size > MAX_HEADER => Err(broken!(
            Rule::HeaderSize,
            "the header size is {size}, above the {MAX_HEADER} bytes that safetensors allows"
        )),
        _ if size > capacity => Err(broken!(
            Rule::HeaderSize,
            "the header size is {size}, but the file of {} bytes has room for {capacity}",
            ends.file_size
        )),
        _ if size > limits.manifest_size => Err(over_limit(size, limits)),
        _ => {
            let end = size.saturating_add(SIZE_BYTES);
            let frame =
                Frame::with_manifest_first(Container::Safetensors, SIZE_BYTES..end, end, ends.file_size);
            Ok(Detected::Frame(frame))
        }
    }
}
