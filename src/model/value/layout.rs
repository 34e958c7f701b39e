//! How a record is laid out: a tag of one byte, and what follows it, in the host's byte order and of no
//! alignment.
//!
//! | tag | behind it |
//! |---|---|
//! | null, false, true | nothing |
//! | simple | a byte |
//! | unsigned, negative (-1 - n), float | 8 bytes; the container states no width |
//! | number of a dtype | the element |
//! | short or long text or bytes | size (1 or 4 bytes), content, NUL |
//! | array | size of the record (4), count (4), what its items are (1), items |
//! | map | size (4), count of pairs (4), 0, pairs of key and value |
//! | indexed array or map | the same, and behind it for each item or pair where it begins (4), from the record's start |
//! | tagged | size (4), 1 (4), number (8), item |
//!
//! Items or pairs that are all of one size need no index.

use crate::model::dtype::Dtype;

/// How deep the content of one attribute map, or one unknown field, may nest: walking a value takes a bounded
/// stack.
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
/// The tag of a number: this bit, and the number of its dtype.
const NUMBER: u8 = 0x80;

/// Where the size, the count and what items are stand in an array, map or tagged value, and where its items
/// begin.
pub(super) const SIZE_AT: usize = 1;
pub(super) const COUNT_AT: usize = 5;
pub(super) const ELEMENT_AT: usize = 9;
pub(super) const ITEMS_AT: usize = 10;
/// Where the number and the item of a tagged value stand.
pub(super) const NUMBER_AT: usize = 9;
pub(super) const TAGGED_ITEM_AT: usize = 17;
/// Bytes of an entry of an index.
pub(super) const INDEX_ENTRY: usize = 4;

/// What a container states about all items of an array, also of one without items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Nothing: each item states its type.
    Any,
    /// Numbers or bools of this dtype.
    Number(Dtype),
    /// Texts.
    Text,
    /// Arrays.
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

/// The tag of a number of this dtype.
pub(super) fn number_tag(dtype: Dtype) -> u8 {
    NUMBER | u8::try_from(dtype.number()).unwrap_or(0)
}

/// The dtype that a number's tag has.
pub(super) fn number_dtype(tag: u8) -> Option<Dtype> {
    match tag & NUMBER {
        0 => None,
        _ => Dtype::from_number(i32::from(tag & !NUMBER)),
    }
}

/// Bytes at the start of a record of this tag that tell how large it is; none has less.
pub(crate) const fn bytes_of_size(tag: u8) -> usize {
    match tag {
        SHORT_TEXT | SHORT_BYTES => 2,
        LONG_TEXT | LONG_BYTES | ARRAY | INDEXED_ARRAY | MAP | INDEXED_MAP | TAGGED => 5,
        _ => 1,
    }
}

/// How large the record is that these bytes begin with.
#[inline]
pub(crate) fn record_size(bytes: &[u8]) -> Option<usize> {
    let (tag, behind) = bytes.split_first()?;
    if *tag == SHORT_TEXT {
        return Some(usize::from(*behind.first()?).saturating_add(3)); // first, as nearly all are
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

/// The number of four bytes at `at`.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of eight bytes at `at`.
#[inline]
pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Puts a number of four bytes at `at`.
#[inline]
pub(super) fn put_word(bytes: &mut [u8], at: usize, word: u32) {
    if let Some(place) = bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut()) {
        *place = word.to_ne_bytes();
    }
}
