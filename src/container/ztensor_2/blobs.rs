//! Where blobs may be (spec 2 section 3.1).

use super::ends;
use crate::container::frame::Frame;
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget, PageMap};
use crate::model::manifest::{Component, Manifest};
use crate::model::sort::sort;

/// The number of a shard from 1 on, 0 for the file itself; the first byte, and the one behind the last.
type Place = (usize, u64, u64);

/// Checks where a blob is in a file of `file_size` bytes.
#[inline(always)]
pub fn check_range(offset: u64, length: u64, file_size: u64) -> Result<()> {
    if is_in_range(offset, length, file_size) {
        return Ok(());
    }
    if offset < ends::PAGE || offset % ends::PAGE != 0 {
        return Err(broken!(
            Rule::Zt2BlobAlignment,
            "its offset {offset} is no multiple of {} from {} on",
            ends::PAGE,
            ends::PAGE
        ));
    }
    let limit = file_size.saturating_sub(ends::FOOTER_SIZE);
    Err(broken!(
        Rule::Zt2BlobBounds,
        "its {length} bytes from {offset} on pass the footer at {limit} of a file of {file_size} bytes"
    ))
}

/// Whether [`check_range`] finds nothing wrong.
#[inline(always)]
pub fn is_in_range(offset: u64, length: u64, file_size: u64) -> bool {
    let limit = file_size.saturating_sub(ends::FOOTER_SIZE);
    let is_aligned = offset >= ends::PAGE && offset % ends::PAGE == 0;
    is_aligned && offset.checked_add(length).is_some_and(|end| end <= limit)
}

/// Checks that blobs, and the manifest, are the same or apart.
pub fn check_overlaps(manifest: &Manifest, frame: &Frame, budget: &Budget) -> Result<()> {
    let own = (0, frame.manifest.start, frame.manifest.end);
    let mut in_order = true;
    let mut last = (0, 0, 0);
    for place in places(manifest) {
        if place != own && place.0 == 0 && place.1 < own.2 && own.1 < place.2 {
            return Err(overlap(manifest, place, own));
        }
        in_order &= place == last || (place.0 == last.0 && last.2 <= place.1);
        last = place;
    }
    if in_order {
        return Ok(());
    }
    let count = manifest.components.len();
    budget.charge(bytes_of::<Place>(count), "blobs that are sorted")?;
    let clash = match have_pages_of_their_own(manifest, frame) {
        true => None,
        false => first_clash(manifest)?,
    };
    budget.give_back(bytes_of::<Place>(count));
    clash.map_or(Ok(()), |(a, b)| Err(overlap(manifest, a, b)))
}

/// Whether no two blobs share a page, where a bit for each page takes no more memory than sorting; not asked of shards.
fn have_pages_of_their_own(manifest: &Manifest, frame: &Frame) -> bool {
    let most = bytes_of::<Place>(manifest.components.len());
    let map = PageMap::new(frame.file_size.div_ceil(ends::PAGE), most);
    map.is_some_and(|mut map| {
        places(manifest)
            .all(|(file, start, end)| file == 0 && map.take(start / ends::PAGE, end.div_ceil(ends::PAGE)))
    })
}

fn first_clash(manifest: &Manifest) -> Result<Option<(Place, Place)>> {
    let count = manifest.components.len();
    let mut sorted: Vec<Place> = Vec::new();
    sorted.try_reserve_exact(count)?;
    sorted.extend(places(manifest).take(count));
    sort(&mut sorted);
    Ok(sorted.windows(2).find_map(|pair| match pair {
        [a, b] if a != b && a.0 == b.0 && b.1 < a.2 => Some((*a, *b)),
        _ => None,
    }))
}

#[inline(always)]
fn place(manifest: &Manifest, c: &Component) -> Place {
    let shard = match c.is_in_shard() {
        true => manifest.rare(c).shard,
        false => None,
    };
    (shard.map_or(0, |at| at.index().saturating_add(1)), c.offset, c.end())
}

/// The places of all blobs that are not empty.
fn places(manifest: &Manifest) -> impl Iterator<Item = Place> + '_ {
    manifest.components.iter().filter(|c| c.stored_size > 0).map(|c| place(manifest, c))
}

#[cold]
fn overlap(manifest: &Manifest, a: Place, b: Place) -> crate::error::Error {
    let (first, second) = (PartAt(manifest, a), PartAt(manifest, b));
    broken!(Rule::Zt2BlobOverlap, "{first} at {} to {} and {second} at {} to {} overlap", a.1, a.2, b.1, b.2)
}

/// The first part at a place, for a message.
struct PartAt<'a>(&'a Manifest, Place);

impl std::fmt::Display for PartAt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PartAt(manifest, wanted) = *self;
        for object in manifest.objects.iter() {
            for c in manifest.components(object) {
                if place(manifest, c) == wanted {
                    let [name, role] = [object.name, c.role].map(|id| Quoted(manifest.texts.get_bytes(id)));
                    return write!(f, "object {name} component {role}");
                }
            }
        }
        f.write_str("the manifest")
    }
}
