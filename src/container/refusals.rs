//! What a container cannot represent, refused by name before a byte is written.

use super::capabilities::{AttributeKeys, Capabilities, Encodings, LogicalTypes, Roles};
use super::capabilities::{Quantized, QuantizedForm};
use crate::digest::Algorithm;
use crate::error::{fail, Cause, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, Format, Manifest, Object};
use crate::model::value::{Attributes, Value};
use std::fmt::Display;

impl Capabilities {
    /// What messages call it.
    fn spec(&self) -> impl Display + '_ {
        struct Spec<'a>(&'a Capabilities);
        impl Display for Spec<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0.name {
                    "" => f.write_str(self.0.container.name()),
                    version => write!(f, "spec {version}"),
                }
            }
        }
        Spec(self)
    }

    /// The refusal of what it cannot represent.
    #[cold]
    pub fn cannot_represent(&self, what: impl Display) -> Error {
        fail!(Unsupported, "{} cannot represent {what}", self.spec())
    }

    /// What a rule of [`WriteRules`] has found, as a refusal.
    #[cold]
    fn refusal(&self, broken: Error) -> Error {
        if broken.cause() == Cause::OutOfMemory {
            return broken;
        }
        let (rule, refusal) = (broken.rule(), self.cannot_represent(format_args!("it: {broken}")));
        match rule {
            Some(rule) => refusal.called(rule),
            None => refusal,
        }
    }

    /// Refuses the name of something, which is said first: "an object".
    pub fn check_name(&self, what: &str, name: &str) -> Result<()> {
        (self.write_rules.name)(what, name).map_err(|e| self.refusal(e))
    }

    /// Refuses the name of a shard, or all of them.
    pub fn check_shard_name(&self, name: &str) -> Result<()> {
        match self.write_rules.shard_name {
            Some(check) => check(name).map_err(|e| self.refusal(e)),
            None => Err(self.cannot_represent("shards")),
        }
    }

    /// Refuses a shape.
    pub fn check_shape(&self, shape: &[u64]) -> Result<()> {
        (self.write_rules.shape)(shape).map_err(|e| self.refusal(e))
    }

    /// Whether [`Capabilities::check_object`] refuses any.
    pub fn checks_objects(&self) -> bool {
        self.write_rules.object.is_some()
    }

    /// Rejects an object whose components do not match its format.
    pub fn check_object(&self, manifest: &Manifest, object: &Object, complete: bool) -> Result<()> {
        let check = self.write_rules.object.map_or(Ok(()), |check| check(manifest, object, complete));
        check.map_err(|e| self.refusal(e))
    }

    /// What codes with scales are written as, or why they cannot be.
    pub fn quantized(&self, spec: &Quantized<'_>) -> Result<QuantizedForm> {
        (self.write_rules.quantized)(spec).map_err(|e| self.refusal(e))
    }

    /// The format of that name; none where it means nothing.
    pub fn format(&self, name: &str) -> Option<Format> {
        (self.write_rules.format)(name)
    }

    /// What is written where that encoding is asked for; none where it is not written.
    pub fn encoding(&self, asked: Encoding) -> Option<Encoding> {
        match asked {
            Encoding::Raw => Some(Encoding::Raw),
            Encoding::Zstd => Some(self.zstd),
            other => self.encodings.contains(other).then_some(other),
        }
    }

    /// Whether a reader takes that name for an encoding that it knows.
    pub fn knows_encoding(&self, name: &str) -> bool {
        match self.encodings {
            Encodings::Written => Encoding::from_name(name).is_some(),
            Encodings::Registered(_) => self.encodings.find(name.as_bytes()).is_some(),
        }
    }

    /// The encoding closest to another container's encoding.
    pub fn similar_encoding(&self, encoding: Encoding) -> Option<Encoding> {
        match encoding {
            Encoding::ZstdSeekable => Some(self.zstd),
            other => self.encoding(other),
        }
    }

    /// Refuses a digest.
    pub fn check_digest(&self, algorithm: Option<Algorithm>) -> Result<()> {
        match algorithm {
            Some(algorithm) if self.digest_of.similar(algorithm) != algorithm => {
                Err(self.cannot_represent(format_args!("the digest {}", algorithm.name())))
            }
            _ => Ok(()),
        }
    }

    /// Whether the container says how large elements of that type are.
    pub fn defines(&self, logical: Logical) -> bool {
        match self.logical_types {
            LogicalTypes::Registered(types) => types.contains(&logical),
            LogicalTypes::None | LogicalTypes::InDtype | LogicalTypes::Any => logical.is_in_spec(),
        }
    }

    /// Whether a reader takes that name of a type, beside that dtype, for one that it knows, or for a wrong
    /// one.
    pub fn knows_type(&self, name: &str, dtype: Option<Dtype>) -> bool {
        let LogicalTypes::Any = self.logical_types else { return false };
        match (Logical::from_name(name).filter(|logical| !logical.is_block_type()), dtype) {
            (Some(logical), Some(dtype)) => logical.dtype() == dtype || logical.is_in_spec(),
            (Some(_), None) => true,
            (None, Some(_)) => Dtype::from_name(name).is_some(),
            (None, None) => false,
        }
    }

    /// Whether a component has a type beside its dtype.
    pub fn has_type_field(&self) -> bool {
        matches!(self.logical_types, LogicalTypes::Any | LogicalTypes::Registered(_))
    }

    /// Refuses attributes of the file where it has none.
    pub fn check_file_attributes(&self) -> Result<()> {
        match self.file_attributes {
            true => Ok(()),
            false => Err(self.cannot_represent("attributes of the file")),
        }
    }

    /// Refuses an attribute of the file.
    pub fn check_file_attribute(&self, key: Option<&str>, value: Value<'_>) -> Result<()> {
        self.check_file_attributes()
            .map_err(|e| e.within(format_args!("attribute {:?}", key.unwrap_or_default())))?;
        self.check_attribute_key(key)?;
        self.check_pair(key, value, true)
    }

    /// Refuses an attribute of an object.
    pub fn check_attribute(&self, key: Option<&str>, value: Value<'_>) -> Result<()> {
        self.check_attribute_key(key)?;
        self.check_pair(key, value, false)
    }

    /// Refuses a key, which is that text or no text.
    fn check_attribute_key(&self, key: Option<&str>) -> Result<()> {
        match (self.attribute_keys, key) {
            (AttributeKeys::TextsExcept(fields), Some(key)) if fields.contains(&key) => {
                Err(self.cannot_represent(format_args!("the attribute {key:?}")))
            }
            (AttributeKeys::TextsExcept(_), None) => {
                Err(self.cannot_represent("an attribute whose key is not text"))
            }
            _ => Ok(()),
        }
    }

    fn check_pair(&self, key: Option<&str>, value: Value<'_>, of_file: bool) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        self.check_name("an attribute", key)?;
        (self.write_rules.value)(value, of_file)
            .map_err(|e| self.refusal(e).within(format_args!("attribute {key:?}")))
    }

    /// Rejects an object's attributes if it cannot represent one of them.
    pub fn check_attributes(&self, attributes: &Attributes) -> Result<()> {
        attributes.iter().try_for_each(|(key, value)| self.check_attribute(key.as_text(), value))
    }

    /// Rejects attributes of the file if it cannot represent one of them.
    pub fn check_all_file_attributes(&self, attributes: &Attributes) -> Result<()> {
        attributes.iter().try_for_each(|(key, value)| self.check_file_attribute(key.as_text(), value))
    }

    /// Refuses a format.
    pub fn check_format(&self, format: &str) -> Result<()> {
        match self.roles {
            Roles::Only(_) if format != "dense" => {
                Err(self.cannot_represent(format_args!("the format {format:?}")))
            }
            _ => (self.write_rules.format_name)(format).map_err(|e| self.refusal(e)),
        }
    }

    /// Refuses a component of that role.
    pub fn check_role(&self, role: &str) -> Result<()> {
        match self.roles {
            Roles::Only(only) if role != only => {
                Err(self.cannot_represent(format_args!("the component {role:?}")))
            }
            _ => self.check_name("a component", role),
        }
    }

    /// Rejects an object with this many components.
    pub fn check_component_count(&self, count: usize) -> Result<()> {
        match self.roles {
            Roles::Only(_) if count != 1 => {
                Err(self.cannot_represent(format_args!("an object of {count} components")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a logical type of that name, which is a known one or not.
    pub fn check_logical(&self, known: Option<Logical>, name: &str) -> Result<()> {
        let represented = match self.logical_types {
            LogicalTypes::Any => true,
            // Elements of an unknown type are never read or checked there.
            LogicalTypes::Registered(types) => known.is_some_and(|known| types.contains(&known)),
            LogicalTypes::InDtype => known.is_some_and(|t| t.name_in_1_1().is_some()),
            LogicalTypes::None => false,
        };
        match represented {
            true => Ok(()),
            false => Err(self.cannot_represent(format_args!("the type {name:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::{capabilities, version_to_write};
    use crate::model::manifest::Container;

    /// Every encoding that the table has, in every container that is written: none is refused for want of a
    /// line here.
    #[test]
    fn an_encoding_is_written_where_its_row_says_and_found_by_its_name() {
        let written = Container::ALL.map(capabilities).into_iter().filter(|to| to.number.is_some());
        for to in written.inspect(|to| assert!(version_to_write(to.number.unwrap()).is_some())) {
            assert_eq!(
                (to.encoding(Encoding::Raw), to.encoding(Encoding::Other)),
                (Some(Encoding::Raw), None)
            );
            assert_eq!(to.encoding(Encoding::Zstd), Some(to.zstd));
            for encoding in Encoding::KNOWN {
                let (name, has) = (encoding.name().unwrap(), to.encodings.contains(encoding));
                assert!(!has || encoding.is_compressed(), "{encoding:?}");
                assert_eq!(to.encodings.find(name.as_bytes()), has.then_some(encoding));
                if to.encodings == Encodings::Written {
                    assert_eq!(to.encoding(encoding), encoding.is_written().then_some(encoding));
                    assert_eq!(to.knows_encoding(name), encoding.is_written(), "{encoding:?}");
                } else {
                    assert_eq!(
                        to.encoding(encoding).is_some(),
                        has || !encoding.is_compressed() || encoding == Encoding::Zstd
                    );
                    assert_eq!(to.knows_encoding(name), has, "{encoding:?}");
                }
                // What a copy becomes is an encoding of the container, too.
                let similar = to.similar_encoding(encoding);
                assert!(similar.is_none_or(|similar| to.encoding(similar) == Some(similar)), "{encoding:?}");
            }
        }
    }
}
