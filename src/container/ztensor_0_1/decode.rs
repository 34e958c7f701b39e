//! 0.1: an array of tensors behind the blobs, each a map. There are no components and no formats; dtypes have
//! their old names, and a tensor may have a byte order (0.1 sections 3.3 and 4).
//!
//! A tensor becomes an object of one component, `data`. Fields that the spec does not name are the
//! object's attributes. A `layout` that is not dense is a format of that name.

use super::encode::ROLE;
use crate::container::cbor::fields::{Decoder, SeenKeys};
use crate::container::cbor::tables::{add, push_rare_names};
use crate::container::cbor::{packed, Head};
use crate::container::frame::{Frame, Limits};
use crate::container::input::Input;
use crate::error::{broken, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::Dtype;
use crate::model::manifest::{
    table_position, Component, Container, Encoding, Format, Manifest, Object, RareNames, TextId,
};
use crate::model::value::Value;

// Keys, packed in 8 bytes. A longer key is compared by all of its bytes, too.
const NAME: u64 = packed(b"name");
const OFFSET: u64 = packed(b"offset");
const SIZE: u64 = packed(b"size");
const DTYPE: u64 = packed(b"dtype");
const SHAPE: u64 = packed(b"shape");
const ENCODING: u64 = packed(b"encoding");
const LAYOUT: u64 = packed(b"layout");
const DATA_ENDIANNESS: u64 = packed(b"data_endianness");
const CHECKSUM: u64 = packed(b"checksum");

/// Reads a 0.1 index.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let mut d = Decoder::new(frame, bytes, budget);
    d.manifest.container = Some(Container::V0_1);
    d.manifest.version_text = Some(d.push_text("0.1.0")?);
    if bytes.is_empty() {
        return Ok(d.manifest); // 16 bytes, index size 0: empty to the 0.1 readers
    }
    let mut left = match d.cursor.head()? {
        Head::Array(left) => left,
        other => {
            return Err(broken!(
                Rule::RootType,
                "the index at offset {} is {}, not an array",
                frame.manifest.start,
                other.kind()
            ))
        }
    };
    while d.cursor.another(&mut left)? {
        d.count_object(limits)?;
        let position = d.manifest.objects.len();
        tensor(&mut d).map_err(|e| e.within(format_args!("tensor {position}")))?;
    }
    d.end()
}

/// The fields of a tensor that the spec names.
#[derive(Default)]
struct Fields {
    name: Option<TextId>,
    rare: RareNames,
    offset: Option<u64>,
    size: Option<u64>,
    dtype: Option<Dtype>,
    shape: Option<(u32, u32)>,
    encoding: Option<Encoding>,
    layout: Option<Format>,
    big_endian: bool,
    sparse: bool,
}

