//! Encodes CBOR in deterministic form: definite lengths, shortest heads, shortest floats (RFC 7049 section
//! 3.9). Map keys keep their order, or are sorted if a container requires it.

use super::cursor::{FALSE, NULL, TRUE};
use crate::error::{fail, Result};
use crate::memory::{append, push};
use crate::model::sort::sort_by;
use crate::model::value::{Value, ValueKind};

/// Appends a head in its shortest form. There are separate functions for floats and simple values.
#[inline(always)]
fn head(out: &mut Vec<u8>, major: u8, argument: u64) -> Result<()> {
    let initial = major << 5;
    match u8::try_from(argument) {
        Ok(little) if little < 24 => push(out, initial | little),
        _ => long_head(out, initial, argument),
    }
}

fn long_head(out: &mut Vec<u8>, initial: u8, argument: u64) -> Result<()> {
    out.try_reserve(9)?;
    let bytes = argument.to_be_bytes();
    let [.., b4, b5, b6, b7] = bytes;
    if argument <= 0xff {
        out.extend_from_slice(&[initial | 24, b7]);
    } else if argument <= 0xffff {
        out.extend_from_slice(&[initial | 25, b6, b7]);
    } else if argument <= 0xffff_ffff {
        out.extend_from_slice(&[initial | 26, b4, b5, b6, b7]);
    } else {
        out.push(initial | 27);
        out.extend_from_slice(&bytes);
    }
    Ok(())
}

/// Appends an unsigned integer.
pub fn unsigned(out: &mut Vec<u8>, value: u64) -> Result<()> {
    head(out, 0, value)
}

/// Appends a text string.
pub fn text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    utf8(out, text.as_bytes())
}

