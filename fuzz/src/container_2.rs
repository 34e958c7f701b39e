//! Files of zTensor 2: valid ones from an input, with one error if the input asks for it, and the released
//! library's result.

use crate::guarded::guarded;
use crate::item::{bend, map, text, EncodingStyle, Item};
use arbitrary::{Result, Unstructured};
use current::format::validate::image;
use current::{Manifest, Vocabulary};
use xxhash_rust::xxh3::xxh3_64;
use ztensor::error::{Error, Rule};
use ztensor::reader::File;

const MAGIC: [u8; 8] = *b"\x89ZT2\r\n\x1a\n";
const PAGE: usize = 4096;
/// Blobs for raw manifests may be here, before the start of the manifest.
const AREA: usize = 3 * PAGE;

/// A file, and whether it may break rules.
pub struct Made {
    pub bytes: Vec<u8>,
    pub bent: bool,
}

/// The blobs so far, each in a separate page, and the number of pages used in shards.
pub struct Blobs(Vec<u8>, u64);

impl Blobs {
    pub fn new() -> Blobs {
        Blobs(MAGIC.to_vec(), 0)
    }

    /// Its offset and size, for a manifest.
    pub fn place(&mut self, blob: &[u8]) -> Item {
        self.0.resize(self.0.len().next_multiple_of(PAGE), 0);
        let place = vec![Item::Unsigned(self.0.len() as u64), Item::Unsigned(blob.len() as u64)];
        self.0.extend_from_slice(blob);
        Item::Array(place)
    }

    /// The file with a manifest of these bytes.
    pub fn with_manifest(mut self, manifest: &[u8]) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(PAGE), 0);
        let footer = [self.0.len() as u64, manifest.len() as u64, xxh3_64(manifest), 2];
        self.0.extend_from_slice(manifest);
        footer.iter().for_each(|number| self.0.extend_from_slice(&number.to_le_bytes()));
        self.0.extend_from_slice(&MAGIC);
        self.0
    }
}

/// A file with a manifest of random bytes, and blobs of small numbers.
pub fn raw(manifest: &[u8]) -> Vec<u8> {
    let mut blobs = Blobs::new();
    blobs.0.resize(AREA, 0);
    blobs.0[PAGE..].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 4 == 0) as u8);
    blobs.with_manifest(manifest)
}

/// The item with its maps in the required order.
pub fn sort(item: &mut Item) {
    match item {
        Item::Array(items) => items.iter_mut().for_each(sort),
        Item::Map(pairs) => {
            pairs.iter_mut().for_each(|(key, value)| {
                sort(key);
                sort(value);
            });
            pairs.sort_by_cached_key(|(key, _)| encoded(key));
        }
        _ => {}
    }
}

pub fn encoded(item: &Item) -> Vec<u8> {
    let mut out = Vec::new();
    let mut nothing = Unstructured::new(&[]);
    EncodingStyle { plain: true, input: &mut nothing }
        .put(&mut out, item)
        .expect("it read from the empty input");
    out
}

/// Names of shards, and their declared sizes.
pub const SHARDS: [(&str, u64); 3] =
    [("base", 6 * 4096 + 40), ("00001-of-00002", 48), ("a.b_c", 3 * 4096 + 40)];

/// A shard of that size without objects.
pub fn shard(size: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((8..size - 40).map(|at| (at % 4 == 0) as u8));
    bytes.resize(size - 16, 0);
    bytes.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&MAGIC);
    bytes
}

