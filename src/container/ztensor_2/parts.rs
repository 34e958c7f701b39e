//! The components of an object: blobs, and how their bytes are interpreted (spec 2 sections 3, 5 and 7).

use super::names::{key, text};
use super::{component_ranges, names};
use crate::container::capabilities::Encodings;
use crate::container::cbor::fields::FieldReader;
use crate::container::cbor::{packed, packed_dtypes, Head};
use crate::container::frame::Frame;
use crate::container::tables::add;
use crate::error::{broken, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Encoding, LogicalType, RareNames, TextId};

const BLOB: u64 = packed(b"blob");
const TYPE: u64 = packed(b"type");
const DTYPE: u64 = packed(b"dtype");
const SHARD: u64 = packed(b"shard");
const DIGEST: u64 = packed(b"digest");

/// The storage types. `bool` is not one of them.
const DTYPES: [Dtype; 12] = [
    Dtype::F64,
    Dtype::F32,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::I64,
    Dtype::I32,
    Dtype::I16,
    Dtype::I8,
    Dtype::U64,
    Dtype::U32,
    Dtype::U16,
    Dtype::U8,
];

/// Whether a component may have this dtype. `bool` is a logical type in zTensor 2.
pub fn has_dtype(dtype: Dtype) -> bool {
    dtype == Dtype::Bool || DTYPES.contains(&dtype)
}

/// The registered logical types except `bool`, which is a dtype in this library.
pub const TYPES: [Logical; 8] = [
    Logical::F8E4m3fn,
    Logical::F8E5m2,
    Logical::F8E4m3fnuz,
    Logical::F8E5m2fnuz,
    Logical::F8E8m0,
    Logical::F4E2m1,
    Logical::Complex64,
    Logical::Complex128,
];

/// The registered encodings.
pub const ENCODINGS: Encodings = Encodings::Registered(&[Encoding::ZstdSeekable]);

pub fn parts(d: &mut FieldReader<'_>, frame: &Frame) -> Result<()> {
    let mut left = d.map(Rule::Zt2Schema, "\"parts\"")?;
    while d.cursor.another(&mut left)? {
        if !d.cursor.is_at_text() {
            return Err(broken!(Rule::Zt2Schema, "the role of a part is not a text string"));
        }
        let role = d.role()?;
        names::check_name("a part", d.manifest.texts.get_bytes(role))?;
        if let Err(e) = part(d, frame, role) {
            return Err(e.within(format_args!("component {:?}", d.manifest.texts.get(role))));
        }
    }
    Ok(())
}

