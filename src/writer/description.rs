//! Descriptions of objects to write, and the checks that need only a description. Every way to write a whole
//! object makes a [`Description`] of it.

use crate::container::{Capabilities, Quantized, QuantizedForm};
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::memory::collected;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Encoding, Format};
use crate::model::sort::sort_by;
use crate::model::structure::{parse_packing, Grouping, QuantizedSizes};
use crate::model::value::Attributes;

/// The longest name that is written, in bytes.
pub(super) const NAME_LIMIT: usize = 64 << 10;

/// The logical type of a component to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalSpec<'a> {
    /// A type that this version knows.
    Known(Logical),
    /// Another type.
    Other(&'a str),
}

/// An object to write.
#[derive(Clone, Copy, Debug)]
pub struct ObjectSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of its format.
    pub format: &'a str,
    /// Its dimensions.
    pub shape: &'a [u64],
}

/// A component to write.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSpec<'a> {
    /// Its name within the object.
    pub role: &'a str,
    /// Its storage type.
    pub dtype: Dtype,
    /// Its logical type.
    pub logical: Option<LogicalSpec<'a>>,
    /// Its encoding; `None` for the writer's.
    pub encoding: Option<Encoding>,
    /// Its digest. The outer `None` means the writer's digest, the inner one means no digest.
    pub digest: Option<Option<Algorithm>>,
    /// How many bytes will be streamed, if that is known.
    pub size: Option<u64>,
}

impl<'a> ComponentSpec<'a> {
    /// A component with the writer's encoding and digest.
    pub fn new(role: &'a str, dtype: Dtype) -> Self {
        ComponentSpec { role, dtype, logical: None, encoding: None, digest: None, size: None }
    }
}

/// A dense object to write, with its elements.
#[derive(Clone, Copy, Debug)]
pub struct DenseSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its storage type.
    pub dtype: Dtype,
    /// Its logical type.
    pub logical: Option<Logical>,
    /// Its dimensions.
    pub shape: &'a [u64],
    /// Its elements, in the host's byte order.
    pub data: &'a [u8],
    /// Its encoding; `None` for the writer's.
    pub encoding: Option<Encoding>,
    /// Its digest. The outer `None` means the writer's digest, the inner one means no digest.
    pub digest: Option<Option<Algorithm>>,
}

impl<'a> DenseSpec<'a> {
    /// An object with the writer's encoding and digest.
    pub fn new(name: &'a str, dtype: Dtype, shape: &'a [u64], data: &'a [u8]) -> Self {
        DenseSpec { name, dtype, logical: None, shape, data, encoding: None, digest: None }
    }
}

/// An object of codes with scales to write. The roles of its parts depend on the container.
#[derive(Clone, Copy, Debug)]
pub struct QuantizedSpec<'a> {
    /// The name.
    pub name: &'a str,
    /// The dimensions of the tensor before quantization.
    pub shape: &'a [u64],
    /// How many bits a code has; `None` leaves it out.
    pub bits: Option<u64>,
    /// How many codes a group has; `None` leaves it out.
    pub group_size: Option<u64>,
    /// The packing, such as "8_per_i32"; `None` leaves it out.
    pub packing: Option<&'a str>,
    /// The dimension of the groups, and how codes and zero points are packed; `None` leaves it out.
    pub grouping: Option<Grouping>,
    /// The codes.
    pub packed_weight: (ComponentSpec<'a>, &'a [u8]),
    /// A scale for each group.
    pub scales: (ComponentSpec<'a>, &'a [u8]),
    /// A zero point for each group, if there are zero points.
    pub zeros: Option<(ComponentSpec<'a>, &'a [u8])>,
}

impl<'a> QuantizedSpec<'a> {
    /// The form in which the container stores the object. Checks its geometry.
    pub fn form(&self, to: &Capabilities) -> Result<QuantizedForm> {
        let (codes, scales) = (&self.packed_weight, &self.scales);
        let count = |(spec, data): &Part<'_>| (data.len() / spec.dtype.size()) as u64;
        let sizes = QuantizedSizes {
            shape: self.shape,
            bits: self.bits,
            group_size: self.group_size,
            packing: self.packing.and_then(parse_packing),
            packed_dtype: Some(codes.0.dtype),
            packed_size: codes.1.len() as u64,
            packed_count: count(codes),
            scale_count: count(scales),
            zero_count: self.zeros.as_ref().map(count),
        };
        sizes.check()?;
        to.quantized(&Quantized {
            bits: self.bits,
            group_size: self.group_size,
            packing: self.packing,
            grouping: self.grouping,
            codes: (codes.0.dtype, None),
            scales: (scales.0.dtype, known(scales.0.logical)),
            has_zeros: self.zeros.is_some(),
        })
    }
}

