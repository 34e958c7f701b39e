//! zTensor 1.x: a map of objects between the blobs and a footer (1.1 parts I and II, 1.2 sections 1 and 4).
//! 1.2 adds `type` and `uncompressed_length` to a component; both are accepted in 1.1, too.
//!
//! Two releases wrote 1.0, and no published text describes it. It is framed like 0.1 (no magic in the footer)
//! and encoded like 1.1, but with `tensors` instead of `objects`, and with the old dtype names. The dtype is
//! in the tensor: it is for `values` or `data`, while sparse indices are always u64.

use super::footer::footer_missing;
use crate::container::cbor::fields::{name_blocks, FieldReader, SeenKeys};
use crate::container::cbor::template::{Form, Meaning, TemplateCache};
use crate::container::cbor::{packed, packed_dtypes};
use crate::container::frame::{Frame, Input, Limits};
use crate::container::tables::{add, expect};
use crate::error::{broken, fail, Cause, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    table_position, Component, Container, Encoding, Format, LogicalType, Manifest, Object, RareNames, TextId,
};

// Keys and values, packed in 8 bytes. For a longer key, all of its bytes are compared, too.
const SHAPE: u64 = packed(b"shape");
const FORMAT: u64 = packed(b"format");
const ATTRIBUTES: u64 = packed(b"attributes");
const COMPONENTS: u64 = packed(b"components");
const DTYPE: u64 = packed(b"dtype");
const TYPE: u64 = packed(b"type");
const OFFSET: u64 = packed(b"offset");
const LENGTH: u64 = packed(b"length");
const UNCOMPRESSED_LENGTH: u64 = packed(b"uncompressed_length");
const ENCODING: u64 = packed(b"encoding");
const DIGEST: u64 = packed(b"digest");
const DENSE: u64 = packed(b"dense");

pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let is_1_0 = frame.container == Container::V1_0;
    // A 1.1 file without its last bytes has the same frame as a 1.0 file: only `tensors` makes it 1.0.
    if is_1_0 && !has_tensors(frame, bytes, budget)? {
        return Err(footer_missing(frame.file_size));
    }
    let objects_key = if is_1_0 { "tensors" } else { "objects" };
    let mut d = FieldReader::new(frame, bytes, budget);
    let mut keys = SeenKeys::default();
    let mut left = d.map(Rule::RootType, "the manifest")?;
    while d.cursor.another(&mut left)? {
        let key = d.key()?;
        match &*key {
            b"version" => {
                keys.once(0, &key)?;
                let version = d.text(Rule::VersionMissing, "\"version\"")?;
                d.manifest.version_text = Some(d.push_text(&version)?);
            }
            b"attributes" => {
                keys.once(1, &key)?;
                d.manifest.attributes = d.attributes().map_err(|e| e.within(format_args!("the file")))?;
            }
            name if name == objects_key.as_bytes() => {
                keys.once(2, &key)?;
                objects(&mut d, limits, is_1_0)?;
            }
            _ => d.unknown_field(&mut keys, &key)?,
        }
    }
    let missing = |rule, key| broken!(rule, "the manifest has no \"{key}\"");
    if d.manifest.version_text.is_none() {
        return Err(missing(Rule::VersionMissing, "version"));
    }
    if !keys.has(2) {
        return Err(missing(Rule::ObjectsMissing, objects_key));
    }
    keys.end(&d.cursor)?;
    let mut manifest = d.end()?;
    let later = version(manifest.version_text())?;
    manifest.container = Some(if is_1_0 { Container::V1_0 } else { later });
    Ok(manifest)
}

/// The container for a `version`: only the major number determines whether the file can be read.
fn version(text: &str) -> Result<Container> {
    let mut numbers = text.split('.');
    if numbers.next() != Some("1") {
        return Err(fail!(
            Unsupported,
            "the manifest says version {text:?}; only 1.x is known in this container"
        ));
    }
    let minor = numbers.next().unwrap_or_default();
    let digits =
        minor.find(|c: char| !c.is_ascii_digit()).map_or(minor, |end| minor.get(..end).unwrap_or_default());
    // Digits are compared as text, because a minor version may have more of them than fit in an integer.
    let minor = digits.trim_start_matches('0');
    Ok(if matches!(minor, "" | "1") { Container::V1_1 } else { Container::V1_2 })
}

