//! zTensor 0.1: an index of tensors after their bytes. The magic is at the start, and the index's size (u64,
//! little-endian) at the end.
//!
//! The index is an array of maps. There are no components and no formats. Dtypes have their old names, and a
//! tensor may have a byte order (0.1 sections 3.3 and 4). A tensor becomes an object with one component,
//! `data`. Fields that the specification does not define become attributes of the object. A `layout` other
//! than dense becomes a format with that name.

use crate::container::capabilities::{
    AttributeKeys, Capabilities, Encodings, LogicalTypes, Roles, SharedBytes, FOREIGN,
};
use crate::container::cbor::fields::{FieldReader, SeenKeys};
use crate::container::cbor::{encode as put, packed, Head};
use crate::container::frame::{frame, Detected, Ends, Frame, Input, Limits, ALIGNMENT};
use crate::container::interface::{Encode, Row};
use crate::container::tables::add_object;
use crate::digest::Algorithm;
use crate::error::{broken, Result, Rule};
use crate::memory::{append, Budget};
use crate::model::dtype::Dtype;
use crate::model::manifest::{
    Component, Container, Encoding, Format, LogicalType, Manifest, Object, RareNames,
};
use crate::model::value::Value;

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    container: Container::V0_1,
    number: Some(100),
    name: "0.1.0",
    alignment: ALIGNMENT,
    file_attributes: false,
    attribute_keys: AttributeKeys::TextsExcept(&FIELDS),
    roles: Roles::Only(ROLE),
    logical_types: LogicalTypes::None,
    states_sizes: true,
    shared_bytes: SharedBytes::All,
    duplicate_names: true,
    big_endian: true,
    encodings: Encodings::Written,
    usual_digest: Some(Algorithm::Crc32c),
    ..FOREIGN
};

pub(crate) const ROW: Row = Row {
    capabilities: CAPABILITIES,
    header: MAGIC,
    detect: Some(detect),
    decode: Some(decode),
    encode: Some(Encode {
        manifest: encode_manifest,
        frame: frame_of,
        footer: encode_footer,
        aligns_manifest: false,
        extend: None,
    }),
    ..Row::BASE
};

pub(crate) const MAGIC: &[u8; 8] = b"ZTEN0001";

/// The size of the footer after the manifest.
pub(crate) const FOOTER_SIZE: u64 = 8;

fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    append(out, &frame.manifest_size().to_le_bytes())
}

/// The frame of a written file whose manifest begins at `start`.
fn frame_of(start: u64, manifest: &[u8], to: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    Frame::with_data_first(to.container, start..end, end.saturating_add(FOOTER_SIZE))
}

/// Finds the manifest of a file that begins with the magic, from its last bytes.
fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let (file_size, last8) = (ends.file_size, ends.tail.last_chunk::<8>());
    if file_size < 16 {
        return Err(broken!(
            Rule::FileTooSmall,
            "a 0.1 file of {file_size} bytes; the magic and the index size alone take 16"
        ));
    }
    if last8 == Some(b"ZTEN1000") {
        return Err(broken!(
            Rule::HeaderMagic,
            "the file begins like 0.1 (ZTEN0001) but ends like 1.1 (ZTEN1000)"
        ));
    }
    let size = last8.map_or(0, |b| u64::from_le_bytes(*b));
    let capacity = file_size.saturating_sub(16);
    if size == 0 && capacity > 0 {
        return Err(broken!(Rule::ManifestEmpty, "the index size is 0 in a file of {file_size} bytes"));
    }
    frame(Container::V0_1, file_size, FOOTER_SIZE, size, capacity, limits)
}

/// The role that a 0.1 tensor's bytes get.
pub(crate) const ROLE: &str = "data";

/// Names that an additional field cannot have.
pub(crate) const FIELDS: [&str; 9] =
    ["name", "offset", "size", "dtype", "shape", "encoding", "layout", "data_endianness", "checksum"];

