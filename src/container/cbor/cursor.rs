//! A cursor in CBOR input. It reads heads, texts, byte strings and whole items. Items become values, or are
//! skipped by their heads.

use crate::container::tables::Growth;
use crate::error::{broken, Result, Rule};
use crate::memory::{append, Budget};
use crate::model::manifest::Position;
use crate::model::value::{self, Element, OwnedValue, Tape, ValueBuilder, ValueKind, MAX_DEPTH};
use std::borrow::Cow;

/// The head of an item (RFC 7049 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head {
    /// Major type 0.
    Unsigned(u64),
    /// Major type 1: the integer -1 - n.
    Negative(u64),
    /// Major type 2. `None`: chunks follow.
    Bytes(Option<u64>),
    /// Major type 3. `None`: chunks follow.
    Text(Option<u64>),
    /// Major type 4. `None`: items follow until a break.
    Array(Option<u64>),
    /// Major type 5. `None`: pairs follow until a break.
    Map(Option<u64>),
    /// Major type 6.
    Tag(u64),
    /// Major type 7: false, true, null, undefined and unassigned values.
    Simple(u8),
    /// Major type 7: half, single and double precision.
    Float(f64),
    /// The end of an indefinite length.
    Break,
}

/// The memory for each byte of a string in chunks, in bytes. Joining chunks makes the memory grow, which
/// copies it.
const PER_CHUNK: u64 = 4;

pub(super) const FALSE: u8 = 20;
pub(super) const TRUE: u8 = 21;
pub(super) const NULL: u8 = 22;

impl Head {
    /// `null`.
    pub const NULL: Head = Head::Simple(NULL);

    /// The kind of the item, for a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Head::Unsigned(_) => "an unsigned integer",
            Head::Negative(_) => "a negative integer",
            Head::Bytes(_) => "a byte string",
            Head::Text(_) => "a text string",
            Head::Array(_) => "an array",
            Head::Map(_) => "a map",
            Head::Tag(_) => "a tagged item",
            Head::Simple(FALSE | TRUE) => "a boolean",
            Head::Simple(NULL) => "null",
            Head::Simple(_) => "a simple value",
            Head::Float(_) => "a float",
            Head::Break => "a break",
        }
    }
}

