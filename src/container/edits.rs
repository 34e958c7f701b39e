//! What changes of a manifest that is carried over to the new end of its file.

use crate::error::Result;
use crate::model::manifest::table_position;
use crate::model::value::{Attributes, Value};

/// Attributes that are taken away and set. A key that is there keeps its place; others come last.
#[derive(Debug, Default)]
pub struct AttributeEdits {
    /// Keys that are taken away; they may be set again.
    pub removed: Vec<String>,
    /// Attributes that are set, no key twice.
    pub set: Attributes,
}

impl AttributeEdits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.set.is_empty()
    }

    /// Whether what is there under that key is taken away.
    pub fn removes(&self, key: Value<'_>) -> bool {
        key.as_text().is_some_and(|key| self.removed.iter().any(|removed| removed == key))
    }
}

/// The edit of an object that the file has.
#[derive(Debug, Default)]
pub struct ObjectEdit {
    /// Nothing is left of it.
    pub is_removed: bool,
    /// Its other name.
    pub name: Option<String>,
    /// Its attributes.
    pub attributes: AttributeEdits,
}

/// The edits of the objects that the file has; most have none, and stay as they are encoded.
#[derive(Debug, Default)]
pub struct ObjectEdits {
    /// For each object the number of its edit, counted from 1; nothing at all while there is no edit.
    numbers: Vec<u32>,
    edits: Vec<ObjectEdit>,
}

impl ObjectEdits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    fn position(&self, object: usize) -> Option<usize> {
        (self.numbers.get(object).copied()? as usize).checked_sub(1)
    }

    /// The edit of the object at that position.
    pub fn get(&self, object: usize) -> Option<&ObjectEdit> {
        self.edits.get(self.position(object)?)
    }

    /// The edit of the object at that position, to be changed.
    pub fn get_mut(&mut self, object: usize) -> Option<&mut ObjectEdit> {
        let at = self.position(object)?;
        self.edits.get_mut(at)
    }

    /// Whether the object at that position is taken away.
    pub fn removes(&self, object: usize) -> bool {
        self.get(object).is_some_and(|edit| edit.is_removed)
    }

    /// How many objects are taken away.
    pub fn removed_count(&self) -> usize {
        self.edits.iter().filter(|edit| edit.is_removed).count()
    }

    /// A place for the edit of that object, of `count` that there are.
    pub fn reserve(&mut self, object: usize, count: usize) -> Result<()> {
        if self.position(object).is_some() {
            return Ok(());
        }
        self.numbers.try_reserve_exact(count.saturating_sub(self.numbers.len()))?;
        self.edits.try_reserve(1)?;
        let number = table_position(self.edits.len().saturating_add(1))?;
        self.numbers.resize(count.max(self.numbers.len()), 0);
        if let Some(place) = self.numbers.get_mut(object) {
            *place = number;
            self.edits.push(ObjectEdit::default());
        }
        Ok(())
    }
}
