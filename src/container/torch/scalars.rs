//! A cursor in a pickle, and values that are not made of others: numbers, texts, bytes.

use super::opcodes as op;
use super::values::{Span, Value};
use crate::error::{broken, fail, Error, Result, Rule};

/// The value of an opcode that takes nothing from the stack.
pub fn read(cursor: &mut Cursor<'_>, opcode: u8) -> Result<Value> {
    match opcode {
        op::NONE => Ok(Value::None),
        op::NEWTRUE => Ok(Value::Bool(true)),
        op::NEWFALSE => Ok(Value::Bool(false)),
        op::BININT | op::BININT1 | op::BININT2 | op::INT | op::LONG | op::LONG1 | op::LONG4 => {
            integer(cursor, opcode)
        }
        op::BINFLOAT => cursor.fixed().map(|bytes| Value::Float(f64::from_be_bytes(bytes))),
        op::FLOAT => decimal(cursor, "a float").map(Value::Float),
        op::BINUNICODE | op::SHORT_BINUNICODE | op::BINUNICODE8 => text(cursor, opcode),
        op::UNICODE | op::STRING => line_of_text(cursor, opcode),
        op::BINSTRING | op::SHORT_BINSTRING => old_string(cursor, opcode),
        op::BINBYTES | op::SHORT_BINBYTES | op::BINBYTES8 | op::BYTEARRAY8 => {
            let size = size(cursor, opcode)?;
            Ok(Value::Bytes(cursor.span(size)?.0))
        }
        _ => Err(match op::refused_name(opcode) {
            Some(name) => fail!(Unsupported, "plain checkpoints do not have the opcode {name}"),
            None => broken!(Rule::PickleSyntax, "{opcode:#04x} is not an opcode"),
        }),
    }
}

fn integer(cursor: &mut Cursor<'_>, opcode: u8) -> Result<Value> {
    match opcode {
        op::BININT => cursor.fixed().map(|b| Value::Int(i32::from_le_bytes(b).into())),
        op::BININT1 => cursor.u8().map(|n| Value::Int(n.into())),
        op::BININT2 => cursor.fixed().map(|b| Value::Int(u16::from_le_bytes(b).into())),
        op::LONG1 => {
            let size = cursor.u8()?.into();
            long(cursor, size)
        }
        op::LONG4 => {
            let size = length(cursor)?;
            long(cursor, size)
        }
        _ => {
            let (_, line) = cursor.line()?;
            match line {
                b"00" if opcode == op::INT => Ok(Value::Bool(false)),
                b"01" if opcode == op::INT => Ok(Value::Bool(true)),
                _ => parse(line.strip_suffix(b"L").unwrap_or(line), "an integer of 64 bits").map(Value::Int),
            }
        }
    }
}

/// Reads an integer of `size` bytes in two's complement.
fn long(cursor: &mut Cursor<'_>, size: u64) -> Result<Value> {
    let (span, bytes) = cursor.span(size)?;
    let sign = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut wide = [sign; 8];
    let (low, high) = bytes.split_at_checked(8).unwrap_or((bytes, &[]));
    wide.iter_mut().zip(low).for_each(|(place, byte)| *place = *byte);
    let number = i64::from_le_bytes(wide);
    let fits = high.iter().all(|byte| *byte == sign) && (number < 0) == (sign != 0);
    Ok(if fits { Value::Int(number) } else { Value::BigInt(span) })
}

/// Reads a size of four bytes, which is signed.
fn length(cursor: &mut Cursor<'_>) -> Result<u64> {
    let size = i32::from_le_bytes(cursor.fixed()?);
    u64::try_from(size).map_err(|_| broken!(Rule::PickleSyntax, "the length {size} is negative"))
}

/// Reads the size after an opcode. The opcode determines its width.
fn size(cursor: &mut Cursor<'_>, opcode: u8) -> Result<u64> {
    match opcode {
        op::SHORT_BINUNICODE | op::SHORT_BINBYTES | op::SHORT_BINSTRING => cursor.u8().map(u64::from),
        op::BINUNICODE8 | op::BINBYTES8 | op::BYTEARRAY8 => cursor.u64(),
        op::BINSTRING => length(cursor),
        _ => cursor.u32().map(u64::from),
    }
}