/// A position in the input. Offsets in messages count from the start of the file.
#[derive(Clone)]
pub struct Cursor<'a> {
    pub(super) rest: &'a [u8],
    size: usize,
    base: u64,
    /// The budget that memory is charged to; `None` for no limit.
    pub(super) budget: Option<&'a Budget>,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `input`, which begins at offset `base` of the file.
    pub fn new(input: &'a [u8], base: u64) -> Self {
        Cursor { rest: input, size: input.len(), base, budget: None }
    }

    /// The same cursor, charging memory to `budget`.
    pub fn within(self, budget: &'a Budget) -> Self {
        Cursor { budget: Some(budget), ..self }
    }

    /// How many bytes were consumed.
    pub fn position(&self) -> usize {
        self.size.saturating_sub(self.rest.len())
    }

    /// The bytes from `earlier`, a cursor in the same input, to here.
    pub fn since(&self, earlier: &Cursor<'a>) -> &'a [u8] {
        let consumed = earlier.rest.len().saturating_sub(self.rest.len());
        earlier.rest.get(..consumed).unwrap_or_default()
    }

    /// The offset of the next byte in the file.
    pub fn file_offset(&self) -> u64 {
        self.base.saturating_add(self.position() as u64)
    }

    /// The remaining bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes remain.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[cold]
    pub(super) fn malformed(&self, what: &str) -> crate::error::Error {
        broken!(Rule::CborMalformed, "CBOR at offset {}: {what}", self.file_offset())
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(count).ok().and_then(|n| self.rest.split_at_checked(n));
        let Some((bytes, rest)) = split else { return Err(self.cut_short(count)) };
        self.rest = rest;
        Ok(bytes)
    }

    /// Consumes `bytes` if they come next. Returns whether they did.
    pub fn take_if(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(bytes);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    #[cold]
    fn cut_short(&self, count: u64) -> crate::error::Error {
        broken!(
            Rule::CborMalformed,
            "CBOR at offset {}: {count} bytes are declared, {} are left",
            self.file_offset(),
            self.remaining()
        )
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.malformed("the input ends within an item"));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    /// Whether the next item is a text.
    pub fn is_at_text(&self) -> bool {
        self.rest.first().is_some_and(|initial| initial >> 5 == 3)
    }

    /// The head of the next item, without consuming it.
    pub fn peek(&self) -> Result<Head> {
        self.clone().head()
    }

    /// Consumes the head of the next item.
    #[inline]
    pub fn head(&mut self) -> Result<Head> {
        let [initial] = self.fixed::<1>()?;
        let major = initial >> 5;
        let info = initial & 0x1f;
        let argument = match info {
            0..=23 => Some(u64::from(info)),
            24 => Some(u64::from(u8::from_be_bytes(self.fixed()?))),
            25 => Some(u64::from(u16::from_be_bytes(self.fixed()?))),
            26 => Some(u64::from(u32::from_be_bytes(self.fixed()?))),
            27 => Some(u64::from_be_bytes(self.fixed()?)),
            31 => None,
            _ => return Err(self.malformed("additional information 28 to 30 is reserved")),
        };
        match (major, argument) {
            (0, Some(v)) => Ok(Head::Unsigned(v)),
            (1, Some(v)) => Ok(Head::Negative(v)),
            (2, length) => Ok(Head::Bytes(length)),
            (3, length) => Ok(Head::Text(length)),
            (4, length) => Ok(Head::Array(length)),
            (5, length) => Ok(Head::Map(length)),
            (6, Some(tag)) => Ok(Head::Tag(tag)),
            (7, None) => Ok(Head::Break),
            (7, Some(v)) => self.simple_or_float(info, v),
            _ => Err(self.malformed("an integer or tag of indefinite length")),
        }
    }

    fn simple_or_float(&self, info: u8, argument: u64) -> Result<Head> {
        match info {
            25 => {
                let bits = u16::try_from(argument).unwrap_or_default();
                Ok(Head::Float(half::f16::from_bits(bits).to_f64()))
            }
            26 => {
                let bits = u32::try_from(argument).unwrap_or_default();
                Ok(Head::Float(f64::from(f32::from_bits(bits))))
            }
            27 => Ok(Head::Float(f64::from_bits(argument))),
            24 if argument < 32 => Err(self.malformed("a simple value below 32 in two bytes")),
            _ => Ok(Head::Simple(u8::try_from(argument).unwrap_or_default())),
        }
    }

    /// The bytes that were just consumed, as text.
    pub fn utf8<'b>(&self, bytes: &'b [u8]) -> Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|e| {
            let end = self.file_offset();
            let start = end.saturating_sub(bytes.len() as u64);
            broken!(
                Rule::CborUtf8,
                "the text at offset {start} is not UTF-8 from its byte {}",
                e.valid_up_to()
            )
        })
    }

    /// The text after its head. It is borrowed from the input unless it comes in chunks.
    #[inline]
    pub fn text_body(&mut self, length: Option<u64>) -> Result<Cow<'a, str>> {
        if let Some(length) = length {
            let bytes = self.take(length)?;
            return self.utf8(bytes).map(Cow::Borrowed);
        }
        let joined = String::from_utf8(self.joined(true)?);
        Ok(Cow::Owned(joined.unwrap_or_default())) // each chunk is UTF-8
    }

    /// The byte string after its head. It is borrowed from the input unless it comes in chunks.
    pub(super) fn bytes_body(&mut self, length: Option<u64>) -> Result<Cow<'a, [u8]>> {
        match length {
            Some(length) => self.take(length).map(Cow::Borrowed),
            None => self.joined(false).map(Cow::Owned),
        }
    }

    /// The chunks of a text or byte string. Each chunk of a text is UTF-8.
    fn joined(&mut self, is_text: bool) -> Result<Vec<u8>> {
        let mut joined = Vec::new();
        while let Some(chunk) = self.chunk(is_text)? {
            if is_text {
                self.utf8(chunk)?;
            }
            self.charge(PER_CHUNK.saturating_mul(chunk.len() as u64), "strings in chunks")?;
            append(&mut joined, chunk)?;
        }
        Ok(joined)
    }

    /// The next chunk of a text or byte string of indefinite length; `None` after the last.
    fn chunk(&mut self, is_text: bool) -> Result<Option<&'a [u8]>> {
        match (self.head()?, is_text) {
            (Head::Break, _) => Ok(None),
            (Head::Text(Some(length)), true) | (Head::Bytes(Some(length)), false) => {
                self.take(length).map(Some)
            }
            (_, true) => Err(self.malformed("a chunk of a text string is not a definite text string")),
            (_, false) => Err(self.malformed("a chunk of a byte string is not a definite byte string")),
        }
    }

    /// Whether an array or map has another element, if `left` elements are left.
    #[inline]
    pub fn another(&mut self, left: &mut Option<u64>) -> Result<bool> {
        match left {
            Some(0) => Ok(false),
            Some(n) => {
                *n = n.saturating_sub(1);
                Ok(true)
            }
            None => {
                if let Some((0xff, rest)) = self.rest.split_first() {
                    self.rest = rest;
                    return Ok(false);
                }
                Ok(true)
            }
        }
    }

    /// Estimates how many items will follow after `so_far` were read: at least `least`. Assumes that the rest
    /// of the input is similar; if too little was read to tell, doubles the count.
    #[cold]
    pub fn estimate_remaining(&self, so_far: usize, least: usize) -> usize {
        let (read, rest) = (self.position(), self.remaining());
        if read < rest / 16 {
            return so_far.max(least);
        }
        let projected = so_far.saturating_mul(rest).checked_div(read).unwrap_or(0);
        projected.saturating_add(projected.max(so_far) / 16).max(least)
    }

    /// How many of the `claimed` elements fit in the rest of the input, if each takes at least `each` bytes.
    pub fn plausible(&self, claimed: Option<u64>, each: u64) -> u64 {
        let most = (self.remaining() as u64).checked_div(each).unwrap_or(0);
        claimed.map_or(0, |claimed| claimed.min(most))
    }
}

