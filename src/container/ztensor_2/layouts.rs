//! Layouts by name, and the rules of the layouts that are checked when a file is opened: `dense` and
//! `zt.sparse_csr/1` (spec 2 section 6).

use crate::error::{broken, Error, Result, Rule};
use crate::model::component::MAX_RANK;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Component, Format, LogicalType, Manifest, Object};

/// The format of a known layout.
pub fn format(name: &[u8]) -> Option<Format> {
    match name {
        b"dense" => Some(Format::Dense),
        b"zt.sparse_csr/1" => Some(Format::SparseCsr),
        b"zt.sparse_coo/1" => Some(Format::SparseCoo),
        _ if name.starts_with(b"gguf.") => {
            let known = std::str::from_utf8(name).ok().and_then(Format::from_name);
            known.filter(|format| matches!(format, Format::Blocks(_)))
        }
        _ => None,
    }
}

/// Block types that spec 2 does not list. Objects with these types can be read, but are not written.
pub const UNLISTED: [Logical; 5] =
    [Logical::Tq1_0, Logical::Tq2_0, Logical::Nvfp4, Logical::Q1_0, Logical::Q2_0];

/// The name of the layout for a format.
pub fn name(manifest: &Manifest, format: Format) -> &str {
    match format {
        Format::SparseCsr => "zt.sparse_csr/1",
        Format::SparseCoo => "zt.sparse_coo/1",
        other => manifest.format_name(other),
    }
}

/// Checks the rules of an object's layout that are required to open a file.
#[inline(always)]
pub fn check(manifest: &Manifest, object: &Object) -> Result<()> {
    match object.format {
        Format::Dense => dense(manifest, object),
        Format::SparseCsr => sparse_csr(manifest, object),
        _ => Ok(()),
    }
}

/// Checks a shape. Its product, from the first dimension to the last, has to fit in 64 bits after each step:
/// a 0 after a product that is too large does not help.
pub fn check_shape(shape: &[u64]) -> Result<()> {
    if shape.len() > MAX_RANK {
        return Err(broken!(Rule::Zt2Shape, "its rank is {}, above {MAX_RANK}", shape.len()));
    }
    match shape.iter().try_fold(1u64, |product, dimension| product.checked_mul(*dimension)) {
        Some(_) => Ok(()),
        None => Err(broken!(Rule::Zt2Shape, "the product of the shape {shape:?} exceeds 64 bits")),
    }
}

/// Whether an object with one component follows the rules of its layout and shape that its numbers can break.
/// Not called for sparse rows.
#[inline(always)]
pub fn is_kept(format: Format, shape: &[u64], data: &Component) -> bool {
    let count = shape.iter().try_fold(1u64, |count, dimension| count.checked_mul(*dimension));
    match (format, count) {
        (_, None) | (Format::SparseCsr, _) => false,
        (Format::Dense, Some(count)) => {
            data.block().is_none_or(|block| block.size(count) == Some(decoded(data)))
        }
        _ => true,
    }
}

#[cold]
pub fn broken_layout(what: std::fmt::Arguments<'_>) -> Error {
    broken!(Rule::Zt2LayoutRule, "{what}")
}

/// The size of `count` elements in bytes; `None` if the type is unknown.
pub fn size_of(c: &Component, count: u64) -> Option<Result<u64>> {
    let size = c.block()?.size(count);
    let too_large = || broken!(Rule::Zt2Shape, "{count} elements have more than 2^64 bytes");
    Some(size.ok_or_else(too_large))
}

/// The decoded size, which is always known.
pub fn decoded(c: &Component) -> u64 {
    c.size().unwrap_or(c.stored_size)
}