fn text(cursor: &mut Cursor<'_>, opcode: u8) -> Result<Value> {
    let size = size(cursor, opcode)?;
    let (span, bytes) = cursor.span(size)?;
    let mut at = 0usize;
    // Python encodes unpaired surrogates as if they were characters.
    while let Err(e) = std::str::from_utf8(bytes.get(at..).unwrap_or_default()) {
        at = at.saturating_add(e.valid_up_to());
        let [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] = bytes.get(at..).unwrap_or_default() else {
            return Err(broken!(Rule::PickleSyntax, "a text is not UTF-8 at byte {at} of it"));
        };
        at = at.saturating_add(3);
    }
    Ok(Value::Text(span))
}

/// Reads a string of Python 2: a text if possible.
fn old_string(cursor: &mut Cursor<'_>, opcode: u8) -> Result<Value> {
    let size = size(cursor, opcode)?;
    let (span, bytes) = cursor.span(size)?;
    Ok(match std::str::from_utf8(bytes) {
        Ok(_) => Value::Text(span),
        Err(_) => Value::Bytes(span),
    })
}

/// Reads a text of protocol 0. A string is in quotes. Escapes are not supported, because no checkpoint has
/// them.
fn line_of_text(cursor: &mut Cursor<'_>, opcode: u8) -> Result<Value> {
    let (line, bytes) = cursor.line()?;
    if bytes.iter().any(|byte| *byte == b'\\' || !byte.is_ascii()) {
        return Err(fail!(Unsupported, "a text of protocol 0 has escapes, which are not read"));
    }
    if opcode == op::UNICODE {
        return Ok(Value::Text(line));
    }
    match bytes {
        [b'\'', text @ .., b'\''] | [b'"', text @ .., b'"'] => {
            let size = u32::try_from(text.len()).unwrap_or(0);
            Ok(Value::Text(Span { start: line.start.saturating_add(1), size }))
        }
        _ => Err(broken!(Rule::PickleSyntax, "a string has no quotes")),
    }
}

/// Reads a number on a line.
pub fn decimal<T: std::str::FromStr>(cursor: &mut Cursor<'_>, what: &str) -> Result<T> {
    let (_, line) = cursor.line()?;
    parse(line, what)
}

/// Parses the number on a line. A line of more than 400 bytes is not a number.
fn parse<T: std::str::FromStr>(line: &[u8], what: &str) -> Result<T> {
    const MAX_LINE: usize = 400;
    let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= MAX_LINE);
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| broken!(Rule::PickleSyntax, "a line of {} bytes is not {what}", line.len()))
}

pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Set if the bytes end too early: how many are needed at least.
    pub needs: Option<u64>,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0, needs: None }
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    /// Reads the next `size` bytes. Returns them and their position.
    pub fn span(&mut self, size: u64) -> Result<(Span, &'a [u8])> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = usize::try_from(size).ok().and_then(|size| rest.get(..size));
        let bytes = found.ok_or_else(|| self.truncated(size))?;
        // The pickle has fewer bytes than 2^32.
        let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span { start: position(self.at), size: position(bytes.len()) };
        self.at = self.at.saturating_add(bytes.len());
        Ok((span, bytes))
    }

    /// The error for bytes that end before the next `size` bytes.
    #[cold]
    pub fn truncated(&mut self, size: u64) -> Error {
        self.needs = Some(size.saturating_add(self.at as u64));
        broken!(
            Rule::PickleSyntax,
            "{size} bytes are promised at byte {} of the pickle, {} are left",
            self.at,
            self.left()
        )
    }

    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk::<N>().ok_or_else(|| self.truncated(N as u64))?;
        self.at = self.at.saturating_add(N);
        Ok(*bytes)
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    /// Reads a number of four bytes. A size is less than 2^31; other numbers are signed.
    pub fn u32(&mut self) -> Result<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    /// Reads the bytes up to the next line feed, and skips the line feed.
    pub fn line(&mut self) -> Result<(Span, &'a [u8])> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let size = rest.iter().position(|byte| *byte == b'\n');
        let size = size.ok_or_else(|| {
            self.needs = Some(self.left().saturating_add(self.at as u64).saturating_add(1));
            broken!(Rule::PickleSyntax, "the line at byte {} does not end", self.at)
        })?;
        let line = self.span(size as u64)?;
        self.at = self.at.saturating_add(1);
        Ok(line)
    }
}
