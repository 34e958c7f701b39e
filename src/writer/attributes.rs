//! Attributes of the file and of the object that is open.

use super::{Phase, Writer};
use crate::error::{fail, Result};
use crate::model::value::{self, Attributes, Value};

impl Writer {
    /// Sets an attribute of the file.
    pub fn set_attribute(&mut self, key: &str, value: Value<'_>) -> Result<()> {
        if let Phase::Closed(why) = self.state {
            return Err(fail!(State, "{why}"));
        }
        self.capabilities().check_file_attributes()?;
        set_pair(&mut self.attributes, key, value)
    }

    /// Sets all attributes of the file at once; keys may be of any kind.
    pub fn set_attributes(&mut self, attributes: Attributes) -> Result<()> {
        if let Phase::Closed(why) = self.state {
            return Err(fail!(State, "{why}"));
        }
        if !attributes.is_empty() {
            self.capabilities().check_file_attributes()?;
        }
        check_attributes(&attributes)?;
        self.attributes = attributes;
        Ok(())
    }

    /// Takes an attribute of the file away.
    pub fn remove_attribute(&mut self, key: &str) -> Result<()> {
        match self.state {
            Phase::Closed(why) => Err(fail!(State, "{why}")),
            _ => {
                let is_new = remove_pair(&mut self.attributes, key);
                match self.append_base.as_mut().map_or(Ok(false), |base| base.remove_attribute(key))? {
                    true => Ok(()),
                    false => is_new,
                }
            }
        }
    }

    /// Takes an attribute of the object that is open away.
    pub fn remove_object_attribute(&mut self, key: &str) -> Result<()> {
        match &mut self.state {
            Phase::Object { attributes, .. } => remove_pair(attributes, key),
            Phase::Idle => Err(fail!(State, "no object is open")),
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }

    /// Sets an attribute of the object that is open.
    pub fn set_object_attribute(&mut self, key: &str, value: Value<'_>) -> Result<()> {
        let to = self.capabilities();
        match &mut self.state {
            Phase::Object { attributes, .. } => {
                to.check_attribute(Some(key))?;
                set_pair(attributes, key, value)
            }
            Phase::Idle => Err(fail!(State, "no object is open")),
            Phase::Closed(why) => Err(fail!(State, "{why}")),
        }
    }
}

/// Sets an attribute; one of the same key is replaced.
fn set_pair(attributes: &mut Attributes, key: &str, value: Value<'_>) -> Result<()> {
    value::check_writable(value).map_err(|e| e.within(format_args!("attribute {key:?}")))?;
    attributes.set(key, value)
}

/// Takes an attribute out; the others keep their order.
fn remove_pair(attributes: &mut Attributes, key: &str) -> Result<()> {
    match attributes.remove(key) {
        true => Ok(()),
        false => Err(fail!(NotFound, "there is no attribute {key:?} to remove")),
    }
}

/// Attributes that came all at once: no key twice, nothing that no reader takes.
pub(super) fn check_attributes(attributes: &Attributes) -> Result<()> {
    for (key, value) in attributes.iter() {
        value::check_writable(key).and_then(|()| value::check_writable(value))?;
    }
    match value::keys_are_unique(attributes.iter())? {
        true => Ok(()),
        false => Err(fail!(Exists, "an attribute is there twice")),
    }
}
