//! The layout of a record: a tag of one byte, then its content, in the host's byte order and without
//! alignment.
//!
//! | tag | content |
//! |---|---|
//! | null, false, true | nothing |
//! | simple | a byte |
//! | unsigned, negative (-1 - n), float | 8 bytes; the container states no width |
//! | number of a dtype | the element |
//! | short or long text or bytes | size (1 or 4 bytes), content, NUL |
//! | array | size of the record (4), count (4), the kind of its items (1), items |
//! | map | size (4), count of pairs (4), 0, pairs of key and value |
//! | indexed array or map | as above, then the offset of each item or pair (4), from the record's start |
//! | tagged value | size (4), 1 (4), number (8), item |
//!
//! If all items or pairs have the same size, no index is needed.

use crate::model::dtype::Dtype;

/// The deepest nesting of an attribute map or an unknown field. This limits the stack that walking a value
/// takes.
pub(crate) const MAX_DEPTH: usize = 64;

pub(super) const NULL: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const TRUE: u8 = 3;
pub(super) const SIMPLE: u8 = 4;
pub(super) const UNSIGNED: u8 = 5;
pub(super) const NEGATIVE: u8 = 6;
pub(super) const FLOAT: u8 = 7;
pub(super) const SHORT_TEXT: u8 = 8;
pub(super) const LONG_TEXT: u8 = 9;
pub(super) const SHORT_BYTES: u8 = 10;
pub(super) const LONG_BYTES: u8 = 11;
pub(super) const ARRAY: u8 = 12;
pub(super) const INDEXED_ARRAY: u8 = 13;
pub(super) const MAP: u8 = 14;
pub(super) const INDEXED_MAP: u8 = 15;
pub(super) const TAGGED: u8 = 16;
/// The tag of a number has this bit and the number of its dtype.
const NUMBER: u8 = 0x80;

/// The offsets of the size, the count, the kind of the items, and the first item in an array, map or tagged
/// value.
pub(super) const SIZE_AT: usize = 1;
pub(super) const COUNT_AT: usize = 5;
pub(super) const ELEMENT_AT: usize = 9;
pub(super) const ITEMS_AT: usize = 10;
/// The offsets of the number and the item in a tagged value.
pub(super) const NUMBER_AT: usize = 9;
pub(super) const TAGGED_ITEM_AT: usize = 17;
pub(super) const INDEX_ENTRY: usize = 4;

/// What a container states about all items of an array, even if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Nothing: each item has its own type.
    Any,
    /// They are numbers or bools of this dtype.
    Number(Dtype),
    /// They are texts.
    Text,
    /// They are arrays.
    Array,
}

impl Element {
    pub(super) fn to_byte(self) -> u8 {
        match self {
            Element::Any => 0,
            Element::Number(dtype) => number_tag(dtype),
            Element::Text => SHORT_TEXT,
            Element::Array => ARRAY,
        }
    }

    pub(super) fn from_byte(byte: u8) -> Element {
        match byte {
            SHORT_TEXT => Element::Text,
            ARRAY => Element::Array,
            tag => number_dtype(tag).map_or(Element::Any, Element::Number),
        }
    }
}

/// The tag for a number of this dtype.
pub(super) fn number_tag(dtype: Dtype) -> u8 {
    NUMBER | u8::try_from(dtype.number()).unwrap_or(0)
}

/// The dtype of a number with this tag.
pub(super) fn number_dtype(tag: u8) -> Option<Dtype> {
    match tag & NUMBER {
        0 => None,
        _ => Dtype::from_number(i32::from(tag & !NUMBER)),
    }
}

/// How many bytes at the start of a record with this tag are needed to find its size. Every record has that
/// many.
pub(crate) const fn bytes_of_size(tag: u8) -> usize {
    match tag {
        SHORT_TEXT | SHORT_BYTES => 2,
        LONG_TEXT | LONG_BYTES | ARRAY | INDEXED_ARRAY | MAP | INDEXED_MAP | TAGGED => 5,
        _ => 1,
    }
}

/// The size of the record at the start of these bytes.
#[inline]
pub(crate) fn record_size(bytes: &[u8]) -> Option<usize> {
    let (tag, behind) = bytes.split_first()?;
    if *tag == SHORT_TEXT {
        // Checked first, because almost all records are like this.
        return Some(usize::from(*behind.first()?).saturating_add(3));
    }
    match *tag {
        NULL | FALSE | TRUE => Some(1),
        SIMPLE => Some(2),
        UNSIGNED | NEGATIVE | FLOAT => Some(9),
        SHORT_BYTES => Some(usize::from(*behind.first()?).saturating_add(3)),
        LONG_TEXT | LONG_BYTES => Some((word(behind, 0)? as usize).saturating_add(6)),
        ARRAY | INDEXED_ARRAY | MAP | INDEXED_MAP | TAGGED => Some(word(behind, 0)? as usize),
        tag => Some(number_dtype(tag)?.size().saturating_add(1)),
    }
}

/// The end of `count` records that begin at `at`.
#[inline(always)]
pub(super) fn end_of_records(records: &[u8], at: usize, count: u32) -> usize {
    (0..count).fold(at, |at, _| {
        let size = records.get(at..).and_then(record_size);
        at.saturating_add(size.unwrap_or(usize::MAX))
    })
}

/// The 4-byte number at `at`.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The 8-byte number at `at`.
#[inline]
pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Writes a 4-byte number at `at`.
#[inline]
pub(super) fn put_word(bytes: &mut [u8], at: usize, word: u32) {
    if let Some(place) = bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut()) {
        *place = word.to_ne_bytes();
    }
}