/// A component with its bytes.
pub type Part<'a> = (ComponentSpec<'a>, &'a [u8]);

/// A whole object to write.
#[derive(Clone, Copy)]
pub struct Description<'a> {
    pub object: ObjectSpec<'a>,
    /// `None` for those that every object of the format has: see [`attributes_of_format`].
    pub attributes: Option<&'a Attributes>,
    pub components: Components<'a>,
}

/// The components of a whole object.
#[derive(Clone, Copy)]
pub enum Components<'a> {
    /// Only the data of a dense object or of one made of blocks. Most objects are like this, and they are
    /// checked fast.
    Data([Part<'a>; 1]),
    /// The components of any other object.
    All(&'a [Part<'a>]),
}

impl<'a> Components<'a> {
    #[inline(always)]
    pub fn parts(&self) -> &[Part<'a>] {
        match self {
            Components::Data(data) => data,
            Components::All(parts) => parts,
        }
    }
}

/// Something that describes a whole object. Descriptions of many objects are only made when they are needed,
/// because they are larger than their sources.
pub trait Describe: Sync {
    fn describe(&self) -> Description<'_>;
}

impl Describe for Description<'_> {
    fn describe(&self) -> Description<'_> {
        *self
    }
}

impl Describe for DenseSpec<'_> {
    #[inline(always)]
    fn describe(&self) -> Description<'_> {
        let blocks = self.logical.filter(|logical| logical.is_block_type());
        let data = ComponentSpec {
            logical: self.logical.map(LogicalSpec::Known),
            encoding: self.encoding,
            digest: self.digest,
            ..ComponentSpec::new("data", self.dtype)
        };
        Description {
            object: ObjectSpec { name: self.name, format: Format::of_array(blocks), shape: self.shape },
            attributes: None,
            components: Components::Data([(data, self.data)]),
        }
    }
}

/// How a copy is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recode {
    /// The encoding; `None` keeps it.
    pub encoding: Option<Encoding>,
    /// The digest. The outer `None` keeps the kind of digest; a component without one gets the writer's. The
    /// inner `None` means no digest.
    pub digest: Option<Option<Algorithm>>,
    /// The dtype to convert floats to. This includes 8-bit floats, and quantized objects, which become dense.
    /// `None` keeps them.
    pub floats: Option<Dtype>,
    /// Whether finite numbers may become infinite in that dtype. If not, such an object is refused.
    pub lossy: bool,
    /// The block type to quantize dense floats to; `None` keeps them. Not together with `floats`.
    pub blocks: Option<Logical>,
}

/// What the elements of a component are made from if it is encoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeOf {
    /// The elements of the component, one by one.
    Elements,
    /// Its floats, which become blocks of this type.
    Floats(Logical),
    /// The numbers of its quantized object.
    Numbers,
    /// The same, which become blocks of this type.
    NumbersInBlocks(Logical),
}

/// Checks that an object with this name can be written.
pub fn check_object_name(name: &str, to: &Capabilities) -> Result<()> {
    to.check_name("an object", name)?;
    match name.len() {
        size if size > NAME_LIMIT => Err(fail!(Limit, "a name of {size} bytes is longer than {NAME_LIMIT}")),
        _ => Ok(()),
    }
}

/// Checks that an object has every component that its format requires.
pub fn check_roles(format: Format, has: impl Fn(&str) -> bool) -> Result<()> {
    match format.required_roles().iter().find(|role| !has(role)) {
        Some(role) => Err(fail!(InvalidArgument, "it has no component {role:?}, which its format requires")),
        None => Ok(()),
    }
}

