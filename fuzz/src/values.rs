//! Values: compared with others of their kind, with ciborium's, and made from an input.

use arbitrary::{Result, Unstructured};
use ciborium::Value as Other;
use ztensor::model::value::Value;

/// The value as ciborium has it; none for what it lacks or makes something else of.
pub fn other(value: &Value) -> Option<Other> {
    Some(match value {
        Value::Null => Other::Null,
        Value::Bool(v) => Other::Bool(*v),
        Value::Unsigned(v) => Other::Integer((*v).into()),
        Value::Negative(n) => Other::Integer((-1 - i128::from(*n)).try_into().unwrap()),
        Value::Float(v) => Other::Float(*v),
        Value::Text(t) => Other::Text(t.as_str().to_owned()),
        Value::Bytes(b) => Other::Bytes(b.to_vec()),
        Value::Array(items) => Other::Array(items.iter().map(other).collect::<Option<_>>()?),
        Value::Map(pairs) => {
            Other::Map(pairs.iter().map(|(k, v)| Some((other(k)?, other(v)?))).collect::<Option<_>>()?)
        }
        Value::Tag(..) | Value::Simple(_) => return None,
    })
}

/// NaN is equal to itself; all else as it is.
pub fn same_other(a: &Other, b: &Other) -> bool {
    match (a, b) {
        (Other::Float(x), Other::Float(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Other::Array(x), Other::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_other(x, y)),
        (Other::Map(x), Other::Map(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_other(&x.0, &y.0) && same_other(&x.1, &y.1))
        }
        _ => a == b,
    }
}

/// As [`same_other`], of our values.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Map(x), Value::Map(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(&x.0, &y.0) && same(&x.1, &y.1))
        }
        (Value::Tag(s, x), Value::Tag(t, y)) => s == t && same(&x[0], &y[0]),
        _ => a.order(b).is_eq(),
    }
}

/// A value that may be written; keys differ.
pub fn value(u: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    Ok(match u.int_in_range(0..=if depth == 0 { 7u8 } else { 10 })? {
        0 => Value::Null,
        1 => Value::Bool(u.arbitrary()?),
        2 => Value::Unsigned(u.arbitrary()?),
        3 => Value::Negative(u.arbitrary()?),
        4 => Value::Float(u.arbitrary()?),
        5 => Value::text(u.arbitrary()?).unwrap(),
        6 => Value::bytes(u.arbitrary()?).unwrap(),
        7 => Value::Simple([0, 19, 23, 32, 255][u.choose_index(5)?]),
        8 => {
            let count = u.int_in_range(0..=4)?;
            Value::Array((0..count).map(|_| value(u, depth - 1)).collect::<Result<_>>()?)
        }
        9 => {
            let count = u.int_in_range(0..=4)?;
            let mut pairs = Vec::new();
            for at in 0..count {
                pairs.push((key(u, at)?, value(u, depth - 1)?));
            }
            Value::Map(pairs)
        }
        _ => Value::tagged(u.arbitrary()?, value(u, depth - 1)?).unwrap(),
    })
}

fn key(u: &mut Unstructured<'_>, at: u64) -> Result<Value> {
    Ok(match u.int_in_range(0..=5u8)? {
        0 => Value::Unsigned(at),
        _ => Value::text(&format!("{}{at}", u.arbitrary::<&str>()?)).unwrap(),
    })
}

/// Attribute pairs with text keys.
pub fn attributes(u: &mut Unstructured<'_>) -> Result<Vec<(Value, Value)>> {
    let count = u.int_in_range(0..=3)?;
    let pair = |at| Ok((Value::text(&format!("a{at}")).unwrap(), value(u, 3)?));
    (0..count).map(pair).collect()
}