fn objects(d: &mut FieldReader<'_>, limits: &Limits, is_1_0: bool) -> Result<()> {
    // The least size of an object with one component. If more objects are declared than fit in the remaining
    // bytes, that number is not used.
    const MIN_ENTRY_SIZE: u64 = 48;
    let what = if is_1_0 { "\"tensors\"" } else { "\"objects\"" };
    let mut left = d.map(Rule::ObjectsMissing, what)?;
    let expected = d.cursor.plausible(left, MIN_ENTRY_SIZE);
    expect(&d.cursor, &mut d.manifest.objects, expected)?;
    expect(&d.cursor, &mut d.manifest.components, expected)?;
    let mut templates = TemplateCache::new(Objects);
    while d.cursor.another(&mut left)? {
        limits.check_more_objects(d.manifest.objects.len())?;
        let name = d.name()?;
        let kept = d.push_utf8(&name);
        if let Err(e) = kept.and_then(|kept| templates.object(d, kept, |d| object(d, kept, is_1_0))) {
            return Err(e.within(format_args!("object {}", crate::error::Quoted(&name))));
        }
    }
    Ok(())
}

/// How objects of 1.x are encoded, for the template cache.
struct Objects;

impl Form for Objects {
    const COMPONENTS: &'static [u8] = b"components";
    const FIELDS: &'static [(&'static [u8], Meaning)] = &[
        (b"offset", Meaning::Offset),
        (b"length", Meaning::Length),
        (b"uncompressed_length", Meaning::Size),
        (b"digest", Meaning::Digest),
    ];

    /// Any text is accepted as a digest until something is verified.
    #[inline(always)]
    fn are_digits(text: &[u8]) -> bool {
        text.is_ascii()
    }

    /// Rules about numbers are checked after the whole manifest was read.
    fn keeps_rules(&self, _: &Manifest, _: &Object, _: &[u64], _: &Component) -> bool {
        true
    }
}

fn object(d: &mut FieldReader<'_>, name: TextId, is_1_0: bool) -> Result<()> {
    let mut keys = SeenKeys::default();
    let mut left = d.map(Rule::ObjectType, "its definition")?;
    let (mut shape, mut format, mut attributes, mut dtype) = (None, None, None, None);
    let component_start = table_position(d.manifest.components.len())?;
    while d.cursor.another(&mut left)? {
        let key = d.key()?;
        match key.packed {
            SHAPE => {
                keys.once(0, &key)?;
                shape = Some(d.shape()?);
            }
            FORMAT => {
                keys.once(1, &key)?;
                format = Some(if d.take_packed(DENSE) { Format::Dense } else { format_slow(d)? });
            }
            ATTRIBUTES if *key == *b"attributes" => {
                keys.once(2, &key)?;
                attributes = d.object_attributes()?;
            }
            COMPONENTS if *key == *b"components" => {
                keys.once(3, &key)?;
                components(d, is_1_0)?;
            }
            DTYPE if is_1_0 => {
                keys.once(4, &key)?;
                dtype = Some(d.text(Rule::DtypeType, "\"dtype\"")?);
            }
            _ => d.unknown_field(&mut keys, &key)?,
        }
    }
    let (shape_start, rank) = shape.ok_or_else(|| broken!(Rule::ShapeType, "it has no \"shape\""))?;
    let format = format.ok_or_else(|| broken!(Rule::FormatType, "it has no \"format\""))?;
    if !keys.has(3) {
        return Err(broken!(Rule::ComponentsType, "it has no \"components\""));
    }
    keys.end(&d.cursor)?;
    let component_end = table_position(d.manifest.components.len())?;
    let component_count = component_end.saturating_sub(component_start);
    let object = Object { name, format, shape_start, rank, component_start, component_count, attributes };
    add(&d.cursor, &mut d.manifest.objects, object)?;
    if is_1_0 {
        let dtype = dtype.ok_or_else(|| broken!(Rule::DtypeType, "it has no \"dtype\""))?;
        spread_dtype(d, component_start as usize, &dtype)?;
    }
    name_blocks(&mut d.manifest, &object);
    Ok(())
}

fn components(d: &mut FieldReader<'_>, is_1_0: bool) -> Result<()> {
    let mut left = d.map(Rule::ComponentsType, "\"components\"")?;
    while d.cursor.another(&mut left)? {
        let role = d.role()?;
        if let Err(e) = component(d, role, is_1_0) {
            return Err(e.within(format_args!("component {:?}", d.manifest.texts.get(role))));
        }
    }
    Ok(())
}

