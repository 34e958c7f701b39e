//! The canonical form (spec 2 section 10): equal tensors and attributes give equal files. It does not allow
//! unknown keys and empty maps. Also the content digest (section 11): a hash of the objects, independent of
//! where and how their bytes are stored.
//!
//! As far as the manifest shows it: blobs count as equal if their digests are. Whether names are in normal
//! form C (rule K5) needs tables of Unicode, which the library does not have: `zt id` checks it.
//!
//! The content digest covers the manifest's items except some keys. Both the manifest and the digest's input
//! are deterministic CBOR, so the manifest's bytes are hashed directly, in order, without memory.

use super::{deterministic, footer};
use crate::container::cbor::{Cursor, Head};
use crate::container::frame::Frame;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::error::{broken, fail, try_format, Quoted, Result, Rule};
use crate::memory::with_capacity;
use crate::model::manifest::{Component, Encoding, Manifest};
use crate::model::sort::sort_by;
use std::fmt;

/// Blobs and the manifest begin at multiples of this.
pub(crate) const CANONICAL_ALIGNMENT: u64 = 1 << 16;

macro_rules! found {
    ($($what:tt)*) => { return try_format(format_args!($($what)*)).map(Some) };
}

struct Part<'m> {
    name: &'m [u8],
    role: &'m [u8],
    component: &'m Component,
    digest: Option<&'m str>,
}

/// The first rule of the canonical form that a file violates, and where; `None` if the manifest, whose
/// encoded bytes are given, violates none.
pub fn violation(manifest: &Manifest, frame: &Frame, encoded: &[u8]) -> Result<Option<String>> {
    if encoded.is_empty() {
        found!("K1: it has no manifest");
    }
    if !manifest.shards.is_empty() {
        found!("K6: it has a table of shards");
    }
    let mut parts = with_capacity(manifest.components.len())?;
    for object in manifest.objects.iter() {
        let name = manifest.texts.get_bytes(object.name);
        parts.extend(manifest.components(object).iter().map(|component| Part {
            name,
            role: manifest.texts.get_bytes(component.role),
            component,
            digest: manifest.digest(component),
        }));
    }
    sort_by(&mut parts, |a, b| (a.name, a.role).cmp(&(b.name, b.role)));
    let (mut next, mut first_empty) = (CANONICAL_ALIGNMENT, None);
    for part in &parts {
        if let Some(why) = wrong_part(part, &mut next, &mut first_empty)? {
            found!("{why}: object {}, component {}", Quoted(part.name), Quoted(part.role));
        }
    }
    let end = frame.file_size.saturating_sub(footer::FOOTER_SIZE);
    if frame.manifest.start != next || frame.manifest.end != end {
        let (start, manifest_end) = (frame.manifest.start, frame.manifest.end);
        found!("K1: the manifest is at {start} to {manifest_end}, not at {next} to {end}, the footer");
    }
    match repeated(parts)? {
        Some(why) => Ok(Some(why)),
        None => surplus(encoded, frame.manifest.start),
    }
}

/// Why the position of a component is not canonical. `next` is the next free offset. All components without
/// bytes have the same offset.
fn wrong_part(part: &Part<'_>, next: &mut u64, first_empty: &mut Option<u64>) -> Result<Option<String>> {
    let c = part.component;
    if c.encoding != Encoding::Raw {
        found!("K4: it is encoded");
    }
    let hex = part.digest.and_then(|digest| digest.strip_prefix("xxh3:"));
    if hex.is_none_or(|hex| hex.len() != 16) {
        found!("K4: it has no xxh3 digest of 16 digits");
    }
    if c.offset % CANONICAL_ALIGNMENT != 0 {
        found!("K2: its offset {} is not a multiple of {CANONICAL_ALIGNMENT}", c.offset);
    }
    // An offset below `next` belongs to an earlier component with the same bytes; otherwise they would
    // overlap.
    let wanted = match c.stored_size {
        0 => *first_empty.get_or_insert(*next),
        _ => *next,
    };
    if c.offset > wanted || (c.stored_size == 0 && c.offset != wanted) {
        found!("K3: its offset is {}, but has to be {wanted}", c.offset);
    }
    if c.offset == *next && c.stored_size > 0 {
        *next = c.end().checked_next_multiple_of(CANONICAL_ALIGNMENT).unwrap_or(u64::MAX);
    }
    Ok(None)
}

