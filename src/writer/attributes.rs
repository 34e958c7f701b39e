//! Attributes of the file and its objects, and other edits of existing objects.

use super::append_base::AppendBase;
use super::copy_plan::{Agree, Losses};
use super::description::check_object_name;
use super::state::{name_exists, Phase, Writer};
use crate::container::AttributeEdits;
use crate::error::{fail, Error, Result};
use crate::memory::{owned_text, push};
use crate::model::value::{self, Attributes, Value};
use crate::reader::File;

impl Writer {
    /// Sets an attribute of the file.
    pub fn set_attribute(&mut self, key: &str, value: Value<'_>) -> Result<()> {
        self.check_not_closed()?;
        self.capabilities().check_file_attribute(Some(key), value)?;
        self.canonical.check_attribute_key(key)?;
        set_pair(&mut self.attributes.set, key, value)
    }

    /// Replaces all attributes of the file. Keys may have any kind.
    pub fn set_attributes(&mut self, attributes: Attributes) -> Result<()> {
        self.check_not_closed()?;
        self.capabilities().check_all_file_attributes(&attributes)?;
        check_attributes(&attributes)?;
        self.canonical.check_attribute_keys(&attributes)?;
        self.attributes.set = attributes;
        Ok(())
    }

    /// Replaces all attributes of the file. If `agree` allows it, leaves out those that the file cannot have.
    pub fn set_attributes_agreed(&mut self, attributes: Attributes, agree: &mut Agree<'_>) -> Result<()> {
        let to = self.capabilities();
        let kept = Losses::new(agree)
            .retain_attributes(attributes, |key, value| to.check_file_attribute(key, value))?;
        self.set_attributes(kept)
    }

    /// Replaces all attributes of the file by those of an open file, including its origin.
    pub fn copy_attributes(&mut self, file: &File) -> Result<()> {
        self.set_attributes(file.attributes_to_copy()?)
    }

    /// Removes an attribute of the file.
    pub fn remove_attribute(&mut self, key: &str) -> Result<()> {
        self.check_not_closed()?;
        let old = self.append_base.as_ref().and_then(|base| base.file.attributes());
        remove_key(&mut self.attributes, old, key)
    }

    /// Removes an attribute of the open object.
    pub fn remove_object_attribute(&mut self, key: &str) -> Result<()> {
        remove_pair(self.open_attributes()?, key)
    }

    /// Sets an attribute of the open object.
    pub fn set_object_attribute(&mut self, key: &str, value: Value<'_>) -> Result<()> {
        let to = self.capabilities();
        self.canonical.check_attribute_key(key)?;
        let attributes = self.open_attributes()?;
        to.check_attribute(Some(key), value)?;
        set_pair(attributes, key, value)
    }

    fn open_attributes(&mut self) -> Result<&mut Attributes> {
        match &mut self.state {
            Phase::Object { attributes, .. } => Ok(attributes),
            Phase::Idle => Err(fail!(State, "no object is open")),
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }
}

/// Edits of existing objects of a file that is appended to. `finish` writes them with the manifest; until
/// then the file does not change.
impl Writer {
    /// Removes an object. Its bytes stay in the file as padding.
    pub fn remove_object(&mut self, name: &str) -> Result<()> {
        let at = self.object_to_edit(name)?;
        self.edited_base()?.remove(at)
    }

    /// Renames an object. No other object has the new name.
    pub fn rename_object(&mut self, name: &str, new_name: &str) -> Result<()> {
        let at = self.object_to_edit(name)?;
        let in_object = |e: Error| e.within(format_args!("object {new_name:?}"));
        check_object_name(new_name, self.capabilities()).map_err(in_object)?;
        if self.has_name(new_name) {
            return Err(in_object(name_exists()));
        }
        self.edited_base()?.rename(at, new_name)
    }

    /// Sets an attribute of an object that the file had before this writer.
    pub fn set_attribute_of(&mut self, object: &str, key: &str, value: Value<'_>) -> Result<()> {
        let at = self.object_to_edit(object)?;
        self.capabilities().check_attribute(Some(key), value)?;
        let (edit, _) = self.edited_base()?.edit(at)?;
        set_pair(&mut edit.attributes.set, key, value)
            .map_err(|e| e.within(format_args!("object {object:?}")))
    }

    /// Removes an attribute of an object that the file had before this writer.
    pub fn remove_attribute_of(&mut self, object: &str, key: &str) -> Result<()> {
        let at = self.object_to_edit(object)?;
        let (edit, old) = self.edited_base()?.edit(at)?;
        remove_key(&mut edit.attributes, old, key).map_err(|e| e.within(format_args!("object {object:?}")))
    }

    /// The position of an object that the file had before this writer.
    fn object_to_edit(&self, name: &str) -> Result<usize> {
        self.check_idle()?;
        match self.append_base.as_ref().and_then(|base| base.find(name)) {
            Some(at) => Ok(at),
            None if self.has_name(name) => Err(fail!(
                State,
                "object {name:?} was written by this writer; only those that the file had before can be \
                 edited"
            )),
            None => Err(fail!(NotFound, "there is no object {name:?} to edit")),
        }
    }

    fn edited_base(&mut self) -> Result<&mut AppendBase> {
        self.append_base.as_mut().ok_or_else(|| fail!(State, "the writer makes a new file"))
    }
}

/// Sets an attribute, or replaces the attribute with the same key.
fn set_pair(attributes: &mut Attributes, key: &str, value: Value<'_>) -> Result<()> {
    value::check_writable(value).map_err(|e| e.within(format_args!("attribute {key:?}")))?;
    attributes.set(key, value)
}

/// Removes an attribute; the others keep their order.
fn remove_pair(attributes: &mut Attributes, key: &str) -> Result<()> {
    match attributes.remove(key) {
        true => Ok(()),
        false => Err(fail!(NotFound, "there is no attribute {key:?} to remove")),
    }
}

/// Removes a key from the new attributes, and from `old`, the existing ones.
fn remove_key(edits: &mut AttributeEdits, old: Option<Value<'_>>, key: &str) -> Result<()> {
    let is_removed = edits.removed.iter().any(|removed| removed == key);
    let is_there = !is_removed && old.is_some_and(|map| map.get(key).is_some());
    if is_there {
        let key = owned_text(key)?;
        push(&mut edits.removed, key)?;
    }
    match remove_pair(&mut edits.set, key) {
        Err(_) if is_there => Ok(()),
        outcome => outcome,
    }
}

/// Checks attributes that were set all at once: no key occurs twice, and readers accept all values.
pub(super) fn check_attributes(attributes: &Attributes) -> Result<()> {
    for (key, value) in attributes.iter() {
        value::check_writable(key).and_then(|()| value::check_writable(value))?;
    }
    match value::keys_are_unique(attributes.iter())? {
        true => Ok(()),
        false => Err(fail!(Exists, "two attributes have the same key")),
    }
}
