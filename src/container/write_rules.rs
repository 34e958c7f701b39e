//! What a container asks of what is written, beside what its capabilities say.

use crate::error::Result;
use crate::model::manifest::{Format, Manifest, Object};
use crate::model::value::Value;

/// See [`WriteRules::object`].
pub type CheckObject = fn(&Manifest, &Object, bool) -> Result<()>;

/// Rules of a container of what is written, each asked before a byte is. They say which one is broken.
#[derive(Debug)]
pub struct WriteRules {
    /// Of the name of an object, a component or an attribute, which is said first.
    pub name: fn(&str, &str) -> Result<()>,
    /// Of the name of a shard; none where there are no shards.
    pub shard_name: Option<fn(&str) -> Result<()>>,
    /// Of a shape.
    pub shape: fn(&[u64]) -> Result<()>,
    /// Of the value of an attribute; the flag says that it is one of the file.
    pub value: fn(Value<'_>, bool) -> Result<()>,
    /// Of an object with all of its components, but for where they stand. The flag demands all that its layout does; otherwise
    /// an object that lacks some of it, as those of other writers do, is not judged.
    pub object: Option<CheckObject>,
    /// The format of that name; none where it means nothing.
    pub format: fn(&str) -> Option<Format>,
    /// Of a format, by the name that the rest of the library has for it.
    pub format_name: fn(&str) -> Result<()>,
}

/// Of a container that takes what the library does.
pub(crate) const NO_RULES: WriteRules = WriteRules {
    name: |_, _| Ok(()),
    shard_name: None,
    shape: |_| Ok(()),
    value: |_, _| Ok(()),
    object: None,
    format: Format::from_name,
    format_name: |_| Ok(()),
};
