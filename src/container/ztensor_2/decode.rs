//! The manifest: a map of shards, objects and attributes (spec 2 section 3). Its bytes were found to be deterministic CBOR
//! before, so keys are unique and nothing is deeper than is allowed; keys that are not known are passed over.

use super::fields::{key, text};
use super::parts::parts;
use super::{blobs, deterministic, layouts, names, shards};
use crate::container::cbor::fields::Decoder;
use crate::container::cbor::tables::{add, expect};
use crate::container::cbor::{packed, Head};
use crate::container::frame::{Frame, Limits};
use crate::container::validate::Validated;
use crate::digest::xxh3;
use crate::error::{broken, Error, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::layout::MAX_RANK;
use crate::model::manifest::{table_position, Container, Format, Object, TextId};

const OBJECTS: u64 = packed(b"objects");
const SHARDS: u64 = packed(b"shards");
const SHAPE: u64 = packed(b"shape");
const LAYOUT: u64 = packed(b"layout");
const PARTS: u64 = packed(b"parts");

/// Reads a manifest and checks all that it can show.
pub fn decode(frame: &Frame, bytes: &[u8], limits: &Limits, budget: &Budget) -> Result<Validated> {
    let mut d = Decoder::new(frame, bytes, budget);
    d.manifest.container = Some(Container::V2);
    d.manifest.version_text = Some(d.push_text("2")?);
    let Some(hash) = frame.manifest_hash else {
        return Ok(Validated::by_own_rules(d.manifest)); // bytes of components of other files, and no objects
    };
    check_hash(bytes, hash)?;
    deterministic::check(bytes, frame.manifest.start)?;
    let mut left = d.map(Rule::Zt2Schema, "the manifest")?;
    let mut has_objects = false;
    while d.cursor.another(&mut left)? {
        match key(&mut d)? {
            Some((OBJECTS, _)) => {
                objects(&mut d, frame, limits)?;
                has_objects = true;
            }
            Some((SHARDS, _)) => shards::table(&mut d)?,
            Some((_, b"attributes")) => {
                check_attributes(&d).map_err(|e| e.within(format_args!("the file")))?;
                d.manifest.attributes = d.attributes()?;
            }
            _ => d.cursor.pass_over()?,
        }
    }
    if !has_objects {
        return Err(broken!(Rule::Zt2Schema, "the manifest has no \"objects\""));
    }
    let manifest = d.end()?;
    blobs::check_overlaps(&manifest, frame, budget)?;
    Ok(Validated::by_own_rules(manifest))
}

#[inline(never)] // the state of the hash is not on the stack of what follows
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
    // The least that an object with one part takes; a claim beyond what is left is not believed.
    const MIN_ENTRY_SIZE: usize = 48;
    let mut left = d.map(Rule::Zt2Schema, "\"objects\"")?;
    let expected = d.cursor.plausible(left, MIN_ENTRY_SIZE);
    expect(&d.cursor, &mut d.manifest.objects, expected)?;
    expect(&d.cursor, &mut d.manifest.components, expected)?;
    while d.cursor.another(&mut left)? {
        d.count_object(limits)?;
        let name = text(d, Rule::Zt2Schema, "the name of an object")?;
        names::check_name("an object", name)?;
        let kept = d.push_utf8(name)?;
        object(d, frame, kept).map_err(|e| within_object(e, name))?;
    }
    Ok(())
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
            _ => d.cursor.pass_over()?,
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

/// A shape whose product fits 64 bits, taken from the first dimension to the last.
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

/// That attributes, which come next, are a map, and that its keys are names.
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
        ahead.pass_over()?;
    }
    Ok(())
}
