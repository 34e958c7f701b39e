//! The manifest: a map of shards, objects and attributes (spec 2 section 3). Each item is found to be
//! deterministic CBOR before it is read, so keys are unique and nothing is deeper than is allowed; keys that
//! are not known are passed over.
//!
//! If the bytes of a manifest are not deterministic, that error comes before any other. So a manifest that is
//! refused is checked for it once more, as a whole.

use super::names::{key, text};
use super::parts::parts;
use super::{blobs, deterministic, layouts, names};
use crate::container::cbor::fields::Decoder;
use crate::container::cbor::tables::{add, expect};
use crate::container::cbor::template::{is_lower_hex, Form, Meaning, TemplateCache};
use crate::container::cbor::{packed, Cursor, Head};
use crate::container::frame::{Frame, Input, Limits};
use crate::digest::xxh3;
use crate::error::{broken, Error, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::component::MAX_RANK;
use crate::model::manifest::{table_position, Component, Container, Format, Manifest, Object, TextId};

const OBJECTS: u64 = packed(b"objects");
const SHARDS: u64 = packed(b"shards");
const SHAPE: u64 = packed(b"shape");
const LAYOUT: u64 = packed(b"layout");
const PARTS: u64 = packed(b"parts");

/// Reads a manifest and checks all that it can show.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let mut d = Decoder::new(frame, bytes, budget);
    d.manifest.container = Some(Container::V2);
    d.manifest.version_text = Some(d.push_text("2")?);
    let Some(hash) = frame.manifest_hash else {
        return Ok(d.manifest); // bytes of components of other files, and no objects
    };
    check_hash(bytes, hash)?;
    let manifest = match whole(d, frame, limits) {
        Ok(manifest) => manifest,
        Err(e) => return Err(deterministic::check(bytes, frame.manifest.start).err().unwrap_or(e)),
    };
    blobs::check_overlaps(&manifest, frame, budget)?;
    Ok(manifest)
}

fn whole(mut d: Decoder<'_>, frame: &Frame, limits: &Limits) -> Result<Manifest> {
    #[cfg(test)]
    if crate::container::cbor::template::tests::PLAIN.get() {
        deterministic::check(d.cursor.rest(), d.cursor.file_offset())?;
    }
    let mut left = map(&mut d, "the manifest")?;
    let (mut keys, mut has_objects) = (KeyOrder::default(), false);
    while d.cursor.another(&mut left)? {
        let start = d.cursor.clone();
        check_item(&d.cursor, 1)?;
        let key = key(&mut d)?;
        keys.check(&start, &d.cursor)?;
        if let Some((OBJECTS, _)) = key {
            objects(&mut d, frame, limits)?;
            has_objects = true;
            continue;
        }
        check_item(&d.cursor, 1)?;
        match key {
            Some((SHARDS, _)) => blobs::shard_table(&mut d)?,
            Some((_, b"attributes")) => {
                check_attributes(&d).map_err(|e| e.within(format_args!("the file")))?;
                d.manifest.attributes = d.attributes()?;
            }
            _ => d.cursor.skip_well_formed()?,
        }
    }
    if !has_objects {
        return Err(broken!(Rule::Zt2Schema, "the manifest has no \"objects\""));
    }
    d.end()
}

/// Checks that the next item, which is inside `around` arrays and maps, is deterministic.
fn check_item(cursor: &Cursor<'_>, around: usize) -> Result<()> {
    deterministic::check_item(cursor.rest(), cursor.file_offset(), around).map(drop)
}

/// Reads the head of a map, and checks that it is deterministic.
fn map(d: &mut Decoder<'_>, what: &str) -> Result<Option<u64>> {
    deterministic::check_head(d.cursor.rest(), d.cursor.file_offset())?;
    d.map(Rule::Zt2Schema, what)
}

/// The key that came last in a map, as it is encoded.
#[derive(Default)]
struct KeyOrder<'a>(&'a [u8]);

impl<'a> KeyOrder<'a> {
    /// Checks that the key from `start` to `end` is greater than the one before it.
    #[inline(always)]
    fn check(&mut self, start: &Cursor<'a>, end: &Cursor<'a>) -> Result<()> {
        let key = end.since(start);
        let last = std::mem::replace(&mut self.0, key);
        match last < key {
            true => Ok(()),
            false => Err(broken!(Rule::Zt2CborDeterminism, "keys of a map are not in their order")),
        }
    }
}

#[inline(never)] // so that the hash state is not on the stack while the manifest is read
fn check_hash(bytes: &[u8], expected: u64) -> Result<()> {
    match xxh3(bytes) {
        found if found == expected => Ok(()),
        found => Err(broken!(
            Rule::Zt2ManifestHash,
            "the manifest's {} bytes have the hash {found:#018x}, the footer says {expected:#018x}",
            bytes.len()
        )),
    }
}

fn objects(d: &mut Decoder<'_>, frame: &Frame, limits: &Limits) -> Result<()> {
    // The fewest bytes of an object with one part: a declared count of more than fit in what is left is not
    // used.
    const MIN_ENTRY_SIZE: usize = 48;
    let mut left = map(d, "\"objects\"")?;
    let expected = d.cursor.plausible(left, MIN_ENTRY_SIZE);
    expect(&d.cursor, &mut d.manifest.objects, expected)?;
    expect(&d.cursor, &mut d.manifest.components, expected)?;
    let mut templates = TemplateCache::new(Objects { file_size: frame.file_size });
    let mut names = KeyOrder::default();
    while d.cursor.another(&mut left)? {
        d.count_object(limits)?;
        let start = d.cursor.clone();
        let name = match d.cursor.try_name() {
            Some(name) => name,
            None => unusual_name(d)?,
        };
        names.check(&start, &d.cursor)?;
        let kept = d.push_utf8(name)?;
        let read = templates.object(d, kept, |d| {
            check_item(&d.cursor, 2)?;
            object(d, frame, kept)
        });
        if let Err(e) = read {
            return Err(within_object(e, name));
        }
    }
    Ok(())
}

