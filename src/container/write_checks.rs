//! Refuses what a container cannot represent. The error names it, and comes before any byte is written.

use super::capabilities::{AttributeKeys, Capabilities, Encodings, LogicalTypes, Roles};
use super::capabilities::{Quantized, QuantizedForm};
use crate::digest::Algorithm;
use crate::error::{fail, Cause, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, Format, Manifest, Object};
use crate::model::value::{Attributes, Value};
use std::fmt::Display;

impl Capabilities {
    /// The error for something that it cannot represent.
    #[cold]
    pub fn cannot_represent(&self, what: impl Display) -> Error {
        match self.name {
            "" => fail!(Unsupported, "{} cannot represent {what}", self.container.name()),
            version => fail!(Unsupported, "spec {version} cannot represent {what}"),
        }
    }

    /// Turns an error of [`WriteRules`] into a refusal.
    #[cold]
    fn refusal(&self, broken: Error) -> Error {
        if broken.cause() == Cause::OutOfMemory {
            return broken;
        }
        self.cannot_represent(format_args!("it: {broken}")).called(broken.rule())
    }

    /// Checks a name. `what` says what has it: "an object".
    pub fn check_name(&self, what: &str, name: &str) -> Result<()> {
        (self.write_rules.name)(what, name).map_err(|e| self.refusal(e))
    }

    /// Checks the name of a shard. Fails if the container has no shards.
    pub fn check_shard_name(&self, name: &str) -> Result<()> {
        match self.write_rules.shard_name {
            Some(check) => check(name).map_err(|e| self.refusal(e)),
            None => Err(self.cannot_represent("shards")),
        }
    }

    /// Checks a shape.
    pub fn check_shape(&self, shape: &[u64]) -> Result<()> {
        (self.write_rules.shape)(shape).map_err(|e| self.refusal(e))
    }

    /// Whether [`Capabilities::check_object`] can fail.
    pub fn checks_objects(&self) -> bool {
        self.write_rules.object.is_some()
    }

    /// Rejects an object whose components do not match its format.
    pub fn check_object(&self, manifest: &Manifest, object: &Object, complete: bool) -> Result<()> {
        let check = self.write_rules.object.map_or(Ok(()), |check| check(manifest, object, complete));
        check.map_err(|e| self.refusal(e))
    }

    /// Whether objects of this format are written, by its name in the rest of the library.
    pub fn has_format(&self, name: &str) -> bool {
        (self.write_rules.format_name)(name).is_ok()
    }

    /// The form in which codes with scales are written, or why that is not possible.
    pub fn quantized(&self, spec: &Quantized<'_>) -> Result<QuantizedForm> {
        (self.write_rules.quantized)(spec).map_err(|e| self.refusal(e))
    }

    /// The format with this name; `None` if the name has no meaning.
    pub fn format(&self, name: &str) -> Option<Format> {
        (self.write_rules.format)(name)
    }

    /// The encoding that is written if the caller asks for `asked`; `None` if it is not written.
    pub fn encoding(&self, asked: Encoding) -> Option<Encoding> {
        match asked {
            Encoding::Raw => Some(Encoding::Raw),
            Encoding::Zstd => Some(self.zstd),
            other => self.encodings.contains(other).then_some(other),
        }
    }

    /// Whether a reader would treat this name as a known encoding.
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

    /// Checks that components may have this digest.
    pub fn check_digest(&self, algorithm: Option<Algorithm>) -> Result<()> {
        match algorithm {
            Some(algorithm) if self.digest_of.similar(algorithm) != algorithm => {
                Err(self.cannot_represent(format_args!("the digest {}", algorithm.name())))
            }
            _ => Ok(()),
        }
    }

    /// Whether the container defines the size of elements of this type.
    pub fn defines(&self, logical: Logical) -> bool {
        match self.logical_types {
            LogicalTypes::Registered(types) => types.contains(&logical),
            LogicalTypes::None | LogicalTypes::InDtype | LogicalTypes::Any => logical.is_in_spec(),
        }
    }

