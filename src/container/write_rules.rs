//! What a container asks of what is written, beside what its capabilities say.

use crate::error::{broken, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Format, Manifest, Object};
use crate::model::structure::Grouping;
use crate::model::value::{Attributes, Kind, OwnedValue, Value};

/// See [`WriteRules::object`].
pub type CheckObject = fn(&Manifest, &Object, bool) -> Result<()>;

/// Codes with scales that are to be written, but for their bytes.
#[derive(Debug)]
pub struct Quantized<'a> {
    /// Bits of a code, if they are said.
    pub bits: Option<u64>,
    /// Codes of a group, if they are said.
    pub group_size: Option<u64>,
    /// How many codes are in which dtype, such as "8_per_i32", if it is said.
    pub packing: Option<&'a str>,
    /// How groups lie, if it is said.
    pub grouping: Option<Grouping>,
    /// The dtype that codes are packed in.
    pub codes: Dtype,
    /// The dtype and logical type of the scales.
    pub scales: (Dtype, Option<Logical>),
    /// Whether there are zero points beside them.
    pub has_zeros: bool,
}

/// What a container makes of codes with scales.
#[derive(Debug)]
pub struct QuantizedForm {
    /// The format.
    pub format: &'static str,
    /// The role of the codes; the others are "scales" and "zeros".
    pub codes: &'static str,
    /// The attributes.
    pub attributes: Attributes,
}

/// The rules of a container for what is written. They are checked before anything is written, and an error
/// names the rule.
#[derive(Debug)]
pub struct WriteRules {
    /// Checks the name of an object, a component or an attribute; the first argument says of which.
    pub name: fn(&str, &str) -> Result<()>,
    /// Checks the name of a shard; none if the container has no shards.
    pub shard_name: Option<fn(&str) -> Result<()>>,
    /// Checks a shape.
    pub shape: fn(&[u64]) -> Result<()>,
    /// Checks the value of an attribute; the flag says that it is one of the file.
    pub value: fn(Value<'_>, bool) -> Result<()>,
    /// Checks an object with all of its components, but for their offsets. If the flag is set, it has to have
    /// all that its layout demands; otherwise an object that lacks some of it, as those of other writers do,
    /// passes.
    pub object: Option<CheckObject>,
    /// The format of that name; none if it is not known.
    pub format: fn(&str) -> Option<Format>,
    /// Checks a format, by the name that the rest of the library has for it.
    pub format_name: fn(&str) -> Result<()>,
    /// What codes with scales are written as.
    pub quantized: fn(&Quantized<'_>) -> Result<QuantizedForm>,
}

/// The rules of a container that allows whatever the library does.
pub(crate) const NO_RULES: WriteRules = WriteRules {
    name: |_, _| Ok(()),
    shard_name: None,
    shape: |_| Ok(()),
    value: |_, _| Ok(()),
    object: None,
    format: Format::from_name,
    format_name: |_| Ok(()),
    quantized: quantized_group,
};

/// A quantized_group, which has attributes for no more than this.
fn quantized_group(spec: &Quantized<'_>) -> Result<QuantizedForm> {
    if spec.grouping.is_some() {
        return Err(broken!(Rule::QuantizedGeometry, "a quantized_group does not say how its groups lie"));
    }
    let mut attributes = Attributes::default();
    for (key, number) in [("bits", spec.bits), ("group_size", spec.group_size)] {
        if let Some(number) = number {
            attributes.set(key, OwnedValue::scalar(Kind::Unsigned(number))?.get())?;
        }
    }
    if let Some(packing) = spec.packing {
        attributes.set("packing", OwnedValue::text(packing)?.get())?;
    }
    Ok(QuantizedForm { format: "quantized_group", codes: "packed_weight", attributes })
}
