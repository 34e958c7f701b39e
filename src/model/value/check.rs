//! An order of values, and the check that readers would accept a value.

use super::layout::MAX_DEPTH;
use super::record::{Kind, Value};
use crate::error::{fail, Result};
use crate::model::sort::find_duplicate;
use std::cmp::Ordering;

/// A total order for finding duplicate keys. Two values are equal if they are the same CBOR value.
pub fn order(a: Value<'_>, b: Value<'_>) -> Ordering {
    fn rank(kind: &Kind<'_>) -> u8 {
        match kind {
            Kind::Null => 0,
            Kind::Bool(_) => 1,
            Kind::Unsigned(_) => 2,
            Kind::Negative(_) => 3,
            Kind::Float(_) => 4,
            Kind::Text(_) => 5,
            Kind::Bytes(_) => 6,
            Kind::Array(_) => 7,
            Kind::Map(_) => 8,
            Kind::Tag(..) => 9,
            Kind::Simple(_) => 10,
        }
    }
    match (a.kind(), b.kind()) {
        (Kind::Bool(a), Kind::Bool(b)) => a.cmp(&b),
        (Kind::Unsigned(a), Kind::Unsigned(b)) | (Kind::Negative(a), Kind::Negative(b)) => a.cmp(&b),
        (Kind::Float(a), Kind::Float(b)) => a.to_bits().cmp(&b.to_bits()),
        (Kind::Text(a), Kind::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Kind::Bytes(a), Kind::Bytes(b)) => a.cmp(b),
        (Kind::Array(_), Kind::Array(_)) | (Kind::Map(_), Kind::Map(_)) => {
            let (a, b) = (a.parts(), b.parts());
            let mut parts = a.zip(b).map(|(x, y)| order(x, y));
            parts.find(|part| part.is_ne()).unwrap_or(Ordering::Equal).then(a.len().cmp(&b.len()))
        }
        (Kind::Tag(a, x), Kind::Tag(b, y)) => a.cmp(&b).then_with(|| order(x, y)),
        (Kind::Simple(a), Kind::Simple(b)) => a.cmp(&b),
        (a, b) => rank(&a).cmp(&rank(&b)),
    }
}

/// The most keys that are compared without an allocation.
const MAX_COMPARED_IN_PLACE: usize = 8;

/// The temporary memory that [`keys_are_unique`] allocates.
pub(crate) fn bytes_to_compare(keys: usize) -> u64 {
    match keys {
        0..=MAX_COMPARED_IN_PLACE => 0,
        _ => crate::memory::bytes_of::<(Value<'_>, &Value<'_>)>(keys),
    }
}

/// Whether all keys of the pairs are different.
pub fn keys_are_unique<'a>(pairs: impl ExactSizeIterator<Item = (Value<'a>, Value<'a>)>) -> Result<bool> {
    let mut few = [Value::NULL; MAX_COMPARED_IN_PLACE];
    let mut many = Vec::new();
    let count = pairs.len();
    let keys = match few.get_mut(..count) {
        Some(few) => few,
        None => {
            many.try_reserve_exact(count)?;
            many.resize(count, Value::NULL);
            many.as_mut_slice()
        }
    };
    keys.iter_mut().zip(pairs).for_each(|(place, (key, _))| *place = key);
    find_duplicate(keys, |a, b| order(*a, *b)).map(|found| found.is_none())
}

/// Rejects a value that no reader would accept: nested too deep, a map with a duplicate key, or a simple
/// value that has another encoding or none (RFC 7049 section 2.3).
pub fn check_writable(value: Value<'_>) -> Result<()> {
    check_depth(value, MAX_DEPTH)?;
    check_parts(value)
}

fn check_depth(value: Value<'_>, left: usize) -> Result<()> {
    if !matches!(value.kind(), Kind::Array(_) | Kind::Map(_) | Kind::Tag(..)) {
        return Ok(());
    }
    // An empty array or map counts as a level, too.
    match left.checked_sub(1) {
        Some(left) => value.parts().try_for_each(|part| check_depth(part, left)),
        None => Err(fail!(InvalidArgument, "an attribute nests deeper than {MAX_DEPTH} levels")),
    }
}

fn check_parts(value: Value<'_>) -> Result<()> {
    match value.kind() {
        Kind::Simple(v @ (20..=22 | 24..=31)) => {
            Err(fail!(InvalidArgument, "the simple value {v} is encoded otherwise or not at all"))
        }
        Kind::Map(pairs) if !keys_are_unique(pairs.iter())? => {
            Err(fail!(InvalidArgument, "a map in an attribute has a key twice"))
        }
        _ => value.parts().try_for_each(check_parts),
    }
}
