//! The way back to a 1.1 or 1.2 manifest: deterministic CBOR, objects in their order, fields in the
//! order of the spec, absent fields left out.

use crate::container::capabilities::{Capabilities, LogicalTypes};
use crate::container::cbor::encode as put;
use crate::error::Result;
use crate::model::manifest::{Component, Encoding, LogicalType, Manifest, Object, TextId};

/// A 1.1 or 1.2 manifest.
pub fn encode_manifest(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    encode_head(manifest, to, out)?;
    manifest.objects.iter().try_for_each(|object| encode_object(manifest, object, to, out))
}

/// What it has in front of the first object.
fn encode_head(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let attributes = manifest.file_attributes().filter(|a| !a.is_empty_map());
    put::map(out, if attributes.is_some() { 3 } else { 2 })?;
    put::key(out, "version")?;
    put::text(out, to.name)?;
    if let Some(attributes) = attributes {
        put::key(out, "attributes")?;
        put::value(out, attributes)?;
    }
    put::key(out, "objects")?;
    put::map(out, manifest.objects.len() as u64)
}

/// One entry of `objects`: the name and the definition.
pub fn encode_object(
    manifest: &Manifest,
    object: &Object,
    to: &Capabilities,
    out: &mut Vec<u8>,
) -> Result<()> {
    let texts = &manifest.texts;
    put::utf8(out, texts.get_bytes(object.name))?;
    let attributes = manifest.object_attributes(object).filter(|a| !a.is_empty_map());
    put::map(out, if attributes.is_some() { 4 } else { 3 })?;
    put::key(out, "shape")?;
    let shape = manifest.shape(object);
    put::array(out, shape.len() as u64)?;
    shape.iter().try_for_each(|d| put::unsigned(out, *d))?;
    put::key(out, "format")?;
    put::text(out, manifest.format_name(object.format))?;
    if let Some(attributes) = attributes {
        put::key(out, "attributes")?;
        put::value(out, attributes)?;
    }
    put::key(out, "components")?;
    let components = manifest.components(object);
    put::map(out, components.len() as u64)?;
    for component in components {
        put::utf8(out, texts.get_bytes(component.role))?;
        encode_component(manifest, component, to, out)
            .map_err(|e| e.within(format_args!("component {:?}", texts.get(component.role))))?;
    }
    Ok(())
}

fn encode_component(manifest: &Manifest, c: &Component, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let rare = manifest.rare(c);
    let name = |text: Option<TextId>| text.map(|t| manifest.texts.get(t)).unwrap_or_default();
    let mut dtype = match c.dtype {
        Some(dtype) => dtype.name(),
        None => name(rare.dtype),
    };
    let mut logical = match c.logical {
        LogicalType::Absent => None,
        LogicalType::Known(t) if t.is_block_type() => None, // the format says it
        LogicalType::Known(t) => Some(t.name()),
        LogicalType::SameAsDtype | LogicalType::Other => Some(name(rare.logical)),
    };
    if to.logical_types != LogicalTypes::Any {
        if let Some(logical) = logical {
            to.check_logical(c.known_logical(), logical)?;
        }
        if let (LogicalType::Known(t), Some(_)) = (c.logical, logical) {
            // 1.1 has no `type`; four logical types are dtypes of their own there.
            dtype = t.name_in_1_1().unwrap_or(dtype);
            logical = None;
        }
    }
    let encoding = match c.encoding {
        Encoding::Raw => None,
        Encoding::Other => Some(name(rare.encoding)),
        known => known.name(),
    };
    let size = c.size().filter(|_| to.declares_sizes && c.encoding.has_declared_size());
    let optional = [logical.is_some(), size.is_some(), encoding.is_some(), rare.digest.is_some()];
    put::map(out, optional.iter().map(|there| u64::from(*there)).fold(3, u64::saturating_add))?;
    put::key(out, "dtype")?;
    put::text(out, dtype)?;
    if let Some(logical) = logical {
        put::key(out, "type")?;
        put::text(out, logical)?;
    }
    put::key(out, "offset")?;
    put::unsigned(out, c.offset)?;
    put::key(out, "length")?;
    put::unsigned(out, c.stored_size)?;
    if let Some(size) = size {
        put::key(out, "uncompressed_length")?;
        put::unsigned(out, size)?;
    }
    if let Some(encoding) = encoding {
        put::key(out, "encoding")?;
        put::text(out, encoding)?;
    }
    if let Some(digest) = rare.digest {
        put::key(out, "digest")?;
        put::utf8(out, manifest.texts.get_bytes(digest))?;
    }
    Ok(())
}
