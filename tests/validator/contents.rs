//! Rules for the decoded components of an object.

use super::{bytes, Checked, Object, Part};
use ciborium::Value;

/// The size of a dense tensor in bytes.
pub fn dense_size(shape: &[u64], element: u64) -> Checked<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let size = shape.iter().try_fold(element, |size, d| size.checked_mul(*d));
    size.ok_or_else(|| format!("the size of the shape {shape:?} exceeds 64 bits"))
}

pub fn check(object: &Object, version: (u32, u32)) -> Checked<()> {
    for (at, part) in object.parts.iter().enumerate() {
        if object.parts[..at].iter().any(|p| p.role == part.role) {
            return Err(format!("it has two components {:?}", part.role));
        }
        let element =
            bytes::width(&part.dtype).unwrap_or(1) * bytes::ratio(part.logical.as_deref()).unwrap_or(1);
        if part.bytes.len() as u64 % element != 0 {
            return Err(format!("{:?} has {} bytes", part.role, part.bytes.len()));
        }
        // In 0.1 every value other than 0 is true.
        if part.dtype == "bool" && version > (0, 1) && part.bytes.iter().any(|b| *b > 1) {
            return Err(format!("a bool of {:?} is neither 0 nor 1", part.role));
        }
        let index = ["indices", "indptr", "coords"].contains(&part.role.as_str());
        if index && object.format.starts_with("sparse_") && version > (0, 1) {
            let integer = part.dtype.starts_with(['u', 'i']) && part.logical.is_none();
            if !integer || version >= (1, 2) && part.dtype != "u64" {
                return Err(format!("{:?} is {} in {version:?}", part.role, part.dtype));
            }
        }
    }
    match object.format.as_str() {
        // 0.1 does not describe the bytes of this layout
        _ if version == (0, 1) && object.format != "dense" => Ok(()),
        "dense" => need(object, "data").map(drop),
        "sparse_csr" => csr(object),
        "sparse_coo" => coo(object),
        "quantized_group" => quantized(object),
        _ => Ok(()),
    }
}

fn need<'o>(object: &'o Object, role: &str) -> Checked<&'o Part> {
    object.parts.iter().find(|p| p.role == role).ok_or_else(|| format!("it has no {role:?}"))
}

fn count(part: &Part) -> u64 {
    part.bytes.len() as u64 / bytes::width(&part.dtype).unwrap_or(1)
}

/// The number of values, or None if the size of a value is unknown.
fn values(object: &Object) -> Checked<Option<u64>> {
    let part = need(object, "values")?;
    Ok(bytes::ratio(part.logical.as_deref()).map(|ratio| count(part) / ratio))
}

/// Integers of any width.
pub fn integers(part: &Part) -> Vec<i128> {
    let width = bytes::width(&part.dtype).unwrap_or(1) as usize;
    let signed = part.dtype.starts_with('i');
    let integer = |bytes: &[u8]| {
        let value = bytes.iter().rev().fold(0i128, |value, byte| value << 8 | i128::from(*byte));
        let bits = 8 * width;
        if signed && value >> (bits - 1) == 1 {
            value - (1 << bits)
        } else {
            value
        }
    };
    part.bytes.chunks(width).map(integer).collect()
}

fn within(what: &str, numbers: &[i128], bound: u64) -> Checked<()> {
    match numbers.iter().find(|n| !(0..i128::from(bound)).contains(*n)) {
        Some(out) => Err(format!("{what} {out} is not below {bound}")),
        None => Ok(()),
    }
}

fn csr(object: &Object) -> Checked<()> {
    let [rows, columns] = object.shape[..] else { return Err(format!("its rank is {}", object.shape.len())) };
    let (indices, pointers) = (integers(need(object, "indices")?), integers(need(object, "indptr")?));
    if values(object)?.is_some_and(|values| values != indices.len() as u64) {
        return Err(format!("it has {} indices", indices.len()));
    }
    if pointers.len() as u128 != u128::from(rows) + 1 || pointers[0] != 0 {
        return Err(format!("it has {} row pointers for {rows} rows, or the first is not 0", pointers.len()));
    }
    if pointers.windows(2).any(|p| p[0] > p[1]) || pointers.last() != Some(&(indices.len() as i128)) {
        return Err("its row pointers fall, or do not end with the number of values".into());
    }
    within("column", &indices, columns)
}

fn coo(object: &Object) -> Checked<()> {
    let (coords, rank) = (integers(need(object, "coords")?), object.shape.len());
    let nnz = match values(object)? {
        Some(nnz) => nnz as usize,
        None => coords.len().checked_div(rank).unwrap_or(0),
    };
    if coords.len() != nnz * rank || rank == 0 && nnz > 1 {
        return Err(format!("it has {} coordinates for {nnz} values in {rank} dimensions", coords.len()));
    }
    let each = coords.chunks(nnz.max(1)).zip(&object.shape);
    each.into_iter().try_for_each(|(run, bound)| within("coordinate", run, *bound))
}

/// Attributes that exist must agree with the sizes.
fn quantized(object: &Object) -> Checked<()> {
    let (packed, scales) = (need(object, "packed_weight")?, need(object, "scales")?);
    let number = |key: &str| {
        let found = object.attributes.iter().find(|(k, _)| k.as_text() == Some(key));
        found.and_then(|(_, v)| v.as_integer()).and_then(|n| u128::try_from(n).ok())
    };
    let weights = u128::from(dense_size(&object.shape, 1)?);
    if number("bits").is_some_and(|bits| weights * bits > packed.bytes.len() as u128 * 8) {
        return Err(format!("{weights} weights do not fit {} bytes", packed.bytes.len()));
    }
    if number("group_size").is_some_and(|size| u128::from(count(scales)) * size < weights) {
        return Err(format!("{} scales do not reach {weights} weights", count(scales)));
    }
    match object.parts.iter().find(|p| p.role == "zeros") {
        Some(zeros) if (count(zeros) == 0) != (count(scales) == 0) => Err("scales without zeros".into()),
        _ => Ok(()),
    }
}

/// A map's pairs as text. Equal maps have equal texts.
pub fn text(pairs: &[(Value, Value)]) -> String {
    format!("{pairs:?}")
}
