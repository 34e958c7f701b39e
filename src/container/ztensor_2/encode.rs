//! Encodes a manifest (spec 2 section 3): deterministic CBOR, with objects and components sorted by their
//! keys, without absent fields.
//!
//! If a file is appended to or edited, everything that an edit does not change is copied byte for byte from
//! the old manifest, including unknown keys.

use super::{layouts, names};
use crate::container::capabilities::Capabilities;
use crate::container::cbor::encode::{self as put, SortedMap};
use crate::container::cbor::{each_pair, Cursor};
use crate::container::interface::{AttributeEdits, ObjectEdits};
use crate::error::{fail, Result, Rule};
use crate::memory::{append, collected};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component, Encoding, LogicalType, Manifest, Object, TextId};
use crate::model::sort::sort_by;

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
    put::attributes(out, attributes, true)
}

/// The entries, sorted by their keys.
fn sorted<'t, T>(entries: &'t [T], key: impl Fn(&'t T) -> &'t [u8]) -> Result<Vec<&'t T>> {
    let mut order = collected(entries.len(), entries)?;
    sort_by(&mut order, |a: &&T, b: &&T| names::key_order(key(a), key(b)));
    Ok(order)
}

fn shards(manifest: &Manifest, out: &mut Vec<u8>) -> Result<()> {
    put::map(out, manifest.shards.len() as u64)?;
    for shard in sorted(&manifest.shards, |shard| manifest.texts.get_bytes(shard.name))? {
        put::utf8(out, manifest.texts.get_bytes(shard.name))?;
        put::map(out, 2)?;
        put::unsigned_field(out, "size", shard.size)?;
        put::key(out, "digest")?;
        put::utf8(out, manifest.texts.get_bytes(shard.digest))?;
    }
    Ok(())
}

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
    put::shape(out, manifest.shape(object))?;
    put::text_field(out, "layout", layouts::name(manifest, object.format))?;
    put::attributes(out, attributes, true)
}

/// Encodes the role of a component and its definition.
fn part(manifest: &Manifest, c: &Component, out: &mut Vec<u8>) -> Result<()> {
    let rare = manifest.rare(c);
    let text = |text: Option<TextId>| text.map(|t| manifest.texts.get(t)).unwrap_or_default();
    let (dtype, logical) = match (c.dtype, c.logical) {
        (Some(Dtype::Bool), _) => (Dtype::U8, Some(Dtype::Bool.name())),
        (Some(dtype), LogicalType::Absent) => (dtype, None),
        // The layout gives the type.
        (Some(dtype), LogicalType::Known(known)) if known.is_block_type() => (dtype, None),
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
    put::optional_text(out, "type", logical.map(str::as_bytes))?;
    put::text_field(out, "dtype", dtype.name())?;
    put::optional_text(out, "shard", shard.map(|shard| manifest.texts.get_bytes(shard.name)))?;
    put::optional_text(out, "digest", rare.digest.map(|digest| manifest.texts.get_bytes(digest)))?;
    put::optional_text(out, "encoding", encoding.map(str::as_bytes))?;
    match encoding {
        Some(_) => put::unsigned_field(out, "decoded_length", layouts::decoded(c)),
        None => Ok(()),
    }
}

/// Encoded keys.
const OBJECTS: &[u8] = b"\x67objects";
const ATTRIBUTES: &[u8] = b"\x6aattributes";

/// Encodes a whole manifest: `old`, whose bytes are `encoded`, changed by `attributes` and `edits`, with the
/// objects of `added`.
pub fn extend(
    encoded: &[u8],
    _: &Manifest,
    added: &Manifest,
    _: &Capabilities,
    attributes: &AttributeEdits,
    edits: &ObjectEdits,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    with_attributes(encoded, attributes, &mut bytes, &mut |key, value, out| match key {
        OBJECTS => objects(value, added, edits, out),
        _ => append(out, value),
    })?;
    Ok(bytes)
}

/// Appends the value of a field. It is called with the field's key, its old value, and the output.
type PutValue<'p> = &'p mut dyn FnMut(&[u8], &[u8], &mut Vec<u8>) -> Result<()>;

/// Appends the fields of a map with other attributes. `value` appends the values of the other fields.
fn with_attributes(
    encoded: &[u8],
    edits: &AttributeEdits,
    out: &mut Vec<u8>,
    value: PutValue<'_>,
) -> Result<()> {
    let mut map = SortedMap::new(4)?;
    let mut old: &[u8] = &[];
    each_pair(encoded, Rule::Zt2Schema, &mut |key, item| {
        if key == ATTRIBUTES && !edits.is_empty() {
            old = item;
            return Ok(());
        }
        map.add(|out| append(out, key), |out| value(key, item, out))
    })?;
    if !edits.is_empty() {
        let attributes = edited(old, edits)?;
        if !attributes.is_empty() {
            map.add(|out| append(out, ATTRIBUTES), |out| attributes.put(out))?;
        }
    }
    map.put(out)
}

/// The attributes whose bytes are `encoded` (empty if there were none), changed by `edits`.
fn edited(encoded: &[u8], edits: &AttributeEdits) -> Result<SortedMap> {
    let mut map = SortedMap::new(edits.set.iter().len())?;
    if !encoded.is_empty() {
        each_pair(encoded, Rule::Zt2Schema, &mut |key, item| {
            let text = Cursor::new(key, 0).value()?;
            let is_set = edits.set.iter().any(|(set, _)| set.as_text() == text.get().as_text());
            if is_set || edits.removes(text.get()) {
                return Ok(());
            }
            map.add(|out| append(out, key), |out| append(out, item))
        })?;
    }
    for (key, value) in edits.set.iter() {
        map.add(|out| put::put_value(out, key, true), |out| put::put_value(out, value, true))?;
    }
    Ok(map)
}

/// Appends the old objects, whose bytes are `encoded`, changed by `edits`, and the objects of `added`.
fn objects(encoded: &[u8], added: &Manifest, edits: &ObjectEdits, out: &mut Vec<u8>) -> Result<()> {
    let mut map = SortedMap::new(added.objects.len())?;
    let mut position = 0_usize;
    each_pair(encoded, Rule::Zt2Schema, &mut |key, definition| {
        let edit = edits.get(position);
        position = position.saturating_add(1);
        let Some(edit) = edit else {
            return map.add(|out| append(out, key), |out| append(out, definition));
        };
        if edit.is_removed {
            return Ok(());
        }
        let put_key = |out: &mut Vec<u8>| match &edit.name {
            Some(name) => put::text(out, name),
            None => append(out, key),
        };
        let put_field: PutValue<'_> = &mut |_, item, out| append(out, item);
        map.add(put_key, |out| with_attributes(definition, &edit.attributes, out, put_field))
    })?;
    for object in added.objects.iter() {
        let name = added.texts.get_bytes(object.name);
        map.add(|out| put::utf8(out, name), |out| encode_object(added, object, out))?;
    }
    map.put(out)
}
