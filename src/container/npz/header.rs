//! The start of an array: version, length of the header, and the header, which is a Python dictionary as
//! text. It is parsed and never evaluated. Also NumPy's names for types of elements.

use crate::container::tables::{extend, push};
use crate::error::{broken, Error, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{table_position, LogicalType};

pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The size of the magic, the version and the length. The length has two bytes or four.
const SHORT_PREFIX: usize = 10;
const LONG_PREFIX: usize = 12;
/// The longest header that is read, which is more than any type needs.
const MAX_HEADER: u64 = 1 << 20;
/// The most dimensions of an array, the same as in NumPy.
///
/// cbindgen:ignore
pub const MAX_RANK: u32 = 64;

#[derive(Debug)]
pub(super) struct Header {
    pub kind: ElementType,
    pub fortran_order: bool,
    /// The position of its first dimension in the manifest's table, and the number of dimensions.
    pub shape: (u32, u32),
    /// How many bytes come before the elements.
    pub size: u64,
}

/// What the first bytes show.
pub(super) enum HeaderOutcome {
    Header(Header),
    /// They do not begin an array.
    Other,
    /// They begin an array in a version of the format that the library does not read.
    Version(u8, u8),
    /// The header needs this many bytes in all.
    Needs(u64),
}

/// Reads the start of an array of `total` bytes. `bytes` are its first bytes. Its dimensions are appended to
/// `dimensions`.
pub(super) fn read(
    bytes: &[u8],
    total: u64,
    dimensions: &mut Vec<u64>,
    budget: &Budget,
) -> Result<HeaderOutcome> {
    let incomplete = |wanted: u64| match total < wanted {
        true => Err(broken!(Rule::NpyHeader, "it has {total} bytes and ends within its header")),
        false => Ok(HeaderOutcome::Needs(wanted)),
    };
    let (prefix, size) = match bytes.strip_prefix(MAGIC) {
        Some([1, 0, low, high, ..]) => (SHORT_PREFIX, u64::from(u16::from_le_bytes([*low, *high]))),
        Some([2 | 3, 0, rest @ ..]) => match rest.first_chunk::<4>() {
            Some(size) => (LONG_PREFIX, u64::from(u32::from_le_bytes(*size))),
            None => return incomplete(LONG_PREFIX as u64),
        },
        Some([1, 0, ..] | [_] | []) => return incomplete(SHORT_PREFIX as u64),
        Some([major, minor, ..]) => return Ok(HeaderOutcome::Version(*major, *minor)),
        None if MAGIC.starts_with(bytes) && total > bytes.len() as u64 => {
            return Ok(HeaderOutcome::Needs(total.min(LONG_PREFIX as u64)));
        }
        None => return Ok(HeaderOutcome::Other),
    };
    let end = size.saturating_add(prefix as u64);
    if size > MAX_HEADER {
        return Err(broken!(Rule::NpyHeader, "its header has {size} bytes, more than {MAX_HEADER}"));
    }
    let text = usize::try_from(end).ok().and_then(|end| bytes.get(prefix..end));
    let Some(text) = text else { return incomplete(end) };
    let is_utf8 = bytes.get(6) == Some(&3);
    if is_utf8 && std::str::from_utf8(text).is_err() {
        return Err(broken!(Rule::NpyHeader, "its header is not UTF-8"));
    }
    let found = dictionary(text, dimensions, budget)?;
    Ok(HeaderOutcome::Header(Header { size: end, ..found }))
}

const DESCR: u8 = 1;
const FORTRAN_ORDER: u8 = 2;
const SHAPE: u8 = 4;

fn dictionary(text: &[u8], dimensions: &mut Vec<u64>, budget: &Budget) -> Result<Header> {
    let mut literal = Literal::new(text);
    let mut seen = 0;
    let (mut kind, mut fortran_order, mut shape) = (None, false, (0, 0));
    literal.expect(b'{', "expected a dictionary")?;
    while !literal.take(b'}') {
        let Some(key) = literal.text()? else { return Err(literal.wrong("expected a key or the end")) };
        let field = match key {
            b"descr" => DESCR,
            b"fortran_order" => FORTRAN_ORDER,
            b"shape" => SHAPE,
            _ => return Err(broken!(Rule::NpyHeader, "its header has an unknown key {}", Quoted(key))),
        };
        if seen & field != 0 {
            return Err(broken!(Rule::NpyHeader, "its header has two keys {}", Quoted(key)));
        }
        seen |= field;
        literal.expect(b':', "expected \":\"")?;
        match field {
            DESCR => {
                kind = Some(match literal.text()? {
                    Some(text) => parse(text, budget)?,
                    None => ElementType::unreadable(literal.value()?, None, budget)?,
                });
            }
            FORTRAN_ORDER => fortran_order = literal.boolean()?,
            _ => shape = tuple(&mut literal, dimensions, budget)?,
        }
        if !literal.take(b',') {
            literal.expect(b'}', "expected a comma or the end of the dictionary")?;
            break;
        }
    }
    literal.end()?;
    match kind.filter(|_| seen == DESCR | FORTRAN_ORDER | SHAPE) {
        Some(kind) => Ok(Header { kind, fortran_order, shape, size: 0 }),
        None => {
            let missing = match seen {
                _ if seen & DESCR == 0 => "descr",
                _ if seen & SHAPE == 0 => "shape",
                _ => "fortran_order",
            };
            Err(broken!(Rule::NpyHeader, "its header has no key {missing:?}"))
        }
    }
}

/// Reads a tuple of dimensions, and appends it to `dimensions`. Returns the position of the first and the
/// number of dimensions.
fn tuple(literal: &mut Literal<'_>, dimensions: &mut Vec<u64>, budget: &Budget) -> Result<(u32, u32)> {
    literal.expect(b'(', "expected a tuple of dimensions")?;
    let start = table_position(dimensions.len())?;
    let mut rank = 0u32;
    let mut comma = true;
    while !literal.take(b')') {
        if !comma {
            return Err(literal.wrong("expected a comma or the end of the tuple"));
        }
        if rank == MAX_RANK {
            return Err(broken!(Rule::ShapeRank, "it has more than {MAX_RANK} dimensions"));
        }
        push(budget, dimensions, literal.dimension()?)?;
        rank = rank.saturating_add(1);
        comma = literal.take(b',');
    }
    match rank == 1 && !comma {
        true => Err(literal.wrong("one integer in parentheses is not a tuple")),
        false => Ok((start, rank)),
    }
}

/// The type of an array's elements.
#[derive(Debug)]
pub(super) enum ElementType {
    /// A type that is read.
    Plain { dtype: Dtype, logical: LogicalType, big_endian: bool },
    /// A type that is listed but not read: its description, and the size of an element, if it is known.
    Unreadable { text: Vec<u8>, size: Option<u64> },
}

impl ElementType {
    /// A type that is only listed, with its description and the size of an element, if it is known.
    pub fn unreadable(text: &[u8], size: Option<u64>, budget: &Budget) -> Result<ElementType> {
        let mut kept = Vec::new();
        extend(budget, &mut kept, text)?;
        Ok(ElementType::Unreadable { text: kept, size })
    }
}

/// The types that are read, by kind and size.
fn plain(kind: u8, size: u64) -> Option<(Dtype, LogicalType)> {
    let dtype = match (kind, size) {
        (b'b', 1) => Dtype::Bool,
        (b'i', 1) => Dtype::I8,
        (b'i', 2) => Dtype::I16,
        (b'i', 4) => Dtype::I32,
        (b'i', 8) => Dtype::I64,
        (b'u', 1) => Dtype::U8,
        (b'u', 2) => Dtype::U16,
        (b'u', 4) => Dtype::U32,
        (b'u', 8) => Dtype::U64,
        (b'f', 2) => Dtype::F16,
        (b'f', 4) => Dtype::F32,
        (b'f', 8) => Dtype::F64,
        (b'c', 8) => return Some((Dtype::F32, LogicalType::Known(Logical::Complex64))),
        (b'c', 16) => return Some((Dtype::F64, LogicalType::Known(Logical::Complex128))),
        _ => return None,
    };
    Some((dtype, LogicalType::Absent))
}

/// The type that a text describes by byte order, kind and size. A text that is not understood is a type that
/// is not read. Other programs have types of their own, for example `<f1` for an 8-bit float.
pub(super) fn parse(text: &[u8], budget: &Budget) -> Result<ElementType> {
    let (big_endian, rest) = match text {
        [b'>', rest @ ..] => (true, rest),
        [b'<', rest @ ..] => (false, rest),
        [b'=' | b'|', rest @ ..] => (cfg!(target_endian = "big"), rest),
        rest => (cfg!(target_endian = "big"), rest),
    };
    let (kind, rest) = rest.split_first().unwrap_or((&0, &[]));
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, unit) = rest.split_at_checked(digits).unwrap_or_default();
    let size = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    if let (Some((dtype, logical)), []) = (size.and_then(|size| plain(*kind, size)), unit) {
        return Ok(ElementType::Plain { dtype, logical, big_endian: big_endian && dtype.size() > 1 });
    }
    // Types of NumPy that are listed but not read: the size of an element.
    let size = match (*kind, unit) {
        (b'S' | b'a' | b'V', []) => size,
        (b'U', []) => size.and_then(|size| size.checked_mul(4)),
        (b'f' | b'c', []) if matches!(size, Some(10 | 12 | 16 | 20 | 24 | 32)) => size,
        (b'm' | b'M', [] | [b'[', .., b']']) if size == Some(8) => size,
        _ => None,
    };
    ElementType::unreadable(text, size, budget)
}

