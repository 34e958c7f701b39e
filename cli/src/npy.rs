//! The header of a NumPy file with one array. The array's bytes follow, least significant byte first.

use crate::convert::tensor::Elements;
use std::fmt::Write;
use ztensor::container::NPZ_MAX_RANK;
use ztensor::model::dtype::{Dtype, Logical};

/// The header of an array: in version 1.0 of the format, or in 2.0 if it does not fit.
pub fn header(elements: Elements, dimensions: &[u64]) -> Vec<u8> {
    /// Space for the first dimension to grow to this many digits. The header ends at a multiple of 64.
    const GROWTH: usize = 21;
    const ALIGNMENT: usize = 64;
    let descr = descr(elements).unwrap_or_default();
    let mut shape = String::new();
    dimensions.iter().for_each(|dimension| write!(shape, "{dimension}, ").unwrap_or(()));
    let shape = if dimensions.len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let growth = dimensions.first().map_or(0, |first| GROWTH.saturating_sub(first.to_string().len()));
    text.extend(std::iter::repeat_n(' ', growth));
    let is_long = text.len() + ALIGNMENT > usize::from(u16::MAX);
    let front = if is_long { 12 } else { 10 };
    let size = (front + text.len() + 1).next_multiple_of(ALIGNMENT) - front;
    text.extend(std::iter::repeat_n(' ', size - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    match is_long {
        true => header.extend([2, 0].into_iter().chain((size as u32).to_le_bytes())),
        false => header.extend([1, 0].into_iter().chain((size as u16).to_le_bytes())),
    }
    header.extend(text.as_bytes());
    header
}

/// Why NumPy cannot represent a shape, if it cannot.
pub fn refusal(shape: &[u64]) -> Option<String> {
    let is_large = |dimension: &&u64| i64::try_from(**dimension).is_err();
    match shape.iter().find(is_large) {
        _ if shape.len() > NPZ_MAX_RANK as usize => Some(format!("its {} dimensions", shape.len())),
        Some(dimension) => Some(format!("a dimension of {dimension}")),
        None => None,
    }
}

/// NumPy's name of a type, if it has one.
pub fn descr(elements: Elements) -> Option<&'static str> {
    Some(match elements {
        Elements::Plain(Dtype::F64) => "<f8",
        Elements::Plain(Dtype::F32) => "<f4",
        Elements::Plain(Dtype::F16) => "<f2",
        Elements::Plain(Dtype::I64) => "<i8",
        Elements::Plain(Dtype::I32) => "<i4",
        Elements::Plain(Dtype::I16) => "<i2",
        Elements::Plain(Dtype::I8) => "|i1",
        Elements::Plain(Dtype::U64) => "<u8",
        Elements::Plain(Dtype::U32) => "<u4",
        Elements::Plain(Dtype::U16) => "<u2",
        Elements::Plain(Dtype::U8) => "|u1",
        Elements::Plain(Dtype::Bool) => "|b1",
        Elements::Typed(Logical::Complex64) => "<c8",
        Elements::Typed(Logical::Complex128) => "<c16",
        Elements::Plain(Dtype::Bf16) | Elements::Typed(_) => return None,
    })
}
