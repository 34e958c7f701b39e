//! safetensors: the size of the header, the header (a JSON object), the data.
//!
//! The header gives each tensor's dtype, shape and position. The tensors fill the data without gaps or
//! overlap up to the end of the file. `__metadata__` becomes the attributes of the file.

use crate::container::capabilities::{Capabilities, FOREIGN};
use crate::container::frame::{over_limit, Detected, Ends, Frame, Input, Limits, TRAILING_HELP};
use crate::container::interface::{OriginOf, ReadAt, Row};
use crate::container::json::{PassedKeys, Scan};
use crate::container::tables::{add_name, add_object, add_text, push};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    element_count, table_position, Component, Container, Format, LogicalType, Manifest, Object, Position,
    RareNames, TextId,
};
use crate::model::sort::sort;
use crate::model::value::{
    bytes_to_compare, keys_are_unique, OwnedValue, Tape, Value, ValueBuilder, ValueKind,
};

/// The largest header that the official reader accepts.
pub const MAX_HEADER: u64 = 100_000_000;
/// The size of the field before the header that has the header's size (u64, little-endian).
const SIZE_BYTES: u64 = 8;

pub(crate) const ROW: Row = Row {
    capabilities: Capabilities {
        container: Container::Safetensors,
        manifest_limit: MAX_HEADER,
        unknown_names: true,
        ..FOREIGN
    },
    detect: Some(detect),
    decode: Some(decode),
    origin: Some(origin),
    ..Row::BASE
};

/// The first 8 bytes are a size, and byte 8 begins a JSON object. A size of more than 32 bits means another
/// kind of file.
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
            Ok(Detected::Frame(Frame {
                manifest: SIZE_BYTES..end,
                data: end..ends.file_size,
                ..Frame::of_unknown_manifest(Container::Safetensors, ends.file_size)
            }))
        }
    }
}

/// A header ends in blanks, so that the data begins at a multiple of this.
const ALIGNMENT: u64 = 8;

/// What a conversion to another container would lose of a header: unusual blanks, the order, and empty
/// metadata. The map is described in docs/formats.md.
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
            of.put_offsets(map)?;
        }
        map.end().map(drop)
    });
    built.map(Some)
}

/// How many blanks are at the end of a header.
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

pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let mut manifest = Manifest::default();
    manifest.container = Some(Container::Safetensors);
    manifest.version_text = Some(add_text(budget, &mut manifest, b"")?); // a header has no version
    let data = manifest.intern_role("data")?;
    let scan = Scan::new(bytes, "the header", budget)?;
    let mut header =
        Header { frame, scan, budget, data, scratch: Vec::new(), unknown: PassedKeys::default() };
    let (mut scratch, mut is_first, mut has_metadata) = (Vec::new(), true, false);
    let mut next = 0; // the end of the previous tensor's bytes
    let mut in_order = true;
    header.scan.expect(b'{', "expected the header's object")?;
    while header.scan.another(std::mem::take(&mut is_first), b'}')? {
        let name = header.scan.string(&mut scratch)?;
        header.scan.expect(b':', "expected \":\"")?;
        if name == b"__metadata__" {
            if std::mem::replace(&mut has_metadata, true) {
                return Err(broken!(Rule::JsonDuplicateKey, "the header has two \"__metadata__\""));
            }
            let attributes = header.metadata(&mut manifest.values);
            manifest.attributes = attributes.map_err(|e| e.within(format_args!("__metadata__")))?;
            continue;
        }
        limits.check_more_objects(manifest.objects.len())?;
        let (begin, end) = match header.tensor(&mut manifest, name) {
            Ok(range) => range,
            Err(e) => return Err(e.within(format_args!("object {}", Quoted(name)))),
        };
        in_order &= begin == next;
        next = end;
    }
    header.scan.end()?;
    match in_order {
        true => check_end(frame, next, limits)?,
        false => check_tiles(frame, &manifest, limits, budget)?,
    }
    Ok(manifest)
}

struct Header<'a> {
    frame: &'a Frame,
    scan: Scan<'a>,
    budget: &'a Budget,
    /// The role of all components.
    data: TextId,
    /// Memory for texts with escapes.
    scratch: Vec<u8>,
    /// The unknown fields of an entry.
    unknown: PassedKeys,
}

/// The number for entries among the objects with unknown keys.
const ENTRY: u32 = 0;
const DTYPE: u8 = 1;
const SHAPE: u8 = 2;
const DATA_OFFSETS: u8 = 4;