#[inline(never)]
fn format_slow(d: &mut FieldReader<'_>) -> Result<Format> {
    let text = d.text(Rule::FormatType, "\"format\"")?;
    match Format::from_name(&text) {
        Some(format) => Ok(format),
        None => Ok(Format::Other(d.push_text(&text)?)),
    }
}

/// The logical type that a component's text names. It can only be checked after all of its fields were read.
enum NamedLogical {
    Absent,
    Known(Logical),
    Dtype(Dtype),
    Other,
}

fn component(d: &mut FieldReader<'_>, role: TextId, is_1_0: bool) -> Result<()> {
    let mut keys = SeenKeys::default();
    let mut left = d.map(Rule::ComponentType, "its definition")?;
    let (mut offset, mut length, mut size) = (None, None, None);
    let (mut dtype, mut named) = (None, NamedLogical::Absent);
    let mut rare = RareNames::default();
    let mut encoding = Encoding::Raw;
    while d.cursor.another(&mut left)? {
        let key = d.key()?;
        match key.packed {
            DTYPE => {
                keys.once(0, &key)?;
                let known = if is_1_0 { None } else { d.cursor.take_dtype(&DTYPES) };
                dtype = match known {
                    Some(dtype) => Some((dtype, None)),
                    None => dtype_slow(d, is_1_0, &mut rare)?,
                };
            }
            TYPE => {
                keys.once(1, &key)?;
                if let Some(text) = d.optional_text(Rule::TypeType, "\"type\"")? {
                    named = logical_by_name(&text);
                    if !matches!(named, NamedLogical::Known(t) if t.is_in_spec()) {
                        rare.logical = Some(d.push_text(&text)?);
                    }
                }
            }
            OFFSET => {
                keys.once(2, &key)?;
                offset = Some(d.unsigned(Rule::OffsetType, "\"offset\"")?);
            }
            LENGTH => {
                keys.once(3, &key)?;
                length = Some(d.unsigned(Rule::LengthType, "\"length\"")?);
            }
            UNCOMPRESSED_LENGTH if *key == *b"uncompressed_length" => {
                keys.once(4, &key)?;
                size = d.optional_unsigned(Rule::UncompressedLengthType, "\"uncompressed_length\"")?;
            }
            ENCODING if *key == *b"encoding" => {
                keys.once(5, &key)?;
                if let Some(name) = d.optional_text(Rule::EncodingType, "\"encoding\"")? {
                    encoding = Encoding::from_name(&name).unwrap_or(Encoding::Other);
                    if encoding == Encoding::Other {
                        rare.encoding = Some(d.push_text(&name)?);
                    }
                }
            }
            DIGEST => {
                keys.once(6, &key)?;
                if let Some(text) = d.optional_text(Rule::DigestType, "\"digest\"")? {
                    rare.digest = Some(d.push_text(&text)?);
                }
            }
            _ => d.unknown_field(&mut keys, &key)?,
        }
    }
    if !keys.has(0) && !is_1_0 {
        return Err(broken!(Rule::DtypeType, "it has no \"dtype\""));
    }
    let mut component = Component::new(role, dtype.map(|(dtype, _)| dtype));
    component.logical = resolve_logical_type(dtype, &named)?;
    component.encoding = encoding;
    component.offset = offset.ok_or_else(|| broken!(Rule::OffsetType, "it has no \"offset\""))?;
    component.stored_size = length.ok_or_else(|| broken!(Rule::LengthType, "it has no \"length\""))?;
    component.rare = d.push_rare_names(rare)?;
    component.set_size(size);
    component.set_size_declared(size.is_some());
    keys.end(&d.cursor)?;
    add(&d.cursor, &mut d.manifest.components, component)
}

const DTYPES: [(u64, Dtype); Dtype::ALL.len()] = packed_dtypes(Dtype::ALL);

#[inline(never)]
fn dtype_slow(d: &mut FieldReader<'_>, is_1_0: bool, rare: &mut RareNames) -> Result<Option<NamedDtype>> {
    let text = d.text(Rule::DtypeType, "\"dtype\"")?;
    let plain = if is_1_0 { Dtype::from_old_name(&text) } else { Dtype::from_name(&text) };
    let dtype = match plain {
        Some(dtype) => Some((dtype, None)),
        None if is_1_0 => None,
        None => Dtype::from_compound_name(&text).map(|(dtype, logical)| (dtype, Some(logical))),
    };
    if dtype.is_none() {
        rare.dtype = Some(d.push_text(&text)?);
    }
    Ok(dtype)
}

