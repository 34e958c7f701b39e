//! safetensors: the size of a header, the header (a JSON object), the data.
//!
//! The header names each tensor's dtype, shape and place; the places tile the data without holes or overlap,
//! up to the end of the file. `__metadata__` becomes the attributes of the file.

pub mod decode;

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{over_limit, Detected, Ends, Frame, Limits};
use super::interface::{OriginOf, ReadAt, Row};
use crate::error::{broken, Result, Rule};
use crate::model::manifest::Container;
use crate::model::value::{Element, OwnedValue, Value};

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
    origin: Some(origin),
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

/// A header ends in blanks, so that the data begins at a multiple of this.
const ALIGNMENT: u64 = 8;

/// What a conversion to another container would lose of a header: unusual blanks, order and empty metadata,
/// as the map that docs/formats.md describes.
fn origin(of: &OriginOf<'_>) -> Result<Option<OwnedValue>> {
    let OriginOf { manifest, frame, read, is_whole } = *of;
    if !is_whole {
        return Ok(None);
    }
    let mut end = frame.data.start;
    let is_usual = manifest.components.iter().all(|c| c.offset == std::mem::replace(&mut end, c.end()));
    let widths =
        || manifest.components.iter().map(|c| c.block().filter(|b| b.elements == 1).map_or(1, |b| b.bytes));
    let is_sorted = widths().zip(widths().skip(1)).all(|(width, next)| width >= next);
    let blanks = blanks(frame, read)?;
    let is_padded = frame.data.start % ALIGNMENT == 0 && blanks < ALIGNMENT;
    let is_empty = manifest.file_attributes().is_some_and(|map| map.pairs().len() == 0);
    if is_usual && is_sorted && is_padded && !is_empty {
        return Ok(None);
    }
    let built = OwnedValue::build(|map| {
        map.begin_map(None)?;
        map.text("container")?;
        map.text(frame.container.name())?;
        if is_empty {
            map.text("metadata")?;
            map.copy(Value::EMPTY_MAP)?;
        }
        if !is_padded {
            map.text("blanks")?;
            map.unsigned(blanks)?;
        }
        if !is_usual {
            map.text("offsets")?;
            map.begin_array(Element::Any, None)?;
            let start = frame.data.start;
            manifest.components.iter().try_for_each(|c| map.unsigned(c.offset.saturating_sub(start)))?;
            map.end()?;
        }
        map.end().map(drop)
    });
    built.map(Some)
}

/// The number of blanks at the end of a header.
fn blanks(frame: &Frame, read: ReadAt<'_>) -> Result<u64> {
    let (mut chunk, mut count) = ([0; 64], 0);
    let mut at = frame.manifest.end;
    while at > frame.manifest.start {
        let size = at.saturating_sub(frame.manifest.start).min(chunk.len() as u64);
        at = at.saturating_sub(size);
        let bytes = chunk.get_mut(..usize::try_from(size).unwrap_or(0)).unwrap_or_default();
        read(at, bytes)?;
        let blank = bytes.iter().rev().take_while(|byte| **byte == b' ').count() as u64;
        count = blank.saturating_add(count);
        if blank < size {
            break;
        }
    }
    Ok(count)
}