pub fn encode_manifest(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    if manifest.file_attributes().is_some_and(|a| a.pairs().len() > 0) {
        to.check_file_attributes()?;
    }
    put::array(out, manifest.objects.len() as u64)?;
    manifest.objects.iter().try_for_each(|object| {
        let name = manifest.texts.get(object.name);
        encode_tensor(manifest, object, to, out).map_err(|e| e.within(format_args!("object {name:?}")))
    })
}

/// Encodes a tensor, with its fields in the order that released versions use. Fails if 0.1 cannot represent
/// it.
fn encode_tensor(manifest: &Manifest, object: &Object, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let components = manifest.components(object);
    to.check_component_count(components.len())?;
    let [component] = components else { return Err(to.cannot_represent("its components")) };
    let dtype = match (object.format, component.dtype, component.logical) {
        (Format::Dense, Some(dtype), LogicalType::Absent | LogicalType::SameAsDtype) => dtype,
        (Format::Dense, ..) => return Err(to.cannot_represent("its type")),
        _ => return Err(to.cannot_represent("a format other than dense")),
    };
    let custom = manifest.object_attributes(object).unwrap_or(Value::EMPTY_MAP);
    let digest = manifest.digest(component);
    let encoding = component.encoding.name().ok_or_else(|| to.cannot_represent("its encoding"))?;
    put::open_map(out)?; // released versions write maps of indefinite length
    put::text_field(out, "name", manifest.texts.get(object.name))?;
    put::unsigned_field(out, "offset", component.offset)?;
    put::unsigned_field(out, "size", component.stored_size)?;
    put::text_field(out, "dtype", dtype.old_name())?;
    put::text_field(out, "layout", "dense")?;
    put::text(out, "shape")?;
    put::shape(out, manifest.shape(object))?;
    put::text_field(out, "encoding", encoding)?;
    if !component.encoding.is_compressed() {
        let order = if component.is_big_endian() { "big" } else { "little" };
        put::text_field(out, "data_endianness", order)?;
    }
    if let Some(digest) = digest {
        put::text_field(out, "checksum", digest)?;
    }
    for (key, value) in custom.pairs() {
        to.check_attribute(key.as_text(), value)?;
        put::value(out, key)?;
        put::value(out, value)?;
    }
    put::end(out)
}

// Keys, packed in 8 bytes. For a longer key, all of its bytes are compared, too.
const NAME: u64 = packed(b"name");
const OFFSET: u64 = packed(b"offset");
const SIZE: u64 = packed(b"size");
const DTYPE: u64 = packed(b"dtype");
const SHAPE: u64 = packed(b"shape");
const ENCODING: u64 = packed(b"encoding");
const LAYOUT: u64 = packed(b"layout");
const DATA_ENDIANNESS: u64 = packed(b"data_endianness");
const CHECKSUM: u64 = packed(b"checksum");

pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let mut d = FieldReader::new(frame, bytes, budget);
    d.manifest.container = Some(Container::V0_1);
    d.manifest.version_text = Some(d.push_text("0.1.0")?);
    if bytes.is_empty() {
        return Ok(d.manifest); // a file of 16 bytes with index size 0 is empty for readers of 0.1
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
        limits.check_more_objects(d.manifest.objects.len())?;
        let position = d.manifest.objects.len();
        tensor(&mut d).map_err(|e| e.within(format_args!("tensor {position}")))?;
    }
    d.end()
}

