//! Types of elements as NumPy names them.

use crate::container::tables::extend;
use crate::error::Result;
use crate::memory::Budget;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::LogicalType;

/// The type of an array's elements.
#[derive(Debug)]
pub(super) enum Kind {
    /// One that is read.
    Plain { dtype: Dtype, logical: LogicalType, big_endian: bool },
    /// One that is listed, and not read: its description, and bytes of an element where that is known.
    Unreadable { text: Vec<u8>, size: Option<u64> },
}

impl Kind {
    /// A type that is listed, by its description.
    pub fn unreadable(text: &[u8], budget: &Budget) -> Result<Kind> {
        let mut kept = Vec::new();
        extend(budget, &mut kept, text)?;
        Ok(Kind::Unreadable { text: kept, size: None })
    }
}

/// The types that are read, by kind and size.
fn plain(kind: u8, size: u64) -> Option<(Dtype, LogicalType)> {
    let dtype = match (kind, size) {
        (b'b', 1) => Dtype::Bool,
        (b'i', 1) => Dtype::I8,
        (b'i', 2) => Dtype::I16,
        (b'i', 4) => Dtype::I32,
        (b'i', 8) => Dtype::I64,
        (b'u', 1) => Dtype::U8,
        (b'u', 2) => Dtype::U16,
        (b'u', 4) => Dtype::U32,
        (b'u', 8) => Dtype::U64,
        (b'f', 2) => Dtype::F16,
        (b'f', 4) => Dtype::F32,
        (b'f', 8) => Dtype::F64,
        (b'c', 8) => return Some((Dtype::F32, LogicalType::Known(Logical::Complex64))),
        (b'c', 16) => return Some((Dtype::F64, LogicalType::Known(Logical::Complex128))),
        _ => return None,
    };
    Some((dtype, LogicalType::Absent))
}

/// The type that a text describes by byte order, kind and size. A text that is not understood is a type that
/// is not read: other programs have types of their own, such as `<f1` for a float of 8 bits.
pub(super) fn parse(text: &[u8], budget: &Budget) -> Result<Kind> {
    let (big_endian, rest) = match text {
        [b'>', rest @ ..] => (true, rest),
        [b'<', rest @ ..] => (false, rest),
        [b'=' | b'|', rest @ ..] => (cfg!(target_endian = "big"), rest),
        rest => (cfg!(target_endian = "big"), rest),
    };
    let (kind, rest) = rest.split_first().unwrap_or((&0, &[]));
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, unit) = rest.split_at_checked(digits).unwrap_or_default();
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit & 15)))
    };
    let size = number(digits).filter(|_| !digits.is_empty());
    if let (Some((dtype, logical)), []) = (size.and_then(|size| plain(*kind, size)), unit) {
        return Ok(Kind::Plain { dtype, logical, big_endian: big_endian && dtype.size() > 1 });
    }
    // Types of NumPy that are listed but not read, with the bytes of an element.
    let size = match (*kind, unit) {
        (b'S' | b'a' | b'V', []) => size,
        (b'U', []) => size.and_then(|size| size.checked_mul(4)),
        (b'f' | b'c', []) if matches!(size, Some(10 | 12 | 16 | 20 | 24 | 32)) => size,
        (b'm' | b'M', [] | [b'[', .., b']']) if size == Some(8) => size,
        _ => None,
    };
    let mut kept = Vec::new();
    extend(budget, &mut kept, text)?;
    Ok(Kind::Unreadable { text: kept, size })
}