/// Tables grow by the number of entries that the rest of the input probably needs.
impl Growth for Cursor<'_> {
    const MIN_TEXTS: usize = 0;

    fn budget(&self) -> Option<&Budget> {
        self.budget
    }

    fn more(&self, filled: usize, least: usize) -> usize {
        self.estimate_remaining(filled, least)
    }
}

/// An array or map whose items are still to come.
#[derive(Clone, Copy, Default)]
struct Open {
    /// How many items remain; `None` until a break.
    left: Option<u64>,
    /// Whether it is a map whose last key has no value yet.
    is_at_value: bool,
    is_map: bool,
}

impl Cursor<'_> {
    /// Skips the next item after checking that it is well-formed. Does not check UTF-8 and duplicate keys.
    pub fn skip_well_formed(&mut self) -> Result<()> {
        self.skip_within::<{ MAX_DEPTH + 1 }>()
    }

    /// Skips the next item, in which at most `DEPTH` arrays, maps and tags may be open at once.
    fn skip_within<const DEPTH: usize>(&mut self) -> Result<()> {
        // Most items are short texts. They do not need the stack below, which would have to be cleared first.
        if self.try_text().is_some() {
            return Ok(());
        }
        let mut open = [Open::default(); DEPTH];
        let mut depth = 0usize;
        loop {
            let head = self.head()?;
            let container = match head {
                Head::Array(left) => Some(Open { left, ..Open::default() }),
                Head::Map(left) => {
                    let left = left.map(|pairs| pairs.saturating_mul(2));
                    Some(Open { left, is_map: true, ..Open::default() })
                }
                Head::Tag(_) => Some(Open { left: Some(1), ..Open::default() }),
                _ => None,
            };
            if let Some(container) = container {
                let Some(place) = open.get_mut(depth) else { return Err(self.too_deep()) };
                *place = container;
                if container.left != Some(0) {
                    depth = depth.saturating_add(1);
                    continue;
                }
            }
            match head {
                Head::Text(Some(size)) | Head::Bytes(Some(size)) => drop(self.take(size)?),
                Head::Text(None) => while self.chunk(true)?.is_some() {},
                Head::Bytes(None) => while self.chunk(false)?.is_some() {},
                Head::Break => {
                    let innermost = depth.checked_sub(1).and_then(|at| open.get(at));
                    self.check_break(innermost.map(|open| (open.left, open.is_at_value)))?;
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            // The item counts for the array or map that has it, which may be complete now.
            loop {
                let Some(around) = depth.checked_sub(1) else { return Ok(()) };
                let Some(place) = open.get_mut(around) else { return Err(self.too_deep()) };
                place.is_at_value = place.is_map && !place.is_at_value;
                place.left = place.left.map(|n| n.saturating_sub(1));
                if place.left != Some(0) {
                    break;
                }
                depth = around;
            }
        }
    }
}

impl Cursor<'_> {
    /// Reads the next item. Checks that it is well-formed, valid UTF-8, at most `MAX_DEPTH` deep, and without
    /// duplicate keys.
    pub fn value(&mut self) -> Result<OwnedValue> {
        OwnedValue::build(|to| self.put_value(to))
    }

    /// Reads the next item and appends it to `tape`, whose memory is charged.
    pub fn value_to(&mut self, tape: &mut Tape) -> Result<Position> {
        let mut builder = ValueBuilder::new(tape).within(self.budget);
        self.put_value(&mut builder)?;
        builder.finish()
    }

    fn put_value(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        loop {
            match self.try_text() {
                Some(text) if to.text_if_utf8(text)? => {}
                Some(text) => return self.utf8(text).map(drop), // the error gives the position
                None => self.put_head(to)?,
            }
            while to.left() == Some(0) {
                self.end_container(to)?;
            }
            if to.depth() == 0 {
                return Ok(());
            }
        }
    }

    /// Reads the next item, or the start or end of an array, map or tagged item.
    #[inline(always)]
    fn put_head(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match self.head()? {
            Head::Unsigned(v) => to.unsigned(v),
            Head::Negative(v) => to.negative(v),
            Head::Float(v) => to.float(v),
            Head::Simple(FALSE) => to.boolean(false),
            Head::Simple(TRUE) => to.boolean(true),
            Head::Simple(NULL) => to.null(),
            Head::Simple(v) => to.simple(v),
            Head::Text(length) => to.text(&self.text_body(length)?),
            Head::Bytes(length) => to.bytes(&self.bytes_body(length)?),
            Head::Break => {
                self.check_break((to.depth() > 0).then(|| (to.left(), to.is_at_value())))?;
                self.end_container(to)
            }
            _ if to.depth() > MAX_DEPTH => Err(self.too_deep()),
            Head::Array(length) => to.begin_array(Element::Any, length),
            Head::Map(length) => to.begin_map(length),
            Head::Tag(number) => to.begin_tag(number),
        }
    }

    /// Checks that a break may end the innermost open array or map: it has an indefinite length, and no key
    /// without its value. `None` if none is open.
    fn check_break(&self, innermost: Option<(Option<u64>, bool)>) -> Result<()> {
        Err(self.malformed(match innermost {
            Some((None, false)) => return Ok(()),
            Some((None, true)) => "a map ends after a key without its value",
            Some((Some(_), _)) => "a break within an item of definite length",
            None => "a break outside of an indefinite length",
        }))
    }

    fn end_container(&self, to: &mut ValueBuilder<'_>) -> Result<()> {
        let ValueKind::Map(map) = to.end()?.kind() else { return Ok(()) };
        let temporary = value::bytes_to_compare(map.len());
        self.charge(temporary, "keys that are compared")?;
        if !value::keys_are_unique(map.iter())? {
            let end = self.file_offset();
            return Err(broken!(Rule::CborDuplicateKey, "the map that ends at offset {end} has a key twice"));
        }
        self.give_back(temporary);
        Ok(())
    }

    /// Skips the next item. Checks the same as [`Cursor::value`].
    pub fn skip(&mut self) -> Result<()> {
        match self.peek()? {
            Head::Array(_) | Head::Map(_) | Head::Tag(_) | Head::Bytes(None) => {
                let mut tape = Tape::default();
                self.value_to(&mut tape)?;
                self.give_back(tape.charged());
                Ok(())
            }
            Head::Text(length) => {
                self.head()?;
                self.text_body(length).map(drop)
            }
            Head::Bytes(Some(length)) => {
                self.head()?;
                self.take(length).map(drop)
            }
            Head::Break => self.check_break(None),
            _ => self.head().map(drop),
        }
    }

    #[cold]
    pub(super) fn too_deep(&self) -> crate::error::Error {
        broken!(Rule::CborDepth, "CBOR at offset {} nests deeper than {MAX_DEPTH} levels", self.file_offset())
    }
}

