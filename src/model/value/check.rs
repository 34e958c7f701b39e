//! An order of values, and the check that readers would accept a value.

use super::layout::MAX_DEPTH;
use super::record::{Value, ValueKind};
use crate::error::{fail, Result};
use crate::model::sort::find_duplicate;
use std::cmp::Ordering;

/// A total order for finding duplicate keys. Two values are equal if they are the same CBOR value.
pub fn order(a: Value<'_>, b: Value<'_>) -> Ordering {
    fn rank(kind: &ValueKind<'_>) -> u8 {
        match kind {
            ValueKind::Null => 0,
            ValueKind::Bool(_) => 1,
            ValueKind::Unsigned(_) => 2,
            ValueKind::Negative(_) => 3,
            ValueKind::Float(_) => 4,
            ValueKind::Text(_) => 5,
            ValueKind::Bytes(_) => 6,
            ValueKind::Array(_) => 7,
            ValueKind::Map(_) => 8,
            ValueKind::Tag(..) => 9,
            ValueKind::Simple(_) => 10,
        }
    }
    match (a.kind(), b.kind()) {
        (ValueKind::Bool(a), ValueKind::Bool(b)) => a.cmp(&b),
        (ValueKind::Unsigned(a), ValueKind::Unsigned(b))
        | (ValueKind::Negative(a), ValueKind::Negative(b)) => a.cmp(&b),
        (ValueKind::Float(a), ValueKind::Float(b)) => a.to_bits().cmp(&b.to_bits()),
        (ValueKind::Text(a), ValueKind::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (ValueKind::Bytes(a), ValueKind::Bytes(b)) => a.cmp(b),
        (ValueKind::Array(_), ValueKind::Array(_)) | (ValueKind::Map(_), ValueKind::Map(_)) => {
            let (a, b) = (a.parts(), b.parts());
            let mut parts = a.zip(b).map(|(x, y)| order(x, y));
            parts.find(|part| part.is_ne()).unwrap_or(Ordering::Equal).then(a.len().cmp(&b.len()))
        }
        (ValueKind::Tag(a, x), ValueKind::Tag(b, y)) => a.cmp(&b).then_with(|| order(x, y)),
        (ValueKind::Simple(a), ValueKind::Simple(b)) => a.cmp(&b),
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
    if !matches!(value.kind(), ValueKind::Array(_) | ValueKind::Map(_) | ValueKind::Tag(..)) {
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
        ValueKind::Simple(v @ (20..=22 | 24..=31)) => {
            Err(fail!(InvalidArgument, "the simple value {v} is encoded otherwise or not at all"))
        }
        ValueKind::Map(pairs) if !keys_are_unique(pairs.iter())? => {
            Err(fail!(InvalidArgument, "a map in an attribute has a key twice"))
        }
        _ => value.parts().try_for_each(check_parts),
    }
}
