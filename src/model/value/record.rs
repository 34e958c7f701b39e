//! Reads a value from its record in place.

use super::layout::{self, Element, ARRAY, FLOAT, ITEMS_AT, NEGATIVE, UNSIGNED};
use crate::model::dtype::Dtype;
use half::{bf16, f16};

/// An attribute value of a file or an object: CBOR's data model, read-only. Borrowed; lives until the
/// file's last zt_close.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    record: &'a [u8],
}

/// The kind of a value, from CBOR's data model (RFC 7049). Other containers have a part of it. Numbers with
/// different stated widths have the same kind.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer from 0 to 2^64-1.
    Unsigned(u64),
    /// The integer -1 - n, from -1 down to -2^64.
    Negative(u64),
    /// A float.
    Float(f64),
    /// UTF-8 text.
    Text(Text<'a>),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A sequence.
    Array(Array<'a>),
    /// Pairs in the file's order. Keys may have any kind.
    Map(Map<'a>),
    /// A tagged value (RFC 7049 section 2.4).
    Tag(u64, Value<'a>),
    /// A simple value without a defined meaning; 23 is `undefined`.
    Simple(u8),
}

/// A text with a NUL at its end, so that C can borrow it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    with_nul: &'a [u8],
}

/// The items of an array.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    record: &'a [u8],
}

/// The pairs of a map.
#[derive(Clone, Copy)]
pub struct Map<'a> {
    record: &'a [u8],
}

impl<'a> Value<'a> {
    /// `null`.
    pub const NULL: Value<'static> = Value { record: &[layout::NULL] };
    /// A map without pairs.
    pub const EMPTY_MAP: Value<'static> = Value { record: &EMPTY_MAP };

    /// The value at the start of these bytes; null if they begin with no record.
    #[inline]
    pub(crate) fn first_of(bytes: &'a [u8]) -> Value<'a> {
        let record = layout::record_size(bytes).and_then(|size| bytes.get(..size));
        record.map_or(Value::NULL, |record| Value { record })
    }

    #[inline]
    pub(crate) fn record(self) -> &'a [u8] {
        self.record
    }

    #[inline]
    fn tag(self) -> u8 {
        self.record.first().copied().unwrap_or(layout::NULL)
    }

