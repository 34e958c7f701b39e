//! The manifest of a file that grows or is edited. What an edit does not change is copied byte for byte from
//! the old one, unknown keys included; all maps stay in the order of their keys.

use super::encode::encode_object;
use crate::container::capabilities::Capabilities;
use crate::container::cbor::encode::{self as put, SortedMap};
use crate::container::cbor::{Cursor, Head};
use crate::container::edits::{AttributeEdits, ObjectEdits};
use crate::error::{broken, Error, Result, Rule};
use crate::model::manifest::Manifest;

/// Keys as they are encoded.
const OBJECTS: &[u8] = b"\x67objects";
const ATTRIBUTES: &[u8] = b"\x6aattributes";

/// Encodes the whole manifest: `old`, whose bytes are `encoded`, changed by `attributes` and `edits`, and
/// with the objects of `added`.
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
        _ => put::encoded(out, value),
    })?;
    Ok(bytes)
}

/// Appends the value of a field: called with its key, its value and the output.
type PutValue<'p> = &'p mut dyn FnMut(&[u8], &[u8], &mut Vec<u8>) -> Result<()>;

/// Appends the fields of a map with other attributes; `value` appends the values of the other fields.
fn with_attributes(
    encoded: &[u8],
    edits: &AttributeEdits,
    out: &mut Vec<u8>,
    value: PutValue<'_>,
) -> Result<()> {
    let mut map = SortedMap::new(4)?;
    let mut old: &[u8] = &[];
    each_pair(encoded, &mut |key, item| {
        if key == ATTRIBUTES && !edits.is_empty() {
            old = item;
            return Ok(());
        }
        put::encoded(map.key(), key)?;
        value(key, item, map.value())?;
        map.end_pair()
    })?;
    if !edits.is_empty() {
        let attributes = edited(old, edits)?;
        if !attributes.is_empty() {
            put::encoded(map.key(), ATTRIBUTES)?;
            attributes.put(map.value())?;
            map.end_pair()?;
        }
    }
    map.put(out)
}

/// Attributes, whose bytes are `encoded` (empty if there were none), changed by `edits`.
fn edited(encoded: &[u8], edits: &AttributeEdits) -> Result<SortedMap> {
    let mut map = SortedMap::new(edits.set.iter().len())?;
    if !encoded.is_empty() {
        each_pair(encoded, &mut |key, item| {
            let text = Cursor::new(key, 0).value()?;
            let is_set = edits.set.iter().any(|(set, _)| set.as_text() == text.get().as_text());
            if is_set || edits.removes(text.get()) {
                return Ok(());
            }
            put::encoded(map.key(), key)?;
            put::encoded(map.value(), item)?;
            map.end_pair()
        })?;
    }
    for (key, value) in edits.set.iter() {
        put::sorted_value(map.key(), key)?;
        put::sorted_value(map.value(), value)?;
        map.end_pair()?;
    }
    Ok(map)
}

/// Appends the old objects, whose bytes are `encoded`, changed by `edits`, and those of `added`.
fn objects(encoded: &[u8], added: &Manifest, edits: &ObjectEdits, out: &mut Vec<u8>) -> Result<()> {
    let mut map = SortedMap::new(added.objects.len())?;
    let mut position = 0_usize;
    each_pair(encoded, &mut |key, definition| {
        let edit = edits.get(position);
        position = position.saturating_add(1);
        let Some(edit) = edit else {
            put::encoded(map.key(), key)?;
            put::encoded(map.value(), definition)?;
            return map.end_pair();
        };
        if edit.is_removed {
            return Ok(());
        }
        match &edit.name {
            Some(name) => put::text(map.key(), name)?,
            None => put::encoded(map.key(), key)?,
        }
        with_attributes(definition, &edit.attributes, map.value(), &mut |_, item, out| {
            put::encoded(out, item)
        })?;
        map.end_pair()
    })?;
    for object in added.objects.iter() {
        put::utf8(map.key(), added.texts.get_bytes(object.name))?;
        encode_object(added, object, map.value())?;
        map.end_pair()?;
    }
    map.put(out)
}

/// Calls `body` with each pair of the map `encoded`, which was checked to be deterministic.
fn each_pair<'e>(encoded: &'e [u8], body: &mut dyn FnMut(&'e [u8], &'e [u8]) -> Result<()>) -> Result<()> {
    let mut cursor = Cursor::new(encoded, 0);
    let Head::Map(mut left) = cursor.head()? else { return Err(changed()) };
    while cursor.another(&mut left)? {
        let key = cursor.clone();
        cursor.skip_well_formed()?;
        let value = cursor.clone();
        cursor.skip_well_formed()?;
        body(value.since(&key), cursor.since(&value))?;
    }
    Ok(())
}

#[cold]
fn changed() -> Error {
    broken!(Rule::Zt2Schema, "the manifest changed while it was being appended to")
}