#[inline(never)]
fn unusual_name<'a>(d: &mut Decoder<'a>) -> Result<&'a [u8]> {
    check_item(&d.cursor, 2)?;
    let name = text(d, Rule::Zt2Schema, "the name of an object")?;
    names::check_name("an object", name)?;
    Ok(name)
}

/// How objects of zTensor 2 are encoded, for the template cache.
struct Objects {
    file_size: u64,
}

impl Form for Objects {
    const COMPONENTS: &'static [u8] = b"parts";
    const FIELDS: &'static [(&'static [u8], Meaning)] =
        &[(b"blob", Meaning::Range), (b"decoded_length", Meaning::Size), (b"digest", Meaning::Digest)];

    #[inline(always)]
    fn are_digits(text: &[u8]) -> bool {
        is_lower_hex(text)
    }

    #[inline(always)]
    fn keeps_rules(&self, manifest: &Manifest, object: &Object, shape: &[u64], c: &Component) -> bool {
        let file_size = manifest.shard(c).map_or(self.file_size, |shard| shard.size);
        blobs::is_in_range(c.offset, c.stored_size, file_size) && layouts::is_kept(object.format, shape, c)
    }
}

#[cold]
fn within_object(error: Error, name: &[u8]) -> Error {
    error.within(format_args!("object {}", Quoted(name)))
}

fn object(d: &mut Decoder<'_>, frame: &Frame, name: TextId) -> Result<()> {
    let mut left = d.map(Rule::Zt2Schema, "its definition")?;
    let (mut dimensions, mut format, mut attributes) = (None, None, None);
    let component_start = table_position(d.manifest.components.len())?;
    while d.cursor.another(&mut left)? {
        match key(d)? {
            Some((SHAPE, _)) => dimensions = Some(shape(d)?),
            Some((LAYOUT, _)) => format = Some(layout(d)?),
            Some((PARTS, _)) => parts(d, frame)?,
            Some((_, b"attributes")) => {
                check_attributes(d)?;
                attributes = d.object_attributes()?;
            }
            _ => d.cursor.skip_well_formed()?,
        }
    }
    let (shape_start, rank) = dimensions.ok_or_else(|| broken!(Rule::Zt2Schema, "it has no \"shape\""))?;
    let format = format.ok_or_else(|| broken!(Rule::Zt2Schema, "it has no \"layout\""))?;
    let component_end = table_position(d.manifest.components.len())?;
    let component_count = component_end.saturating_sub(component_start);
    if component_count == 0 {
        return Err(broken!(Rule::Zt2Schema, "it has no \"parts\", or none in it"));
    }
    let object = Object { name, format, shape_start, rank, component_start, component_count, attributes };
    layouts::check(&d.manifest, &object)?;
    layouts::name_blocks(&mut d.manifest, &object);
    add(&d.cursor, &mut d.manifest.objects, object)
}

/// Reads a shape. Its product, from the first dimension to the last, has to fit in 64 bits at each step.
fn shape(d: &mut Decoder<'_>) -> Result<(u32, u32)> {
    let mut shape = [0; MAX_RANK];
    let rank = match d.cursor.head()? {
        Head::Array(Some(rank)) => rank,
        other => return Err(broken!(Rule::Zt2Schema, "\"shape\" is {}, not an array", other.kind())),
    };
    let Some(shape) = usize::try_from(rank).ok().and_then(|rank| shape.get_mut(..rank)) else {
        return Err(broken!(Rule::Zt2Shape, "its rank is {rank}, above {MAX_RANK}"));
    };
    let mut product = Some(1u64);
    for dimension in &mut *shape {
        *dimension = d.unsigned(Rule::Zt2Schema, "a dimension of \"shape\"")?;
        product = product.and_then(|product| product.checked_mul(*dimension));
    }
    match product {
        Some(_) => d.intern_shape(shape),
        None => Err(broken!(Rule::Zt2Shape, "the product of the shape {shape:?} leaves 64 bits")),
    }
}

fn layout(d: &mut Decoder<'_>) -> Result<Format> {
    let name = text(d, Rule::Zt2Schema, "\"layout\"")?;
    Ok(match layouts::format(name) {
        Some(format) => format,
        None => Format::Other(d.push_utf8(name)?),
    })
}

/// Checks that the attributes, which come next, are a map whose keys are valid names.
fn check_attributes(d: &Decoder<'_>) -> Result<()> {
    let mut ahead = d.cursor.clone();
    let mut left = match ahead.head()? {
        Head::Map(left) => left,
        other => return Err(broken!(Rule::Zt2Schema, "\"attributes\" is {}, not a map", other.kind())),
    };
    while ahead.another(&mut left)? {
        match ahead.head()? {
            Head::Text(Some(length)) => names::check_name("an attribute", ahead.take(length)?)?,
            other => {
                return Err(broken!(
                    Rule::Zt2Schema,
                    "a key of \"attributes\" is {}, not a text",
                    other.kind()
                ))
            }
        }
        ahead.skip_well_formed()?;
    }
    Ok(())
}
