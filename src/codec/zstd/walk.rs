//! Reads frame and block headers of zstd data (RFC 8878, section 3.1). This gives the ends of frames and the
//! largest sizes they can have, without decoding.

use crate::codec::frames::{Header, Stored};
use crate::error::{broken, Error, Result, Rule};

/// The first four bytes of a frame.
const MAGIC: u32 = 0xFD2F_B528;
/// The first four bytes of a skippable frame. Its lowest four bits may have any value.
const SKIPPABLE: u32 = 0x184D_2A50;
/// The most bytes that a block decodes to.
const MAX_BLOCK: u64 = 128 << 10;
/// The largest window that libzstd accepts: 2^31 bytes, and up to 7/8 more.
const MAX_WINDOW_LOG: u32 = 31;

/// Reads the headers of the frame at `at`.
pub(super) fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
    Reader { stored, at, start: at }.frame()
}

struct Reader<'a> {
    /// All stored bytes.
    stored: &'a mut dyn Stored,
    /// The next byte to read.
    at: usize,
    /// The offset of this frame.
    start: usize,
}

impl Reader<'_> {
    /// Reads `count` bytes (at most 8) as a little-endian number.
    fn number(&mut self, count: usize) -> Result<u64> {
        let found = self.stored.peek(self.at, count)?;
        let number =
            found.map(|bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
        self.at = self.at.saturating_add(count);
        number.ok_or_else(|| self.truncated())
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        match end.filter(|&end| end <= self.stored.size()) {
            Some(end) => self.at = end,
            None => return Err(self.truncated()),
        }
        Ok(())
    }

    /// The error if the stored bytes end inside the frame.
    fn truncated(&self) -> Error {
        self.corrupt(format_args!("the stored bytes end within it, at {}", self.stored.size()))
    }

    fn corrupt(&self, what: std::fmt::Arguments<'_>) -> Error {
        broken!(Rule::ZstdCorrupt, "zstd frame at byte {} of the stored bytes: {what}", self.start)
    }

    /// Reads a frame, from its magic number to its last byte.
    fn frame(self) -> Result<Header> {
        let left = self.stored.size().saturating_sub(self.start);
        if left == 0 {
            return Err(broken!(
                Rule::ZstdCorrupt,
                "it has no stored bytes; even empty zstd data needs one frame"
            ));
        }
        let magic = self.stored.peek(self.start, 4)?.and_then(|bytes| bytes.first_chunk::<4>());
        let magic = magic.map(|bytes| u32::from_le_bytes(*bytes));
        match magic {
            Some(MAGIC) => self.data_frame(),
            Some(magic) if magic & !0xF == SKIPPABLE => self.skippable_frame(),
            _ if self.start > 0 => {
                let at = self.start;
                Err(broken!(Rule::ZstdTrailing, "the {left} stored bytes from {at} on are not a zstd frame"))
            }
            Some(magic) => {
                Err(self.corrupt(format_args!("it begins with {magic:#010x}, zstd with {MAGIC:#010x}")))
            }
            None => Err(self.truncated()),
        }
    }

    /// A frame that decoders skip.
    fn skippable_frame(mut self) -> Result<Header> {
        self.skip(4)?;
        let size = self.number(4)?;
        self.skip(size)?;
        Ok(Header { stored: self.start..self.at, content: Some(0), skippable: true, ..Header::default() })
    }

    fn data_frame(mut self) -> Result<Header> {
        self.skip(4)?;
        let descriptor = self.number(1)?;
        if descriptor & 0x08 != 0 {
            return Err(self.corrupt(format_args!("a reserved bit of its header is set")));
        }
        let single_segment = descriptor & 0x20 != 0;
        let mut window = if single_segment { 0 } else { self.window()? };
        let dictionary = self.number(match descriptor & 3 {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 4,
        })?;
        if dictionary != 0 {
            return Err(self.corrupt(format_args!("it needs dictionary {dictionary}; the format has none")));
        }
        let content = match descriptor >> 6 {
            0 if single_segment => Some(self.number(1)?),
            0 => None,
            1 => Some(self.number(2)?.saturating_add(256)),
            2 => Some(self.number(4)?),
            _ => Some(self.number(8)?),
        };
        if let (true, Some(content)) = (single_segment, content) {
            window = content;
        }
        let capacity = self.blocks(window.min(MAX_BLOCK))?;
        if descriptor & 0x04 != 0 {
            self.skip(4)?; // the checksum of the frame
        }
        if let Some(content) = content.filter(|&content| content > capacity) {
            return Err(self.corrupt(format_args!(
                "its header promises {content} bytes, its blocks hold {capacity} at most"
            )));
        }
        let max_size = content.unwrap_or(capacity);
        Ok(Header { stored: self.start..self.at, content, max_size, window, ..Header::default() })
    }

    fn window(&mut self) -> Result<u64> {
        let byte = self.number(1)?;
        let log = u32::try_from(byte >> 3).unwrap_or(u32::MAX).saturating_add(10);
        let base = 1u64.checked_shl(log).unwrap_or(u64::MAX); // at most 2^41
        if log > MAX_WINDOW_LOG {
            return Err(
                self.corrupt(format_args!("its window of 2^{log} bytes is larger than any decoder accepts"))
            );
        }
        Ok(base.saturating_add((base >> 3).saturating_mul(byte & 7)))
    }

    /// Skips all blocks. Returns the largest content that they can have.
    fn blocks(&mut self, block_most: u64) -> Result<u64> {
        let mut capacity = 0u64;
        loop {
            let header = self.number(3)?;
            let size = header >> 3;
            let (stored, decoded) = match header >> 1 & 3 {
                0 => (size, size),
                1 => (1, size), // one byte that is repeated
                2 => (size, block_most),
                _ => {
                    return Err(self.corrupt(format_args!("a block of the reserved kind, before {}", self.at)))
                }
            };
            self.skip(stored)?;
            capacity = capacity.saturating_add(decoded.min(block_most));
            if header & 1 != 0 {
                return Ok(capacity);
            }
        }
    }
}
