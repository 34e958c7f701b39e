//! A cursor in the bytes of a GGUF file that were read so far. It returns whole fields, or says how many more
//! bytes are needed. Also the kinds of values, by number.

use crate::error::{broken, fail, Error, Rule};
use crate::model::dtype::Dtype;
use crate::model::value::Element;

/// Why a field was not read.
#[derive(Debug)]
pub enum Stop {
    /// More bytes are needed, up to this file offset. The file has them.
    More(u64),
    Failed(Error),
}

impl From<Error> for Stop {
    #[cold]
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// A field, or the reason why it was not read.
pub type Read<T> = Result<T, Stop>;

/// The encoding of a file's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Whether lengths, counts and dimensions have 32 bits, as in version 1.
    pub narrow: bool,
}

/// The limits for the positions of fields.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    pub file_size: u64,
    /// The largest metadata, in bytes.
    pub limit: u64,
}

/// A position in the bytes in memory.
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// The file offset where the bytes in memory end.
    end: u64,
    /// The file offset where the last whole item ended. With more bytes, reading continues there.
    pub done: u64,
    pub encoding: Encoding,
    reach: Reach,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, which begin at `offset` of the file.
    pub fn new(bytes: &'a [u8], offset: u64, encoding: Encoding, reach: Reach) -> Self {
        let end = offset.saturating_add(bytes.len() as u64);
        Cursor { rest: bytes, end, done: offset, encoding, reach }
    }

    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.end.saturating_sub(self.rest.len() as u64)
    }

    /// How many bytes of the file are left, in memory or not.
    pub fn left(&self) -> u64 {
        self.reach.file_size.saturating_sub(self.offset())
    }

    /// Records that an item was read completely.
    #[inline(always)]
    pub fn end_item(&mut self) {
        self.done = self.offset();
    }

    #[inline(always)]
    pub fn bytes(&mut self, size: u64) -> Read<&'a [u8]> {
        let split = usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size));
        let Some((bytes, rest)) = split else { return Err(self.stop(size)) };
        self.rest = rest;
        Ok(bytes)
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self) -> Read<&'a [u8; N]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.stop(N as u64));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// The reason why the next `size` bytes are not in memory.
    #[cold]
    fn stop(&self, size: u64) -> Stop {
        let (offset, left) = (self.offset(), self.left());
        let end = offset.saturating_add(size);
        if size > left {
            let rule = Rule::MetadataTruncated;
            return Stop::Failed(broken!(
                rule,
                "{size} bytes are declared at offset {offset}, {left} are left"
            ));
        }
        if end > self.reach.limit {
            return Stop::Failed(fail!(
                Limit,
                "the metadata reaches to byte {end} at least, above the limit of {} bytes",
                self.reach.limit
            ));
        }
        Stop::More(end)
    }

    /// Reads the magic and the version. The version gives the byte order of all other fields: in the wrong
    /// order, its lower half is zero.
    pub fn version(&mut self, magic: &[u8; 4]) -> Read<u32> {
        if self.fixed::<4>()? != magic {
            return Err(fail!(NotZtensor, "it does not begin with {}", magic.escape_ascii()).into());
        }
        let mut version = self.u32()?;
        if version & 0xffff == 0 {
            self.encoding.big_endian = true;
            version = version.swap_bytes();
        }
        self.encoding.narrow = version == 1;
        match version {
            1..=3 => Ok(version),
            _ => {
                Err(fail!(Unsupported, "its GGUF version is {version}; the library reads 1, 2 and 3").into())
            }
        }
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Read<u32> {
        let bytes = *self.fixed()?;
        Ok(if self.encoding.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    #[inline(always)]
    pub fn u64(&mut self) -> Read<u64> {
        let bytes = *self.fixed()?;
        Ok(if self.encoding.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Reads a length, a count or a dimension.
    #[inline(always)]
    pub fn size(&mut self) -> Read<u64> {
        match self.encoding.narrow {
            true => self.u32().map(u64::from),
            false => self.u64(),
        }
    }

    /// The size of a length, count or dimension in bytes.
    #[inline]
    pub fn size_width(&self) -> u64 {
        if self.encoding.narrow {
            4
        } else {
            8
        }
    }

    /// Reads a string: its length, then its bytes.
    #[inline(always)]
    pub fn string(&mut self) -> Read<&'a [u8]> {
        let size = self.size()?;
        self.bytes(size)
    }

    /// As many whole elements of `width` bytes as are in memory, at most `most`. At least one.
    pub fn elements(&mut self, width: u64, most: u64) -> Read<&'a [u8]> {
        let available = (self.rest.len() as u64).checked_div(width).unwrap_or(0);
        self.bytes(available.clamp(1, most).saturating_mul(width))
    }

    /// Reads the number of a value's kind.
    #[inline]
    pub fn kind(&mut self) -> Read<ValueType> {
        let number = self.u32()?;
        ValueType::from_number(number).ok_or_else(|| {
            let at = self.offset().saturating_sub(4);
            Stop::Failed(broken!(
                Rule::ValueType,
                "the value type at offset {at} is {number}, which GGUF does not have"
            ))
        })
    }

    /// Reads a count of elements of at least `each` bytes. They must fit in the rest of the file.
    #[inline]
    pub fn count(&mut self, each: u64, what: &str) -> Read<u64> {
        let count = self.size()?;
        match count.checked_mul(each).is_some_and(|size| size <= self.left()) {
            true => Ok(count),
            false => Err(Stop::Failed(broken!(
                Rule::MetadataTruncated,
                "{count} {what} of at least {each} bytes are declared before offset {}, {} bytes are left",
                self.offset(),
                self.left()
            ))),
        }
    }
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A number or a bool.
    Number(Dtype),
    /// A string.
    Text,
    /// An array of values of one kind.
    Array,
}

/// All kinds; each is at its number.
const KINDS: [ValueType; 13] = [
    ValueType::Number(Dtype::U8),
    ValueType::Number(Dtype::I8),
    ValueType::Number(Dtype::U16),
    ValueType::Number(Dtype::I16),
    ValueType::Number(Dtype::U32),
    ValueType::Number(Dtype::I32),
    ValueType::Number(Dtype::F32),
    ValueType::Number(Dtype::Bool),
    ValueType::Text,
    ValueType::Array,
    ValueType::Number(Dtype::U64),
    ValueType::Number(Dtype::I64),
    ValueType::Number(Dtype::F64),
];

impl ValueType {
    /// The kind with this number in the file.
    #[inline]
    pub fn from_number(number: u32) -> Option<ValueType> {
        KINDS.get(usize::try_from(number).ok()?).copied()
    }

    /// Its number in the file; `None` for a dtype that values cannot have.
    pub fn number(self) -> Option<u32> {
        KINDS.iter().position(|kind| *kind == self).and_then(|at| u32::try_from(at).ok())
    }

    /// The least number of bytes that a value takes, if lengths have `size_width` bytes.
    #[inline]
    pub fn min_size(self, size_width: u64) -> u64 {
        match self {
            ValueType::Number(dtype) => dtype.size() as u64,
            ValueType::Text => size_width,
            ValueType::Array => size_width.saturating_add(4),
        }
    }

    /// The kind as attributes store it.
    pub fn element(self) -> Element {
        match self {
            ValueType::Number(dtype) => Element::Number(dtype),
            ValueType::Text => Element::Text,
            ValueType::Array => Element::Array,
        }
    }
}
