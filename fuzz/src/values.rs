//! Values: compared with each other and with ciborium's, and made from an input.

use arbitrary::{Result, Unstructured};
use ciborium::Value as Other;
use ztensor::model::value::{order, Value, ValueKind};

pub use crate::tree::Tree;

/// The same value in ciborium; None if ciborium does not have it or changes it.
pub fn other(value: Value<'_>) -> Option<Other> {
    Some(match value.kind() {
        ValueKind::Null => Other::Null,
        ValueKind::Bool(v) => Other::Bool(v),
        ValueKind::Unsigned(v) => Other::Integer(v.into()),
        ValueKind::Negative(n) => Other::Integer((-1 - i128::from(n)).try_into().unwrap()),
        ValueKind::Float(v) => Other::Float(v),
        ValueKind::Text(t) => Other::Text(t.as_str().to_owned()),
        ValueKind::Bytes(b) => Other::Bytes(b.to_vec()),
        ValueKind::Array(items) => Other::Array(items.iter().map(other).collect::<Option<_>>()?),
        ValueKind::Map(pairs) => {
            Other::Map(pairs.iter().map(|(k, v)| Some((other(k)?, other(v)?))).collect::<Option<_>>()?)
        }
        ValueKind::Tag(..) | ValueKind::Simple(_) => return None,
    })
}

/// NaN is equal to itself; other values are compared normally.
pub fn same_other(a: &Other, b: &Other) -> bool {
    match (a, b) {
        (Other::Float(x), Other::Float(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Other::Array(x), Other::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_other(x, y))
        }
        (Other::Map(x), Other::Map(y)) => {
            x.len() == y.len()
                && x.iter().zip(y).all(|(x, y)| same_other(&x.0, &y.0) && same_other(&x.1, &y.1))
        }
        _ => a == b,
    }
}

/// Like [`same_other`] for our values. Items found by index equal those found by iteration.
pub fn same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (ValueKind::Float(x), ValueKind::Float(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (ValueKind::Array(x), ValueKind::Array(y)) => {
            x.len() == y.len() && x.iter().enumerate().all(|(at, x)| same(x, y.get(at).unwrap()))
        }
        (ValueKind::Map(x), ValueKind::Map(y)) => {
            let pair =
                |x: (Value<'_>, Value<'_>), y: (Value<'_>, Value<'_>)| same(x.0, y.0) && same(x.1, y.1);
            x.len() == y.len() && x.iter().enumerate().all(|(at, x)| pair(x, y.get(at).unwrap()))
        }
        (ValueKind::Tag(s, x), ValueKind::Tag(t, y)) => s == t && same(x, y),
        _ => order(a, b).is_eq(),
    }
}

/// A value that may be written. Keys are unique.
pub fn value(u: &mut Unstructured<'_>, depth: u32) -> Result<Tree> {
    Ok(match u.int_in_range(0..=if depth == 0 { 7u8 } else { 10 })? {
        0 => Tree::Null,
        1 => Tree::Bool(u.arbitrary()?),
        2 => Tree::Unsigned(u.arbitrary()?),
        3 => Tree::Negative(u.arbitrary()?),
        4 => Tree::Float(u.arbitrary()?),
        5 => Tree::text(u.arbitrary()?),
        6 => Tree::Bytes(u.arbitrary::<&[u8]>()?.to_vec()),
        7 => Tree::Simple([0, 19, 23, 32, 255][u.choose_index(5)?]),
        8 => {
            let count = u.int_in_range(0..=4)?;
            Tree::Array((0..count).map(|_| value(u, depth - 1)).collect::<Result<_>>()?)
        }
        9 => {
            let count = u.int_in_range(0..=4)?;
            let mut pairs = Vec::new();
            for at in 0..count {
                pairs.push((key(u, at)?, value(u, depth - 1)?));
            }
            Tree::Map(pairs)
        }
        _ => Tree::Tag(u.arbitrary()?, Box::new(value(u, depth - 1)?)),
    })
}

fn key(u: &mut Unstructured<'_>, at: u64) -> Result<Tree> {
    Ok(match u.int_in_range(0..=5u8)? {
        0 => Tree::Unsigned(at),
        _ => Tree::Text(format!("{}{at}", u.arbitrary::<&str>()?)),
    })
}

/// Attribute pairs with text keys.
pub fn attributes(u: &mut Unstructured<'_>) -> Result<Vec<(Tree, Tree)>> {
    let count = u.int_in_range(0..=3)?;
    let pair = |at| Ok((Tree::Text(format!("a{at}")), value(u, 3)?));
    (0..count).map(pair).collect()
}
