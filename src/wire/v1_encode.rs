//! The way back to a 1.1 or 1.2 manifest: deterministic CBOR, objects in their order, fields in the
//! order of the spec, absent fields left out.

use super::cbor_encode as put;
use crate::error::{Cause, Error, Result};
use crate::model::manifest::{Component, Encoding, Format, LogicalType, Manifest, Object, TextId, Version};
use crate::model::value::Value;

/// The size trailer and magic behind a manifest of `manifest_size` bytes.
pub fn footer(manifest_size: u64) -> [u8; 16] {
    let mut footer = [0; 16];
    let (size, magic) = footer.split_at_mut(8);
    size.copy_from_slice(&manifest_size.to_le_bytes());
    magic.copy_from_slice(super::frame::MAGIC_1);
    footer
}

/// What a 1.1 or 1.2 manifest has in front of the first object; [`encode_object`] is the rest.
pub fn encode_head(manifest: &Manifest, version: Version, out: &mut Vec<u8>) -> Result<()> {
    let attributes = manifest.attributes.as_ref().filter(|a| !is_empty_map(a));
    put::map(out, if attributes.is_some() { 3 } else { 2 })?;
    put::key(out, "version")?;
    put::text(out, version_text(version))?;
    if let Some(attributes) = attributes {
        put::key(out, "attributes")?;
        put::value(out, attributes)?;
    }
    put::key(out, "objects")?;
    put::map(out, manifest.objects.len() as u64)
}

/// What `version` says in a file that we write.
pub fn version_text(version: Version) -> &'static str {
    match version {
        Version::V0_1 => "0.1.0",
        Version::V1_0 => "1.0",
        Version::V1_1 => "1.1.0",
        Version::V1_2 => "1.2.0",
    }
}

fn is_empty_map(value: &Value) -> bool {
    value.pairs().is_some_and(<[_]>::is_empty)
}

/// One entry of `objects`: the name and the definition.
pub fn encode_object(
    manifest: &Manifest,
    object: &Object,
    version: Version,
    out: &mut Vec<u8>,
) -> Result<()> {
    let texts = &manifest.texts;
    put::utf8(out, texts.get_bytes(object.name))?;
    let attributes = manifest.object_attributes(object).filter(|a| !is_empty_map(a));
    put::map(out, if attributes.is_some() { 4 } else { 3 })?;
    put::key(out, "shape")?;
    let shape = manifest.shape(object);
    put::array(out, shape.len() as u64)?;
    shape.iter().try_for_each(|d| put::unsigned(out, *d))?;
    put::key(out, "format")?;
    put::text(out, format_name(manifest, object.format))?;
    if let Some(attributes) = attributes {
        put::key(out, "attributes")?;
        put::value(out, attributes)?;
    }
    put::key(out, "components")?;
    let components = manifest.components(object);
    put::map(out, components.len() as u64)?;
    for component in components {
        put::utf8(out, texts.get_bytes(component.role))?;
        encode_component(manifest, component, version, out)
            .map_err(|e| e.within(format_args!("component {:?}", texts.get(component.role))))?;
    }
    Ok(())
}

/// The name of a format, the file's own where it is unknown.
pub fn format_name(manifest: &Manifest, format: Format) -> &str {
    match format {
        Format::Other(text) => manifest.texts.get(text),
        known => known.name().unwrap_or_default(),
    }
}

fn encode_component(manifest: &Manifest, c: &Component, version: Version, out: &mut Vec<u8>) -> Result<()> {
    let rare = manifest.rare(c);
    let name = |text: Option<TextId>| text.map(|t| manifest.texts.get(t)).unwrap_or_default();
    let mut dtype = match c.dtype {
        Some(dtype) => dtype.name(),
        None => name(rare.dtype),
    };
    let mut logical = match c.logical {
        LogicalType::Absent => None,
        LogicalType::Known(t) => Some(t.name()),
        LogicalType::SameAsDtype | LogicalType::Other => Some(name(rare.logical)),
    };
    if version < Version::V1_2 {
        if let LogicalType::Known(t) = c.logical {
            // 1.1 has no `type`; four logical types are dtypes of their own there.
            dtype = t.name_in_1_1().ok_or_else(|| cannot_represent(version, "type", t.name()))?;
            logical = None;
        }
        if let Some(logical) = logical {
            return Err(cannot_represent(version, "type", logical));
        }
    }
    let encoding = match c.encoding {
        Encoding::Raw => None,
        Encoding::Zstd => c.encoding.name(),
        Encoding::Other => Some(name(rare.encoding)),
    };
    let size = c.size().filter(|_| version >= Version::V1_2 && c.encoding.has_declared_size());
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

#[cold]
fn cannot_represent(version: Version, what: &str, which: &str) -> Error {
    let version = version_text(version);
    Error::new(Cause::Unsupported, format_args!("spec {version} cannot represent the {what} {which:?}"))
}
