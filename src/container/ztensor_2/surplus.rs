//! What the canonical form does not allow in a manifest: unknown keys and empty maps.

use super::content::{item, map, text, OBJECT_KEYS};
use super::deterministic;
use crate::container::cbor::Cursor;
use crate::error::{try_format, Quoted, Result};
use std::fmt;

const SHARDS: &[u8] = b"\x66shards";
const ATTRIBUTES: &[u8] = b"\x6aattributes";
/// The known keys of a map, as CBOR. The first is the one whose value is a map or an array of maps.
const MANIFEST_KEYS: [&[u8]; 3] = [b"\x67objects", SHARDS, ATTRIBUTES];
const PART_KEYS: [&[u8]; 7] = [
    b"\x64blob",
    b"\x64type",
    b"\x65dtype",
    b"\x65shard",
    b"\x66digest",
    b"\x68encoding",
    b"\x6edecoded_length",
];

/// The first unknown key or empty map of the manifest in `bytes`, which begins `base` bytes into its file.
pub fn surplus(bytes: &[u8], base: u64) -> Result<Option<String>> {
    deterministic::check(bytes, base)?; // it may have changed since it was opened
    let (surplus, objects) = keys(&mut Cursor::new(bytes, base), &MANIFEST_KEYS)?;
    if let Some(surplus) = surplus {
        return try_format(format_args!("{surplus}: the manifest")).map(Some);
    }
    let Some(mut objects) = objects else { return Ok(None) };
    let mut left = map(&mut objects, None)?;
    while objects.another(&mut left)? {
        let name = Quoted(text(item(&mut objects)?));
        let (surplus, parts) = keys(&mut objects, &OBJECT_KEYS)?;
        if let Some(surplus) = surplus {
            return try_format(format_args!("{surplus}: object {name}")).map(Some);
        }
        let Some(mut parts) = parts else { continue };
        let mut left = map(&mut parts, None)?;
        while parts.another(&mut left)? {
            let role = Quoted(text(item(&mut parts)?));
            if let (Some(surplus), _) = keys(&mut parts, &PART_KEYS)? {
                return try_format(format_args!("{surplus}: object {name}, component {role}")).map(Some);
            }
        }
    }
    Ok(None)
}

/// The first key of a map that is none of the known ones or whose value is an empty map, and where the value
/// of the first known one is.
fn keys<'a>(cursor: &mut Cursor<'a>, known: &[&[u8]]) -> Result<(Option<Surplus<'a>>, Option<Cursor<'a>>)> {
    let (mut surplus, mut first) = (None, None);
    let mut left = map(cursor, None)?;
    while cursor.another(&mut left)? {
        let key = item(cursor)?;
        if known.first() == Some(&key) {
            first = Some(cursor.clone());
        }
        let is_known = known.contains(&key);
        let is_empty = item(cursor)? == b"\xa0" && [SHARDS, ATTRIBUTES].contains(&key);
        if !is_known || is_empty {
            surplus = surplus.or(Some(Surplus { key: text(key), is_known }));
        }
    }
    Ok((surplus, first))
}

struct Surplus<'a> {
    key: &'a [u8],
    is_known: bool,
}

impl fmt::Display for Surplus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = Quoted(self.key);
        match self.is_known {
            true => write!(f, "M4: its {key} is empty, and has to be left out"),
            false => write!(f, "M1: it has the key {key}, which is not known"),
        }
    }
}
