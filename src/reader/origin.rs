//! What a file of another container says beside objects and attributes, and where a `.zt` file notes it.

use super::file::File;
use crate::container;
use crate::error::{fail, Result};
use crate::model::value::{Attributes, OwnedValue};

impl File {
    /// The attribute of a `.zt` file that says what it was made from, so that converting back gives the same file.
    pub const ORIGIN: &'static str = "ztensor.origin";

    /// What that attribute is: of a file of another container what it would be, where there is anything to say.
    pub fn origin(&self) -> Result<Option<OwnedValue>> {
        if self.part_count() > 1 {
            return Ok(None);
        }
        if let Some(said) = self.own_origin()? {
            return Ok(Some(said));
        }
        let noted = self.attributes().and_then(|map| map.get(Self::ORIGIN));
        noted.map(|noted| OwnedValue::build(|builder| builder.copy(noted))).transpose()
    }

    /// What its container says beside objects and attributes; nothing of a model of several files, which is not one file
    /// when it is converted back.
    fn own_origin(&self) -> Result<Option<OwnedValue>> {
        let Some(part) = self.only_part().ok().filter(|part| part.hidden.is_empty()) else { return Ok(None) };
        let read = |offset, dst: &mut [u8]| part.source().read_at(offset, dst);
        container::origin(&self.manifest, part.frame(), &read).map_err(|e| part.named(e))
    }

    /// All that a copy of the file has as its attributes: its own, and what it says beside them.
    pub fn attributes_to_copy(&self) -> Result<Attributes> {
        let mut attributes = Attributes::of(self.attributes())?;
        if let Some(said) = self.own_origin()? {
            if attributes.get(Self::ORIGIN).is_some() {
                return Err(self.in_file(fail!(
                    Exists,
                    "it has an attribute {:?}, which is where a copy notes what it is made from",
                    Self::ORIGIN
                )));
            }
            attributes.set(Self::ORIGIN, said.get())?;
        }
        if self.part_count() > 1 {
            // What one of the parts was made from, and which part it is.
            attributes.remove(Self::ORIGIN);
            for key in container::SPLIT_KEYS {
                attributes.remove(key);
            }
        }
        Ok(attributes)
    }
}