/// How many bytes a component must have, if its object's shape determines that.
pub fn expected_size(format: Format, shape: &[u64], spec: &ComponentSpec<'_>) -> Result<Option<u64>> {
    match format {
        Format::Dense if spec.role == "data" => dense_size(shape, spec.dtype, spec.logical),
        Format::Blocks(logical) if spec.role == "data" => {
            let (row, of) = (shape.last().copied().unwrap_or(1), logical.block());
            if !of.divides(row) {
                return Err(fail!(
                    InvalidArgument,
                    "its rows have {row} elements, which are not whole blocks of {} of {}",
                    of.elements,
                    logical.name()
                ));
            }
            dense_size(shape, spec.dtype, Some(LogicalSpec::Known(logical)))
        }
        _ => Ok(None),
    }
}

/// The attributes of an object made of blocks: the size of the blocks. Empty for other formats.
pub fn attributes_of_format(format: Format) -> Result<Attributes> {
    let mut attributes = Attributes::default();
    if let Format::Blocks(logical) = format {
        let block = logical.block();
        for (key, number) in [("elems_per_block", block.elements), ("block_bytes", block.bytes)] {
            attributes.set_built(key, |to| to.unsigned(number))?;
        }
    }
    Ok(attributes)
}

/// How many bytes the data of a dense object must have, if the size of its elements is known.
pub fn dense_size(shape: &[u64], dtype: Dtype, logical: Option<LogicalSpec<'_>>) -> Result<Option<u64>> {
    let overflow = || fail!(InvalidArgument, "the size of the shape {shape:?} exceeds 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let block = match logical {
        None => dtype.block(),
        Some(LogicalSpec::Known(logical)) => logical.block(),
        Some(LogicalSpec::Other(_)) => return Ok(None),
    };
    block.size(elements).ok_or_else(overflow).map(Some)
}

/// Checks that a component of this type may have this many bytes.
pub fn check_final_size(
    dtype: Dtype,
    logical: Option<Logical>,
    expected: Option<u64>,
    size: u64,
) -> Result<()> {
    // The last packed elements may only fill a part of their block.
    let block = logical.map_or(dtype.block(), Logical::block);
    let unit = if block.elements > 1 { 1 } else { block.bytes };
    match expected {
        Some(expected) if expected != size => {
            Err(fail!(BufferSize, "it takes {expected} bytes, but {size} were given"))
        }
        _ if size % unit != 0 => {
            Err(fail!(BufferSize, "{size} bytes are not a whole number of {unit}-byte elements"))
        }
        _ => Ok(()),
    }
}

/// Checks that the output container allows a component of this type in such an object.
pub fn check_type(format: Format, spec: &ComponentSpec<'_>, to: &Capabilities) -> Result<()> {
    let blocks = known(spec.logical).filter(|logical| logical.is_block_type());
    if let Some(logical) = blocks.filter(|logical| format != Format::Blocks(*logical)) {
        let name = logical.name();
        return Err(fail!(
            InvalidArgument,
            "the type \"{name}\" is a block type: its objects have the format \"{name}/1\""
        ));
    }
    let allowed = to.index_dtypes;
    if !format.is_index(spec.role) || spec.logical.is_none() && allowed.contains(spec.dtype) {
        return Ok(());
    }
    let wanted = allowed.description();
    let (dtype, more) = (spec.dtype.name(), if spec.logical.is_some() { " with a type" } else { "" });
    Err(fail!(InvalidArgument, "its dtype is \"{dtype}\"{more}, but an index has to be {wanted}"))
}

/// The logical type, if this version knows it.
pub fn known(logical: Option<LogicalSpec<'_>>) -> Option<Logical> {
    logical.as_ref().and_then(known_of)
}

/// Never inlined: otherwise the compiler reads the type before it checks whether there is one, and valgrind
/// reports that.
#[inline(never)]
fn known_of(logical: &LogicalSpec<'_>) -> Option<Logical> {
    match *logical {
        LogicalSpec::Known(logical) => Some(logical),
        LogicalSpec::Other(_) => None,
    }
}

/// The components, sorted by the bytes of their roles.
pub(super) fn by_role<'p, 'a>(parts: &'p [Part<'a>]) -> Result<Vec<&'p Part<'a>>> {
    let mut sorted = collected(parts.len(), parts)?;
    sort_by(&mut sorted, |(a, _): &&Part<'_>, (b, _): &&Part<'_>| a.role.as_bytes().cmp(b.role.as_bytes()));
    Ok(sorted)
}
