//! The content digest (spec 2 section 11): the hash of what objects are, wherever their bytes are and however
//! they are stored.
//!
//! The hashed items are those of the manifest without some keys. Both are deterministic CBOR, so the bytes of
//! the manifest are hashed as they are, in their order, and no memory is needed.

use super::deterministic;
use crate::container::cbor::{Cursor, Head};
use crate::digest::{Algorithm, Digest, Hasher};
use crate::error::{broken, fail, Quoted, Result, Rule};

/// The head of an array of two items, and the first item, a text.
const START: &[u8] = b"\x82\x6czt.content/1";
/// The keys of an object and of a part that are hashed, as CBOR, in the order of a deterministic map.
pub(super) const OBJECT_KEYS: [&[u8]; 4] = [b"\x65parts", b"\x65shape", b"\x66layout", b"\x6aattributes"];
const PART_KEYS: [&[u8]; 3] = [b"\x64type", b"\x65dtype", b"\x66digest"];

/// The content digest of the manifest in `bytes`, which stands `base` bytes into its file.
pub fn digest(bytes: &[u8], base: u64, algorithm: Algorithm) -> Result<Digest> {
    if bytes.is_empty() {
        return Err(fail!(
            Unsupported,
            "a file without a manifest, which is a data shard, has no content digest"
        ));
    }
    deterministic::check(bytes, base)?; // it may have changed since it was opened
    let mut hasher = Hasher::new(algorithm);
    hasher.update(START);
    let [objects] = values(&mut Cursor::new(bytes, base), [b"\x67objects"])?;
    let mut cursor = objects.ok_or_else(|| broken!(Rule::Zt2Schema, "the manifest has no \"objects\""))?;
    let mut left = map(&mut cursor, Some(&mut hasher))?;
    while cursor.another(&mut left)? {
        let name = item(&mut cursor)?;
        hasher.update(name);
        object(&mut cursor, &mut hasher)
            .map_err(|e| e.within(format_args!("object {}", Quoted(text(name)))))?;
    }
    Ok(hasher.finish())
}

fn object(cursor: &mut Cursor<'_>, hasher: &mut Hasher) -> Result<()> {
    let found = values(cursor, OBJECT_KEYS)?;
    put_count(&found, hasher);
    let [parts, rest @ ..] = found;
    let mut cursor = parts.ok_or_else(|| broken!(Rule::Zt2Schema, "it has no \"parts\""))?;
    hasher.update(b"\x65parts");
    let mut left = map(&mut cursor, Some(hasher))?;
    while cursor.another(&mut left)? {
        let role = item(&mut cursor)?;
        hasher.update(role);
        let found = values(&mut cursor, PART_KEYS)?;
        if let [.., None] = found {
            let role = Quoted(text(role));
            return Err(fail!(
                Unsupported,
                "component {role} has no digest; a content digest needs one of every component"
            ));
        }
        put_count(&found, hasher);
        put(PART_KEYS, found, hasher)?;
    }
    let [_, keys @ ..] = OBJECT_KEYS;
    put(keys, rest, hasher)
}

/// Passes over a map. Returns where the values of `keys` are.
fn values<'a, const N: usize>(cursor: &mut Cursor<'a>, keys: [&[u8]; N]) -> Result<[Option<Cursor<'a>>; N]> {
    let mut found = [const { None }; N];
    let mut left = map(cursor, None)?;
    while cursor.another(&mut left)? {
        let key = item(cursor)?;
        if let Some((_, place)) = keys.iter().zip(&mut found).find(|(wanted, _)| **wanted == key) {
            *place = Some(cursor.clone());
        }
        cursor.skip_well_formed()?;
    }
    Ok(found)
}

/// Hashes the head of a map with as many pairs as there are values.
fn put_count(found: &[Option<Cursor<'_>>], hasher: &mut Hasher) {
    let head = found.iter().flatten().fold(0xa0_u8, |head, _| head.saturating_add(1)); // at most 4 pairs
    hasher.update(&[head]);
}

fn put<const N: usize>(keys: [&[u8]; N], found: [Option<Cursor<'_>>; N], hasher: &mut Hasher) -> Result<()> {
    for (key, value) in keys.into_iter().zip(found) {
        if let Some(mut value) = value {
            hasher.update(key);
            hasher.update(item(&mut value)?);
        }
    }
    Ok(())
}

/// Reads the head of a map, and hashes it if there is a hasher.
pub(super) fn map(cursor: &mut Cursor<'_>, hasher: Option<&mut Hasher>) -> Result<Option<u64>> {
    let start = cursor.clone();
    let Head::Map(left) = cursor.head()? else {
        return Err(broken!(Rule::Zt2Schema, "the manifest has another item where a map has to be"));
    };
    if let Some(hasher) = hasher {
        hasher.update(cursor.since(&start));
    }
    Ok(left)
}

/// Reads an item: its bytes.
pub(super) fn item<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let start = cursor.clone();
    cursor.skip_well_formed()?;
    Ok(cursor.since(&start))
}

/// The text of an item that is one.
pub(super) fn text(item: &[u8]) -> &[u8] {
    let mut cursor = Cursor::new(item, 0);
    match cursor.head() {
        Ok(Head::Text(Some(length))) => cursor.take(length).unwrap_or_default(),
        _ => item,
    }
}