/// Finds equal bytes that are stored twice.
fn repeated(mut parts: Vec<Part<'_>>) -> Result<Option<String>> {
    let key = |part: &Part<'_>| (part.component.stored_size, part.component.offset);
    parts.retain(|part| part.component.stored_size > 0);
    sort_by(&mut parts, |a, b| a.digest.cmp(&b.digest).then(key(a).cmp(&key(b))));
    let same = |a: &Part<'_>, b: &Part<'_>| {
        a.digest == b.digest
            && a.component.stored_size == b.component.stored_size
            && a.component.offset != b.component.offset
    };
    match parts.windows(2).find(|pair| matches!(pair, [a, b] if same(a, b))) {
        Some([a, b]) => {
            let (a, b, name) = (a.component.offset, b.component.offset, Quoted(b.name));
            found!(
                "K3: object {name} at {b} has the same digest as the data at {a}, but is stored separately"
            )
        }
        _ => Ok(None),
    }
}

const SHARDS: &[u8] = b"\x66shards";
const ATTRIBUTES: &[u8] = b"\x6aattributes";
/// The known keys of a map, encoded. The value of the first one is a map, or an array of maps.
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

/// The first unknown key or empty map in the manifest `bytes`, which begins at offset `base` of its file.
pub fn surplus(bytes: &[u8], base: u64) -> Result<Option<String>> {
    deterministic::check(bytes, base)?; // the file may have changed since it was opened
    let (surplus, objects) = keys(&mut Cursor::new(bytes, base), &MANIFEST_KEYS)?;
    if let Some(surplus) = surplus {
        found!("{surplus}: the manifest");
    }
    let Some(mut objects) = objects else { return Ok(None) };
    let mut left = map(&mut objects, None)?;
    while objects.another(&mut left)? {
        let name = Quoted(text(item(&mut objects)?));
        let (surplus, parts) = keys(&mut objects, &OBJECT_KEYS)?;
        if let Some(surplus) = surplus {
            found!("{surplus}: object {name}");
        }
        let Some(mut parts) = parts else { continue };
        let mut left = map(&mut parts, None)?;
        while parts.another(&mut left)? {
            let role = Quoted(text(item(&mut parts)?));
            if let (Some(surplus), _) = keys(&mut parts, &PART_KEYS)? {
                found!("{surplus}: object {name}, component {role}");
            }
        }
    }
    Ok(None)
}

/// The first key of a map that is unknown or has an empty map as its value, and the offset of the first known
/// key's value.
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
            false => write!(f, "M1: it has the unknown key {key}"),
        }
    }
}

/// The head of an array with two items, then the first item, a text.
const START: &[u8] = b"\x82\x6czt.content/1";
/// The keys of an object and of a component that are hashed, encoded, in deterministic order.
pub(super) const OBJECT_KEYS: [&[u8]; 4] = [b"\x65parts", b"\x65shape", b"\x66layout", b"\x6aattributes"];
const DIGESTED_PART_KEYS: [&[u8]; 3] = [b"\x64type", b"\x65dtype", b"\x66digest"];

/// The content digest of the manifest `bytes`, which begins at offset `base` of its file.
pub fn digest(bytes: &[u8], base: u64, algorithm: Algorithm) -> Result<Digest> {
    if bytes.is_empty() {
        return Err(fail!(
            Unsupported,
            "a file without a manifest, which is a data shard, has no content digest"
        ));
    }
    deterministic::check(bytes, base)?; // the file may have changed since it was opened
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
        let found = values(&mut cursor, DIGESTED_PART_KEYS)?;
        if let [.., None] = found {
            let role = Quoted(text(role));
            return Err(fail!(
                Unsupported,
                "component {role} has no digest; a content digest needs a digest of every component"
            ));
        }
        put_count(&found, hasher);
        put(DIGESTED_PART_KEYS, found, hasher)?;
    }
    let [_, keys @ ..] = OBJECT_KEYS;
    put(keys, rest, hasher)
}

/// Skips a map. Returns the positions of the values of `keys`.
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

/// Hashes the head of a map with one pair for each value.
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

/// Reads the head of a map. If there is a hasher, hashes it.
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

pub(super) fn item<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let start = cursor.clone();
    cursor.skip_well_formed()?;
    Ok(cursor.since(&start))
}

/// The text of an item that is a text.
pub(super) fn text(item: &[u8]) -> &[u8] {
    let mut cursor = Cursor::new(item, 0);
    match cursor.head() {
        Ok(Head::Text(Some(length))) => cursor.take(length).unwrap_or_default(),
        _ => item,
    }
}
