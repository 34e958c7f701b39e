//! Keys, texts and names of objects, components, attributes and shards, and the form of digests (spec 2
//! sections 3.2, 7.2, 8.1). The manifest was already checked to be deterministic CBOR.

use crate::container::cbor::fields::FieldReader;
use crate::container::cbor::{packed, Head};
use crate::digest;
use crate::error::{broken, Quoted, Result, Rule};
use std::cmp::Ordering;

const MAX_NAME: usize = 1024;
const MAX_SHARD_NAME: usize = 64;

/// Checks the name of an object or component, or the key of an attribute.
pub fn check_name(what: &str, name: &[u8]) -> Result<()> {
    let size = name.len();
    if size == 0 || size > MAX_NAME {
        return Err(broken!(
            Rule::Zt2Name,
            "the name of {what} has {size} bytes; 1 to {MAX_NAME} are allowed"
        ));
    }
    match name.contains(&0) {
        false => Ok(()),
        true => Err(broken!(Rule::Zt2Name, "the name {} of {what} has a NUL", Quoted(name))),
    }
}

/// The order of texts as keys of a map. Shorter texts come first, because an encoded key begins with its
/// length.
pub fn key_order(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Checks the name of a shard, which has to be safe as a part of a path.
pub fn check_shard_name(name: &[u8]) -> Result<()> {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
    let is_name = (1..=MAX_SHARD_NAME).contains(&name.len()) && name.iter().all(is_plain);
    match is_name && !name.starts_with(b".") {
        true => Ok(()),
        false => Err(broken!(
            Rule::Zt2ShardName,
            "the name of the shard {} has to be 1 to {MAX_SHARD_NAME} of A-Z, a-z, 0-9, ., _ and -, and not \
             begin with a dot",
            Quoted(name)
        )),
    }
}

/// Checks that a digest has the form `algorithm:hex`.
pub fn check_digest(text: &[u8]) -> Result<()> {
    match digest::is_lower_case(text) {
        true => Ok(()),
        false => {
            Err(broken!(Rule::Zt2Schema, "the digest {} is not algorithm:hex, in lower case", Quoted(text)))
        }
    }
}

/// Reads the key of a pair. Returns its [`packed`] and its bytes; `None` if it is not a text and therefore
/// not a known key.
#[inline(always)]
pub fn key<'a>(d: &mut FieldReader<'a>) -> Result<Option<(u64, &'a [u8])>> {
    if let Some((text, packed)) = d.cursor.short_text() {
        return Ok(Some((packed, text)));
    }
    if !d.cursor.is_at_text() {
        d.cursor.skip_well_formed()?;
        return Ok(None);
    }
    let text = text(d, "a key")?;
    Ok(Some((packed(text), text)))
}

pub fn text<'a>(d: &mut FieldReader<'a>, what: &str) -> Result<&'a [u8]> {
    if let Some(text) = d.cursor.try_text() {
        return Ok(text);
    }
    match d.cursor.head()? {
        Head::Text(Some(length)) => d.cursor.take(length),
        other => Err(broken!(Rule::Zt2Schema, "{what} is {}, not a text string", other.kind())),
    }
}