fn logical_by_name(name: &str) -> NamedLogical {
    if let Some(logical) = Logical::from_name(name).filter(|logical| !logical.is_block_type()) {
        return NamedLogical::Known(logical);
    }
    Dtype::from_name(name).map_or(NamedLogical::Other, NamedLogical::Dtype)
}

/// Compares `type` with `dtype`: the specification gives the storage type for each logical type.
fn resolve_logical_type(dtype: Option<NamedDtype>, named: &NamedLogical) -> Result<LogicalType> {
    let (dtype, implied) = dtype.map_or((None, None), |(dtype, implied)| (Some(dtype), implied));
    let mismatch = |logical: &str, dtype: &str| {
        broken!(Rule::TypeDtypeMismatch, "the type {logical:?} does not match the dtype {dtype:?}")
    };
    match (named, dtype, implied) {
        (NamedLogical::Absent, _, Some(implied)) => Ok(LogicalType::Known(implied)),
        (NamedLogical::Absent, _, None) => Ok(LogicalType::Absent),
        (NamedLogical::Known(t), _, Some(implied)) if *t != implied => {
            Err(mismatch(t.name(), implied.name_in_1_1().unwrap_or_default()))
        }
        (NamedLogical::Known(t), Some(dtype), None) if t.dtype() != dtype => match t.is_in_spec() {
            true => Err(mismatch(t.name(), dtype.name())),
            false => Ok(LogicalType::Other), // another program's type with that name
        },
        (NamedLogical::Known(t), _, _) => Ok(LogicalType::Known(*t)),
        (NamedLogical::Dtype(t), Some(dtype), None) if *t == dtype => Ok(LogicalType::SameAsDtype),
        (NamedLogical::Dtype(t), Some(dtype), _) => Err(mismatch(t.name(), dtype.name())),
        (NamedLogical::Dtype(_) | NamedLogical::Other, _, _) => Ok(LogicalType::Other),
    }
}

/// Whether the manifest has `tensors`. Returns false if it cannot be read; the only error is lack of memory.
fn has_tensors(frame: &Frame, bytes: &[u8], budget: &Budget) -> Result<bool> {
    let look = || -> Result<bool> {
        let mut d = FieldReader::new(frame, bytes, budget);
        let mut left = d.map(Rule::RootType, "the manifest")?;
        while d.cursor.another(&mut left)? {
            if *d.key()? == *b"tensors" {
                return Ok(true);
            }
            d.cursor.skip_well_formed()?;
        }
        Ok(false)
    };
    look().or_else(|e| if e.cause() == Cause::OutOfMemory { Err(e) } else { Ok(false) })
}

/// A storage type, and the logical type that its name implies in 1.1.
type NamedDtype = (Dtype, Option<Logical>);

/// Gives the components from `first` on the dtype of their tensor, if they have none.
fn spread_dtype(d: &mut FieldReader<'_>, first: usize, name: &str) -> Result<()> {
    let known = Dtype::from_old_name(name);
    let mut kept = None; // stored once, however many components use it
    for at in first..d.manifest.components.len() {
        let Some(mut component) = d.manifest.components.get(at).copied() else { continue };
        let mut rare = d.manifest.rare(&component);
        if component.dtype.is_some() || rare.dtype.is_some() {
            continue;
        }
        let is_index = matches!(d.manifest.texts.get(component.role), "indices" | "indptr" | "coords");
        component.dtype = if is_index { Some(Dtype::U64) } else { known };
        if component.dtype.is_none() {
            if kept.is_none() {
                kept = Some(d.push_text(name)?);
            }
            rare.dtype = kept;
            component.rare = d.push_rare_names(rare)?;
        }
        if let Some(place) = d.manifest.components.get_mut(at) {
            *place = component;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_same_bytes_are_interned() {
        let map = |bits: u8| [&b"\xa1\x64bits"[..], &[bits]].concat();
        let bytes = [map(4), map(8), map(4), map(4), map(8)].concat();
        let frame = Frame::with_data_first(Container::V1_2, 64..64 + bytes.len() as u64, 1000);
        let budget = Budget::new(u64::MAX);
        let mut d = FieldReader::new(&frame, &bytes, &budget);
        let kept: Vec<usize> = (0..5).map(|_| d.object_attributes().unwrap().unwrap().index()).collect();
        let second = d.manifest.values.size() / 2;
        assert_eq!(kept, [0, second, 0, 0, second]);
    }
}
