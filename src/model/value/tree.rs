//! Attribute values: the CBOR data model (RFC 7049), owned and in the file's order.
//!
//! A parsed value is at most `MAX_DEPTH` levels deep, so that walking or dropping one needs a
//! bounded stack.

use super::layout::MAX_DEPTH;
use crate::error::{fail, Result};
use crate::model::find_duplicate::find_duplicate;
use std::cmp::Ordering;

/// An attribute value of a file or an object: CBOR's data model, read-only. Borrowed; lives until the
/// file's last zt_close.
#[derive(Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer from 0 to 2^64-1.
    Unsigned(u64),
    /// The integer -1 - n: from -1 down to -2^64.
    Negative(u64),
    /// A float; half and single precision are widened.
    Float(f64),
    /// UTF-8 text.
    Text(OwnedText),
    /// A byte string.
    Bytes(Box<[u8]>),
    /// A sequence.
    Array(Vec<Value>),
    /// Pairs, in the file's order; keys may be of any kind.
    Map(Vec<(Value, Value)>),
    /// A tagged value (RFC 7049 section 2.4).
    Tag(u64, Box<[Value; 1]>),
    /// A simple value without a meaning of its own; 23 is `undefined`.
    Simple(u8),
}

/// Text that is kept with a NUL behind it, so that C can borrow it as it is.
#[derive(PartialEq, Eq, Default)]
pub struct OwnedText {
    with_nul: Box<str>,
}

impl OwnedText {
    /// A copy of `text`, in memory that is asked for fallibly.
    pub fn new(text: &str) -> Result<OwnedText> {
        let mut with_nul = String::new();
        with_nul.try_reserve_exact(text.len().saturating_add(1))?;
        with_nul.push_str(text);
        with_nul.push('\0');
        Ok(OwnedText { with_nul: with_nul.into_boxed_str() })
    }

    /// The text, without its NUL.
    pub fn as_str(&self) -> &str {
        self.with_nul.strip_suffix('\0').unwrap_or_default()
    }

    /// The text and its NUL.
    pub fn as_c_bytes(&self) -> &[u8] {
        if self.with_nul.is_empty() {
            b"\0"
        } else {
            self.with_nul.as_bytes()
        }
    }
}

impl std::fmt::Debug for OwnedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Places for `count` values.
#[inline(never)]
fn nulls<T>(count: usize, null: impl FnMut() -> T) -> Result<Vec<T>> {
    let mut places = Vec::new();
    places.try_reserve_exact(count)?;
    places.resize_with(count, null);
    Ok(places)
}

impl Value {
    /// A text value.
    pub fn text(text: &str) -> Result<Value> {
        Ok(Value::Text(OwnedText::new(text)?))
    }

