//! What a conversion to another container would lose of a header: unusual blanks, order and empty metadata.

use crate::container::frame::Frame;
use crate::container::row::{OriginOf, ReadAt};
use crate::error::Result;
use crate::model::value::{Element, OwnedValue, Value};

/// A header ends in blanks, so that the data begins at a multiple of this.
const ALIGNMENT: u64 = 8;

/// The map that docs/formats.md describes.
pub fn origin(of: &OriginOf<'_>) -> Result<Option<OwnedValue>> {
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
