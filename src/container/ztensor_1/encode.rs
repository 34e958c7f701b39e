//! Encodes a 1.1 or 1.2 manifest: deterministic CBOR, with objects in their order and fields in the order of
//! the specification, without absent fields.
//!
//! If a file is appended to or edited, its manifest is extended: everything that an edit does not change is
//! copied byte for byte from the old manifest, including unknown fields. New entries follow the existing
//! ones.

use crate::container::capabilities::{Capabilities, LogicalTypes};
use crate::container::cbor::{encode as put, Cursor, Head};
use crate::container::interface::{AttributeEdits, ObjectEdits};
use crate::error::{broken, Error, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Encoding, LogicalType, Manifest, Object, TextId};
use crate::model::value::order;
use std::borrow::Cow;
use std::ops::Range;

/// Encodes a 1.1 or 1.2 manifest.
pub fn encode_manifest(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    encode_head(manifest, to, out)?;
    manifest.objects.iter().try_for_each(|object| encode_object(manifest, object, to, out))
}

/// The bytes before the first object.
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
    copy_fields(&mut bytes, encoded, attributes, "objects", &mut |bytes, field| match &*field.key {
        "version" if raises_version(old, added, to, edits) => {
            put::text(bytes, "version")?;
            put::text(bytes, to.name)?;
            Ok(true)
        }
        "objects" => {
            let kept = old.objects.len().saturating_sub(edits.removed_count());
            put::text(bytes, "objects")?;
            put::map(bytes, kept.saturating_add(added.objects.len()) as u64)?;
            copy_entries(bytes, encoded.get(field.value.clone()).unwrap_or_default(), edits)?;
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
    let mut cursor = Cursor::new(encoded, 0);
    let part = |range: Range<usize>| encoded.get(range).unwrap_or_default();
    let mut left = map_length(&mut cursor)?;
    let mut copied = cursor.position(); // everything before this position is in `out`
    if edits.is_empty() {
        // A map of indefinite length ends in a break.
        let end = encoded.len().saturating_sub(usize::from(left.is_none()));
        return put::encoded(out, part(copied..end));
    }
    let mut end = copied;
    for object in 0.. {
        if !cursor.another(&mut left)? {
            break;
        }
        let start = cursor.position();
        skip_checked(&mut cursor)?;
        let definition = cursor.position();
        skip_checked(&mut cursor)?;
        end = cursor.position();
        let Some(edit) = edits.get(object) else { continue };
        put::encoded(out, part(copied..start))?;
        copied = end;
        if edit.is_removed {
            continue;
        }
        match &edit.name {
            Some(name) => put::text(out, name)?,
            None => put::encoded(out, part(start..definition))?,
        }
        let definition = part(definition..end);
        match edit.attributes.is_empty() {
            true => put::encoded(out, definition)?,
            false => copy_fields(out, definition, &edit.attributes, "components", &mut |_, _| Ok(false))?,
        }
    }
    put::encoded(out, part(copied..end))
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
    let fields = fields(encoded)?;
    let part = |range: &Range<usize>| encoded.get(range.clone()).unwrap_or_default();
    let old = fields.iter().find(|field| field.key == "attributes");
    let (mut kept, mut new) = (fields.len(), Vec::new());
    if !edits.is_empty() {
        kept = kept.saturating_sub(usize::from(old.is_some()));
        new = edited_attributes(old.map(|field| part(&field.value)), edits)?;
    }
    put::map(out, kept.saturating_add(usize::from(!new.is_empty())) as u64)?;
    let place = if old.is_some() { "attributes" } else { next };
    for field in &fields {
        if field.key == place && !new.is_empty() {
            put::text(out, "attributes")?;
            put::encoded(out, &new)?;
        }
        let is_replaced = field.key == "attributes" && !edits.is_empty();
        if !is_replaced && !replace(out, field)? {
            put::encoded(out, part(&field.whole))?;
        }
    }
    Ok(())
}

/// Encodes an attribute map, whose bytes are `encoded`, changed by `edits`. Returns nothing if the map is
/// empty after that.
fn edited_attributes(encoded: Option<&[u8]>, edits: &AttributeEdits) -> Result<Vec<u8>> {
    let (mut pairs, mut count) = (Vec::new(), 0u64);
    let mut is_written: Vec<bool> = Vec::new();
    is_written.try_reserve_exact(edits.set.iter().len())?;
    is_written.resize(edits.set.iter().len(), false);
    let encoded = encoded.unwrap_or_default();
    let part = |range: Range<usize>| encoded.get(range).unwrap_or_default();
    let mut cursor = Cursor::new(encoded, 0);
    let mut left = match encoded.is_empty() {
        true => Some(0),
        false => match cursor.head()? {
            Head::Map(length) => length,
            _ => Some(0), // null
        },
    };
    while cursor.another(&mut left)? {
        let start = cursor.position();
        let key = cursor.value()?;
        let value = cursor.position();
        skip_checked(&mut cursor)?;
        if edits.removes(key.get()) {
            continue;
        }
        count = count.saturating_add(1);
        let mut set = edits.set.iter().zip(&mut is_written);
        match set.find(|((other, _), _)| order(*other, key.get()).is_eq()) {
            Some(((_, new), is_written)) => {
                *is_written = true;
                put::encoded(&mut pairs, part(start..value))?;
                put::value(&mut pairs, new)?;
            }
            None => put::encoded(&mut pairs, part(start..cursor.position()))?,
        }
    }
    for ((key, value), _) in edits.set.iter().zip(&is_written).filter(|(_, is_written)| !**is_written) {
        count = count.saturating_add(1);
        put::value(&mut pairs, key)?;
        put::value(&mut pairs, value)?;
    }
    let mut map = Vec::new();
    if count > 0 {
        put::map(&mut map, count)?;
        put::encoded(&mut map, &pairs)?;
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

/// A field of a map, and its position in the map's bytes.
struct Field<'a> {
    key: Cow<'a, str>,
    /// From the start of its key to the end of its value.
    whole: Range<usize>,
    value: Range<usize>,
}

/// The fields of a map that is well-formed, because it was decoded before.
fn fields(bytes: &[u8]) -> Result<Vec<Field<'_>>> {
    let mut cursor = Cursor::new(bytes, 0);
    let mut fields = Vec::new();
    let mut left = map_length(&mut cursor)?;
    while cursor.another(&mut left)? {
        let start = cursor.position();
        let key = match cursor.head()? {
            Head::Text(length) => cursor.text_body(length)?,
            _ => return Err(unexpected()),
        };
        let value = cursor.position();
        skip_checked(&mut cursor)?;
        let end = cursor.position();
        fields.try_reserve(1)?;
        fields.push(Field { key, whole: start..end, value: value..end });
    }
    Ok(fields)
}

/// Skips an item that was checked when it was decoded. Only heads and lengths are read.
fn skip_checked(cursor: &mut Cursor<'_>) -> Result<()> {
    let mut open: Vec<Option<u64>> = Vec::new(); // how many items remain in each open container
    loop {
        match cursor.head()? {
            Head::Text(length) => drop(cursor.text_body(length)?),
            Head::Bytes(Some(length)) => drop(cursor.take(length)?),
            Head::Tag(_) => continue, // the tagged item follows
            Head::Break => return Err(unexpected()),
            Head::Array(length) => push(&mut open, length)?,
            Head::Map(length) => push(&mut open, length.map(|pairs| pairs.saturating_mul(2)))?,
            Head::Bytes(None) => push(&mut open, None)?,
            _ => {}
        }
        while let Some(left) = open.last_mut() {
            if cursor.another(left)? {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return Ok(());
        }
    }
}

fn push(open: &mut Vec<Option<u64>>, length: Option<u64>) -> Result<()> {
    open.try_reserve(1)?;
    open.push(length);
    Ok(())
}

fn map_length(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    match cursor.head()? {
        Head::Map(length) => Ok(length),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> Error {
    broken!(Rule::CborMalformed, "the manifest changed while it was being appended to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_over_ends_where_decoding_ends() {
        let items: [&[u8]; 15] = [
            b"\x00",
            b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
            b"\x63abc",
            b"\x7f\x61a\x62bc\xff",
            b"\x43\x01\x02\xff",
            b"\x5f\x41\xff\x42\x01\x02\xff",
            b"\x80",
            b"\xa0",
            b"\x82\x81\x01\xa1\x61k\x80",
            b"\x9f\x01\x9f\xff\xa0\xff",
            b"\xbf\x61a\xbf\xff\x61b\x5f\xff\xff",
            b"\xc1\x1a\x00\x00\x00\x07",
            b"\xa2\x61a\xd8\x20\x82\xc2\x41\x01\x02\x61b\xf6",
            b"\xf5",
            b"\xfb\x40\x09\x21\xfb\x54\x44\x2d\x18",
        ];
        for item in items {
            let bytes = [item, b"\x01"].concat(); // with something after it
            let (mut decoded, mut passed) = (Cursor::new(&bytes, 0), Cursor::new(&bytes, 0));
            decoded.skip().unwrap();
            skip_checked(&mut passed).unwrap();
            assert_eq!((decoded.position(), passed.position()), (item.len(), item.len()), "{item:02x?}");
        }
        for cut in [&b"\xff"[..], b"\x82\x01", b"\x63ab", b"\x9f\x01", b""] {
            assert!(skip_checked(&mut Cursor::new(cut, 0)).is_err(), "{cut:02x?}");
        }
    }
}