/// The deepest nesting of brackets, which types of fields use.
const MAX_DEPTH: u32 = 64; // the message has this number, too

pub(super) struct Literal<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Literal<'a> {
    pub fn new(bytes: &'a [u8]) -> Literal<'a> {
        Literal { bytes, at: 0 }
    }

    #[cold]
    pub fn wrong(&self, what: &str) -> Error {
        broken!(Rule::NpyHeader, "byte {} of its header: {what}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') = self.peek() {
            self.step();
        }
    }

    pub fn take(&mut self, mark: u8) -> bool {
        self.space();
        let is_there = self.peek() == Some(mark);
        if is_there {
            self.step();
        }
        is_there
    }

    pub fn expect(&mut self, mark: u8, what: &str) -> Result<()> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("bytes follow the dictionary")),
        }
    }

    /// Reads a quoted text without escapes; `None` if something else comes next.
    pub fn text(&mut self) -> Result<Option<&'a [u8]>> {
        self.quoted(false)
    }

    fn quoted(&mut self, may_escape: bool) -> Result<Option<&'a [u8]>> {
        self.space();
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Ok(None) };
        self.step();
        let start = self.at;
        loop {
            match self.peek() {
                Some(end) if end == quote => {
                    let text = self.bytes.get(start..self.at);
                    self.step();
                    return Ok(text);
                }
                Some(b'\\') if may_escape => {
                    self.step();
                    self.step();
                }
                None | Some(b'\\' | b'\n' | b'\r' | 0) => {
                    return Err(self.wrong("expected a text without escapes"));
                }
                Some(_) => self.step(),
            }
        }
    }

    pub fn boolean(&mut self) -> Result<bool> {
        self.space();
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            let after = rest.strip_prefix(word);
            let follows = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            if after.is_some_and(|after| !after.first().is_some_and(follows)) {
                self.at = self.at.saturating_add(word.len());
                return Ok(value);
            }
        }
        Err(self.wrong("expected True or False"))
    }

    /// Reads a decimal integer from 0 to 2^63 - 1, as in shapes. Python 2 wrote an L after some.
    pub fn dimension(&mut self) -> Result<u64> {
        self.space();
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.step();
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(digits, [] | [b'0', _, ..]) {
            return Err(self.wrong("expected a dimension: an integer that is not negative"));
        }
        if self.peek() == Some(b'L') {
            self.step();
        }
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i64>().ok());
        let overflow =
            || broken!(Rule::ShapeOverflow, "byte {start} of its header: a dimension above 2^63-1");
        number.map(i64::unsigned_abs).ok_or_else(overflow)
    }

    /// Reads a value of texts, integers, lists and tuples. Returns its bytes. Names of fields may have
    /// escapes.
    pub fn value(&mut self) -> Result<&'a [u8]> {
        self.space();
        let start = self.at;
        // A bit for each open bracket: 1 for a list, 0 for a tuple.
        let (mut lists, mut depth) = (0u64, 0u32);
        loop {
            // A value comes next, or the end of an empty list or tuple.
            self.space();
            match self.peek() {
                Some(open @ (b'(' | b'[')) => {
                    if depth == MAX_DEPTH {
                        return Err(self.wrong("it nests deeper than 64 levels"));
                    }
                    self.step();
                    (lists, depth) = (lists << 1 | u64::from(open == b'['), depth.saturating_add(1));
                    if !matches!(self.after_space(), Some(b')' | b']')) {
                        continue;
                    }
                }
                Some(b'\'' | b'"') => drop(self.quoted(true)?),
                Some(b'0'..=b'9') => drop(self.dimension()?),
                _ => return Err(self.wrong("expected a text, an integer, a list or a tuple")),
            }
            // After a value come the ends of lists and tuples, or a comma.
            loop {
                if depth == 0 {
                    return Ok(self.bytes.get(start..self.at).unwrap_or_default());
                }
                let comma = self.take(b',');
                let end = if lists & 1 == 1 { b']' } else { b')' };
                match self.take(end) {
                    true => (lists, depth) = (lists >> 1, depth.saturating_sub(1)),
                    false if comma => break,
                    false => return Err(self.wrong("expected a comma or the end of the list or tuple")),
                }
            }
        }
    }

    fn after_space(&mut self) -> Option<u8> {
        self.space();
        self.peek()
    }
}
