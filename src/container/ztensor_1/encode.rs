//! Encodes a 1.1 or 1.2 manifest: deterministic CBOR, with objects in their order and fields in the order of
//! the specification, without absent fields.
//!
//! If a file is appended to or edited, its manifest is extended: everything that an edit does not change is
//! copied byte for byte from the old manifest, including unknown fields. New entries follow the existing
//! ones.

use crate::container::capabilities::{Capabilities, LogicalTypes};
use crate::container::cbor::{each_pair, encode as put, Cursor, Head};
use crate::container::interface::{AttributeEdits, ObjectEdits};
use crate::error::{Result, Rule};
use crate::memory::{append, filled, push};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Encoding, LogicalType, Manifest, Object, TextId};
use crate::model::value::order;
use std::borrow::Cow;

/// The rule that a manifest breaks if it changes while its file is appended to.
const RULE: Rule = Rule::CborMalformed;

pub fn encode_manifest(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let attributes = manifest.file_attributes().filter(|a| !a.is_empty_map());
    put::map(out, if attributes.is_some() { 3 } else { 2 })?;
    put::text_field(out, "version", to.name)?;
    put::attributes(out, attributes, false)?;
    put::key(out, "objects")?;
    put::map(out, manifest.objects.len() as u64)?;
    manifest.objects.iter().try_for_each(|object| encode_object(manifest, object, to, out))
}

