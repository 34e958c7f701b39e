//! A manifest to its bytes (spec 2 section 3): deterministic CBOR, objects and parts in the order of their
//! keys, without fields that are absent.

use super::{layouts, names};
use crate::container::capabilities::Capabilities;
use crate::container::cbor::encode as put;
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component, Encoding, LogicalType, Manifest, Object, TextId};
use crate::model::sort::sort_by;

/// Encodes a whole manifest.
pub fn encode_manifest(manifest: &Manifest, _: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let attributes = manifest.file_attributes().filter(|a| !a.is_empty_map());
    let is_sharded = !manifest.shards.is_empty();
    put::map(
        out,
        1_u64.saturating_add(u64::from(is_sharded)).saturating_add(u64::from(attributes.is_some())),
    )?;
    if is_sharded {
        put::key(out, "shards")?;
        shards(manifest, out)?;
    }
    put::key(out, "objects")?;
    put::map(out, manifest.objects.len() as u64)?;
    for object in sorted(&manifest.objects, |object| manifest.texts.get_bytes(object.name))? {
        put::utf8(out, manifest.texts.get_bytes(object.name))?;
        encode_object(manifest, object, out)?;
    }
    match attributes {
        Some(attributes) => {
            put::key(out, "attributes")?;
            put::sorted_value(out, attributes)
        }
        None => Ok(()),
    }
}

/// Entries in the order of their keys.
fn sorted<'t, T>(entries: &'t [T], key: impl Fn(&'t T) -> &'t [u8]) -> Result<Vec<&'t T>> {
    let mut order = Vec::new();
    order.try_reserve_exact(entries.len())?;
    order.extend(entries);
    sort_by(&mut order, |a: &&T, b: &&T| names::key_order(key(a), key(b)));
    Ok(order)
}

fn shards(manifest: &Manifest, out: &mut Vec<u8>) -> Result<()> {
    put::map(out, manifest.shards.len() as u64)?;
    for shard in sorted(&manifest.shards, |shard| manifest.texts.get_bytes(shard.name))? {
        put::utf8(out, manifest.texts.get_bytes(shard.name))?;
        put::map(out, 2)?;
        put::key(out, "size")?;
        put::unsigned(out, shard.size)?;
        put::key(out, "digest")?;
        put::utf8(out, manifest.texts.get_bytes(shard.digest))?;
    }
    Ok(())
}

/// Encodes the definition of an object.
pub fn encode_object(manifest: &Manifest, object: &Object, out: &mut Vec<u8>) -> Result<()> {
    let attributes = manifest.object_attributes(object).filter(|a| !a.is_empty_map());
    put::map(out, if attributes.is_some() { 4 } else { 3 })?;
    put::key(out, "parts")?;
    let components = manifest.components(object);
    put::map(out, components.len() as u64)?;
    match components {
        [only] => part(manifest, only, out)?,
        _ => {
            for component in sorted(components, |c| manifest.texts.get_bytes(c.role))? {
                part(manifest, component, out)?;
            }
        }
    }
    put::key(out, "shape")?;
    let shape = manifest.shape(object);
    put::array(out, shape.len() as u64)?;
    shape.iter().try_for_each(|d| put::unsigned(out, *d))?;
    put::key(out, "layout")?;
    put::text(out, layouts::name(manifest, object.format))?;
    match attributes {
        Some(attributes) => {
            put::key(out, "attributes")?;
            put::sorted_value(out, attributes)
        }
        None => Ok(()),
    }
}

/// Encodes the role of a part and its definition.
fn part(manifest: &Manifest, c: &Component, out: &mut Vec<u8>) -> Result<()> {
    let rare = manifest.rare(c);
    let text = |text: Option<TextId>| text.map(|t| manifest.texts.get(t)).unwrap_or_default();
    let (dtype, logical) = match (c.dtype, c.logical) {
        (Some(Dtype::Bool), _) => (Dtype::U8, Some(Dtype::Bool.name())),
        (Some(dtype), LogicalType::Absent) => (dtype, None),
        (Some(dtype), LogicalType::Known(known)) if known.is_block_type() => (dtype, None), // the layout says it
        (Some(dtype), LogicalType::Known(known)) => (dtype, Some(known.name())),
        (Some(dtype), LogicalType::SameAsDtype | LogicalType::Other) => (dtype, Some(text(rare.logical))),
        (None, _) => return Err(fail!(Internal, "a part of an unknown dtype")),
    };
    let encoding = match c.encoding {
        Encoding::Raw => None,
        Encoding::Other => Some(text(rare.encoding)),
        known => known.name(),
    };
    let shard = manifest.shard(c);
    let optional =
        [logical.is_some(), shard.is_some(), rare.digest.is_some(), encoding.is_some(), encoding.is_some()];
    put::utf8(out, manifest.texts.get_bytes(c.role))?;
    put::map(out, optional.iter().fold(2_u64, |sum, is_there| sum.saturating_add(u64::from(*is_there))))?;
    put::key(out, "blob")?;
    put::array(out, 2)?;
    put::unsigned(out, c.offset)?;
    put::unsigned(out, c.stored_size)?;
    if let Some(logical) = logical {
        put::key(out, "type")?;
        put::text(out, logical)?;
    }
    put::key(out, "dtype")?;
    put::text(out, dtype.name())?;
    if let Some(shard) = shard {
        put::key(out, "shard")?;
        put::utf8(out, manifest.texts.get_bytes(shard.name))?;
    }
    if let Some(digest) = rare.digest {
        put::key(out, "digest")?;
        put::utf8(out, manifest.texts.get_bytes(digest))?;
    }
    if let Some(encoding) = encoding {
        put::key(out, "encoding")?;
        put::text(out, encoding)?;
        put::key(out, "decoded_length")?;
        put::unsigned(out, layouts::decoded(c))?;
    }
    Ok(())
}
