//! Reads the manifest: a map of shards, objects and attributes (spec 2 section 3). Each item is checked to be
//! deterministic CBOR before it is read, so keys are unique and nesting is limited. Unknown keys are skipped.
//!
//! If the bytes of a manifest are not deterministic, that error has priority over all others. So a manifest
//! that is refused is checked for it once more, as a whole.

use super::names::{key, text};
use super::parts::parts;
use super::{component_ranges, deterministic, layouts, names};
use crate::container::cbor::fields::{name_blocks, FieldReader};
use crate::container::cbor::template::{is_lower_hex, Form, Meaning, TemplateCache};
use crate::container::cbor::{packed, Cursor, Head};
use crate::container::frame::{Frame, Input, Limits};
use crate::container::tables::{add, expect};
use crate::digest::xxh3;
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::component::MAX_RANK;
use crate::model::manifest::{table_position, Component, Container, Format, Manifest, Object, TextId};

const OBJECTS: u64 = packed(b"objects");
const SHARDS: u64 = packed(b"shards");
const SHAPE: u64 = packed(b"shape");
const LAYOUT: u64 = packed(b"layout");
const PARTS: u64 = packed(b"parts");

/// Reads a manifest, and checks everything that it can show.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    let mut d = FieldReader::new(frame, bytes, budget);
    d.manifest.container = Some(Container::V2);
    d.manifest.version_text = Some(d.push_text("2")?);
    let Some(hash) = frame.manifest_hash else {
        return Ok(d.manifest); // a shard: it has bytes of other files' components, and no objects
    };
    check_hash(bytes, hash)?;
    let manifest = match whole(d, frame, limits) {
        Ok(manifest) => manifest,
        Err(e) => return Err(deterministic::check(bytes, frame.manifest.start).err().unwrap_or(e)),
    };
    component_ranges::check_overlaps(&manifest, frame, budget)?;
    Ok(manifest)
}

fn whole(mut d: FieldReader<'_>, frame: &Frame, limits: &Limits) -> Result<Manifest> {
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
            Some((SHARDS, _)) => component_ranges::shard_table(&mut d)?,
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
fn map(d: &mut FieldReader<'_>, what: &str) -> Result<Option<u64>> {
    deterministic::check_head(d.cursor.rest(), d.cursor.file_offset())?;
    d.map(Rule::Zt2Schema, what)
}

/// The last key of a map, encoded.
#[derive(Default)]
struct KeyOrder<'a>(&'a [u8]);

impl<'a> KeyOrder<'a> {
    /// Checks that the key from `start` to `end` is greater than the one before.
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

fn objects(d: &mut FieldReader<'_>, frame: &Frame, limits: &Limits) -> Result<()> {
    // The least size of an object with one component. If more objects are declared than fit in the remaining
    // bytes, that number is not used.
    const MIN_ENTRY_SIZE: u64 = 48;
    let mut left = map(d, "\"objects\"")?;
    let expected = d.cursor.plausible(left, MIN_ENTRY_SIZE);
    expect(&d.cursor, &mut d.manifest.objects, expected)?;
    expect(&d.cursor, &mut d.manifest.components, expected)?;
    let mut templates = TemplateCache::new(Objects { file_size: frame.file_size });
    let mut names = KeyOrder::default();
    while d.cursor.another(&mut left)? {
        limits.check_more_objects(d.manifest.objects.len())?;
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
            return Err(e.within(format_args!("object {}", Quoted(name))));
        }
    }
    Ok(())
}

#[inline(never)]
fn unusual_name<'a>(d: &mut FieldReader<'a>) -> Result<&'a [u8]> {
    check_item(&d.cursor, 2)?;
    let name = text(d, "the name of an object")?;
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
        component_ranges::is_in_range(c.offset, c.stored_size, file_size)
            && layouts::is_kept(object.format, shape, c)
    }
}

fn object(d: &mut FieldReader<'_>, frame: &Frame, name: TextId) -> Result<()> {
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
        return Err(broken!(Rule::Zt2Schema, "its \"parts\" is missing or empty"));
    }
    let object = Object { name, format, shape_start, rank, component_start, component_count, attributes };
    layouts::check(&d.manifest, &object)?;
    if component_count == 1 {
        name_blocks(&mut d.manifest, &object);
    }
    add(&d.cursor, &mut d.manifest.objects, object)
}

