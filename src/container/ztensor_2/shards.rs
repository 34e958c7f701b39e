//! The table of shards: other files that have bytes of parts (spec 2 section 8.1).

use super::fields::{key, text};
use super::{ends, names};
use crate::container::cbor::fields::Decoder;
use crate::container::cbor::packed;
use crate::container::cbor::tables::push;
use crate::error::{broken, Quoted, Result, Rule};
use crate::model::manifest::{Manifest, Position, Shard, TextId};

const SIZE: u64 = packed(b"size");
const DIGEST: u64 = packed(b"digest");

/// Reads the table. It comes before the objects, as its key is shorter.
pub fn table(d: &mut Decoder<'_>) -> Result<()> {
    let mut left = d.map(Rule::Zt2Schema, "\"shards\"")?;
    while d.cursor.another(&mut left)? {
        let name = text(d, Rule::Zt2Schema, "the name of a shard")?;
        names::check_shard_name(name)?;
        let kept = d.push_utf8(name)?;
        let entry = shard(d, kept).map_err(|e| e.within(format_args!("shard {}", Quoted(name))))?;
        push(&d.cursor, &mut d.manifest.shards, entry)?;
    }
    Ok(())
}

fn shard(d: &mut Decoder<'_>, name: TextId) -> Result<Shard> {
    let (mut size, mut digest) = (None, None);
    let mut left = d.map(Rule::Zt2Schema, "its entry")?;
    while d.cursor.another(&mut left)? {
        match key(d)? {
            Some((SIZE, _)) => size = Some(d.unsigned(Rule::Zt2Schema, "\"size\"")?),
            Some((DIGEST, _)) => {
                let said = text(d, Rule::Zt2Schema, "\"digest\"")?;
                names::check_digest(said)?;
                digest = Some(d.push_utf8(said)?);
            }
            _ => d.cursor.skip_well_formed()?,
        }
    }
    let (Some(size), Some(digest)) = (size, digest) else {
        return Err(broken!(Rule::Zt2Schema, "it has no \"size\" or no \"digest\""));
    };
    if size < ends::MIN_SIZE {
        return Err(broken!(Rule::Zt2Schema, "its size is {size}; the smallest file has {}", ends::MIN_SIZE));
    }
    Ok(Shard { name, size, digest })
}

/// The position of a shard in the table, which is in the order of its keys.
pub fn find(manifest: &Manifest, name: &[u8]) -> Result<Position> {
    let text = |shard: &Shard| manifest.texts.get_bytes(shard.name);
    let found = manifest.shards.binary_search_by(|shard| names::key_order(text(shard), name));
    match found {
        Ok(at) => Position::after(at),
        Err(_) => Err(broken!(Rule::Zt2ShardRef, "its shard {} is not in the table", Quoted(name))),
    }
}