    /// The kind of this value.
    pub fn kind(self) -> ValueKind<'a> {
        let record = self.record;
        let argument = || layout::long(record, 1).unwrap_or_default();
        let content = |start| record.get(start..record.len().saturating_sub(1)).unwrap_or_default();
        match self.tag() {
            layout::NULL => ValueKind::Null,
            layout::FALSE => ValueKind::Bool(false),
            layout::TRUE => ValueKind::Bool(true),
            layout::SIMPLE => ValueKind::Simple(record.get(1).copied().unwrap_or_default()),
            layout::UNSIGNED => ValueKind::Unsigned(argument()),
            layout::NEGATIVE => ValueKind::Negative(argument()),
            layout::FLOAT => ValueKind::Float(f64::from_bits(argument())),
            layout::SHORT_TEXT => ValueKind::Text(Text { with_nul: record.get(2..).unwrap_or_default() }),
            layout::LONG_TEXT => ValueKind::Text(Text { with_nul: record.get(5..).unwrap_or_default() }),
            layout::SHORT_BYTES => ValueKind::Bytes(content(2)),
            layout::LONG_BYTES => ValueKind::Bytes(content(5)),
            layout::ARRAY | layout::INDEXED_ARRAY => ValueKind::Array(Array { record }),
            layout::MAP | layout::INDEXED_MAP => ValueKind::Map(Map { record }),
            layout::TAGGED => {
                let number = layout::long(record, layout::NUMBER_AT).unwrap_or_default();
                ValueKind::Tag(
                    number,
                    Value::first_of(record.get(layout::TAGGED_ITEM_AT..).unwrap_or_default()),
                )
            }
            tag => layout::number_dtype(tag)
                .and_then(|dtype| number(dtype, record.get(1..)?))
                .unwrap_or(ValueKind::Null),
        }
    }

    /// The stated dtype of a number or bool, or of the elements of an array.
    pub fn dtype(self) -> Option<Dtype> {
        match self.kind() {
            ValueKind::Array(items) => match items.element() {
                Element::Number(dtype) => Some(dtype),
                _ => None,
            },
            ValueKind::Bool(_) => Some(Dtype::Bool),
            _ => layout::number_dtype(self.tag()),
        }
    }

    /// The stated dtype of a number, and its bytes in the host's order.
    pub(crate) fn element(self) -> Option<(Dtype, &'a [u8])> {
        Some((layout::number_dtype(self.tag())?, self.record.get(1..)?))
    }

    /// The pairs, if it is a map.
    pub fn as_map(self) -> Option<Map<'a>> {
        match self.kind() {
            ValueKind::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The values directly in it: the items of an array, the keys and values of a map, or a tagged value.
    pub(crate) fn parts(self) -> Items<'a> {
        match self.kind() {
            ValueKind::Array(items) => items.iter(),
            ValueKind::Map(pairs) => pairs.iter().items,
            ValueKind::Tag(..) => {
                Items { rest: self.record.get(layout::TAGGED_ITEM_AT..).unwrap_or_default(), left: 1 }
            }
            _ => Items { rest: &[], left: 0 },
        }
    }

    /// Whether it is a map without pairs.
    pub fn is_empty_map(self) -> bool {
        self.as_map().is_some_and(Map::is_empty)
    }

    /// The pairs, if it is a map; else empty.
    pub fn pairs(self) -> Pairs<'a> {
        self.as_map().unwrap_or(Map { record: &EMPTY_MAP }).iter()
    }

    /// The text with its NUL, if it is a text.
    #[inline]
    pub fn text(self) -> Option<Text<'a>> {
        let start = match self.tag() {
            layout::SHORT_TEXT => 2,
            layout::LONG_TEXT => 5,
            _ => return None,
        };
        Some(Text { with_nul: self.record.get(start..).unwrap_or_default() })
    }

    /// The text, if it is a text.
    pub fn as_text(self) -> Option<&'a str> {
        self.text().map(Text::as_str)
    }

    /// The bytes, if it is a text or a byte string. A NUL follows them.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.kind() {
            ValueKind::Text(text) => Some(text.as_bytes()),
            ValueKind::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it is this text.
    pub fn is_text(self, text: &str) -> bool {
        self.text().is_some_and(|found| found.as_bytes() == text.as_bytes())
    }

    /// The integer, if it is one and fits.
    pub fn as_u64(self) -> Option<u64> {
        match self.kind() {
            ValueKind::Unsigned(v) => Some(v),
            _ => None,
        }
    }

    /// The integer, if it is one and fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.kind() {
            ValueKind::Unsigned(v) => i64::try_from(v).ok(),
            ValueKind::Negative(n) => i64::try_from(n).ok().map(|n| !n),
            _ => None,
        }
    }

    /// The value of a text key, if it is a map that has the key.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.pairs().find(|(found, _)| found.is_text(key)).map(|(_, value)| value)
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

impl<'a> Text<'a> {
    /// The text, without its NUL.
    pub fn as_str(self) -> &'a str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Its bytes, without its NUL.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.with_nul.split_last().map_or(&[], |(_, text)| text)
    }

    /// Its bytes and its NUL.
    #[inline]
    pub fn as_c_bytes(self) -> &'a [u8] {
        self.with_nul
    }
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

const EMPTY_MAP: [u8; layout::ITEMS_AT] = {
    let size = (layout::ITEMS_AT as u32).to_ne_bytes();
    [layout::MAP, size[0], size[1], size[2], size[3], 0, 0, 0, 0, 0]
};

