//! What a file declares besides keys and tensors: everything that is needed to write the same file again.

use super::cursor::{Cursor, Encoding, Reach};
use super::decode::MAGIC;
use super::keys::{DEFAULT_ALIGNMENT, SPLIT_KEYS};
use crate::container::frame::Frame;
use crate::container::interface::{OriginOf, ReadAt};
use crate::error::{fail, try_format, Result};
use crate::memory::{append, with_capacity};
use crate::model::dtype::Dtype;
use crate::model::manifest::Manifest;
use crate::model::sort::sort;
use crate::model::value::{Element, OwnedValue, Value, ValueBuilder, ValueKind};
use std::ops::Range;

/// The most padding that is kept if it is not zero: in each gap, and in all gaps together.
const MAX_PADDING: u64 = 1 << 20;

/// The map that docs/gguf.md describes. For a model of several files, it has no offsets, and no keys that
/// only belong to parts.
pub fn origin(of: &OriginOf<'_>) -> Result<Option<OwnedValue>> {
    let OriginOf { manifest, frame, read, is_whole } = *of;
    let built = OwnedValue::build(|map| {
        map.begin_map(None)?;
        map.text("container")?;
        map.text(frame.container.name())?;
        map.text("version")?;
        map.unsigned(manifest.version_text().parse().unwrap_or(3))?;
        if is_big_endian(read, frame)? {
            map.text("byte_order")?;
            map.text("big")?;
        }
        map.text("keys")?;
        map.begin_array(Element::Any, None)?;
        for (key, value) in manifest.file_attributes().unwrap_or(Value::EMPTY_MAP).pairs() {
            if is_whole || !SPLIT_KEYS.iter().any(|split| key.is_text(split)) {
                put_key(map, key, value)?;
            }
        }
        map.end()?;
        if is_whole {
            put_places(map, of)?;
        }
        map.end().map(drop)
    });
    built.map(Some)
}

/// Records positions that differ from those that writers usually choose.
fn put_places(map: &mut ValueBuilder<'_>, of: &OriginOf<'_>) -> Result<()> {
    let OriginOf { manifest, frame, read, .. } = *of;
    let layout = Layout::of(manifest, frame)?;
    if !layout.is_usual {
        of.put_offsets(map)?;
    }
    map.text("data_start")?;
    map.unsigned(frame.data.start)?;
    if layout.usual_size != frame.file_size {
        map.text("size")?;
        map.unsigned(frame.file_size)?;
    }
    put_padding(map, &layout.gaps, read)
}

fn is_big_endian(read: ReadAt<'_>, frame: &Frame) -> Result<bool> {
    let mut start = [0; 8];
    read(0, &mut start)?;
    let reach = Reach { file_size: frame.file_size, limit: frame.file_size };
    let mut cursor = Cursor::new(&start, 0, Encoding::default(), reach);
    cursor.version(MAGIC).map_err(|_| fail!(Internal, "an open file has no version"))?;
    Ok(cursor.encoding.big_endian)
}

/// Records a key and its type. If CBOR could lose bits of its f32 or bools, also records all their bits.
fn put_key(map: &mut ValueBuilder<'_>, key: Value<'_>, value: Value<'_>) -> Result<()> {
    map.begin_array(Element::Any, None)?;
    map.copy(key)?;
    put_type(map, value)?;
    let mut bits = Vec::new();
    if put_bits(value, &mut bits)? {
        map.bytes(&bits)?;
    }
    map.end().map(drop)
}

/// The name of a value's type. For an array of arrays, an array of their types. Arrays nest at most 8 levels.
fn put_type(map: &mut ValueBuilder<'_>, value: Value<'_>) -> Result<()> {
    match value.kind() {
        ValueKind::Array(items) => match items.element() {
            Element::Number(dtype) => map.text(&try_format(format_args!("{}[]", dtype.name()))?),
            Element::Text => map.text("string[]"),
            Element::Array | Element::Any => {
                map.begin_array(Element::Any, None)?;
                items.iter().try_for_each(|item| put_type(map, item))?;
                map.end().map(drop)
            }
        },
        _ => map.text(value.dtype().map_or("string", Dtype::name)),
    }
}