    /// Whether a reader would treat this name of a type, with this dtype, as a known type or reject it.
    pub fn knows_type(&self, name: &str, dtype: Option<Dtype>) -> bool {
        let LogicalTypes::Any = self.logical_types else { return false };
        match (Logical::from_name(name).filter(|logical| !logical.is_block_type()), dtype) {
            (Some(logical), Some(dtype)) => logical.dtype() == dtype || logical.is_in_spec(),
            (Some(_), None) => true,
            (None, Some(_)) => Dtype::from_name(name).is_some(),
            (None, None) => false,
        }
    }

    /// Whether a component has a field for its type.
    pub fn has_type_field(&self) -> bool {
        matches!(self.logical_types, LogicalTypes::Any | LogicalTypes::Registered(_))
    }

    /// Fails if files of the container have no attributes.
    pub fn check_file_attributes(&self) -> Result<()> {
        match self.file_attributes {
            true => Ok(()),
            false => Err(self.cannot_represent("attributes of the file")),
        }
    }

    /// Checks an attribute of the file.
    pub fn check_file_attribute(&self, key: Option<&str>, value: Value<'_>) -> Result<()> {
        self.check_file_attributes()
            .map_err(|e| e.within(format_args!("attribute {:?}", key.unwrap_or_default())))?;
        self.check_pair(key, value, true)
    }

    /// Checks an attribute of an object.
    pub fn check_attribute(&self, key: Option<&str>, value: Value<'_>) -> Result<()> {
        self.check_pair(key, value, false)
    }

    /// Checks an attribute. `key` is `None` if it is not a text.
    fn check_pair(&self, key: Option<&str>, value: Value<'_>, of_file: bool) -> Result<()> {
        let key = match (self.attribute_keys, key) {
            (AttributeKeys::TextsExcept(fields), Some(key)) if fields.contains(&key) => {
                return Err(self.cannot_represent(format_args!("the attribute {key:?}")));
            }
            (AttributeKeys::TextsExcept(_), None) => {
                return Err(self.cannot_represent("an attribute whose key is not text"));
            }
            (AttributeKeys::Any, None) => return Ok(()),
            (_, Some(key)) => key,
        };
        self.check_name("an attribute", key)?;
        (self.write_rules.value)(value, of_file)
            .map_err(|e| self.refusal(e).within(format_args!("attribute {key:?}")))
    }

    /// Checks all attributes of an object.
    pub fn check_attributes(&self, attributes: &Attributes) -> Result<()> {
        attributes.iter().try_for_each(|(key, value)| self.check_attribute(key.as_text(), value))
    }

    /// Checks all attributes of the file.
    pub fn check_all_file_attributes(&self, attributes: &Attributes) -> Result<()> {
        attributes.iter().try_for_each(|(key, value)| self.check_file_attribute(key.as_text(), value))
    }

    /// Checks a format.
    pub fn check_format(&self, format: &str) -> Result<()> {
        match self.roles {
            Roles::Only(_) if format != "dense" => {
                Err(self.cannot_represent(format_args!("the format {format:?}")))
            }
            _ => (self.write_rules.format_name)(format).map_err(|e| self.refusal(e)),
        }
    }

    /// Checks the role of a component.
    pub fn check_role(&self, role: &str) -> Result<()> {
        match self.roles {
            Roles::Only(only) if role != only => {
                Err(self.cannot_represent(format_args!("the component {role:?}")))
            }
            _ => self.check_name("a component", role),
        }
    }

    /// Checks the number of components of an object.
    pub fn check_component_count(&self, count: usize) -> Result<()> {
        match self.roles {
            Roles::Only(_) if count != 1 => {
                Err(self.cannot_represent(format_args!("an object of {count} components")))
            }
            _ => Ok(()),
        }
    }

    /// Checks the logical type with this name, which may be known or unknown.
    pub fn check_logical(&self, known: Option<Logical>, name: &str) -> Result<()> {
        let represented = match self.logical_types {
            LogicalTypes::Any => true,
            // The container never reads or checks elements of an unknown type.
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

    /// Tests every encoding of the table in every container that is written, so that a new one cannot be
    /// forgotten here.
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
                // The encoding of a copy is an encoding of the container, too.
                let similar = to.similar_encoding(encoding);
                assert!(similar.is_none_or(|similar| to.encoding(similar) == Some(similar)), "{encoding:?}");
            }
        }
    }
}
