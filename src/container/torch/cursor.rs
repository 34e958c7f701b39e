//! Where a reader is in a pickle: fields of whole bytes, and lines.

use super::values::Span;
use crate::error::{broken, Error, Result, Rule};

/// A place in a pickle.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The front of a pickle.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    /// The next `size` bytes, and where they are.
    pub fn span(&mut self, size: u64) -> Result<(Span, &'a [u8])> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = usize::try_from(size).ok().and_then(|size| rest.get(..size));
        let bytes = found.ok_or_else(|| self.truncated(size))?;
        let position = |at: usize| u32::try_from(at).map_err(|_| self.truncated(size));
        let span = Span { start: position(self.at)?, size: position(bytes.len())? };
        self.at = self.at.saturating_add(bytes.len());
        Ok((span, bytes))
    }

    #[cold]
    fn truncated(&self, size: u64) -> Error {
        broken!(
            Rule::PickleSyntax,
            "{size} bytes are promised at byte {} of the pickle, {} are left",
            self.at,
            self.left()
        )
    }

    /// The next bytes.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk::<N>().ok_or_else(|| self.truncated(N as u64))?;
        self.at = self.at.saturating_add(N);
        Ok(*bytes)
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    /// A number of four bytes, which is below 2^31 where it is a size: elsewhere it has a sign.
    pub fn u32(&mut self) -> Result<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    /// A number of eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    /// The bytes in front of the next line feed, which is passed.
    pub fn line(&mut self) -> Result<(Span, &'a [u8])> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let size = rest.iter().position(|byte| *byte == b'\n');
        let size =
            size.ok_or_else(|| broken!(Rule::PickleSyntax, "the line at byte {} does not end", self.at))?;
        let line = self.span(size as u64)?;
        self.at = self.at.saturating_add(1);
        Ok(line)
    }
}
