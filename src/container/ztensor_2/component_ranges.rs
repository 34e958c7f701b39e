//! Where blobs may be (spec 2 section 3.1), and the table of shards: other files that have blobs of
//! components (section 8.1).

use super::names::{key, text};
use super::{footer, names};
use crate::container::cbor::fields::FieldReader;
use crate::container::cbor::packed;
use crate::container::frame::Frame;
use crate::container::tables::push;
use crate::container::validate::FirstComponent;
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::{bytes_of, collected, Budget, PageMap};
use crate::model::manifest::{Component, Manifest, Position, Shard, TextId};
use crate::model::sort::sort;

/// The range of a blob: the file (0, or the number of a shard from 1 on), the first byte, and the end.
type BlobRange = (usize, u64, u64);

/// Checks the position of a blob in a file of `file_size` bytes.
#[inline(always)]
pub fn check_range(offset: u64, length: u64, file_size: u64) -> Result<()> {
    if is_in_range(offset, length, file_size) {
        return Ok(());
    }
    if offset < footer::PAGE || offset % footer::PAGE != 0 {
        return Err(broken!(
            Rule::Zt2BlobAlignment,
            "its offset {offset} is not a multiple of {} from {} on",
            footer::PAGE,
            footer::PAGE
        ));
    }
    let limit = file_size.saturating_sub(footer::FOOTER_SIZE);
    Err(broken!(
        Rule::Zt2BlobBounds,
        "its {length} bytes from {offset} on pass the footer at {limit} of a file of {file_size} bytes"
    ))
}

/// Whether [`check_range`] would succeed.
#[inline(always)]
pub fn is_in_range(offset: u64, length: u64, file_size: u64) -> bool {
    let limit = file_size.saturating_sub(footer::FOOTER_SIZE);
    let is_aligned = offset >= footer::PAGE && offset % footer::PAGE == 0;
    is_aligned && offset.checked_add(length).is_some_and(|end| end <= limit)
}

/// Checks that blobs do not overlap, unless they are equal, and that none overlaps the manifest.
pub fn check_overlaps(manifest: &Manifest, frame: &Frame, budget: &Budget) -> Result<()> {
    let own = (0, frame.manifest.start, frame.manifest.end);
    let mut in_order = true;
    let mut last = (0, 0, 0);
    for blob in blob_ranges(manifest) {
        if blob != own && blob.0 == 0 && blob.1 < own.2 && own.1 < blob.2 {
            return Err(overlap(manifest, blob, own));
        }
        in_order &= blob == last || (blob.0 == last.0 && last.2 <= blob.1);
        last = blob;
    }
    if in_order {
        return Ok(());
    }
    let count = manifest.components.len();
    budget.charge(bytes_of::<BlobRange>(count), "blobs that are sorted")?;
    let clash = match share_no_page(manifest, frame) {
        true => None,
        false => first_clash(manifest)?,
    };
    budget.give_back(bytes_of::<BlobRange>(count));
    clash.map_or(Ok(()), |(a, b)| Err(overlap(manifest, a, b)))
}

/// Whether no two blobs share a page, found with a bit for each page. False also if there are shards, or if
/// the bits would take more memory than sorting.
fn share_no_page(manifest: &Manifest, frame: &Frame) -> bool {
    let max_bytes = bytes_of::<BlobRange>(manifest.components.len());
    let map = PageMap::new(frame.file_size.div_ceil(footer::PAGE), max_bytes);
    map.is_some_and(|mut map| {
        blob_ranges(manifest)
            .all(|(file, start, end)| file == 0 && map.take(start / footer::PAGE, end.div_ceil(footer::PAGE)))
    })
}

fn first_clash(manifest: &Manifest) -> Result<Option<(BlobRange, BlobRange)>> {
    let mut sorted = collected(manifest.components.len(), blob_ranges(manifest))?;
    sort(&mut sorted);
    Ok(sorted.windows(2).find_map(|pair| match pair {
        [a, b] if a != b && a.0 == b.0 && b.1 < a.2 => Some((*a, *b)),
        _ => None,
    }))
}

#[inline(always)]
fn blob_range(manifest: &Manifest, c: &Component) -> BlobRange {
    let shard = match c.is_in_shard() {
        true => manifest.rare(c).shard,
        false => None,
    };
    (shard.map_or(0, |at| at.index().saturating_add(1)), c.offset, c.end())
}

/// The ranges of all blobs that are not empty.
fn blob_ranges(manifest: &Manifest) -> impl Iterator<Item = BlobRange> + '_ {
    manifest.components.iter().filter(|c| c.stored_size > 0).map(|c| blob_range(manifest, c))
}

#[cold]
fn overlap(manifest: &Manifest, a: BlobRange, b: BlobRange) -> crate::error::Error {
    let part =
        |blob| FirstComponent(manifest, move |c: &Component| blob_range(manifest, c) == blob, "the manifest");
    let (first, second) = (part(a), part(b));
    broken!(Rule::Zt2BlobOverlap, "{first} at {} to {} and {second} at {} to {} overlap", a.1, a.2, b.1, b.2)
}

const SIZE: u64 = packed(b"size");
const DIGEST: u64 = packed(b"digest");

/// Reads the table. It comes before the objects, because its key is shorter.
pub fn shard_table(d: &mut FieldReader<'_>) -> Result<()> {
    let mut left = d.map(Rule::Zt2Schema, "\"shards\"")?;
    while d.cursor.another(&mut left)? {
        let name = text(d, "the name of a shard")?;
        names::check_shard_name(name)?;
        let kept = d.push_utf8(name)?;
        let entry = shard(d, kept).map_err(|e| e.within(format_args!("shard {}", Quoted(name))))?;
        push(&d.cursor, &mut d.manifest.shards, entry)?;
    }
    Ok(())
}

fn shard(d: &mut FieldReader<'_>, name: TextId) -> Result<Shard> {
    let (mut size, mut digest) = (None, None);
    let mut left = d.map(Rule::Zt2Schema, "its entry")?;
    while d.cursor.another(&mut left)? {
        match key(d)? {
            Some((SIZE, _)) => size = Some(d.unsigned(Rule::Zt2Schema, "\"size\"")?),
            Some((DIGEST, _)) => {
                let said = text(d, "\"digest\"")?;
                names::check_digest(said)?;
                digest = Some(d.push_utf8(said)?);
            }
            _ => d.cursor.skip_well_formed()?,
        }
    }
    let (Some(size), Some(digest)) = (size, digest) else {
        return Err(broken!(Rule::Zt2Schema, "it has no \"size\" or no \"digest\""));
    };
    if size < footer::MIN_SIZE {
        return Err(broken!(
            Rule::Zt2Schema,
            "its size is {size}; the smallest file has {}",
            footer::MIN_SIZE
        ));
    }
    Ok(Shard { name, size, digest })
}

/// The position of a shard in the table, which is sorted by key.
pub fn find_shard(manifest: &Manifest, name: &[u8]) -> Result<Position> {
    let text = |shard: &Shard| manifest.texts.get_bytes(shard.name);
    let found = manifest.shards.binary_search_by(|shard| names::key_order(text(shard), name));
    match found {
        Ok(at) => Position::after(at),
        Err(_) => Err(broken!(Rule::Zt2ShardRef, "its shard {} is not in the table", Quoted(name))),
    }
}
