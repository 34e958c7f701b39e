//! Records of values, one after the other in one buffer.

use super::layout;
use super::record::Value;
use crate::error::{fail, Result};
use crate::memory::{Budget, HugeVec};
use crate::model::text::Position;

/// An array, map or tagged value that is being built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The offset of its record.
    pub start: usize,
    /// How many items it has so far. A key and a value are two items.
    pub count: u32,
    /// How many items will follow, if that is known.
    pub left: Option<u64>,
    /// How many items were added as elements of the stated dtype. They all have the same size.
    pub elements: u32,
}

/// Values in one buffer of at most 4 GiB. A value is identified by its position.
#[derive(Debug, Default)]
pub struct Tape {
    pub(super) records: HugeVec<u8>,
    /// How many bytes were charged to the budget.
    charged: u64,
    /// Kept from one value to the next, to reuse its memory.
    pub(super) open: Vec<Open>,
}

impl Tape {
    /// The value at a position that [`super::ValueBuilder::finish`] or [`Tape::add`] returned; null at other
    /// positions.
    #[inline]
    pub fn get(&self, position: Position) -> Value<'_> {
        Value::first_of(self.records.get(position.index()..).unwrap_or_default())
    }

    /// Adds a copy of a value.
    pub fn add(&mut self, value: Value<'_>) -> Result<Position> {
        let position = Position::after(self.size())?;
        self.try_reserve(value.record().len(), None)?;
        self.records.extend(value.record())?;
        Ok(position)
    }

    /// Appends the records of another tape.
    pub fn append(&mut self, other: &Tape) -> Result<()> {
        self.try_reserve(other.size(), None)?;
        self.records.extend(&other.records)
    }

    /// The size of all records.
    pub fn size(&self) -> usize {
        self.records.len()
    }

    /// How many bytes were charged, if there was a budget.
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// The size of its memory in bytes.
    pub fn capacity(&self) -> usize {
        self.records.capacity()
    }

    /// The address of the first record. Another record is [`Position::index`] bytes after it.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.records.as_ptr()
    }

    /// How many bytes can be added without an allocation.
    #[inline]
    pub fn spare_capacity(&self) -> usize {
        self.records.capacity().saturating_sub(self.records.len())
    }

    /// Reserves `bytes` more bytes, and not many more.
    pub fn try_reserve_exact(&mut self, bytes: usize) -> Result<()> {
        self.records.try_reserve_exact(bytes)
    }

    /// Frees unused memory if it is much. Charges the memory that is kept.
    pub fn trim(&mut self, budget: Option<&Budget>) -> Result<()> {
        const LITTLE: usize = 64 << 10;
        let filled = self.records.len();
        let is_little = self.spare_capacity() <= (filled / 8).max(LITTLE);
        if !is_little && self.records.shrink() {
            let kept = if budget.is_some() { filled as u64 } else { 0 };
            budget.inspect(|budget| budget.give_back(self.charged.saturating_sub(kept)));
            self.charged = self.charged.min(kept);
            return Ok(());
        }
        if is_little || budget.is_some_and(|budget| !budget.has(filled as u64)) {
            return Ok(()); // there is no memory for a copy
        }
        budget.map_or(Ok(()), |budget| budget.charge(filled as u64, "attributes"))?;
        let mut exact = HugeVec::default();
        exact.try_reserve_exact(filled)?;
        exact.extend(&self.records)?;
        self.records = exact;
        budget.inspect(|budget| budget.give_back(self.charged));
        self.charged = budget.map_or(0, |_| filled as u64);
        Ok(())
    }

    /// Removes everything after the first `size` bytes, where a record ends.
    pub fn truncate(&mut self, size: usize) {
        self.records.truncate(size);
    }

    /// Ensures that there is space for `more` bytes, and charges what is allocated.
    #[inline(always)]
    pub(super) fn try_reserve(&mut self, more: usize, budget: Option<&Budget>) -> Result<()> {
        match self.spare_capacity() >= more {
            true => Ok(()),
            false => self.grow(more, budget),
        }
    }

    #[cold]
    fn grow(&mut self, more: usize, budget: Option<&Budget>) -> Result<()> {
        let filled = self.records.len();
        if filled.checked_add(more).is_none_or(|size| u32::try_from(size).is_err()) {
            return Err(fail!(Limit, "the values of attributes pass 4 GiB"));
        }
        let Some(budget) = budget else {
            return self.records.try_reserve(more);
        };
        let mut wanted = filled.max(more);
        if !budget.has(filled.saturating_add(wanted) as u64) {
            wanted = (filled / 4).max(more);
        }
        self.reserve_within(wanted, budget)
    }

    /// Reserves `more` bytes and not many more. Charges them before they are allocated.
    pub(crate) fn reserve_within(&mut self, more: usize, budget: &Budget) -> Result<()> {
        // The old and the new buffer both exist while one is copied to the other.
        let size = self.records.len().saturating_add(more) as u64;
        budget.charge(size, "attributes")?;
        self.records.try_reserve_exact(more)?;
        budget.give_back(self.charged);
        self.charged = size;
        Ok(())
    }

    /// Counts elements with this tag for the innermost open value, if its items are stated to have this
    /// dtype.
    pub(super) fn count_elements(&mut self, tag: u8, count: u32) {
        let Some(open) = self.open.last_mut() else { return };
        if self.records.get(open.start.saturating_add(layout::ELEMENT_AT)) == Some(&tag) {
            open.elements = open.elements.saturating_add(count);
        }
    }

    /// The end of the record that begins at `at`.
    #[inline]
    pub(super) fn end_of(&self, at: usize) -> usize {
        let size = self.records.get(at..).and_then(layout::record_size);
        at.saturating_add(size.unwrap_or(usize::MAX))
    }
}
