//! The names of a manifest, all in one arena, and positions in its tables.

use crate::error::{fail, Result};
use crate::memory::HugeVec;
use std::num::NonZeroU32;

/// A text in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextId {
    start: u32,
    length: u32,
}

impl TextId {
    /// The offset of the text in the arena.
    #[inline]
    pub fn start(&self) -> usize {
        self.start as usize
    }

    /// The same text after `by` bytes were inserted at the start of the arena.
    pub fn moved(self, by: u32) -> Option<TextId> {
        Some(TextId { start: self.start.checked_add(by)?, ..self })
    }

    /// The length in bytes, without the NUL.
    #[inline]
    pub fn size(&self) -> usize {
        self.length as usize
    }
}

/// All names of a manifest. Each has a NUL at the end, so that C can borrow it.
#[derive(Debug, Default)]
pub struct TextArena {
    arena: HugeVec<u8>,
}

impl TextArena {
    /// Adds a copy of `text`.
    pub fn add(&mut self, text: &str) -> Result<TextId> {
        self.add_bytes(text.as_bytes())
    }

    /// Adds bytes. If they are not UTF-8, [`TextArena::get`] returns an empty text.
    #[inline]
    pub(crate) fn add_bytes(&mut self, text: &[u8]) -> Result<TextId> {
        let too_many = || fail!(Limit, "the manifest's names pass 4 GiB");
        let start = u32::try_from(self.arena.len()).map_err(|_| too_many())?;
        let length = u32::try_from(text.len()).map_err(|_| too_many())?;
        self.arena.extend_joined([text, &[0]])?;
        Ok(TextId { start, length })
    }

    /// The text.
    pub fn get(&self, text: TextId) -> &str {
        std::str::from_utf8(self.get_bytes(text)).unwrap_or_default()
    }

    /// Its bytes.
    #[inline]
    pub fn get_bytes(&self, text: TextId) -> &[u8] {
        let start = text.start as usize;
        self.arena.get(start..start.saturating_add(text.length as usize)).unwrap_or_default()
    }

    /// The text, with the NUL at its end.
    pub fn get_c_bytes(&self, text: TextId) -> &[u8] {
        let start = text.start as usize;
        let end = start.saturating_add(text.length as usize).saturating_add(1);
        self.arena.get(start..end).unwrap_or(b"\0")
    }

    /// The address of the first text. Another text is [`TextId::start`] bytes after it.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.arena.as_ptr()
    }

    /// The size of all texts, including their NULs.
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// Appends the texts of another arena.
    pub fn append(&mut self, other: &TextArena) -> Result<()> {
        self.arena.extend(&other.arena)
    }

    /// Removes all texts after the first `size` bytes.
    pub(super) fn truncate(&mut self, size: usize) {
        self.arena.truncate(size);
    }

    /// How many bytes can be added without an allocation.
    pub fn spare_capacity(&self) -> usize {
        self.arena.capacity().saturating_sub(self.arena.len())
    }

    /// Reserves `bytes` more bytes, and at least doubles the memory if it has to grow.
    pub fn try_reserve(&mut self, bytes: usize) -> Result<()> {
        self.arena.try_reserve(bytes)
    }

    /// Reserves `bytes` more bytes, and not many more.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.arena.try_reserve_exact(bytes)
    }
}

/// A position in a table. An `Option` of it takes no extra memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(NonZeroU32);

impl Position {
    /// The position after `filled` entries.
    pub fn after(filled: usize) -> Result<Position> {
        let next = u32::try_from(filled).ok().and_then(|n| n.checked_add(1)).and_then(NonZeroU32::new);
        next.map(Position).ok_or_else(|| fail!(Limit, "a table of the manifest passes 2^32 entries"))
    }

    /// The position as an index of the table.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() as usize).saturating_sub(1)
    }
}