/// A file from the input. `with_shards`: always with a table of shards. Otherwise the input decides.
pub fn file(u: &mut Unstructured<'_>, with_shards: bool) -> Result<Made> {
    let mut blobs = Blobs::new();
    let how: u8 = u.int_in_range(0..=5)?;
    let shards = if with_shards || u.ratio(1, 4)? { &SHARDS[..u.int_in_range(1..=3)?] } else { &[] };
    let mut objects = Vec::new();
    for at in 0..u.int_in_range(0..=4)? {
        let mut name: String = u.arbitrary()?;
        name.truncate((0..=name.len().min(12)).rev().find(|n| name.is_char_boundary(*n)).unwrap_or(0));
        let name = format!("{}{at}", name.replace('\0', ""));
        objects.push((Item::Text(name), object(u, &mut blobs, shards)?));
    }
    let mut fields = vec![("objects", Item::Map(objects))];
    if !shards.is_empty() {
        let entry =
            |size: u64| map(vec![("size", Item::Unsigned(size)), ("digest", text("xxh3:0123456789abcdef"))]);
        fields.push(("shards", map(shards.iter().map(|(name, size)| (*name, entry(*size))).collect())));
    }
    if u.ratio(1, 3)? {
        fields.push(("attributes", attributes(u)?));
    }
    if u.ratio(1, 8)? {
        fields.push(("unknown", value(u, 3)?));
    }
    let mut root = map(fields);
    sort(&mut root);
    for _ in 0..how.min(2) {
        bend(&mut root, u, &WORDS)?;
    }
    if how == 1 {
        sort(&mut root);
    }
    let mut manifest = encoded(&root);
    if how == 5 {
        for _ in 0..u.int_in_range(1..=3)? {
            let at = u.choose_index(manifest.len())?;
            manifest[at] = u.arbitrary()?;
        }
    }
    Ok(Made { bytes: blobs.with_manifest(&manifest), bent: how != 0 })
}

/// Deterministic values. Names of attributes are not empty.
fn value(u: &mut Unstructured<'_>, depth: u8) -> Result<Item> {
    Ok(match u.int_in_range(0..=if depth == 0 { 5 } else { 7 })? {
        0 => Item::Unsigned(u.arbitrary()?),
        1 => Item::Unsigned(u.int_in_range(0..=40)?),
        2 => Item::Simple(u.int_in_range(20..=22)?),
        3 => Item::Raw([vec![0xf9], u.int_in_range(0u16..=0x7bff)?.to_be_bytes().to_vec()].concat()),
        4 => Item::Raw(vec![0x20 | u.int_in_range(0..=23)?]),
        5 => text(["", "a", "lsb_first", "zeros"][u.choose_index(4)?]),
        6 => Item::Array((0..u.int_in_range(0..=3)?).map(|_| value(u, depth - 1)).collect::<Result<_>>()?),
        _ => attributes_of(u, depth - 1)?,
    })
}

fn attributes_of(u: &mut Unstructured<'_>, depth: u8) -> Result<Item> {
    let mut pairs = Vec::new();
    for at in 0..u.int_in_range(0..=3)? {
        pairs.push((Item::Text(format!("{}{at}", ["k", "bits", "é"][u.choose_index(3)?])), value(u, depth)?));
    }
    Ok(Item::Map(pairs))
}

fn attributes(u: &mut Unstructured<'_>) -> Result<Item> {
    attributes_of(u, 3)
}

const DTYPES: [(&str, u64); 12] = [
    ("u8", 1),
    ("f64", 8),
    ("f32", 4),
    ("f16", 2),
    ("bf16", 2),
    ("i64", 8),
    ("i32", 4),
    ("i16", 2),
    ("i8", 1),
    ("u64", 8),
    ("u32", 4),
    ("u16", 2),
];

/// Type, dtype, and the bytes of this number of elements.
fn logical(u: &mut Unstructured<'_>, count: u64) -> Result<(Option<&'static str>, &'static str, u64)> {
    let (dtype, width) = DTYPES[u.choose_index(12)?];
    Ok(match u.int_in_range(0..=11)? {
        0 => (Some("bool"), "u8", count),
        1 => (Some("f8_e4m3fn"), "u8", count),
        2 => (Some("f8_e8m0"), "u8", count),
        3 => (Some("f4_e2m1"), "u8", count.div_ceil(2)),
        4 => (Some("complex64"), "f32", count * 8),
        5 => (Some("complex128"), "f64", count * 16),
        6 => (Some("acme.t/1"), dtype, count),
        _ => (None, dtype, count * width),
    })
}

