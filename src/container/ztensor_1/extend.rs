//! The manifest of a file to which objects are appended. The old one is carried over as it is encoded: its entries are
//! copied byte for byte, unknown fields included, and new ones are put behind them.

use super::encode::encode_object;
use crate::container::capabilities::Capabilities;
use crate::container::cbor::{encode as put, Cursor, Head};
use crate::error::{broken, Error, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, LogicalType, Manifest, Object};
use crate::model::value::Value;
use std::ops::Range;

/// The whole manifest, encoded: `old`, which is `encoded`, with `added` encoded as `to`, and `attributes` for its own.
pub fn extend(
    encoded: &[u8],
    old: &Manifest,
    added: &Manifest,
    to: &Capabilities,
    attributes: Option<Value<'_>>,
) -> Result<Vec<u8>> {
    let parts = ManifestParts::of(encoded)?;
    let mut bytes = Vec::new();
    bytes.try_reserve(encoded.len())?;
    let has_attributes = parts.pairs.iter().any(|(key, _)| *key == RootKey::Attributes);
    let pairs = (parts.pairs.len() as u64).saturating_add(u64::from(attributes.is_some() && !has_attributes));
    put::map(&mut bytes, pairs)?;
    if let (Some(attributes), false) = (attributes, has_attributes) {
        put::text(&mut bytes, "attributes")?;
        put::value(&mut bytes, attributes)?;
    }
    for (key, pair) in &parts.pairs {
        match (key, attributes) {
            (RootKey::Version, _) if raises_version(old, added, to) => {
                put::text(&mut bytes, "version")?;
                put::text(&mut bytes, to.name)?;
            }
            (RootKey::Attributes, Some(attributes)) => {
                put::text(&mut bytes, "attributes")?;
                put::value(&mut bytes, attributes)?;
            }
            (RootKey::Objects, _) => {
                let objects = old.objects.len().saturating_add(added.objects.len());
                put::text(&mut bytes, "objects")?;
                put::map(&mut bytes, objects as u64)?;
                copy(&mut bytes, encoded.get(parts.entries.clone()).unwrap_or_default())?;
                for object in added.objects.iter() {
                    encode_object(added, object, to, &mut bytes)?;
                }
            }
            _ => copy(&mut bytes, encoded.get(pair.clone()).unwrap_or_default())?,
        }
    }
    Ok(bytes)
}

/// A 1.1 file becomes 1.2 when something of 1.2 is added, unless an object that is there would
/// break a rule of 1.2: then the version stays, as the releases leave it, and readers take the new
/// fields all the same. What is added keeps the rules of both.
fn raises_version(old: &Manifest, added: &Manifest, to: &Capabilities) -> bool {
    let mut added = added.components.iter();
    let needs_it = |c: &Component| {
        c.encoding.is_compressed()
            || c.logical != LogicalType::Absent && !c.known_logical().is_some_and(Logical::is_block_type)
    };
    old.container != Some(to.container)
        && added.any(needs_it)
        && old.objects.iter().all(|o| keeps_1_2(old, o))
}

/// Whether an object of a 1.1 file keeps the rules that only 1.2 has. A logical type may stand in its dtype, as
/// in 1.1 and nowhere else.
fn keeps_1_2(manifest: &Manifest, object: &Object) -> bool {
    manifest.components(object).iter().all(|c| {
        let index = object.format.is_index(manifest.texts.get(c.role));
        (!c.encoding.is_compressed() || c.is_size_declared())
            && (!index || c.dtype == Some(Dtype::U64))
            && c.known_logical().is_none()
    })
}

fn copy(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.try_reserve(bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RootKey {
    Version,
    Attributes,
    Objects,
    Other,
}

/// Where the parts of a manifest stand in its bytes. It was decoded before, so it is well-formed.
struct ManifestParts {
    /// The root's pairs, each from its key to the end of its value.
    pairs: Vec<(RootKey, Range<usize>)>,
    /// The entries of `objects`, without the map's head and end.
    entries: Range<usize>,
}

impl ManifestParts {
    fn of(bytes: &[u8]) -> Result<ManifestParts> {
        let mut cursor = Cursor::new(bytes, 0);
        let mut parts = ManifestParts { pairs: Vec::new(), entries: 0..0 };
        let mut left = map_length(&mut cursor)?;
        while cursor.another(&mut left)? {
            let start = cursor.position();
            let key = match cursor.head()? {
                Head::Text(length) => cursor.text_body(length)?,
                _ => return Err(unexpected()),
            };
            let key = match &*key {
                "version" => RootKey::Version,
                "attributes" => RootKey::Attributes,
                "objects" => RootKey::Objects,
                _ => RootKey::Other,
            };
            if key == RootKey::Objects {
                parts.entries = entries(&mut cursor)?;
            } else {
                skip_checked(&mut cursor)?;
            }
            parts.pairs.try_reserve(1)?;
            parts.pairs.push((key, start..cursor.position()));
        }
        Ok(parts)
    }
}

fn entries(cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
    let mut left = map_length(cursor)?;
    let start = cursor.position();
    let mut end = start;
    while cursor.another(&mut left)? {
        skip_checked(cursor)?;
        skip_checked(cursor)?;
        end = cursor.position();
    }
    Ok(start..end)
}

/// Steps over an item of what was decoded before, and checked then: heads and lengths are enough.
fn skip_checked(cursor: &mut Cursor<'_>) -> Result<()> {
    let mut open: Vec<Option<u64>> = Vec::new(); // how many items follow in each container that is open
    loop {
        match cursor.head()? {
            Head::Text(length) => drop(cursor.text_body(length)?),
            Head::Bytes(Some(length)) => drop(cursor.take(length)?),
            Head::Tag(_) => continue, // what it is about follows
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
            let bytes = [item, b"\x01"].concat(); // and something behind it
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
