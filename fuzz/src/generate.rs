//! Valid files of every version from an input, with one error if the input asks for it.

use crate::file::{compressed, Container, Layout};
use crate::item::{bend, map, text, EncodingStyle, Item, WORDS};
use crate::tree::Tree;
use crate::values;
use arbitrary::{Result, Unstructured};
use ztensor::container::cbor::encode as cbor_encode;
use ztensor::model::dtype::{Dtype, Logical};

/// A file, and whether it may break rules.
pub struct Made {
    pub bytes: Vec<u8>,
    pub bent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V0_1,
    V1_0,
    V1_1,
    V1_2,
}

/// A file from the input.
pub fn file(u: &mut Unstructured<'_>) -> Result<Made> {
    let version = [Version::V0_1, Version::V1_0, Version::V1_1, Version::V1_2][u.choose_index(4)?];
    let container = match version {
        Version::V0_1 => Container::V0_1,
        Version::V1_0 => Container::V1_0,
        _ => Container::V1,
    };
    let mut layout = Layout::new(container);
    let how: u8 = u.int_in_range(0..=7)?;
    let plain = u.ratio(3, 4)?;
    let count = u.int_in_range(0..=4)?;
    let mut objects = Vec::new();
    for at in 0..count {
        let mut name: String = u.arbitrary()?;
        name.truncate((0..=name.len().min(12)).rev().find(|n| name.is_char_boundary(*n)).unwrap_or(0));
        objects.push((format!("{name}{at}"), object(u, version, &mut layout)?));
    }
    let mut root = root(u, version, objects)?;
    if how == 1 || how == 2 || how == 3 {
        bend(&mut root, u, &WORDS)?;
    }
    if how == 3 {
        bend(&mut root, u, &WORDS)?;
    }
    let start = layout.manifest(&root, &mut EncodingStyle { plain, input: u })?;
    let end = layout.bytes.len();
    let mut size = (end - start) as u64;
    match how {
        4 => bend_bytes(&mut layout.bytes, start, u)?,
        5 => bend_bytes(&mut layout.bytes, 0, u)?,
        6 => {
            size = if u.arbitrary()? {
                u.arbitrary()?
            } else {
                size.wrapping_add(u.int_in_range(0..=66)?).wrapping_sub(33)
            }
        }
        _ => {}
    }
    let mut bytes = layout.footer(size);
    if how == 7 {
        let keep = u.int_in_range(0..=bytes.len())?;
        bytes.truncate(keep);
    }
    Ok(Made { bytes, bent: how != 0 })
}