/// Encodes an entry of `objects`: the name and the definition.
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
    put::shape(out, manifest.shape(object))?;
    put::text_field(out, "format", manifest.format_name(object.format))?;
    put::attributes(out, attributes, false)?;
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
        LogicalType::Known(t) if t.is_block_type() => None, // the format gives the type
        LogicalType::Known(t) => Some(t.name()),
        LogicalType::SameAsDtype | LogicalType::Other => Some(name(rare.logical)),
    };
    if to.logical_types != LogicalTypes::Any {
        if let Some(logical) = logical {
            to.check_logical(c.known_logical(), logical)?;
        }
        if let (LogicalType::Known(t), Some(_)) = (c.logical, logical) {
            // 1.1 has no `type`. Four logical types are dtypes there.
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
    put::text_field(out, "dtype", dtype)?;
    put::optional_text(out, "type", logical.map(str::as_bytes))?;
    put::unsigned_field(out, "offset", c.offset)?;
    put::unsigned_field(out, "length", c.stored_size)?;
    if let Some(size) = size {
        put::unsigned_field(out, "uncompressed_length", size)?;
    }
    put::optional_text(out, "encoding", encoding.map(str::as_bytes))?;
    put::optional_text(out, "digest", rare.digest.map(|digest| manifest.texts.get_bytes(digest)))
}

/// Encodes a whole manifest: `old`, whose bytes are `encoded`, changed by `attributes` and `edits`, then
/// `added`, encoded as `to`.
pub fn extend(
    encoded: &[u8],
    old: &Manifest,
    added: &Manifest,
    to: &Capabilities,
    attributes: &AttributeEdits,
    edits: &ObjectEdits,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve(encoded.len())?;
    copy_fields(&mut bytes, encoded, attributes, "objects", &mut |bytes, field| match &*field.name {
        "version" if raises_version(old, added, to, edits) => {
            put::text_field(bytes, "version", to.name)?;
            Ok(true)
        }
        "objects" => {
            let kept = old.objects.len().saturating_sub(edits.removed_count());
            put::text(bytes, "objects")?;
            put::map(bytes, kept.saturating_add(added.objects.len()) as u64)?;
            copy_entries(bytes, field.value, edits)?;
            for object in added.objects.iter() {
                encode_object(added, object, to, bytes)?;
            }
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok(bytes)
}

/// Appends the entries of `objects`, whose bytes are `encoded`, changed by `edits`. Does not write the map's
/// head.
fn copy_entries(out: &mut Vec<u8>, encoded: &[u8], edits: &ObjectEdits) -> Result<()> {
    if edits.is_empty() {
        let mut cursor = Cursor::new(encoded, 0);
        let has_break = cursor.head()? == Head::Map(None);
        let end = encoded.len().saturating_sub(usize::from(has_break));
        return append(out, encoded.get(cursor.position()..end).unwrap_or_default());
    }
    let mut position = 0usize;
    each_pair(encoded, RULE, &mut |key, definition| {
        let edit = edits.get(position);
        position = position.saturating_add(1);
        let Some(edit) = edit else {
            append(out, key)?;
            return append(out, definition);
        };
        if edit.is_removed {
            return Ok(());
        }
        match &edit.name {
            Some(name) => put::text(out, name)?,
            None => append(out, key)?,
        }
        match edit.attributes.is_empty() {
            true => append(out, definition),
            false => copy_fields(out, definition, &edit.attributes, "components", &mut |_, _| Ok(false)),
        }
    })
}

/// Appends the fields of a map, whose bytes are `encoded`, with other attributes. If the map had none, they
/// come before the field `next`, as in [`encode_object`]. `replace` may write a field itself, and returns
/// whether it did.
fn copy_fields(
    out: &mut Vec<u8>,
    encoded: &[u8],
    edits: &AttributeEdits,
    next: &str,
    replace: &mut dyn FnMut(&mut Vec<u8>, &Field<'_>) -> Result<bool>,
) -> Result<()> {
    let mut fields: Vec<Field<'_>> = Vec::new();
    each_pair(encoded, RULE, &mut |key, value| {
        let mut cursor = Cursor::new(key, 0);
        let Head::Text(length) = cursor.head()? else { return Ok(()) };
        push(&mut fields, Field { name: cursor.text_body(length)?, key, value })
    })?;
    let old = fields.iter().find(|field| field.name == "attributes");
    let (mut kept, mut new) = (fields.len(), Vec::new());
    if !edits.is_empty() {
        kept = kept.saturating_sub(usize::from(old.is_some()));
        new = edited_attributes(old.map(|field| field.value), edits)?;
    }
    put::map(out, kept.saturating_add(usize::from(!new.is_empty())) as u64)?;
    let place = if old.is_some() { "attributes" } else { next };
    for field in &fields {
        if field.name == place && !new.is_empty() {
            put::text(out, "attributes")?;
            append(out, &new)?;
        }
        let is_replaced = field.name == "attributes" && !edits.is_empty();
        if !is_replaced && !replace(out, field)? {
            append(out, field.key)?;
            append(out, field.value)?;
        }
    }
    Ok(())
}

/// Encodes an attribute map, whose bytes are `encoded`, changed by `edits`. Returns nothing if the map is
/// empty after that.
fn edited_attributes(encoded: Option<&[u8]>, edits: &AttributeEdits) -> Result<Vec<u8>> {
    let (mut pairs, mut count) = (Vec::new(), 0u64);
    let mut is_written: Vec<bool> = filled(false, edits.set.iter().len())?;
    // The attributes may also be null.
    let is_map = |encoded: &&[u8]| matches!(Cursor::new(encoded, 0).head(), Ok(Head::Map(_)));
    if let Some(encoded) = encoded.filter(is_map) {
        each_pair(encoded, RULE, &mut |encoded_key, value| {
            let key = Cursor::new(encoded_key, 0).value()?;
            if edits.removes(key.get()) {
                return Ok(());
            }
            count = count.saturating_add(1);
            append(&mut pairs, encoded_key)?;
            let mut set = edits.set.iter().zip(&mut is_written);
            match set.find(|((other, _), _)| order(*other, key.get()).is_eq()) {
                Some(((_, new), is_written)) => {
                    *is_written = true;
                    put::value(&mut pairs, new)
                }
                None => append(&mut pairs, value),
            }
        })?;
    }
    for ((key, value), _) in edits.set.iter().zip(&is_written).filter(|(_, is_written)| !**is_written) {
        count = count.saturating_add(1);
        put::value(&mut pairs, key)?;
        put::value(&mut pairs, value)?;
    }
    let mut map = Vec::new();
    if count > 0 {
        put::map(&mut map, count)?;
        append(&mut map, &pairs)?;
    }
    Ok(map)
}

/// Whether the version of a 1.1 file becomes 1.2: a feature of 1.2 is added, and no existing object breaks a
/// rule of 1.2. Otherwise the file keeps its version, as with released versions, and readers accept the new
/// fields. Added objects follow the rules of both versions.
fn raises_version(old: &Manifest, added: &Manifest, to: &Capabilities, edits: &ObjectEdits) -> bool {
    let mut added = added.components.iter();
    let needs_it = |c: &Component| {
        c.encoding.is_compressed()
            || c.logical != LogicalType::Absent && !c.known_logical().is_some_and(Logical::is_block_type)
    };
    let mut old_objects = old.objects.iter().enumerate();
    old.container != Some(to.container)
        && added.any(needs_it)
        && old_objects.all(|(at, object)| edits.removes(at) || keeps_1_2(old, object))
}

/// Whether an object of a 1.1 file follows the rules that only 1.2 has. Its logical type may be in its dtype,
/// which only 1.1 allows.
fn keeps_1_2(manifest: &Manifest, object: &Object) -> bool {
    manifest.components(object).iter().all(|c| {
        let index = object.format.is_index(manifest.texts.get(c.role));
        (!c.encoding.is_compressed() || c.is_size_declared())
            && (!index || c.dtype == Some(Dtype::U64))
            && c.known_logical().is_none()
    })
}

/// A field of a map: its name, and its encoded key and value.
struct Field<'a> {
    name: Cow<'a, str>,
    key: &'a [u8],
    value: &'a [u8],
}