/// Appends the bits of all f32 and bools in a value, least significant byte first. Returns whether CBOR could
/// lose some: a signalling NaN changes if it is widened, and a bool may be neither 0 nor 1.
fn put_bits(value: Value<'_>, bits: &mut Vec<u8>) -> Result<bool> {
    const QUIET: u32 = 1 << 22;
    if let (ValueKind::Array(items), dtype) = (value.kind(), value.dtype()) {
        let may_have = dtype.is_none_or(|dtype| matches!(dtype, Dtype::F32 | Dtype::Bool));
        let mut loses = false;
        if may_have && items.element() != Element::Text {
            for item in items.iter() {
                loses |= put_bits(item, bits)?;
            }
        }
        return Ok(loses);
    }
    match value.element() {
        Some((Dtype::F32, element)) => {
            let number = element.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
            append(bits, &number.to_le_bytes())?;
            Ok(f32::from_bits(number).is_nan() && number & QUIET == 0)
        }
        Some((Dtype::Bool, element)) => {
            append(bits, element)?;
            Ok(element.iter().any(|byte| *byte > 1))
        }
        _ => Ok(false),
    }
}

/// Finds bytes that belong to no key and no tensor, and whether everything is where writers usually put it.
struct Layout {
    /// Whether each tensor is directly after the one before, at the next multiple of the alignment.
    is_usual: bool,
    /// The size of a file that ends at such a multiple.
    usual_size: u64,
    gaps: Vec<Range<u64>>,
}

impl Layout {
    fn of(manifest: &Manifest, frame: &Frame) -> Result<Layout> {
        let alignment = manifest.file_attributes().and_then(|map| map.get("general.alignment"));
        let alignment = alignment.and_then(Value::as_u64).unwrap_or(DEFAULT_ALIGNMENT).max(1);
        let aligned = |at: u64| at.checked_next_multiple_of(alignment).unwrap_or(at);
        let (mut end, mut is_usual) = (frame.data.start, true);
        let mut places: Vec<(u64, u64)> = with_capacity(manifest.components.len())?;
        for c in manifest.components.iter() {
            is_usual &= c.offset == end;
            end = aligned(c.end());
            places.push((c.offset, c.end()));
        }
        sort(&mut places);
        let usual_size = places.last().map_or(frame.data.start, |(_, last)| aligned(*last));
        let mut gaps = with_capacity(places.len().saturating_add(1))?;
        let mut done = frame.manifest.end;
        for (start, end) in places.into_iter().chain([(frame.file_size, frame.file_size)]) {
            if start > done {
                gaps.push(done..start);
            }
            done = done.max(end);
        }
        Ok(Layout { is_usual, usual_size, gaps })
    }
}

/// Records the content of gaps as pairs of offset and bytes, if it is not all zero.
fn put_padding(map: &mut ValueBuilder<'_>, gaps: &[Range<u64>], read: ReadAt<'_>) -> Result<()> {
    let mut bytes: Vec<u8> = Vec::new();
    let (mut left, mut is_open) = (MAX_PADDING, false);
    for gap in gaps {
        let size = gap.end.saturating_sub(gap.start);
        let Ok(memory) = usize::try_from(size) else { continue };
        if size > left {
            continue;
        }
        bytes.try_reserve(memory.saturating_sub(bytes.len()))?;
        bytes.resize(memory, 0);
        read(gap.start, &mut bytes)?;
        if bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        left = left.saturating_sub(size);
        if !std::mem::replace(&mut is_open, true) {
            map.text("padding")?;
            map.begin_array(Element::Any, None)?;
        }
        map.begin_array(Element::Any, Some(2))?;
        map.unsigned(gap.start)?;
        map.bytes(&bytes)?;
        map.end()?;
    }
    match is_open {
        true => map.end().map(drop),
        false => Ok(()),
    }
}