/// Reads a tensor into an object with one component. Fields that the specification does not define become
/// its attributes.
fn tensor(d: &mut FieldReader<'_>) -> Result<()> {
    let mut keys = SeenKeys::default();
    let (mut name, mut offset, mut size, mut shape) = (None, None, None, None);
    let (mut dtype, mut encoding, mut rare) = (None, None, RareNames::default());
    let (mut format, mut is_sparse, mut is_big_endian) = (Format::Dense, false, false);
    let mut left = d.map(Rule::ObjectType, "its definition")?;
    while d.cursor.another(&mut left)? {
        let key = d.key()?;
        match key.packed {
            NAME => {
                keys.once(0, &key)?;
                let text = d.text(Rule::NameMissing, "\"name\"")?;
                name = Some(d.push_text(&text)?);
            }
            OFFSET => {
                keys.once(1, &key)?;
                offset = Some(d.unsigned(Rule::OffsetType, "\"offset\"")?);
            }
            SIZE => {
                keys.once(2, &key)?;
                size = Some(d.unsigned(Rule::LengthType, "\"size\"")?);
            }
            DTYPE => {
                keys.once(3, &key)?;
                let text = d.text(Rule::DtypeType, "\"dtype\"")?;
                dtype = Dtype::from_old_name(&text);
                if dtype.is_none() {
                    rare.dtype = Some(d.push_text(&text)?);
                }
            }
            SHAPE => {
                keys.once(4, &key)?;
                shape = Some(d.shape()?);
            }
            ENCODING if *key == *b"encoding" => {
                keys.once(5, &key)?;
                let name = d.text(Rule::EncodingType, "\"encoding\"")?;
                encoding = Encoding::from_name(&name);
                if encoding.is_none() {
                    rare.encoding = Some(d.push_text(&name)?);
                    encoding = Some(Encoding::Other);
                }
            }
            LAYOUT => {
                keys.once(6, &key)?;
                let text = d.text(Rule::LayoutType, "\"layout\"")?;
                is_sparse = text == "sparse";
                if text != "dense" {
                    format = Format::Other(d.push_text(&text)?);
                }
            }
            DATA_ENDIANNESS if *key == *b"data_endianness" => {
                keys.once(7, &key)?;
                let rule = Rule::EndiannessValue;
                is_big_endian = match &*d.text(rule, "\"data_endianness\"")? {
                    "little" => false,
                    "big" => true,
                    other => {
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
                    rare.digest = Some(d.push_text(&text)?);
                }
            }
            _ => {
                let custom = d.cursor.utf8(&key)?;
                let mut cursor = d.cursor.clone();
                keys.push_unknown(&d.cursor, custom, |tape| {
                    cursor.value_to(tape).map_err(|e| e.within(format_args!("field {custom:?}")))
                })?;
                d.cursor = cursor;
            }
        }
    }
    let custom = keys.into_unknown()?;
    let name = name.ok_or_else(|| broken!(Rule::NameMissing, "it has no \"name\""))?;
    let shape = shape.ok_or_else(|| broken!(Rule::ShapeType, "it has no \"shape\""))?;
    if dtype.is_none() && rare.dtype.is_none() {
        return Err(broken!(Rule::DtypeType, "it has no \"dtype\""));
    }
    let sparse_format = custom.as_ref().and_then(|custom| custom.get("sparse_format"));
    if is_sparse && sparse_format.and_then(Value::as_text).is_none() {
        return Err(broken!(Rule::SparseFormat, "its layout is sparse, but \"sparse_format\" is not a text"));
    }
    let mut component = Component::new(d.manifest.intern_role(ROLE)?, dtype);
    component.encoding = encoding.ok_or_else(|| broken!(Rule::EncodingType, "it has no \"encoding\""))?;
    component.offset = offset.ok_or_else(|| broken!(Rule::OffsetType, "it has no \"offset\""))?;
    component.stored_size = size.ok_or_else(|| broken!(Rule::LengthType, "it has no \"size\""))?;
    component.rare = d.push_rare_names(rare)?;
    // Only raw data has a byte order, and single bytes have none (0.1 section 6).
    let has_order = component.encoding == Encoding::Raw && dtype.is_some_and(|t| t.size() > 1);
    component.set_big_endian(is_big_endian && has_order);
    let attributes = custom.map(|custom| d.push_attributes(&custom)).transpose()?;
    let object = Object::with_one_component(name, format, shape);
    add_object(&d.cursor, &mut d.manifest, Object { attributes, ..object }, component)
}
