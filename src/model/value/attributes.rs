//! The pairs of an attribute map that is still being changed.

use super::builder::ValueBuilder;
use super::record::Value;
use super::tape::Tape;
use crate::error::Result;
use crate::memory::{bytes_of, Budget};
use crate::model::text::Position;

/// Pairs of key and value, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Attributes {
    tape: Tape,
    pairs: Vec<(Position, Position)>,
}

impl Attributes {
    /// Copies of the pairs of a map.
    pub fn of(map: Option<Value<'_>>) -> Result<Attributes> {
        let mut attributes = Attributes::default();
        attributes.extend(map.unwrap_or(Value::EMPTY_MAP))?;
        Ok(attributes)
    }

    /// Appends copies of the pairs of a map. Keys may have any kind.
    pub fn extend(&mut self, map: Value<'_>) -> Result<()> {
        self.pairs.try_reserve(map.pairs().len())?;
        map.pairs().try_for_each(|(key, value)| self.push(key, value))
    }

    /// Appends a copy of a pair. The key may have any kind.
    pub fn push(&mut self, key: Value<'_>, value: Value<'_>) -> Result<()> {
        self.pairs.try_reserve(1)?;
        let pair = (self.tape.add(key)?, self.tape.add(value)?);
        self.pairs.push(pair);
        Ok(())
    }

    /// Appends a pair of a text key and the value that `read` builds. Memory is charged to `budget`.
    pub fn push_read(
        &mut self,
        key: &str,
        budget: Option<&Budget>,
        read: impl FnOnce(&mut Tape) -> Result<Position>,
    ) -> Result<()> {
        if self.pairs.len() == self.pairs.capacity() {
            let (before, more) = (self.pairs.capacity(), self.pairs.len().max(1));
            let size = bytes_of::<(Position, Position)>;
            budget.map_or(Ok(()), |budget| budget.charge(size(before.saturating_add(more)), "attributes"))?;
            self.pairs.try_reserve_exact(more)?;
            budget.inspect(|budget| budget.give_back(size(before)));
        }
        let mut builder = ValueBuilder::new(&mut self.tape).within(budget);
        builder.text(key)?;
        let key = builder.finish()?;
        let value = read(&mut self.tape)?;
        self.pairs.push((key, value));
        Ok(())
    }

    /// Sets the value of a text key.
    pub fn set(&mut self, key: &str, value: Value<'_>) -> Result<()> {
        self.set_read(key, |tape| tape.add(value))
    }

    /// Sets the value of a text key to the value that `build` makes.
    pub fn set_built(
        &mut self,
        key: &str,
        build: impl FnOnce(&mut ValueBuilder<'_>) -> Result<()>,
    ) -> Result<()> {
        self.set_read(key, |tape| {
            let mut builder = ValueBuilder::new(tape);
            build(&mut builder)?;
            builder.finish()
        })
    }

    fn set_read(&mut self, key: &str, read: impl FnOnce(&mut Tape) -> Result<Position>) -> Result<()> {
        let found = self.position(key);
        match found.and_then(|at| self.pairs.get_mut(at)) {
            Some((_, place)) => *place = read(&mut self.tape)?,
            None => self.push_read(key, None, read)?,
        }
        Ok(())
    }

    /// Removes the pair with a text key; the others keep their order. Returns false if the key does not
    /// exist.
    pub fn remove(&mut self, key: &str) -> bool {
        let found = self.position(key);
        found.map(|at| self.pairs.remove(at)).is_some()
    }

    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<Value<'_>> {
        let (_, value) = self.pairs.get(self.position(key)?)?;
        Some(self.tape.get(*value))
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.iter().position(|(old, _)| old.is_text(key))
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// All pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Value<'_>, Value<'_>)> + Clone {
        self.pairs.iter().map(|(key, value)| (self.tape.get(*key), self.tape.get(*value)))
    }

    /// How many bytes were charged.
    pub fn charged(&self) -> u64 {
        bytes_of::<(Position, Position)>(self.pairs.capacity()).saturating_add(self.tape.charged())
    }

    /// Appends a map of all pairs to a tape. Memory is charged to `budget`.
    pub fn put(&self, tape: &mut Tape, budget: Option<&Budget>) -> Result<Position> {
        let mut builder = ValueBuilder::new(tape).within(budget);
        builder.begin_map(Some(self.pairs.len() as u64))?;
        self.iter().try_for_each(|(key, value)| builder.copy(key).and_then(|()| builder.copy(value)))?;
        builder.end()?;
        builder.finish()
    }
}