fn shape(d: &mut FieldReader<'_>) -> Result<(u32, u32)> {
    let mut shape = [0; MAX_RANK];
    let rank = match d.cursor.head()? {
        Head::Array(Some(rank)) => rank,
        other => return Err(broken!(Rule::Zt2Schema, "\"shape\" is {}, not an array", other.kind())),
    };
    let Some(shape) = usize::try_from(rank).ok().and_then(|rank| shape.get_mut(..rank)) else {
        return Err(broken!(Rule::Zt2Shape, "its rank is {rank}, above {MAX_RANK}"));
    };
    for dimension in &mut *shape {
        *dimension = d.unsigned(Rule::Zt2Schema, "a dimension of \"shape\"")?;
    }
    layouts::check_shape(shape)?;
    d.intern_shape(shape)
}

fn layout(d: &mut FieldReader<'_>) -> Result<Format> {
    let name = text(d, "\"layout\"")?;
    Ok(match layouts::format(name) {
        Some(format) => format,
        None => Format::Other(d.push_utf8(name)?),
    })
}

/// Checks that the attributes, which come next, are a map and that its keys are valid names.
fn check_attributes(d: &FieldReader<'_>) -> Result<()> {
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

/// A manifest must have the same meaning, and the same error, with the fast path and without it. Without it,
/// the whole manifest is checked to be deterministic first, then each object is read field by field.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::cbor::encode as put;
    use crate::container::cbor::template::tests::compared;
    use crate::container::detect;
    use crate::container::differential::{meaning, with_bytes_changed, Random};
    use crate::container::frame::{Detected, Ends, Frame, InMemory, Limits};
    use crate::digest::xxh3;
    use crate::memory::Budget;
    use crate::model::manifest::Container;

    fn outcome(frame: &Frame, bytes: &[u8]) -> String {
        let manifest = frame.manifest.start..frame.manifest.start + bytes.len() as u64;
        let mut frame = Frame { manifest_hash: Some(xxh3(bytes)), manifest, ..frame.clone() };
        let mut input = InMemory::manifest(&frame, bytes);
        meaning(decode(&mut frame, &mut input, &Limits::default(), &Budget::new(1 << 30)))
    }

    /// How many manifests were read, how many were refused, and how many had objects that matched.
    #[derive(Debug, Default)]
    struct Counts([usize; 3]);

    impl Counts {
        fn add(&mut self, frame: &Frame, bytes: &[u8]) {
            let (outcome, matched) = compared(|| outcome(frame, bytes));
            self.0[0] += usize::from(outcome.starts_with("read"));
            self.0[1] += usize::from(outcome.starts_with("refused"));
            self.0[2] += matched;
        }

        fn are_over(&self, least: [usize; 3]) {
            assert!(self.0.iter().zip(least).all(|(count, least)| *count > least), "{self:?}");
        }
    }

    #[test]
    fn the_corpus_means_the_same_without_the_fast_path() {
        let mut counts = Counts::default();
        with_bytes_changed(40, |file| {
            let ends = Ends { file_size: file.len() as u64, head: file, tail: file };
            if let Ok(Detected::Frame(frame)) = detect(ends, &Limits::default()) {
                if frame.manifest_hash.is_some() {
                    counts.add(&frame, &file[frame.manifest.start as usize..frame.manifest.end as usize]);
                }
            }
        });
        counts.are_over([1000, 1000, 100]);
    }

    /// Encodes a number, sometimes longer than necessary.
    fn number(random: &mut Random, value: u64, out: &mut Vec<u8>) {
        match random.one_in(2000) {
            true => out.extend([&[0x1b][..], &value.to_be_bytes()].concat()),
            false => put::unsigned(out, value).unwrap(),
        }
    }

    /// Encodes an object in one of several forms, which differ in their fields. Numbers and digests vary;
    /// sometimes one is wrong.
    fn object(form: u64, at: u64, random: &mut Random, out: &mut Vec<u8>) {
        let mut of_form = Random(form);
        let r = &mut of_form;
        let (rank, parts, layout) = (r.below(4), r.below(8), r.below(5));
        let [has_attributes, is_unknown, has_digest, is_encoded] = [3, 6, 2, 5].map(|times| r.one_in(times));
        let shape: Vec<u64> = (0..rank).map(|_| random.below(9)).collect();
        let elements: u64 = shape.iter().product();
        put::map(out, 3 + u64::from(has_attributes) + u64::from(is_unknown)).unwrap();
        put::key(out, "parts").unwrap();
        let roles: &[&str] = if parts == 0 { &["data", "scales"] } else { &["data"] };
        put::map(out, roles.len() as u64).unwrap();
        for (n, role) in roles.iter().enumerate() {
            put::text(out, role).unwrap();
            put::map(out, 2 + u64::from(has_digest) + 2 * u64::from(is_encoded)).unwrap();
            put::key(out, "blob").unwrap();
            put::array(out, 2).unwrap();
            let place = 1 + 2 * at + n as u64;
            let offset = match random.below(3000) {
                0 => random.below(1 << 31) << 12,
                1 => 4096 * place + 64,
                2 => 4096 * (place - 1),
                _ => 4096 * place,
            };
            let size = 4 * elements + u64::from(random.one_in(1500));
            number(random, offset, out);
            let stored = if is_encoded { random.below(3000) } else { size };
            number(random, stored, out);
            put::key(out, "dtype").unwrap();
            put::text(out, if random.one_in(300) { "i32" } else { "f32" }).unwrap();
            if has_digest {
                put::key(out, "digest").unwrap();
                let digits = if form % 2 == 0 { 16 } else { 64 };
                let algorithm =
                    if random.one_in(2000) { "XXH3" } else { ["xxh3", "sha256"][(form % 2) as usize] };
                let digit = |r: &mut Random| char::from(b"0123456789abcdefgF"[r.below(16) as usize]);
                let mut hex: String = (0..digits).map(|_| digit(random)).collect();
                match random.below(2000) {
                    0 => hex = hex.to_uppercase(),
                    1 => hex.push('g'),
                    2 => drop(hex.pop()),
                    _ => {}
                }
                put::text(out, &format!("{algorithm}:{hex}")).unwrap();
            }
            if is_encoded {
                put::key(out, "encoding").unwrap();
                put::text(out, ["zt.zstd-seekable/1", "acme/1"][(form % 3 / 2) as usize]).unwrap();
                put::key(out, "decoded_length").unwrap();
                number(random, size, out);
            }
        }
        put::key(out, "shape").unwrap();
        put::array(out, rank).unwrap();
        for (n, dimension) in shape.into_iter().enumerate() {
            let is_huge = random.one_in(2000) && n < 2;
            number(random, if is_huge { u64::MAX } else { dimension }, out);
        }
        put::key(out, "layout").unwrap();
        put::text(out, ["dense", "dense", "dense", "acme/1", "zt.sparse_coo/1"][layout as usize]).unwrap();
        if is_unknown {
            put::key(out, "unknown").unwrap();
            put::unsigned(out, random.below(2)).unwrap();
        }
        if has_attributes {
            put::key(out, "attributes").unwrap();
            out.extend([&b"\xa1\x64bits\x04"[..], b"\xa0"][random.below(2) as usize]);
        }
    }

    fn frame() -> Frame {
        let end = 1 << 40;
        let manifest = end - (1 << 30)..end - 40;
        Frame {
            container: Container::V2,
            manifest,
            data: 4096..end - 40,
            file_size: end,
            manifest_hash: None,
        }
    }

    #[test]
    fn random_manifests_mean_the_same_without_the_fast_path() {
        let mut counts = Counts::default();
        for seed in 0..2000 {
            let mut random = Random(seed);
            let (forms, objects) = (1 + random.below(4), random.below(60));
            let mut bytes = b"\xa1\x67objects".to_vec();
            put::map(&mut bytes, objects).unwrap();
            for at in 0..objects {
                let width = if random.one_in(600) { 3 } else { 4 };
                let name = match random.below(600) {
                    0 => format!("layer.\0{at:0width$}"),
                    1 => format!("layer.\u{e9}{at:0width$}"),
                    _ => format!("layer.{at:0width$}"),
                };
                put::text(&mut bytes, &name).unwrap();
                object(seed * 8 + random.below(forms), at, &mut random, &mut bytes);
            }
            if random.one_in(5) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            counts.add(&frame(), &bytes);
        }
        counts.are_over([500, 500, 10_000]);
    }

    /// Speed depends on this, and no other test would notice.
    #[test]
    fn all_objects_of_a_form_but_the_first_are_matched() {
        let mut bytes = b"\xa1\x67objects\xb9\x03\xe8".to_vec();
        for at in 0..1000u64 {
            put::text(&mut bytes, &format!("a name of a layer as long as usual.{at:04}")).unwrap();
            bytes.extend(b"\xa3\x65parts\xa1\x64data\xa3\x64blob\x82");
            put::unsigned(&mut bytes, 4096 * (at + 1)).unwrap();
            bytes.extend(b"\x18\x40\x65dtype\x63f32\x66digest\x75");
            bytes.extend(format!("xxh3:{:016x}", at.wrapping_mul(0x0123_4567_89ab_cdef)).as_bytes());
            bytes.extend(b"\x65shape\x81\x10\x66layout\x65dense");
        }
        let (outcome, matched) = compared(|| outcome(&frame(), &bytes));
        assert!(outcome.starts_with("read"), "{outcome}");
        assert_eq!(matched, 999);
    }
}