impl Header<'_> {
    /// Reads an entry. Returns the start and end of its bytes in the data.
    #[inline(always)]
    fn tensor(&mut self, manifest: &mut Manifest, name: &[u8]) -> Result<(u64, u64)> {
        let name = add_text(self.budget, manifest, name)?;
        let shape_start = table_position(manifest.dimensions.len())?;
        let (mut seen, mut is_first) = (0, true);
        let (mut dtype, mut unknown, mut begin, mut end) = (None, None, 0, 0);
        self.scan.expect(b'{', "expected an object with the tensor's dtype, shape and data_offsets")?;
        while self.scan.another(std::mem::take(&mut is_first), b'}')? {
            let key = self.scan.string(&mut self.scratch)?;
            let field = match key {
                b"dtype" => DTYPE,
                b"shape" => SHAPE,
                b"data_offsets" => DATA_OFFSETS,
                unknown => {
                    self.unknown.push(self.budget, ENTRY, unknown)?;
                    0
                }
            };
            if seen & field != 0 {
                return Err(broken!(Rule::JsonDuplicateKey, "it has two fields {}", Quoted(key)));
            }
            seen |= field;
            self.scan.expect(b':', "expected \":\"")?;
            match field {
                DTYPE => {
                    let name = self.scan.string(&mut self.scratch)?;
                    dtype = Some(dtype_of(name));
                    if matches!(dtype, Some(None)) {
                        let name = std::str::from_utf8(name).unwrap_or_default();
                        let named = add_name(self.budget, manifest, format_args!("safetensors.{name}"))?;
                        unknown = Some(named);
                    }
                }
                SHAPE => {
                    self.scan.expect(b'[', "expected an array of dimensions")?;
                    let mut is_first = true;
                    while self.scan.another(std::mem::take(&mut is_first), b']')? {
                        let dimension = self.scan.unsigned(Rule::ShapeType, "the dimension")?;
                        push(self.budget, &mut manifest.dimensions, dimension)?;
                    }
                }
                DATA_OFFSETS => {
                    self.scan.expect(b'[', "expected an array of two offsets")?;
                    begin = self.scan.unsigned(Rule::OffsetType, "the offset")?;
                    self.scan.expect(b',', "expected a second offset")?;
                    end = self.scan.unsigned(Rule::OffsetType, "the offset")?;
                    self.scan.expect(b']', "expected the end of the array")?;
                }
                _ => self.scan.skip(&mut self.scratch, &mut self.unknown)?,
            }
        }
        self.unknown.check(self.budget)?;
        let (Some(types), true) = (dtype, seen == DTYPE | SHAPE | DATA_OFFSETS) else {
            return Err(missing_field(seen));
        };
        let rank = table_position(manifest.dimensions.len())?.saturating_sub(shape_start);
        let object = Object::with_one_component(name, Format::Dense, (shape_start, rank));
        let mut component = Component::new(self.data, types.map(|(dtype, _)| dtype));
        component.logical = types.map_or(LogicalType::Absent, |(_, logical)| logical);
        component.rare = manifest.add_rare_names(RareNames { dtype: unknown, ..RareNames::default() })?;
        self.check_size(manifest.shape(&object), &component, begin, end)?;
        component.offset = self.frame.data.start.saturating_add(begin);
        component.stored_size = end.saturating_sub(begin);
        component.set_size(Some(component.stored_size));
        add_object(self.budget, manifest, object, component)?;
        Ok((begin, end))
    }

    /// Checks that the offsets are in the data. If the dtype is known, also checks that the distance between
    /// them is the size of the shape.
    #[inline(always)]
    fn check_size(&self, shape: &[u64], component: &Component, begin: u64, end: u64) -> Result<()> {
        let overflow = || broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} exceeds 64 bits");
        let elements = element_count(shape).ok_or_else(overflow)?;
        match component.block() {
            Some(block) if !block.divides(elements) => {
                return Err(broken!(Rule::DenseSize, "its {elements} elements do not fill whole bytes"));
            }
            Some(block) => {
                let expected = block.size(elements).ok_or_else(overflow)?;
                if end.checked_sub(begin) != Some(expected) {
                    return Err(broken!(
                        Rule::DenseSize,
                        "its data_offsets are {begin} and {end}, but its shape {shape:?} takes {expected} \
                         bytes"
                    ));
                }
            }
            None if end < begin => {
                return Err(broken!(Rule::DenseSize, "its data_offsets are {begin} and {end}"));
            }
            None => {}
        }
        let size = self.frame.data.end.saturating_sub(self.frame.data.start);
        match end > size {
            true => Err(broken!(
                Rule::RangeEof,
                "its bytes {begin} to {end} pass the end of the data of {size} bytes"
            )),
            false => Ok(()),
        }
    }

    /// Reads the file's attributes and appends them to `tape`; `None` if they are null.
    #[inline(never)]
    fn metadata(&mut self, tape: &mut Tape) -> Result<Option<Position>> {
        if self.scan.next_byte() == Some(b'n') {
            return self.scan.scalar().map(|_null| None);
        }
        let mut to = ValueBuilder::new(tape).within(Some(self.budget));
        if !self.scan.take(b'{') {
            return Err(broken!(Rule::AttributesType, "it is not an object"));
        }
        to.begin_map(None)?;
        let mut is_first = true;
        while self.scan.another(std::mem::take(&mut is_first), b'}')? {
            self.text(&mut to)?;
            self.scan.expect(b':', "expected \":\"")?;
            self.text(&mut to)?;
        }
        let ValueKind::Map(map) = to.end()?.kind() else {
            return Err(fail!(Internal, "a map was read as another kind of value"));
        };
        let temporary = bytes_to_compare(map.len());
        self.budget.charge(temporary, "keys that are compared")?;
        if !keys_are_unique(map.iter())? {
            return Err(broken!(Rule::JsonDuplicateKey, "it has a key twice"));
        }
        self.budget.give_back(temporary);
        to.finish().map(Some)
    }

    fn text(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        let text = self.scan.string(&mut self.scratch)?;
        to.text(std::str::from_utf8(text).unwrap_or_default())
    }
}