fn part(d: &mut FieldReader<'_>, frame: &Frame, role: TextId) -> Result<()> {
    let mut left = d.map(Rule::Zt2Schema, "its definition")?;
    let (mut dtype, mut logical, mut blob, mut decoded) = (None, None, None, None);
    let mut rare = RareNames::default();
    let (mut shard, mut encoding) = (None, None);
    while d.cursor.another(&mut left)? {
        match key(d)? {
            Some((BLOB, _)) => blob = Some(range(d)?),
            Some((DTYPE, _)) => {
                dtype = Some(match d.cursor.take_dtype(&PACKED_DTYPES) {
                    Some(dtype) => dtype,
                    None => dtype_slow(d)?,
                });
            }
            Some((TYPE, _)) => logical = Some(text(d, "\"type\"")?),
            Some((SHARD, _)) => {
                let name = text(d, "\"shard\"")?;
                names::check_shard_name(name)?;
                shard = Some(name);
            }
            Some((DIGEST, _)) => {
                let digest = text(d, "\"digest\"")?;
                names::check_digest(digest)?;
                rare.digest = Some(d.push_utf8(digest)?);
            }
            Some((_, b"encoding")) => encoding = Some(text(d, "\"encoding\"")?),
            Some((_, b"decoded_length")) => {
                decoded = Some(d.unsigned(Rule::Zt2Schema, "\"decoded_length\"")?);
            }
            _ => d.cursor.skip_well_formed()?,
        }
    }
    let dtype = dtype.ok_or_else(|| broken!(Rule::Zt2Schema, "it has no \"dtype\""))?;
    let (offset, length) = blob.ok_or_else(|| broken!(Rule::Zt2Schema, "it has no \"blob\""))?;
    if encoding.is_some() != decoded.is_some() {
        return Err(broken!(Rule::Zt2Schema, "it has only one of \"encoding\" and \"decoded_length\""));
    }
    let mut component = Component::new(role, Some(dtype));
    if let Some(name) = logical {
        set_type(d, &mut component, dtype, name, &mut rare)?;
    }
    component.encoding = match encoding.map(|name| (name, ENCODINGS.find(name))) {
        None => Encoding::Raw,
        Some((_, Some(known))) => known,
        Some((name, None)) => {
            rare.encoding = Some(d.push_utf8(name)?);
            Encoding::Other
        }
    };
    (component.offset, component.stored_size) = (offset, length);
    component.set_size(Some(decoded.unwrap_or(length)));
    component.set_size_declared(decoded.is_some());
    component.set_digest_of_decoded(true);
    rare.shard = shard.map(|name| component_ranges::find_shard(&d.manifest, name)).transpose()?;
    component.set_in_shard(rare.shard.is_some());
    let size = match rare.shard.and_then(|at| d.manifest.shards.get(at.index())) {
        Some(shard) => shard.size,
        None => frame.file_size,
    };
    component_ranges::check_range(offset, length, size)?;
    component.rare = d.push_rare_names(rare)?;
    add(&d.cursor, &mut d.manifest.components, component)
}

fn range(d: &mut FieldReader<'_>) -> Result<(u64, u64)> {
    match d.cursor.head()? {
        Head::Array(Some(2)) => {}
        Head::Array(Some(count)) => {
            return Err(broken!(Rule::Zt2Schema, "\"blob\" has {count} elements, not an offset and a length"))
        }
        other => return Err(broken!(Rule::Zt2Schema, "\"blob\" is {}, not an array", other.kind())),
    }
    let offset = d.unsigned(Rule::Zt2Schema, "the offset in \"blob\"")?;
    Ok((offset, d.unsigned(Rule::Zt2Schema, "the length in \"blob\"")?))
}

#[inline(never)]
fn dtype_slow(d: &mut FieldReader<'_>) -> Result<Dtype> {
    let name = text(d, "\"dtype\"")?;
    let found = DTYPES.into_iter().find(|dtype| dtype.name().as_bytes() == name);
    found.ok_or_else(|| {
        broken!(Rule::Zt2Schema, "its dtype {} is not one of the 12", crate::error::Quoted(name))
    })
}

const PACKED_DTYPES: [(u64, Dtype); DTYPES.len()] = packed_dtypes(DTYPES);

/// Sets a logical type. A registered type needs its dtype in every layout; another type is only kept as a
/// name.
fn set_type(
    d: &mut FieldReader<'_>,
    component: &mut Component,
    dtype: Dtype,
    name: &[u8],
    rare: &mut RareNames,
) -> Result<()> {
    let needed = |needed: Dtype| match dtype == needed {
        true => Ok(()),
        false => Err(broken!(
            Rule::Zt2Schema,
            "the type {} needs the dtype \"{}\", not \"{}\"",
            crate::error::Quoted(name),
            needed.name(),
            dtype.name()
        )),
    };
    if name == Dtype::Bool.name().as_bytes() {
        component.dtype = Some(Dtype::Bool);
        return needed(Dtype::U8);
    }
    match TYPES.into_iter().find(|known| known.name().as_bytes() == name) {
        Some(known) => {
            component.logical = LogicalType::Known(known);
            needed(known.dtype())
        }
        None => {
            component.logical = LogicalType::Other;
            rare.logical = Some(d.push_utf8(name)?);
            Ok(())
        }
    }
}
