//! What a container can represent, which rules its files keep, and what it requires of written objects. Code
//! that needs to know what a file supports uses this, never the version.

use crate::digest::{Algorithm, DigestOf};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Container, Encoding, Format, Manifest, Object};
use crate::model::structure::{Grouping, LayoutCheck};
use crate::model::value::{Attributes, Kind, OwnedValue, Value};

/// Attributes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKeys {
    /// Keys of any kind.
    Any,
    /// Texts other than these, which are fields.
    TextsExcept(&'static [&'static str]),
}

/// Components of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// Any number of components.
    Any,
    /// One, of this role, and its format is dense.
    Only(&'static str),
}

/// Logical types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalTypes {
    /// No field says one.
    None,
    /// Only types that are dtypes of their own.
    InDtype,
    /// Any, in its own field.
    Any,
    /// Any, in its own field; these have a meaning.
    Registered(&'static [Logical]),
}

/// Encodings beside raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encodings {
    /// All that [`Encoding::written`] has.
    Written,
    /// These.
    Registered(&'static [Encoding]),
}

impl Encodings {
    /// Whether that is one of them.
    pub fn contains(self, encoding: Encoding) -> bool {
        match self {
            Encodings::Written => encoding.is_written() && encoding.is_compressed(),
            Encodings::Registered(encodings) => encodings.contains(&encoding),
        }
    }

    /// By its name in a manifest.
    pub fn find(self, name: &[u8]) -> Option<Encoding> {
        let is_named = |encoding: &Encoding| encoding.name().is_some_and(|known| known.as_bytes() == name);
        Encoding::KNOWN.into_iter().find(|encoding| self.contains(*encoding) && is_named(encoding))
    }
}

/// Dtypes of the positions in a sparse object.
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
    /// Whether positions may be of that dtype.
    pub fn contains(self, dtype: Dtype) -> bool {
        match self {
            IndexDtypes::Integers => dtype.is_integer(),
            IndexDtypes::U64 => dtype == Dtype::U64,
            IndexDtypes::Unsigned => matches!(dtype, Dtype::U32 | Dtype::U64),
        }
    }

    /// Which ones, for a message.
    pub fn description(self) -> &'static str {
        match self {
            IndexDtypes::Integers => "an integer",
            IndexDtypes::U64 => "u64, as spec 1.2 requires",
            IndexDtypes::Unsigned => "u32 or u64",
        }
    }
}

/// Which bytes two components may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedBytes {
    /// None.
    None,
    /// All or none (tied weights).
    All,
    /// Any: they may be views of one storage.
    Any,
}

/// What a container can represent.
#[derive(Debug)]
pub struct Capabilities {
    /// Which one it is.
    pub container: Container,
    /// Its number in `zt_spec`, by which files of it are written; none if none are.
    pub number: Option<u32>,
    /// The version in its files, if they have one.
    pub name: &'static str,
    /// Whether files say a version of three numbers.
    pub says_three_numbers: bool,
    /// As what objects are encoded that are appended to such a file; none if none can be.
    pub appends_as: Option<Container>,
    /// Components start at multiples of this, a power of two; 1 for anywhere.
    pub alignment: u64,
    /// Most bytes of a manifest.
    pub manifest_limit: u64,
    /// Whether the file has attributes.
    pub file_attributes: bool,
    /// Which attributes an object has.
    pub attribute_keys: AttributeKeys,
    /// Which components an object has.
    pub roles: Roles,
    /// Which logical types a component has.
    pub logical_types: LogicalTypes,
    /// Whether dtypes and encodings may have names that are unknown here.
    pub unknown_names: bool,
    /// Whether elements of an unknown type are handed out as those of their dtype.
    pub reads_unknown_types: bool,
    /// Whether a component says how many bytes it has, so that one of an unknown type can be copied.
    pub states_sizes: bool,
    /// Which dtypes positions have.
    pub index_dtypes: IndexDtypes,
    /// Whether a compressed component says its decoded size.
    pub declares_sizes: bool,
    /// Which bytes two components may have in common.
    pub shared_bytes: SharedBytes,
    /// Whether two objects may have one name.
    pub duplicate_names: bool,
    /// Whether elements may be big-endian.
    pub big_endian: bool,
    /// Whether any byte but zero is true.
    pub any_byte_is_true: bool,
    /// Whether what is between components is padding, and zero.
    pub zero_gaps: bool,
    /// Whether the positions of a sparse object are all different, and rise within a row.
    pub unique_positions: bool,
    /// The rule by which the half byte behind an odd number of 4-bit elements is zero, if there is one.
    pub padding_rule: Option<Rule>,
    /// The rules of layouts that are not checked at open; see [`CheckLayout`].
    pub check_layout: CheckLayout,
    /// The container's names for rules that the rest of the library checks.
    pub rule_of: fn(Cause) -> Option<Rule>,
    /// Which encodings a component has beside raw.
    pub encodings: Encodings,
    /// The one that is written for zstd.
    pub zstd: Encoding,
    /// The bytes that its digests cover.
    pub digest_of: DigestOf,
    /// The digest of components if the caller asks neither for one nor for none.
    pub usual_digest: Option<Algorithm>,
    /// Whether its writers can be told to leave out the checksums that its archives have.
    pub checksums_optional: bool,
    /// Whether its files name shards, or are shards of such a file.
    pub has_shards: bool,
    /// Bytes that a frame of zstd decodes to at most.
    pub max_frame: u64,
    /// What components and the manifest start at multiples of in its canonical form, if it has one.
    pub canonical_alignment: Option<u64>,
    /// Whether an append leaves the old manifest and footer where they are.
    pub old_ends_stay: bool,
    /// What is asked before something is written.
    pub write_rules: &'static WriteRules,
}

/// A base for containers that are only read: one component for each object, which stands anywhere.
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
    check_layout: no_layout,
    rule_of: no_rule,
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

/// Checks an object against its layout. The flag demands all that the layout does; otherwise an object that
/// lacks some of it is not judged.
pub type CheckLayout = fn(&Manifest, &Object, bool) -> Result<LayoutCheck>;

/// For a container without its own layouts.
pub(crate) fn no_layout(_: &Manifest, _: &Object, _: bool) -> Result<LayoutCheck> {
    Ok(LayoutCheck::Unknown)
}

/// For a container whose rules the rest of the library names.
pub(crate) fn no_rule(_: Cause) -> Option<Rule> {
    None
}

impl Capabilities {
    /// An error, with the rule as the container calls it.
    pub fn with_own_rule(&self, error: Error) -> Error {
        match (self.rule_of)(error.cause()) {
            Some(rule) => error.called(rule),
            None => error,
        }
    }

    /// Whether components may share a part of their bytes: then no page is known to belong to one component.
    pub fn has_views(&self) -> bool {
        self.shared_bytes == SharedBytes::Any
    }
}

/// See [`WriteRules::object`].
pub type CheckObject = fn(&Manifest, &Object, bool) -> Result<()>;

/// Codes with scales that are to be written, without their bytes.
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
    /// Checks the name of an object, a component or an attribute; the first argument says which of the three.
    pub name: fn(&str, &str) -> Result<()>,
    /// Checks the name of a shard; none if the container has no shards.
    pub shard_name: Option<fn(&str) -> Result<()>>,
    /// Checks a shape.
    pub shape: fn(&[u64]) -> Result<()>,
    /// Checks the value of an attribute; the flag says that it is one of the file.
    pub value: fn(Value<'_>, bool) -> Result<()>,
    /// Checks an object with all of its components, except their offsets. If the flag is set, it has to have
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

/// The rules of a container that allows everything the library allows.
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
