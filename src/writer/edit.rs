//! Changes of the objects that a file has to which is appended. They are in the manifest that `finish`
//! writes; until then the file is as it was.

use super::append_base::AppendBase;
use super::attributes::{remove_key, set_pair};
use super::specs::check_object_name;
use super::state::{name_exists, Writer};
use crate::error::{fail, Result};
use crate::model::value::Value;

impl Writer {
    /// Takes an object away. Its bytes stay where they are, and nothing says what they are.
    pub fn remove_object(&mut self, name: &str) -> Result<()> {
        let at = self.object_to_edit(name)?;
        self.edited_base()?.remove(at)
    }

    /// Gives an object another name, which no object has.
    pub fn rename_object(&mut self, name: &str, new_name: &str) -> Result<()> {
        let at = self.object_to_edit(name)?;
        let in_object = |e: crate::error::Error| e.within(format_args!("object {new_name:?}"));
        check_object_name(new_name, self.capabilities()).map_err(in_object)?;
        if self.has_name(new_name) {
            return Err(in_object(name_exists()));
        }
        self.edited_base()?.rename(at, new_name)
    }

    /// Sets an attribute of an object that was there before this writer.
    pub fn set_attribute_of(&mut self, object: &str, key: &str, value: Value<'_>) -> Result<()> {
        let at = self.object_to_edit(object)?;
        self.capabilities().check_attribute(Some(key), value)?;
        let (edit, _) = self.edited_base()?.edit(at)?;
        set_pair(&mut edit.attributes.set, key, value)
            .map_err(|e| e.within(format_args!("object {object:?}")))
    }

    /// Takes an attribute of such an object away.
    pub fn remove_attribute_of(&mut self, object: &str, key: &str) -> Result<()> {
        let at = self.object_to_edit(object)?;
        let (edit, old) = self.edited_base()?.edit(at)?;
        remove_key(&mut edit.attributes, old, key).map_err(|e| e.within(format_args!("object {object:?}")))
    }

    /// The position in the file of an object that was there before this writer.
    fn object_to_edit(&self, name: &str) -> Result<usize> {
        self.check_idle()?;
        match self.append_base.as_ref().and_then(|base| base.find(name)) {
            Some(at) => Ok(at),
            None if self.has_name(name) => Err(fail!(
                State,
                "object {name:?} was written by this writer; only those that the file had before can be edited"
            )),
            None => Err(fail!(NotFound, "there is no object {name:?} to edit")),
        }
    }

    fn edited_base(&mut self) -> Result<&mut AppendBase> {
        self.append_base.as_mut().ok_or_else(|| fail!(State, "the writer makes a new file"))
    }
}