/// The error for an entry that only has the fields `seen`.
#[cold]
fn missing_field(seen: u8) -> Error {
    let missing = match seen {
        _ if seen & DTYPE == 0 => "dtype",
        _ if seen & SHAPE == 0 => "shape",
        _ => "data_offsets",
    };
    broken!(Rule::ObjectType, "it has no {missing:?}")
}

/// Checks that the last tensor ends at the end of the data.
fn check_end(frame: &Frame, end: u64, limits: &Limits) -> Result<()> {
    let size = frame.data.end.saturating_sub(frame.data.start);
    match size.checked_sub(end) {
        Some(0) => Ok(()),
        Some(_) if limits.allow_trailing => Ok(()),
        Some(behind) => {
            Err(broken!(Rule::DataTiling, "{behind} bytes follow the last tensor; {TRAILING_HELP}"))
        }
        None => Err(broken!(Rule::DataTiling, "the tensors end at {end}, but the data has {size} bytes")),
    }
}

/// Checks that tensors that are not sorted by offset fill the data.
#[cold]
fn check_tiles(frame: &Frame, manifest: &Manifest, limits: &Limits, budget: &Budget) -> Result<()> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let sorted = bytes_of::<(u64, u64)>(manifest.components.len());
    budget.charge(sorted, "offsets that are sorted")?;
    ranges.try_reserve_exact(manifest.components.len())?;
    let places = manifest.components.iter().map(|c| (c.offset, c.stored_size));
    let start = frame.data.start;
    ranges.extend(places.map(|(at, size)| (at.saturating_sub(start), size)));
    sort(&mut ranges);
    let mut next = 0;
    for (begin, size) in ranges {
        if begin != next {
            let what = if begin < next { "two tensors share bytes" } else { "no tensor has the bytes" };
            return Err(broken!(
                Rule::DataTiling,
                "{what} between {} and {}",
                next.min(begin),
                next.max(begin)
            ));
        }
        next = begin.saturating_add(size);
    }
    budget.give_back(sorted);
    check_end(frame, next, limits)
}

const fn plain(dtype: Dtype) -> (Dtype, LogicalType) {
    (dtype, LogicalType::Absent)
}

fn typed(logical: Logical) -> (Dtype, LogicalType) {
    (logical.dtype(), LogicalType::Known(logical))
}

/// Makes the two functions that map names to types and back, from one list.
macro_rules! names {
    ($($name:literal = $elements:expr;)*) => {
        /// The dtype and logical type with this name.
        pub fn dtype_of(name: &[u8]) -> Option<(Dtype, LogicalType)> {
            match name {
                $($name => Some($elements),)*
                _ => None,
            }
        }

        /// The name of a type, if the format has it.
        pub fn dtype_name(dtype: Dtype, logical: Option<Logical>) -> Option<&'static str> {
            let wanted = logical.map_or(plain(dtype), typed);
            $(if wanted == $elements {
                return std::str::from_utf8($name).ok();
            })*
            None
        }
    };
}

names! {
    b"BF16" = plain(Dtype::Bf16);
    b"F16" = plain(Dtype::F16);
    b"F32" = plain(Dtype::F32);
    b"F64" = plain(Dtype::F64);
    b"I64" = plain(Dtype::I64);
    b"I32" = plain(Dtype::I32);
    b"I16" = plain(Dtype::I16);
    b"I8" = plain(Dtype::I8);
    b"U64" = plain(Dtype::U64);
    b"U32" = plain(Dtype::U32);
    b"U16" = plain(Dtype::U16);
    b"U8" = plain(Dtype::U8);
    b"BOOL" = plain(Dtype::Bool);
    b"F8_E4M3" = typed(Logical::F8E4m3fn);
    b"F8_E5M2" = typed(Logical::F8E5m2);
    b"F8_E4M3FNUZ" = typed(Logical::F8E4m3fnuz);
    b"F8_E5M2FNUZ" = typed(Logical::F8E5m2fnuz);
    b"F8_E8M0" = typed(Logical::F8E8m0);
    b"F4" = typed(Logical::F4E2m1);
    b"F6_E2M3" = typed(Logical::F6E2m3);
    b"F6_E3M2" = typed(Logical::F6E3m2);
    b"C64" = typed(Logical::Complex64);
}