/// Appends a short text that is known at compile time. It is inlined as a few stores.
#[inline(always)]
pub fn key(out: &mut Vec<u8>, text: &'static str) -> Result<()> {
    match u8::try_from(text.len()) {
        Ok(length) if length < 24 => {
            out.try_reserve(text.len().saturating_add(1))?;
            out.push(0x60 | length);
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        _ => utf8(out, text.as_bytes()),
    }
}

/// Appends a key and a text.
#[inline(always)]
pub fn text_field(out: &mut Vec<u8>, name: &'static str, text: &str) -> Result<()> {
    key(out, name)?;
    utf8(out, text.as_bytes())
}

/// Appends a key and an unsigned integer.
#[inline(always)]
pub fn unsigned_field(out: &mut Vec<u8>, name: &'static str, value: u64) -> Result<()> {
    key(out, name)?;
    unsigned(out, value)
}

/// Appends a key and its text, if there is one.
#[inline(always)]
pub fn optional_text(out: &mut Vec<u8>, name: &'static str, text: Option<&[u8]>) -> Result<()> {
    match text {
        Some(text) => key(out, name).and_then(|()| utf8(out, text)),
        None => Ok(()),
    }
}

/// Appends the key "attributes" and the map, if there is one. For `sorted`, see [`put_value`].
pub fn attributes(out: &mut Vec<u8>, map: Option<Value<'_>>, sorted: bool) -> Result<()> {
    match map {
        Some(map) => key(out, "attributes").and_then(|()| put_value(out, map, sorted)),
        None => Ok(()),
    }
}

/// Appends a shape as an array.
pub fn shape(out: &mut Vec<u8>, shape: &[u64]) -> Result<()> {
    array(out, shape.len() as u64)?;
    shape.iter().try_for_each(|dimension| unsigned(out, *dimension))
}

/// Appends bytes that are known to be UTF-8.
pub fn utf8(out: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    head(out, 3, text.len() as u64)?;
    append(out, text)
}

/// Appends the head of an array of `count` items.
pub fn array(out: &mut Vec<u8>, count: u64) -> Result<()> {
    head(out, 4, count)
}

/// Appends the head of a map of `count` pairs.
pub fn map(out: &mut Vec<u8>, count: u64) -> Result<()> {
    head(out, 5, count)
}

/// Appends the head of a map of indefinite length. [`end`] closes it.
pub fn open_map(out: &mut Vec<u8>) -> Result<()> {
    push(out, 0xbf)
}

/// Closes an array or map of indefinite length.
pub fn end(out: &mut Vec<u8>) -> Result<()> {
    push(out, 0xff)
}

/// Appends a float in the shortest exact form (RFC 7049 section 3.9).
fn float(out: &mut Vec<u8>, value: f64) -> Result<()> {
    out.try_reserve(9)?;
    let half = half::f16::from_f64(value);
    if value.is_nan() {
        nan(out, value.to_bits());
    } else if half.to_f64().to_bits() == value.to_bits() {
        out.push(0xf9);
        out.extend_from_slice(&half.to_bits().to_be_bytes());
    } else if f64::from(narrow(value)).to_bits() == value.to_bits() {
        out.push(0xfa);
        out.extend_from_slice(&narrow(value).to_be_bytes());
    } else {
        out.push(0xfb);
        out.extend_from_slice(&value.to_be_bytes());
    }
    Ok(())
}

/// Appends a NaN with its payload, because two different keys of a map must not become equal. If a shorter
/// form would change the NaN (it uses the lowest bits, or it is a signalling NaN), its bits are written
/// unchanged.
fn nan(out: &mut Vec<u8>, bits: u64) {
    const QUIET: u64 = 1 << 51;
    let kept = (bits >> 63) << 15 | 0x7c00 | (bits >> 42 & 0x3ff);
    match u16::try_from(kept) {
        Ok(half) if bits & QUIET != 0 && bits.trailing_zeros() >= 42 => {
            out.push(0xf9);
            out.extend_from_slice(&half.to_be_bytes());
        }
        _ => {
            out.push(0xfb);
            out.extend_from_slice(&bits.to_be_bytes());
        }
    }
}

/// The nearest single. The caller checks whether it is the same number.
#[allow(clippy::cast_possible_truncation, reason = "the caller compares the result with the argument")]
pub fn narrow(value: f64) -> f32 {
    value as f32
}

/// Appends a whole value. Maps keep their order.
pub fn value(out: &mut Vec<u8>, item: Value<'_>) -> Result<()> {
    put_value(out, item, false)
}

/// Appends a whole value. If `sorted` is set, it has the form of RFC 8949 section 4.2.1: keys sorted by their
/// bytes, and a single NaN. The depth of a [`Value`] is limited, so the recursion is, too.
pub fn put_value(out: &mut Vec<u8>, item: Value<'_>, sorted: bool) -> Result<()> {
    match item.kind() {
        ValueKind::Null => head(out, 7, u64::from(NULL)),
        ValueKind::Bool(true) => head(out, 7, u64::from(TRUE)),
        ValueKind::Bool(false) => head(out, 7, u64::from(FALSE)),
        ValueKind::Simple(v) => head(out, 7, u64::from(v)),
        ValueKind::Unsigned(v) => head(out, 0, v),
        ValueKind::Negative(v) => head(out, 1, v),
        ValueKind::Float(v) if sorted && v.is_nan() => float(out, f64::NAN),
        ValueKind::Float(v) => float(out, v),
        ValueKind::Text(v) => utf8(out, v.as_bytes()),
        ValueKind::Bytes(bytes) => {
            head(out, 2, bytes.len() as u64)?;
            append(out, bytes)
        }
        ValueKind::Array(items) => {
            array(out, items.len() as u64)?;
            items.iter().try_for_each(|item| put_value(out, item, sorted))
        }
        ValueKind::Map(pairs) if sorted => {
            let mut map = SortedMap::new(pairs.len())?;
            pairs.iter().try_for_each(|(k, v)| {
                map.add(|out| put_value(out, k, true), |out| put_value(out, v, true))
            })?;
            map.put(out)
        }
        ValueKind::Map(pairs) => {
            map(out, pairs.len() as u64)?;
            pairs.iter().try_for_each(|(k, v)| value(out, k).and_then(|()| value(out, v)))
        }
        ValueKind::Tag(tag, inner) => {
            head(out, 6, tag)?;
            put_value(out, inner, sorted)
        }
    }
}

/// A map whose pairs are added in any order and written in the order of their keys' bytes.
pub struct SortedMap {
    bytes: Vec<u8>,
    /// For each pair: its start, the start of its value, and its end.
    pairs: Vec<(usize, usize, usize)>,
}

impl SortedMap {
    /// An empty map with memory for about `count` pairs.
    pub fn new(count: usize) -> Result<SortedMap> {
        let mut pairs = Vec::new();
        pairs.try_reserve(count)?;
        Ok(SortedMap { bytes: Vec::new(), pairs })
    }

    /// Adds a pair. `key` and `value` append their bytes.
    pub fn add(
        &mut self,
        key: impl FnOnce(&mut Vec<u8>) -> Result<()>,
        value: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.bytes.len();
        key(&mut self.bytes)?;
        let end_of_key = self.bytes.len();
        value(&mut self.bytes)?;
        push(&mut self.pairs, (start, end_of_key, self.bytes.len()))
    }

    /// Whether the map has no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Appends the map. A duplicate key is an error.
    pub fn put(mut self, out: &mut Vec<u8>) -> Result<()> {
        let bytes = &self.bytes;
        let key = |&(start, value, _): &(usize, usize, usize)| bytes.get(start..value).unwrap_or_default();
        sort_by(&mut self.pairs, |a, b| key(a).cmp(key(b)));
        if self.pairs.windows(2).any(|pair| matches!(pair, [a, b] if key(a) == key(b))) {
            return Err(fail!(InvalidArgument, "a map has a key twice"));
        }
        map(out, self.pairs.len() as u64)?;
        out.try_reserve(bytes.len())?;
        for (start, _, end) in &self.pairs {
            out.extend_from_slice(bytes.get(*start..*end).unwrap_or_default());
        }
        Ok(())
    }
}