    /// A byte string value.
    pub fn bytes(bytes: &[u8]) -> Result<Value> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(Value::Bytes(copy.into_boxed_slice()))
    }

    /// A copy, in memory that is asked for fallibly.
    pub fn try_clone(&self) -> Result<Value> {
        let mut copy = Value::Null;
        self.clone_to(&mut copy)?;
        Ok(copy)
    }

    /// In place, so that a level of nesting takes little of the caller's stack.
    fn clone_to(&self, place: &mut Value) -> Result<()> {
        match self {
            Value::Tag(tag, inner) => {
                let [inner] = &**inner;
                *place = Value::tagged(*tag, Value::Null)?;
                match place {
                    Value::Tag(_, copy) => copy.iter_mut().try_for_each(|copy| inner.clone_to(copy)),
                    _ => Ok(()),
                }
            }
            Value::Array(items) => {
                *place = Value::Array(nulls(items.len(), || Value::Null)?);
                let Value::Array(copies) = place else { return Ok(()) };
                items.iter().zip(copies).try_for_each(|(item, copy)| item.clone_to(copy))
            }
            Value::Map(pairs) => {
                *place = Value::Map(nulls(pairs.len(), || (Value::Null, Value::Null))?);
                let Value::Map(copies) = place else { return Ok(()) };
                pairs.iter().zip(copies).try_for_each(|((key, value), copy)| {
                    key.clone_to(&mut copy.0)?;
                    value.clone_to(&mut copy.1)
                })
            }
            _ => self.clone_flat(place),
        }
    }

    /// One that holds no others.
    #[inline(never)]
    fn clone_flat(&self, place: &mut Value) -> Result<()> {
        *place = match self {
            Value::Bool(v) => Value::Bool(*v),
            Value::Unsigned(v) => Value::Unsigned(*v),
            Value::Negative(v) => Value::Negative(*v),
            Value::Float(v) => Value::Float(*v),
            Value::Simple(v) => Value::Simple(*v),
            Value::Text(v) => Value::text(v.as_str())?,
            Value::Bytes(v) => Value::bytes(v)?,
            Value::Null | Value::Tag(..) | Value::Array(_) | Value::Map(_) => Value::Null,
        };
        Ok(())
    }

    /// A signed integer.
    pub fn integer(value: i64) -> Value {
        match u64::try_from(value) {
            Ok(v) => Value::Unsigned(v),
            // Below zero, so that all bits but the sign are those of -1 - value.
            Err(_) => Value::Negative(u64::try_from(!value).unwrap_or_default()),
        }
    }

    /// A value under a tag.
    pub fn tagged(tag: u64, value: Value) -> Result<Value> {
        let mut one = Vec::new();
        one.try_reserve_exact(1)?;
        one.push(value);
        match one.into_boxed_slice().try_into() {
            Ok(boxed) => Ok(Value::Tag(tag, boxed)),
            Err(_) => Err(fail!(Internal, "a box of one value has another length")),
        }
    }

    /// The pairs of a map.
    pub fn pairs(&self) -> Option<&[(Value, Value)]> {
        match self {
            Value::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The text of a text value.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The value of an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Unsigned(v) => Some(*v),
            _ => None,
        }
    }

    /// The value of an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Unsigned(v) => i64::try_from(*v).ok(),
            Value::Negative(n) => i64::try_from(*n).ok().map(|n| !n),
            _ => None,
        }
    }

    /// What a map has under a text key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let (_, value) = self.pairs()?.iter().find(|(k, _)| k.as_text() == Some(key))?;
        Some(value)
    }

    /// A total order in which equal means the same CBOR value, for finding duplicate keys.
    pub fn order(&self, other: &Value) -> Ordering {
        fn rank(v: &Value) -> u8 {
            match v {
                Value::Null => 0,
                Value::Bool(_) => 1,
                Value::Unsigned(_) => 2,
                Value::Negative(_) => 3,
                Value::Float(_) => 4,
                Value::Text(_) => 5,
                Value::Bytes(_) => 6,
                Value::Array(_) => 7,
                Value::Map(_) => 8,
                Value::Tag(..) => 9,
                Value::Simple(_) => 10,
            }
        }
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Unsigned(a), Value::Unsigned(b)) | (Value::Negative(a), Value::Negative(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.to_bits().cmp(&b.to_bits()),
            (Value::Text(a), Value::Text(b)) => a.as_str().cmp(b.as_str()),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Array(a), Value::Array(b)) => {
                let parts = a.iter().zip(b).map(|(x, y)| x.order(y));
                parts.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (Value::Map(a), Value::Map(b)) => {
                let parts = a.iter().zip(b).map(|(x, y)| x.0.order(&y.0).then_with(|| x.1.order(&y.1)));
                parts.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (Value::Tag(a, x), Value::Tag(b, y)) => a.cmp(b).then_with(|| match (x.first(), y.first()) {
                (Some(x), Some(y)) => x.order(y),
                _ => Ordering::Equal,
            }),
            (Value::Simple(a), Value::Simple(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// Refuses a value that no reader would take back: nested too deep, a map with a key twice, a simple
/// value that is encoded otherwise or not at all (RFC 7049 section 2.3).
pub fn check_writable(value: &Value) -> Result<()> {
    check_depth(value, MAX_DEPTH)?;
    check_parts(value)
}

fn check_depth(value: &Value, left: usize) -> Result<()> {
    // An empty container is a level, too.
    let deeper = || {
        left.checked_sub(1)
            .ok_or_else(|| fail!(InvalidArgument, "an attribute nests deeper than {MAX_DEPTH} levels"))
    };
    match value {
        Value::Array(items) => deeper().and_then(|left| items.iter().try_for_each(|v| check_depth(v, left))),
        Value::Tag(_, inner) => deeper().and_then(|left| inner.iter().try_for_each(|v| check_depth(v, left))),
        Value::Map(pairs) => deeper().and_then(|left| {
            pairs.iter().try_for_each(|(k, v)| check_depth(k, left).and_then(|()| check_depth(v, left)))
        }),
        _ => Ok(()),
    }
}

fn check_parts(value: &Value) -> Result<()> {
    match value {
        Value::Simple(v @ (20..=22 | 24..=31)) => {
            Err(fail!(InvalidArgument, "the simple value {v} is encoded otherwise or not at all"))
        }
        Value::Array(items) => items.iter().try_for_each(check_parts),
        Value::Tag(_, inner) => inner.iter().try_for_each(check_parts),
        Value::Map(pairs) => {
            if !keys_are_unique(pairs)? {
                return Err(fail!(InvalidArgument, "a map in an attribute has a key twice"));
            }
            pairs.iter().try_for_each(|(k, v)| check_parts(k).and_then(|()| check_parts(v)))
        }
        _ => Ok(()),
    }
}

/// Whether a map's keys are all different.
pub fn keys_are_unique(pairs: &[(Value, Value)]) -> Result<bool> {
    find_duplicate(pairs, |(a, _), (b, _)| a.order(b)).map(|found| found.is_none())
}