fn data(u: &mut Unstructured<'_>, logical: Option<&str>, size: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; size as usize];
    u.fill_buffer(&mut bytes)?;
    if logical == Some("bool") {
        bytes.iter_mut().for_each(|byte| *byte &= 1);
    }
    Ok(bytes)
}

/// Bytes in frames of this size, with a table.
pub fn seekable(content: &[u8], each: usize) -> Vec<u8> {
    let (mut out, mut entries) = (Vec::new(), Vec::new());
    for piece in content.chunks(each.max(1)) {
        let frame = crate::file::compressed(piece, piece.len(), false);
        entries.push((frame.len() as u32, piece.len() as u32));
        out.extend(frame);
    }
    out.extend(table(&entries, false));
    out
}

/// The table of frames with these stored and decoded sizes.
pub fn table(entries: &[(u32, u32)], has_checksums: bool) -> Vec<u8> {
    let mut out = 0x184D_2A5E_u32.to_le_bytes().to_vec();
    let each = if has_checksums { 12 } else { 8 };
    out.extend(((entries.len() * each + 9) as u32).to_le_bytes());
    for (stored, decoded) in entries {
        out.extend(stored.to_le_bytes());
        out.extend(decoded.to_le_bytes());
        out.resize(out.len() + each - 8, 7);
    }
    out.extend((entries.len() as u32).to_le_bytes());
    out.push(if has_checksums { 0x80 } else { 0 });
    out.extend(0x8F92_EAB1_u32.to_le_bytes());
    out
}