/// How many items or pairs an array or map has.
fn count(record: &[u8]) -> usize {
    layout::word(record, layout::COUNT_AT).unwrap_or_default() as usize
}

/// The bytes of a record from item or pair number `at` on.
fn item(record: &[u8], at: usize) -> Option<&[u8]> {
    let count = count(record);
    if at >= count {
        return None;
    }
    let offset = if matches!(*record.first()?, layout::INDEXED_ARRAY | layout::INDEXED_MAP) {
        let index = record.len().checked_sub(count.checked_mul(layout::INDEX_ENTRY)?)?;
        layout::word(record, at.checked_mul(layout::INDEX_ENTRY)?.checked_add(index)?)? as usize
    } else {
        let each = record.len().checked_sub(layout::ITEMS_AT)?.checked_div(count)?;
        at.checked_mul(each)?.checked_add(layout::ITEMS_AT)?
    };
    record.get(offset..)
}

/// The records of an array's or map's items, one after the other.
fn items(record: &[u8], left: usize) -> Items<'_> {
    Items { rest: record.get(layout::ITEMS_AT..).unwrap_or_default(), left }
}

impl<'a> Array<'a> {
    /// How many items it has.
    pub fn len(self) -> usize {
        count(self.record)
    }

    /// Whether it has no items.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// What is stated about its items.
    pub fn element(self) -> Element {
        Element::from_byte(self.record.get(layout::ELEMENT_AT).copied().unwrap_or_default())
    }

    pub(super) fn record(self) -> &'a [u8] {
        self.record
    }

    /// The records of its items, if this dtype is stated for all of them. Each is a tag byte and the element.
    pub(crate) fn elements(self, dtype: Dtype) -> Option<&'a [u8]> {
        let each = dtype.size().checked_add(1)?;
        let end = self.len().checked_mul(each)?.checked_add(layout::ITEMS_AT)?;
        let records = self.record.get(layout::ITEMS_AT..end)?;
        (self.element() == Element::Number(dtype) && end == self.record.len()).then_some(records)
    }

    /// An item. Access takes constant time.
    pub fn get(self, at: usize) -> Option<Value<'a>> {
        item(self.record, at).map(Value::first_of)
    }

    /// All items in their order.
    pub fn iter(self) -> Items<'a> {
        items(self.record, self.len())
    }
}

impl<'a> Map<'a> {
    /// How many pairs it has.
    pub fn len(self) -> usize {
        count(self.record)
    }

    /// Whether it has no pairs.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// A pair. Access takes constant time.
    pub fn get(self, at: usize) -> Option<(Value<'a>, Value<'a>)> {
        Pairs { items: Items { rest: item(self.record, at)?, left: 2 } }.next()
    }

    /// All pairs in their order.
    pub fn iter(self) -> Pairs<'a> {
        Pairs { items: items(self.record, self.len().saturating_mul(2)) }
    }
}

/// Items of an array.
#[derive(Clone, Copy)]
pub struct Items<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let value = Value::first_of(self.rest);
        self.rest = self.rest.get(value.record.len()..).unwrap_or_default();
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// Pairs of a map.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    items: Items<'a>,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Value<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(Value<'a>, Value<'a>)> {
        Some((self.items.next()?, self.items.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.items.left / 2, Some(self.items.left / 2))
    }
}

impl ExactSizeIterator for Pairs<'_> {}

