//! Records of values, one behind the other in one buffer.

use super::layout;
use super::record::Value;
use crate::error::{fail, Result};
use crate::memory::{Budget, HugeVec};
use crate::model::text::Position;

/// An array, map or tagged value that is being built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Where its record begins.
    pub start: usize,
    /// Items that it has so far; keys and values count each.
    pub count: u32,
    /// Items that are still to come, where that is known.
    pub left: Option<u64>,
    /// Items that came as elements of the dtype that is stated for all of them, and so have one size.
    pub elements: u32,
}

/// Values in one buffer; each is at its position. At most 4 GiB.
#[derive(Debug, Default)]
pub struct Tape {
    records: HugeVec<u8>,
    /// Bytes that were charged for it.
    charged: u64,
    /// Kept from one value to the next, as its memory is.
    pub(super) open: Vec<Open>,
}

impl Tape {
    /// The value at a position that [`super::ValueBuilder::finish`] or [`Tape::add`] gave; null at others.
    #[inline]
    pub fn get(&self, position: Position) -> Value<'_> {
        Value::first_of(self.records.get(position.index()..).unwrap_or_default())
    }

    /// Keeps a copy of a value.
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

    /// Bytes of all records.
    pub fn size(&self) -> usize {
        self.records.len()
    }

    /// Bytes that were charged for it, where a budget was given.
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// Bytes of memory that it has.
    pub fn capacity(&self) -> usize {
        self.records.capacity()
    }

    /// Where the first record begins; the others begin [`Position::index`] bytes behind it.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.records.as_ptr()
    }

    /// Bytes that can be added without asking for memory.
    #[inline]
    pub fn spare_capacity(&self) -> usize {
        self.records.capacity().saturating_sub(self.records.len())
    }

    /// Room for `bytes` more bytes, and not many more.
    pub fn try_reserve_exact(&mut self, bytes: usize) -> Result<()> {
        self.records.try_reserve_exact(bytes)
    }

    /// Gives memory back that no record is in, if it is much; what is kept instead is charged.
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
            return Ok(()); // or both cannot be there
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

    /// Forgets what comes behind the first `size` bytes, where a record ends.
    pub fn truncate(&mut self, size: usize) {
        self.records.truncate(size);
    }

    /// Makes sure that there is room for `more` bytes; what is asked for is charged.
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

    /// Room for `more` bytes and not many more, charged before it is asked for.
    pub(crate) fn reserve_within(&mut self, more: usize, budget: &Budget) -> Result<()> {
        // Old and new buffer exist while one is copied to the other.
        let size = self.records.len().saturating_add(more) as u64;
        budget.charge(size, "attributes")?;
        self.records.try_reserve_exact(more)?;
        budget.give_back(self.charged);
        self.charged = size;
        Ok(())
    }

    /// The bytes of all records.
    pub(super) fn records(&self) -> &[u8] {
        &self.records
    }

    /// Counts elements with that tag of what is open, if its items are stated to be such.
    pub(super) fn count_elements(&mut self, tag: u8, count: u32) {
        let Some(open) = self.open.last_mut() else { return };
        if self.records.get(open.start.saturating_add(layout::ELEMENT_AT)) == Some(&tag) {
            open.elements = open.elements.saturating_add(count);
        }
    }

    /// The bytes of all records, to be changed.
    pub(super) fn records_mut(&mut self) -> &mut [u8] {
        &mut self.records
    }

    /// Appends bytes that stand in several places.
    #[inline(always)]
    pub(super) fn extend_joined<const PLACES: usize>(&mut self, places: [&[u8]; PLACES]) -> Result<()> {
        self.records.extend_joined(places)
    }

    /// Appends this many zeros.
    pub(super) fn extend_filled(&mut self, bytes: usize) -> Result<()> {
        self.records.extend_filled(bytes, 0)
    }

    /// Where the record ends that begins at `at`.
    #[inline]
    pub(super) fn end_of(&self, at: usize) -> usize {
        let size = self.records.get(at..).and_then(layout::record_size);
        at.saturating_add(size.unwrap_or(usize::MAX))
    }
}