type Fields = Vec<(&'static str, Item)>;

fn part(
    u: &mut Unstructured<'_>,
    blobs: &mut Blobs,
    shards: &[(&'static str, u64)],
    dtype: &'static str,
    logical: Option<&'static str>,
    bytes: &[u8],
) -> Result<Item> {
    let mut fields: Fields = vec![("dtype", text(dtype))];
    fields.extend(logical.map(|name| ("type", text(name))));
    if !shards.is_empty() && u.ratio(1, 2)? {
        let (name, size) = shards[u.choose_index(shards.len())?];
        let offset = PAGE as u64 * (blobs.1 + 1);
        if offset + bytes.len() as u64 + 40 <= size {
            blobs.1 += (bytes.len() as u64).div_ceil(PAGE as u64).max(1);
            fields.push(("shard", text(name)));
            fields.push((
                "blob",
                Item::Array(vec![Item::Unsigned(offset), Item::Unsigned(bytes.len() as u64)]),
            ));
            return Ok(map(fields));
        }
    }
    let compressed = u.ratio(1, 4)?;
    let stored = if compressed { seekable(bytes, u.int_in_range(1..=600)?) } else { bytes.to_vec() };
    fields.push(("blob", blobs.place(&stored)));
    if compressed {
        fields.push(("encoding", text("zt.zstd-seekable/1")));
        fields.push(("decoded_length", Item::Unsigned(bytes.len() as u64)));
    }
    if u.ratio(1, 3)? {
        fields.push(("digest", text(&format!("xxh3:{:016x}", xxh3_64(bytes)))));
    }
    Ok(map(fields))
}

fn numbers(values: &[u64], width: usize) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()).collect()
}

fn object(u: &mut Unstructured<'_>, blobs: &mut Blobs, shards: &[(&'static str, u64)]) -> Result<Item> {
    let (index, width) = [("u32", 4), ("u64", 8)][u.choose_index(2)?];
    let nnz: u64 = u.int_in_range(0..=6)?;
    let mut stated = None;
    // Role, dtype, type and bytes of each part.
    type Parts = Vec<(&'static str, &'static str, Option<&'static str>, Vec<u8>)>;
    let values = |u: &mut Unstructured<'_>, role: &'static str, count: u64| -> Result<Parts> {
        let (logical, dtype, size) = logical(u, count)?;
        Ok(vec![(role, dtype, logical, data(u, logical, size)?)])
    };
    let (layout, shape, parts): (&str, Vec<u64>, Parts) = match u.int_in_range(0..=8)? {
        0 => {
            let (rows, columns) = (u.int_in_range(0..=5)?, u.int_in_range(7..=9)?);
            let nnz = if rows == 0 { 0 } else { nnz };
            let pointers = (0..=rows).map(|row| if row == rows { nnz } else { 0 }).collect::<Vec<_>>();
            let mut parts = values(u, "values", nnz)?;
            parts.push(("indices", index, None, numbers(&(0..nnz).collect::<Vec<_>>(), width)));
            parts.push(("indptr", index, None, numbers(&pointers, width)));
            ("zt.sparse_csr/1", vec![rows, columns], parts)
        }
        1 => {
            let mut parts = values(u, "values", nnz)?;
            let places: Vec<u64> = (0..nnz).chain(0..nnz).collect();
            parts.push(("coords", index, None, numbers(&places, width)));
            ("zt.sparse_coo/1", vec![7, 8], parts)
        }
        2 => {
            let word = map(vec![
                ("word", text("u32")),
                ("order", text("lsb_first")),
                ("per_word", Item::Unsigned(8)),
            ]);
            let form = if nnz == 0 {
                vec![("form", text("none"))]
            } else {
                vec![("form", text("implied")), ("value", Item::Unsigned(nnz))]
            };
            stated = Some(map(vec![
                ("bits", Item::Unsigned(4)),
                ("group_size", Item::Unsigned(8)),
                ("axis", Item::Unsigned(1)),
                ("packing", word),
                ("scale_form", text("f16_factors")),
                ("zero_point", map(form)),
            ]));
            let parts = vec![
                ("data", "u32", None, data(u, None, 2 * 16 / 2)?),
                ("scales", "f16", None, data(u, None, 8)?),
            ];
            ("zt.quant_group/1", vec![2, 16], parts)
        }
        3 => {
            stated =
                Some(map(vec![("block_size", Item::Unsigned(32)), ("scale_form", text("e8m0_exponent"))]));
            let parts = vec![
                ("data", "u8", Some("f4_e2m1"), data(u, None, 32)?),
                ("scales", "u8", Some("f8_e8m0"), data(u, None, 2)?),
            ];
            ("zt.mx/1", vec![2, 32], parts)
        }
        4 => {
            stated =
                Some(map(vec![("elems_per_block", Item::Unsigned(32)), ("block_bytes", Item::Unsigned(34))]));
            ("gguf.q8_0/1", vec![2, 32], vec![("data", "u8", None, data(u, None, 68)?)])
        }
        5 => ("acme.t/1", vec![nnz, 1 << 40], values(u, "data", nnz)?),
        _ => {
            let shape: Vec<u64> =
                (0..u.int_in_range(0..=4)?).map(|_| u.int_in_range(0..=6)).collect::<Result<_>>()?;
            let count = shape.iter().product();
            ("dense", shape, values(u, "data", count)?)
        }
    };
    let mut entries = Vec::new();
    for (role, dtype, logical, bytes) in &parts {
        entries.push((*role, part(u, blobs, shards, dtype, *logical, bytes)?));
    }
    let shape = Item::Array(shape.into_iter().map(Item::Unsigned).collect());
    let mut fields: Fields = vec![("shape", shape), ("layout", text(layout)), ("parts", map(entries))];
    if let Some(stated) = stated {
        fields.push(("attributes", stated));
    } else if u.ratio(1, 4)? {
        fields.push(("attributes", attributes(u)?));
    }
    if u.ratio(1, 8)? {
        fields.push(("unknown", value(u, 3)?));
    }
    Ok(map(fields))
}

/// Texts that are meaningful somewhere in a manifest.
const WORDS: [&str; 44] = [
    "",
    "f64",
    "f32",
    "f16",
    "bf16",
    "i64",
    "i8",
    "u64",
    "u32",
    "u8",
    "bool",
    "f8_e4m3fn",
    "f8_e8m0",
    "f4_e2m1",
    "complex64",
    "zt.zstd-seekable/1",
    "zstd",
    "dense",
    "zt.sparse_csr/1",
    "zt.sparse_coo/1",
    "zt.quant_group/1",
    "zt.mx/1",
    "gguf.q8_0/1",
    "gguf.q4_k/1",
    "gguf.none/1",
    "data",
    "values",
    "indices",
    "indptr",
    "coords",
    "scales",
    "zeros",
    "base",
    ".base",
    "a/b",
    "xxh3:0000000000000000",
    "sha256:00",
    "xxh3:",
    "XXH3:00",
    "none",
    "implied",
    "tensor",
    "shards",
    "\0\n",
];

/// The released library's result for the bytes: None if it fails other than by rejecting them.
pub fn reference(bytes: &[u8]) -> Option<std::result::Result<Option<Manifest>, String>> {
    let vocabulary = Vocabulary::standard();
    guarded(|| Ok::<_, ()>(image(bytes, &vocabulary).map_err(|e| e.to_string())))
}

/// Both accept the file and read the same manifest, or both reject it.
pub fn compare(bytes: &[u8], own: &std::result::Result<File, Error>) {
    let Some(reference) = reference(bytes) else { return };
    match (own, reference) {
        (Ok(own), Ok(reference)) => same_listing(own, reference.as_ref()),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(e)) => panic!("accepted, but rejected by the released library: {e}"),
        // The released library does not check for sizes above 64 bits.
        (Err(e), Ok(_)) => {
            let too_large = [Rule::Zt2DenseSize, Rule::Zt2Shape];
            let is_too_large =
                e.rule().is_some_and(|rule| too_large.contains(&rule)) && e.message().contains("64");
            assert!(is_too_large, "rejected, but accepted by the released library: {e}");
        }
    }
}

