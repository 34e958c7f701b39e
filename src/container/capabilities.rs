//! What a container can represent, which rules its files follow, and what it demands of written objects. Code
//! that needs to know what a file supports uses this, never the version.

use crate::digest::{Algorithm, DigestOf};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Container, Encoding, Format, Manifest, Object};
use crate::model::structure::{Grouping, LayoutCheck};
use crate::model::value::{Attributes, Value};

/// The attributes that an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKeys {
    /// Keys may have any kind.
    Any,
    /// Keys are texts other than these, which are fields of their own.
    TextsExcept(&'static [&'static str]),
}

/// The components that an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// Any number of components.
    Any,
    /// One component, with this role; the format is dense.
    Only(&'static str),
}

/// The logical types that a component may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalTypes {
    /// No type: there is no field for it.
    None,
    /// Only types that the container has as dtypes.
    InDtype,
    /// Any type, in a field of its own.
    Any,
    /// Any type, in a field of its own. Only these have a meaning.
    Registered(&'static [Logical]),
}

/// The encodings besides raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encodings {
    /// All encodings in [`Encoding::written`].
    Written,
    /// These encodings.
    Registered(&'static [Encoding]),
}

impl Encodings {
    /// Whether `encoding` is one of them.
    pub fn contains(self, encoding: Encoding) -> bool {
        match self {
            Encodings::Written => encoding.is_written() && encoding.is_compressed(),
            Encodings::Registered(encodings) => encodings.contains(&encoding),
        }
    }

    /// The encoding with this name in a manifest.
    pub fn find(self, name: &[u8]) -> Option<Encoding> {
        let is_named = |encoding: &Encoding| encoding.name().is_some_and(|known| known.as_bytes() == name);
        Encoding::KNOWN.into_iter().find(|encoding| self.contains(*encoding) && is_named(encoding))
    }
}

/// The dtypes that positions of a sparse object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexDtypes {
    /// Any integer.
    Integers,
    /// Only u64.
    U64,
    /// u32 or u64.
    Unsigned,
}

impl IndexDtypes {
    /// Whether positions may have this dtype.
    pub fn contains(self, dtype: Dtype) -> bool {
        match self {
            IndexDtypes::Integers => dtype.is_integer(),
            IndexDtypes::U64 => dtype == Dtype::U64,
            IndexDtypes::Unsigned => matches!(dtype, Dtype::U32 | Dtype::U64),
        }
    }

    /// The allowed dtypes, for a message.
    pub fn description(self) -> &'static str {
        match self {
            IndexDtypes::Integers => "an integer",
            IndexDtypes::U64 => "u64, as spec 1.2 requires",
            IndexDtypes::Unsigned => "u32 or u64",
        }
    }
}

/// Which bytes two components may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedBytes {
    /// No bytes.
    None,
    /// All their bytes or none (tied weights).
    All,
    /// Any bytes: components may be views of one storage.
    Any,
}

/// What a container can represent.
#[derive(Debug)]
pub struct Capabilities {
    /// The container.
    pub container: Container,
    /// Its number in `zt_spec`, if files can be written in it.
    pub number: Option<u32>,
    /// The version that its files have; "" if they have none.
    pub name: &'static str,
    /// Whether a version in a file consists of three numbers.
    pub says_three_numbers: bool,
    /// The container for encoding objects that are appended to such a file. `None` if appending is not
    /// possible.
    pub appends_as: Option<Container>,
    /// Components start at multiples of this power of two; 1 means anywhere.
    pub alignment: u64,
    /// The largest manifest, in bytes.
    pub manifest_limit: u64,
    /// Whether a file may have attributes.
    pub file_attributes: bool,
    /// The attributes that an object may have.
    pub attribute_keys: AttributeKeys,
    /// The components that an object may have.
    pub roles: Roles,
    /// The logical types that a component may have.
    pub logical_types: LogicalTypes,
    /// Whether dtypes and encodings may have unknown names.
    pub unknown_names: bool,
    /// Whether elements of an unknown type can be read as elements of their dtype.
    pub reads_unknown_types: bool,
    /// Whether a component gives its size, so that one with an unknown type can be copied.
    pub states_sizes: bool,
    /// The dtypes that positions of a sparse object may have.
    pub index_dtypes: IndexDtypes,
    /// Whether a compressed component gives its decoded size.
    pub declares_sizes: bool,
    /// Which bytes two components may share.
    pub shared_bytes: SharedBytes,
    /// Whether two objects may have the same name.
    pub duplicate_names: bool,
    /// Whether elements may be big-endian.
    pub big_endian: bool,
    /// Whether any bool byte other than zero is true.
    pub any_byte_is_true: bool,
    /// Whether the bytes between components are padding and have to be zero.
    pub zero_gaps: bool,
    /// Whether all positions of a sparse object have to be different and ascend within a row.
    pub unique_positions: bool,
    /// The rule that the half byte after an odd number of 4-bit elements is zero, if there is one.
    pub padding_rule: Option<Rule>,
    /// Checks the rules of layouts that are not checked at open; see [`CheckLayout`].
    pub check_layout: CheckLayout,
    /// Maps failures in the rest of the library to rules of this container.
    pub rule_of: fn(Cause) -> Option<Rule>,
    /// The encodings that a component may have besides raw.
    pub encodings: Encodings,
    /// The encoding that is written if the caller asks for zstd.
    pub zstd: Encoding,
    /// Which bytes its digests cover.
    pub digest_of: DigestOf,
    /// The digest of components if the caller does not choose.
    pub usual_digest: Option<Algorithm>,
    /// Whether its writers can be told to leave out the checksums of its archives.
    pub checksums_optional: bool,
    /// Whether its files may list shards, or be shards.
    pub has_shards: bool,
    /// The most bytes that a zstd frame may decode to.
    pub max_frame: u64,
    /// In canonical form, components and the manifest start at multiples of this. `None` if there is no
    /// canonical form.
    pub canonical_alignment: Option<u64>,
    /// Whether an append leaves the old manifest and footer in the file.
    pub old_ends_stay: bool,
    /// The rules that are checked before something is written.
    pub write_rules: &'static WriteRules,
}