fn bend_bytes(bytes: &mut Vec<u8>, from: usize, u: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..u.int_in_range(1..=3)? {
        let at = u.int_in_range(from..=bytes.len() - 1)?;
        match u.int_in_range(0..=3u8)? {
            0 => bytes[at] = u.arbitrary()?,
            1 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
            2 if from > 0 => bytes.insert(at, u.arbitrary()?),
            3 if from > 0 && bytes.len() > from + 1 => drop(bytes.remove(at)),
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
    Ok(())
}

fn raw(value: &Tree) -> Item {
    let mut bytes = Vec::new();
    cbor_encode::value(&mut bytes, value.owned().get()).unwrap();
    Item::Raw(bytes)
}

fn root(
    u: &mut Unstructured<'_>,
    version: Version,
    objects: Vec<(String, Vec<(&str, Item)>)>,
) -> Result<Item> {
    if version == Version::V0_1 {
        let named = objects.into_iter().map(|(name, mut fields)| {
            fields.push(("name", text(&name)));
            map(fields)
        });
        return Ok(Item::Array(named.collect()));
    }
    let objects =
        Item::Map(objects.into_iter().map(|(name, fields)| (Item::Text(name), map(fields))).collect());
    let (said, key) = match version {
        Version::V1_0 => ("1.0", "tensors"),
        Version::V1_1 => ("1.1.0", "objects"),
        _ => (["1.2.0", "1.2", "1.3.0"][u.choose_index(3)?], "objects"),
    };
    let mut fields = vec![("version", text(said)), (key, objects)];
    if u.ratio(1, 3)? {
        fields.push(("attributes", raw(&Tree::Map(values::attributes(u)?))));
    }
    if u.ratio(1, 8)? {
        fields.insert(0, ("unknown", raw(&values::value(u, 3)?)));
    }
    Ok(map(fields))
}

fn data(u: &mut Unstructured<'_>, dtype: Dtype, count: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count as usize * dtype.size()];
    u.fill_buffer(&mut bytes)?;
    if dtype == Dtype::Bool {
        bytes.iter_mut().for_each(|b| *b &= 1);
    }
    Ok(bytes)
}

fn numbers(dtype: Dtype, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// A component: adds its blob and returns its fields.
struct Part {
    dtype: Dtype,
    logical: Option<Logical>,
    bytes: Vec<u8>,
}

fn part(
    u: &mut Unstructured<'_>,
    version: Version,
    layout: &mut Layout,
    p: &Part,
    is_value: bool,
) -> Result<Item> {
    let mut fields = Vec::new();
    let zstd = u.ratio(1, 3)?;
    let stored =
        if zstd { compressed(&p.bytes, u.int_in_range(24..=600)?, u.ratio(1, 4)?) } else { p.bytes.clone() };
    if version != Version::V1_0 {
        let compound = p.logical.and_then(Logical::name_in_1_1).filter(|_| version == Version::V1_1);
        fields.push(("dtype", text(compound.unwrap_or(p.dtype.name()))));
        if let (Some(t), Version::V1_2) = (p.logical, version) {
            fields.push(("type", text(t.name())));
        }
    } else if !is_value && u.ratio(1, 4)? {
        fields.push(("dtype", text(p.dtype.old_name())));
    }
    fields.push(("offset", Item::Unsigned(layout.place(&stored))));
    fields.push(("length", Item::Unsigned(stored.len() as u64)));
    if zstd {
        fields.push(("encoding", text("zstd")));
        // Before 1.2, if the shape does not give the size, it is computed from the frames.
        if version == Version::V1_2 || u.ratio(1, 4)? {
            fields.push(("uncompressed_length", Item::Unsigned(p.bytes.len() as u64)));
        }
    } else if u.ratio(1, 6)? {
        fields.push(("encoding", text("raw")));
    }
    if u.ratio(1, 3)? {
        fields.push(("digest", text(&format!("crc32c:0x{:08X}", crc32c::crc32c(&stored)))));
    }
    Ok(map(fields))
}

fn tensor_0_1(u: &mut Unstructured<'_>, layout: &mut Layout) -> Result<Vec<(&'static str, Item)>> {
    let (shape, count) = shape(u)?;
    let dtype = Dtype::ALL[u.choose_index(Dtype::ALL.len())?];
    let bytes = data(u, dtype, count)?;
    let zstd = u.ratio(1, 3)?;
    let stored = if zstd { compressed(&bytes, u.int_in_range(24..=600)?, false) } else { bytes };
    let mut fields = vec![
        ("offset", Item::Unsigned(layout.place(&stored))),
        ("size", Item::Unsigned(stored.len() as u64)),
        ("dtype", text(dtype.old_name())),
        ("shape", shape),
        ("encoding", text(if zstd { "zstd" } else { "raw" })),
    ];
    if u.ratio(1, 2)? {
        fields.push(("layout", text("dense")));
    }
    if u.ratio(1, 2)? {
        fields.push(("data_endianness", text(if u.arbitrary()? { "big" } else { "little" })));
    }
    if u.ratio(1, 3)? {
        fields.push(("checksum", text(&format!("crc32c:0x{:08X}", crc32c::crc32c(&stored)))));
    }
    if u.ratio(1, 3)? {
        fields.push(("custom", raw(&values::value(u, 3)?)));
    }
    Ok(fields)
}

fn shape(u: &mut Unstructured<'_>) -> Result<(Item, u64)> {
    let rank = u.int_in_range(0..=4)?;
    let dims: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=6)).collect::<Result<_>>()?;
    let count = dims.iter().product();
    Ok((Item::Array(dims.into_iter().map(Item::Unsigned).collect()), count))
}

fn object(
    u: &mut Unstructured<'_>,
    version: Version,
    layout: &mut Layout,
) -> Result<Vec<(&'static str, Item)>> {
    if version == Version::V0_1 {
        return tensor_0_1(u, layout);
    }
    let logical = match version {
        Version::V1_0 => None,
        _ => Logical::ALL.get(u.int_in_range(0..=12usize)?).copied().filter(|t| t.is_in_spec()),
    };
    let logical = logical.filter(|t| version == Version::V1_2 || t.name_in_1_1().is_some());
    let dtype = logical.map_or(Dtype::ALL[u.choose_index(Dtype::ALL.len())?], Logical::dtype);
    let ratio = logical.map_or(1, Logical::ratio);
    let index = match version {
        Version::V1_1 => [Dtype::U64, Dtype::I32, Dtype::U8, Dtype::I64][u.choose_index(4)?],
        _ => Dtype::U64,
    };
    let nnz = u.int_in_range(0..=6)?;
    let values = |u: &mut Unstructured<'_>, count: u64| {
        Ok(Part { dtype, logical, bytes: data(u, dtype, count * ratio)? })
    };
    let indices = |values: &[u64]| Part { dtype: index, logical: None, bytes: numbers(index, values) };
    let dims = |d: &[u64]| Item::Array(d.iter().map(|d| Item::Unsigned(*d)).collect());
    let mut attributes = values::attributes(u)?;
    let (format, shape, parts) = match u.int_in_range(0..=5u8)? {
        0 => {
            let (rows, columns) = (u.int_in_range(0..=5)?, u.int_in_range(1..=6)?);
            let nnz = if rows == 0 { 0 } else { nnz };
            let mut pointers: Vec<u64> =
                (0..=rows).map(|_| u.int_in_range(0..=nnz)).collect::<Result<_>>()?;
            pointers.sort_unstable();
            pointers[0] = 0;
            pointers[rows as usize] = nnz;
            let places: Vec<u64> =
                (0..nnz).map(|_| u.int_in_range(0..=columns - 1)).collect::<Result<_>>()?;
            let parts = vec![
                ("values", values(u, nnz)?),
                ("indices", indices(&places)),
                ("indptr", indices(&pointers)),
            ];
            ("sparse_csr", dims(&[rows, columns]), parts)
        }
        1 => {
            let shape: Vec<u64> =
                (0..u.int_in_range(1..=3)?).map(|_| u.int_in_range(1..=7)).collect::<Result<_>>()?;
            let mut places = Vec::new();
            for d in &shape {
                for _ in 0..nnz {
                    places.push(u.int_in_range(0..=d - 1)?);
                }
            }
            ("sparse_coo", dims(&shape), vec![("values", values(u, nnz)?), ("coords", indices(&places))])
        }
        2 if version != Version::V1_0 => {
            let (rows, columns) = (u.int_in_range(1..=3)?, 8 * u.int_in_range(1..=2)?);
            let groups = rows * columns / 8;
            for (key, value) in [("bits", 4), ("group_size", 8)] {
                attributes.push((Tree::text(key), Tree::Unsigned(value)));
            }
            attributes.push((Tree::text("packing"), Tree::text("8_per_i32")));
            let packed = Part { dtype: Dtype::I32, logical: None, bytes: data(u, Dtype::I32, groups)? };
            let mut parts = vec![("packed_weight", packed), ("scales", values(u, groups)?)];
            if u.arbitrary()? {
                parts.push(("zeros", values(u, groups)?));
            }
            ("quantized_group", dims(&[rows, columns]), parts)
        }
        3 if version != Version::V1_0 => {
            ("block_mx", dims(&[nnz, 1 << 40]), vec![("mantissa", values(u, nnz)?)])
        }
        _ => {
            let (shape, count) = shape(u)?;
            ("dense", shape, vec![("data", values(u, count)?)])
        }
    };
    let mut components = Vec::new();
    for (role, p) in &parts {
        let is_value = !matches!(*role, "indices" | "indptr" | "coords");
        components.push((*role, part(u, version, layout, p, is_value)?));
    }
    let mut fields = vec![("shape", shape), ("format", text(format)), ("components", map(components))];
    if version == Version::V1_0 {
        fields.push(("dtype", text(dtype.old_name())));
    }
    if !attributes.is_empty() {
        fields.push(("attributes", raw(&Tree::Map(attributes))));
    }
    if u.ratio(1, 8)? {
        fields.push(("unknown", raw(&values::value(u, 3)?)));
    }
    Ok(fields)
}