/// Calls `body` with the encoded key and value of each pair of a map in a manifest. The map was checked when
/// the manifest was decoded. If it is not a map any more, the error is that it breaks `rule`.
pub fn each_pair<'e>(
    encoded: &'e [u8],
    rule: Rule,
    body: &mut dyn FnMut(&'e [u8], &'e [u8]) -> Result<()>,
) -> Result<()> {
    // A value is at most `MAX_DEPTH` levels deep in a component of an object.
    const DEPTH: usize = MAX_DEPTH + 5;
    let mut cursor = Cursor::new(encoded, 0);
    let Head::Map(mut left) = cursor.head()? else {
        return Err(broken!(rule, "the manifest changed while it was being appended to"));
    };
    while cursor.another(&mut left)? {
        let key = cursor.clone();
        cursor.skip_within::<DEPTH>()?;
        let value = cursor.clone();
        cursor.skip_within::<DEPTH>()?;
        body(value.since(&key), cursor.since(&value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only value of a map, as [`each_pair`] finds it.
    fn value_of(map: &[u8]) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        each_pair(map, Rule::CborMalformed, &mut |key, value| {
            assert_eq!(key, b"\x61k");
            found.extend_from_slice(value);
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn skipping_ends_where_decoding_ends() {
        let items: [&[u8]; 15] = [
            b"\x00",
            b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
            b"\x63abc",
            b"\x7f\x61a\x62bc\xff",
            b"\x43\x01\x02\xff",
            b"\x5f\x41\xff\x42\x01\x02\xff",
            b"\x80",
            b"\xa0",
            b"\x82\x81\x01\xa1\x61k\x80",
            b"\x9f\x01\x9f\xff\xa0\xff",
            b"\xbf\x61a\xbf\xff\x61b\x5f\xff\xff",
            b"\xc1\x1a\x00\x00\x00\x07",
            b"\xa2\x61a\xd8\x20\x82\xc2\x41\x01\x02\x61b\xf6",
            b"\xf5",
            b"\xfb\x40\x09\x21\xfb\x54\x44\x2d\x18",
        ];
        for item in items {
            let map = [b"\xa1\x61k", item, b"\x01"].concat(); // with something after it
            let mut decoded = Cursor::new(&map[3..], 0);
            decoded.skip().unwrap();
            assert_eq!(decoded.position(), item.len(), "{item:02x?}");
            assert_eq!(value_of(&map).unwrap(), item);
        }
        for cut in [&b"\xff"[..], b"\x82\x01", b"\x63ab", b"\x9f\x01", b""] {
            assert!(value_of(&[b"\xa1\x61k", cut].concat()).is_err(), "{cut:02x?}");
        }
    }

    #[test]
    fn the_deepest_value_of_a_manifest_is_skipped() {
        let nested = |depth: usize| [vec![0x81; depth], vec![0]].concat();
        let accepted =
            (0..200).take_while(|depth| Cursor::new(&nested(*depth), 0).value().is_ok()).count() - 1;
        // In objects, an object, its components and one of these.
        let manifest = [b"\xa1\x61k".repeat(5), nested(accepted)].concat();
        assert_eq!(value_of(&manifest).unwrap(), manifest[3..]);
        assert!(value_of(&[b"\xa1\x61k".repeat(6), nested(accepted)].concat()).is_err());
    }
}