fn same_listing(own: &File, reference: Option<&Manifest>) {
    let Some(reference) = reference else { return assert_eq!(own.object_count(), 0) };
    assert_eq!(own.object_count(), reference.objects.len());
    for object in own.objects() {
        let listed = &reference.objects[object.name()];
        assert_eq!(object.shape(), listed.shape);
        let layout = listed.layout.strip_prefix("zt.sparse_").map_or(listed.layout.clone(), |rest| {
            format!("sparse_{}", rest.strip_suffix("/1").unwrap_or(rest))
        });
        assert!(
            object.format_name() == listed.layout || object.format_name() == layout,
            "{:?}",
            listed.layout
        );
        assert_eq!(object.components().len(), listed.parts.len());
        assert_eq!(
            object.attributes().is_some_and(|a| a.pairs().len() > 0),
            listed.attributes.as_ref().and_then(|a| a.as_map()).is_some_and(|a| !a.is_empty())
        );
        for component in object.components() {
            let part = &listed.parts[component.role()];
            assert_eq!((component.offset(), component.stored_size()), (part.blob.offset, part.blob.length));
            assert_eq!(component.size().ok(), Some(part.decoded_size()));
            assert_eq!(component.digest(), part.digest.as_deref());
            assert_eq!(component.encoding_name(), part.encoding.as_deref().unwrap_or("raw"));
            match part.logical.as_deref() {
                Some("bool") => assert_eq!(component.dtype_name(), "bool"),
                logical => {
                    assert_eq!(component.dtype_name(), part.dtype.as_str());
                    let block = component.known_logical().is_some_and(|logical| logical.is_block_type());
                    assert_eq!(component.logical_name().filter(|_| !block), logical);
                }
            }
        }
    }
}