/// Reads the map that defines a tensor. Fields that the spec does not name are put to `keys`.
fn fields(d: &mut Decoder<'_>, keys: &mut SeenKeys) -> Result<Fields> {
    let mut f = Fields::default();
    let mut left = d.map(Rule::ObjectType, "its definition")?;
    while d.cursor.another(&mut left)? {
        let key = d.key()?;
        match key.packed {
            NAME => {
                keys.once(0, &key)?;
                let text = d.text(Rule::NameMissing, "\"name\"")?;
                f.name = Some(d.push_text(&text)?);
            }
            OFFSET => {
                keys.once(1, &key)?;
                f.offset = Some(d.unsigned(Rule::OffsetType, "\"offset\"")?);
            }
            SIZE => {
                keys.once(2, &key)?;
                f.size = Some(d.unsigned(Rule::LengthType, "\"size\"")?);
            }
            DTYPE => {
                keys.once(3, &key)?;
                let text = d.text(Rule::DtypeType, "\"dtype\"")?;
                f.dtype = Dtype::from_old_name(&text);
                if f.dtype.is_none() {
                    f.rare.dtype = Some(d.push_text(&text)?);
                }
            }
            SHAPE => {
                keys.once(4, &key)?;
                f.shape = Some(d.shape()?);
            }
            ENCODING if *key == *b"encoding" => {
                keys.once(5, &key)?;
                let name = d.text(Rule::EncodingType, "\"encoding\"")?;
                f.encoding = Encoding::from_name(&name);
                if f.encoding.is_none() {
                    f.rare.encoding = Some(d.push_text(&name)?);
                    f.encoding = Some(Encoding::Other);
                }
            }
            LAYOUT => {
                keys.once(6, &key)?;
                let text = d.text(Rule::LayoutType, "\"layout\"")?;
                f.sparse = text == "sparse";
                f.layout =
                    Some(if text == "dense" { Format::Dense } else { Format::Other(d.push_text(&text)?) });
            }
            DATA_ENDIANNESS if *key == *b"data_endianness" => {
                keys.once(7, &key)?;
                f.big_endian = match &*d.text(Rule::EndiannessValue, "\"data_endianness\"")? {
                    "little" => false,
                    "big" => true,
                    other => {
                        let rule = Rule::EndiannessValue;
                        return Err(broken!(
                            rule,
                            "\"data_endianness\" is {other:?}, neither little nor big"
                        ));
                    }
                };
            }
            CHECKSUM if *key == *b"checksum" => {
                keys.once(8, &key)?;
                if let Some(text) = d.optional_text(Rule::DigestType, "\"checksum\"")? {
                    f.rare.digest = Some(d.push_text(&text)?);
                }
            }
            _ => {
                let custom = d.checked(&key)?;
                let mut cursor = d.cursor.clone();
                keys.push_unknown(&d.cursor, custom, |tape| {
                    cursor.value_to(tape).map_err(|e| e.within(format_args!("field {custom:?}")))
                })?;
                d.cursor = cursor;
            }
        }
    }
    Ok(f)
}

/// Reads a tensor into an object of one component.
fn tensor(d: &mut Decoder<'_>) -> Result<()> {
    let mut keys = SeenKeys::default();
    let f = fields(d, &mut keys)?;
    let custom = keys.into_unknown()?;
    let name = f.name.ok_or_else(|| broken!(Rule::NameMissing, "it has no \"name\""))?;
    let (shape_start, rank) = f.shape.ok_or_else(|| broken!(Rule::ShapeType, "it has no \"shape\""))?;
    if f.dtype.is_none() && f.rare.dtype.is_none() {
        return Err(broken!(Rule::DtypeType, "it has no \"dtype\""));
    }
    let sparse_format = custom.as_ref().and_then(|custom| custom.get("sparse_format"));
    if f.sparse && sparse_format.and_then(Value::as_text).is_none() {
        return Err(broken!(
            Rule::SparseFormat,
            "its layout is sparse, but no text says the \"sparse_format\""
        ));
    }
    let encoding = f.encoding.ok_or_else(|| broken!(Rule::EncodingType, "it has no \"encoding\""))?;
    let mut component = Component::new(d.manifest.intern_role(ROLE)?, f.dtype);
    component.encoding = encoding;
    component.offset = f.offset.ok_or_else(|| broken!(Rule::OffsetType, "it has no \"offset\""))?;
    component.stored_size = f.size.ok_or_else(|| broken!(Rule::LengthType, "it has no \"size\""))?;
    component.rare = push_rare_names(&d.cursor, &mut d.manifest, f.rare)?;
    // Only raw data has a byte order, and single bytes have none (0.1 section 6).
    let has_order = encoding == Encoding::Raw && f.dtype.is_some_and(|t| t.size() > 1);
    component.set_big_endian(f.big_endian && has_order);
    let attributes = custom.map(|custom| d.push_attributes(&custom)).transpose()?;
    let component_start = table_position(d.manifest.components.len())?;
    add(&d.cursor, &mut d.manifest.components, component)?;
    let object = Object {
        name,
        format: f.layout.unwrap_or(Format::Dense),
        shape_start,
        rank,
        component_start,
        component_count: 1,
        attributes,
    };
    add(&d.cursor, &mut d.manifest.objects, object)?;
    Ok(())
}