impl std::fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl std::fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The number that an element represents.
fn number(dtype: Dtype, element: &[u8]) -> Option<ValueKind<'static>> {
    fn of<const N: usize>(element: &[u8]) -> Option<[u8; N]> {
        element.try_into().ok()
    }
    let signed = |value: i64| match u64::try_from(value) {
        Ok(v) => ValueKind::Unsigned(v),
        // It is negative, so `!value` is -1 - value.
        Err(_) => ValueKind::Negative(u64::try_from(!value).unwrap_or_default()),
    };
    Some(match dtype {
        Dtype::F64 => ValueKind::Float(f64::from_ne_bytes(of(element)?)),
        Dtype::F32 => ValueKind::Float(f32::from_ne_bytes(of(element)?).into()),
        Dtype::F16 => ValueKind::Float(f16::from_ne_bytes(of(element)?).to_f64()),
        Dtype::Bf16 => ValueKind::Float(bf16::from_ne_bytes(of(element)?).to_f64()),
        Dtype::I64 => signed(i64::from_ne_bytes(of(element)?)),
        Dtype::I32 => signed(i32::from_ne_bytes(of(element)?).into()),
        Dtype::I16 => signed(i16::from_ne_bytes(of(element)?).into()),
        Dtype::I8 => signed(i8::from_ne_bytes(of(element)?).into()),
        Dtype::U64 => ValueKind::Unsigned(u64::from_ne_bytes(of(element)?)),
        Dtype::U32 => ValueKind::Unsigned(u32::from_ne_bytes(of(element)?).into()),
        Dtype::U16 => ValueKind::Unsigned(u16::from_ne_bytes(of(element)?).into()),
        Dtype::U8 => ValueKind::Unsigned(u8::from_ne_bytes(of(element)?).into()),
        Dtype::Bool => ValueKind::Bool(element != [0]),
    })
}

/// The size of such a number's record: a tag and eight bytes.
const EACH: usize = 9;

/// Fills `dst` with all items and returns true. If it returns false, `dst` is unchanged.
///
/// A fast path for arrays of numbers without a stated width, such as the scores and types of a vocabulary in
/// CBOR. It converts them to f32 and i32 all at once: 512,000 of them take 11 % of the instructions. It does
/// not apply to other dtypes, or if an item is not a number or does not fit: then each item is checked
/// separately.
pub(crate) fn read_wide(items: Array<'_>, dtype: Dtype, dst: &mut [u8]) -> bool {
    match dtype {
        Dtype::F32 => read(items, dst, f32_of),
        Dtype::I32 => read(items, dst, i32_of),
        _ => false,
    }
}

fn read(items: Array<'_>, dst: &mut [u8], narrow: impl Fn(u8, u64) -> Option<[u8; 4]>) -> bool {
    let record = items.record();
    let end = items.len().checked_mul(EACH).and_then(|size| size.checked_add(ITEMS_AT));
    let is_even = record.first() == Some(&ARRAY) && end == Some(record.len());
    let Some(numbers) = record.get(ITEMS_AT..).filter(|_| is_even) else { return false };
    let narrowed = |number: &[u8]| {
        let (kind, bytes) = number.split_first()?;
        narrow(*kind, u64::from_ne_bytes(*bytes.first_chunk()?))
    };
    let fit = numbers.chunks_exact(EACH).all(|number| narrowed(number).is_some());
    if fit {
        for (number, place) in numbers.chunks_exact(EACH).zip(dst.chunks_exact_mut(4)) {
            place.copy_from_slice(&narrowed(number).unwrap_or_default());
        }
    }
    fit
}

/// The number as a float, if that is exact.
#[inline(always)]
fn f32_of(kind: u8, bits: u64) -> Option<[u8; 4]> {
    let wide = f64::from_bits(bits);
    #[allow(clippy::cast_possible_truncation, reason = "held against what it was")]
    let narrow = wide as f32;
    (kind == FLOAT && f64::from(narrow).to_bits() == bits).then(|| narrow.to_ne_bytes())
}

/// The number as an integer, if it fits.
#[inline(always)]
fn i32_of(kind: u8, bits: u64) -> Option<[u8; 4]> {
    let magnitude = i32::try_from(bits).ok()?;
    match kind {
        UNSIGNED => Some(magnitude.to_ne_bytes()),
        NEGATIVE => Some((!magnitude).to_ne_bytes()),
        _ => None,
    }
}
