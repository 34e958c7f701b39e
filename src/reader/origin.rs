//! What a file of another container declares besides objects and attributes, and how a `.zt` file stores it.

use super::file::File;
use crate::container::{self, OriginOf};
use crate::error::{fail, Result};
use crate::model::value::{Attributes, OwnedValue, Value};

/// The part of the value that only describes keys. The rest has offsets in the file.
const OF_KEYS: [&str; 4] = ["container", "version", "byte_order", "keys"];

impl File {
    /// The attribute of a `.zt` file that describes the file it was made from, so that converting back gives
    /// the same file.
    pub const ORIGIN: &'static str = "ztensor.origin";

    /// A key of that attribute. If several files were written as one model, it gives their number.
    pub const ORIGIN_PARTS: &'static str = "parts";

    /// The value of that attribute. For a file of another container, it is the value that a copy would get,
    /// if any. For a model, it comes from the first file.
    pub fn origin(&self) -> Result<Option<OwnedValue>> {
        if let Some(said) = self.own_origin()? {
            return Ok(Some(said));
        }
        let Some(noted) = self.attributes().and_then(|map| map.get(Self::ORIGIN)) else { return Ok(None) };
        let is_of_all = self.is_of_all(Some(noted));
        if !is_of_all && noted.get("keys").is_none() {
            return Ok(None);
        }
        let is_kept = |key: Value<'_>| match is_of_all {
            true => !key.is_text(Self::ORIGIN_PARTS),
            false => OF_KEYS.iter().any(|kept| key.is_text(kept)),
        };
        let kept = OwnedValue::build(|builder| {
            if noted.as_map().is_none() {
                return builder.copy(noted);
            }
            builder.begin_map(None)?;
            for (key, value) in noted.pairs().filter(|(key, _)| is_kept(*key)) {
                builder.copy(key)?;
                builder.copy(value)?;
            }
            builder.end().map(drop)
        });
        kept.map(Some)
    }

    /// What the container of the first file declares besides objects and attributes.
    fn own_origin(&self) -> Result<Option<OwnedValue>> {
        let part = &self.parts.first;
        let read = |offset, dst: &mut [u8]| part.source().read_at(offset, dst);
        let is_whole = self.manifest_count() == 1 && part.hidden.is_empty();
        let of = OriginOf { manifest: &self.manifest, frame: part.frame(), read: &read, is_whole };
        container::origin(&of).map_err(|e| part.named(e))
    }

    /// All attributes of a copy of the file: the file's own, and the origin attribute.
    pub fn attributes_to_copy(&self) -> Result<Attributes> {
        let mut attributes = Attributes::of(self.attributes())?;
        let is_noted = attributes.get(Self::ORIGIN).is_some();
        if is_noted && self.own_origin()?.is_some() {
            return Err(self.in_file(fail!(
                Exists,
                "it has an attribute {:?}, where a copy notes its origin",
                Self::ORIGIN
            )));
        }
        match self.origin()? {
            Some(origin) => attributes.set(Self::ORIGIN, origin.get())?,
            None => {
                attributes.remove(Self::ORIGIN);
            }
        }
        for key in self.part_keys() {
            attributes.remove(key);
        }
        Ok(attributes)
    }

    /// The keys of attributes that describe only the first file of a model, such as the file's number. They
    /// are not copied. Files that were written as one model have the whole model's attributes in the first
    /// file.
    pub fn part_keys(&self) -> &'static [&'static str] {
        match self.is_of_all(self.attributes().and_then(|map| map.get(Self::ORIGIN))) {
            true => &[],
            false => &container::SPLIT_KEYS,
        }
    }

    /// Whether the noted number of files, or its absence, agrees with the number of these files.
    fn is_of_all(&self, noted: Option<Value<'_>>) -> bool {
        let parts = noted.and_then(|noted| noted.get(Self::ORIGIN_PARTS)?.as_u64()).unwrap_or(1);
        parts == self.manifest_count() as u64
    }
}