/// The base for all containers: it is only read, and each object has one component, which may be anywhere.
pub(crate) const FOREIGN: Capabilities = Capabilities {
    container: Container::Safetensors,
    number: None,
    name: "",
    says_three_numbers: false,
    appends_as: None,
    alignment: 1,
    manifest_limit: super::frame::MANIFEST_LIMIT,
    file_attributes: true,
    attribute_keys: AttributeKeys::Any,
    roles: Roles::Only("data"),
    logical_types: LogicalTypes::Any,
    unknown_names: false,
    reads_unknown_types: true,
    states_sizes: false,
    index_dtypes: IndexDtypes::Integers,
    declares_sizes: false,
    shared_bytes: SharedBytes::None,
    duplicate_names: false,
    big_endian: false,
    any_byte_is_true: true,
    zero_gaps: true,
    unique_positions: false,
    padding_rule: None,
    check_layout: |_, _, _| Ok(LayoutCheck::Unknown),
    rule_of: |_| None,
    encodings: Encodings::Registered(&[]),
    zstd: Encoding::Zstd,
    digest_of: DigestOf::Stored,
    usual_digest: None,
    checksums_optional: false,
    has_shards: false,
    max_frame: 1 << 30,
    canonical_alignment: None,
    old_ends_stay: false,
    write_rules: &NO_RULES,
};

/// Checks an object against its layout. If the flag is set, the object must have everything that the layout
/// demands; otherwise an object that lacks something is not checked.
pub type CheckLayout = fn(&Manifest, &Object, bool) -> Result<LayoutCheck>;

impl Capabilities {
    /// Replaces the rule of an error by the container's own rule.
    pub fn with_own_rule(&self, error: Error) -> Error {
        let rule = (self.rule_of)(error.cause());
        error.called(rule)
    }
}

/// See [`WriteRules::object`].
pub type CheckObject = fn(&Manifest, &Object, bool) -> Result<()>;

/// An object of codes with scales to write, without its bytes.
#[derive(Debug)]
pub struct Quantized<'a> {
    /// How many bits a code has, if given.
    pub bits: Option<u64>,
    /// How many codes a group has, if given.
    pub group_size: Option<u64>,
    /// How many codes an element has, and its dtype, such as "8_per_i32", if given.
    pub packing: Option<&'a str>,
    /// How the groups are arranged, if given.
    pub grouping: Option<Grouping>,
    /// The dtype of the packed codes, and their type if they are small floats.
    pub codes: (Dtype, Option<Logical>),
    /// The dtype and logical type of the scales.
    pub scales: (Dtype, Option<Logical>),
    /// Whether it has zero points.
    pub has_zeros: bool,
}

/// The form in which a container stores codes with scales.
#[derive(Debug)]
pub struct QuantizedForm {
    /// The format.
    pub format: &'static str,
    /// The role of the codes. The other roles are "scales" and "zeros".
    pub codes: &'static str,
    /// The attributes.
    pub attributes: Attributes,
}

/// The rules of a container for written objects. They are checked before anything is written; an error names
/// the rule.
#[derive(Debug)]
pub struct WriteRules {
    /// Checks the name of an object, component or attribute. The first argument says which.
    pub name: fn(&str, &str) -> Result<()>,
    /// Checks the name of a shard; `None` if the container has no shards.
    pub shard_name: Option<fn(&str) -> Result<()>>,
    /// Checks a shape.
    pub shape: fn(&[u64]) -> Result<()>,
    /// Checks the value of an attribute. The flag says whether it is an attribute of the file.
    pub value: fn(Value<'_>, bool) -> Result<()>,
    /// Checks an object with all of its components, except their offsets. If the flag is set, the object must
    /// have everything that its layout demands. Otherwise an object that lacks something is accepted, because
    /// other programs write such objects.
    pub object: Option<CheckObject>,
    /// The format with this name; `None` if it is unknown.
    pub format: fn(&str) -> Option<Format>,
    /// Checks a format, by its name in the rest of the library.
    pub format_name: fn(&str) -> Result<()>,
    /// The form in which codes with scales are written.
    pub quantized: fn(&Quantized<'_>) -> Result<QuantizedForm>,
}

/// The rules of a container that accepts everything the library supports.
const NO_RULES: WriteRules = WriteRules {
    name: |_, _| Ok(()),
    shard_name: None,
    shape: |_| Ok(()),
    value: |_, _| Ok(()),
    object: None,
    format: Format::from_name,
    format_name: |_| Ok(()),
    quantized: quantized_group,
};

/// Codes with scales as a quantized_group, which only has attributes for these properties.
fn quantized_group(spec: &Quantized<'_>) -> Result<QuantizedForm> {
    if spec.grouping.is_some() {
        return Err(broken!(
            Rule::QuantizedGeometry,
            "a quantized_group cannot store how its groups are arranged"
        ));
    }
    let mut attributes = Attributes::default();
    for (key, number) in [("bits", spec.bits), ("group_size", spec.group_size)] {
        if let Some(number) = number {
            attributes.set_built(key, |to| to.unsigned(number))?;
        }
    }
    if let Some(packing) = spec.packing {
        attributes.set_built("packing", |to| to.text(packing))?;
    }
    Ok(QuantizedForm { format: "quantized_group", codes: "packed_weight", attributes })
}