#[inline(always)]
fn dense(manifest: &Manifest, object: &Object) -> Result<()> {
    let [data] = manifest.components(object) else {
        let count = object.component_count;
        return Err(broken_layout(format_args!("its layout is dense, but it has {count} parts")));
    };
    if manifest.texts.get_bytes(data.role) != b"data" {
        let role = manifest.texts.get(data.role);
        return Err(broken_layout(format_args!(
            "its layout is dense, but its part is {role:?}, not \"data\""
        )));
    }
    let shape = manifest.shape(object);
    let overflow = || broken!(Rule::Zt2DenseSize, "the size of the shape {shape:?} exceeds 64 bits");
    let count = element_count(shape).ok_or_else(overflow)?;
    let Some(block) = data.block() else { return Ok(()) };
    let expected = block.size(count).ok_or_else(overflow)?;
    match decoded(data) {
        found if found == expected => Ok(()),
        found => Err(broken!(
            Rule::Zt2DenseSize,
            "it has {found} bytes, but the {count} elements of the shape {shape:?} take {expected}"
        )),
    }
}

/// The components with these roles. An error if one is missing or there are others.
pub fn only<'m, const N: usize>(
    manifest: &'m Manifest,
    object: &Object,
    roles: [&str; N],
) -> Result<[&'m Component; N]> {
    let parts = manifest.components(object);
    let find = |role: &str| parts.iter().find(|c| manifest.texts.get_bytes(c.role) == role.as_bytes());
    let found = roles.map(find);
    match (found.iter().position(Option::is_none), parts.first()) {
        (None, Some(first)) if parts.len() == N => Ok(found.map(|c| c.unwrap_or(first))),
        (Some(at), _) => {
            let role = roles.get(at).copied().unwrap_or_default();
            Err(broken_layout(format_args!("it has no part {role:?}")))
        }
        _ => Err(broken_layout(format_args!("it has {} parts, not just {roles:?}", parts.len()))),
    }
}

/// The dtype of a component with positions. An error if positions cannot have it.
pub fn index_dtype(role: &str, c: &Component) -> Result<Dtype> {
    match (c.dtype, c.logical) {
        (Some(dtype @ (Dtype::U32 | Dtype::U64)), LogicalType::Absent) => Ok(dtype),
        _ => Err(broken_layout(format_args!("{role:?} is not of the dtype u32 or u64 without a type"))),
    }
}

/// Checks that there are `nnz` values, as many as positions.
pub fn check_values(values: &Component, nnz: u64) -> Result<()> {
    let Some(expected) = size_of(values, nnz).transpose()? else { return Ok(()) };
    match decoded(values) {
        found if found == expected => Ok(()),
        found => Err(broken_layout(format_args!(
            "\"values\" has {found} bytes, but the positions of {nnz} take {expected}"
        ))),
    }
}

fn sparse_csr(manifest: &Manifest, object: &Object) -> Result<()> {
    let [values, indices, indptr] = only(manifest, object, ["values", "indices", "indptr"])?;
    let &[rows, _] = manifest.shape(object) else {
        return Err(broken_layout(format_args!("its rank is {}, but rows and columns are two", object.rank)));
    };
    let dtype = index_dtype("indices", indices)?;
    if index_dtype("indptr", indptr)? != dtype {
        return Err(broken_layout(format_args!("\"indices\" and \"indptr\" are of different dtypes")));
    }
    let width = dtype.size() as u64;
    let expected = rows.checked_add(1).and_then(|count| count.checked_mul(width));
    let overflow = || broken!(Rule::Zt2Shape, "the row pointers of {rows} rows have more than 2^64 bytes");
    let (expected, found) = (expected.ok_or_else(overflow)?, decoded(indptr));
    if found != expected {
        return Err(broken_layout(format_args!(
            "\"indptr\" has {found} bytes, but {rows} rows take {expected}"
        )));
    }
    let size = decoded(indices);
    match (size.checked_div(width), size.checked_rem(width)) {
        (Some(nnz), Some(0)) => check_values(values, nnz),
        _ => Err(broken_layout(format_args!("\"indices\" has {size} bytes, not a multiple of {width}"))),
    }
}
