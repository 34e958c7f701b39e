//! What is to be written, what of it can be refused by itself, and what was written.

use crate::container::{self, Capabilities};
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Encoding, Format, Version};
use crate::threads::ThreadHooks;

/// Longest name that is written, in bytes.
pub(super) const NAME_LIMIT: usize = 64 << 10;

/// A logical type to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalSpec<'a> {
    /// One that this version knows.
    Known(Logical),
    /// Any other.
    Other(&'a str),
}

/// An object to be written.
#[derive(Clone, Copy, Debug)]
pub struct ObjectSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of its format.
    pub format: &'a str,
    /// Its dimensions.
    pub shape: &'a [u64],
}

/// A component to be written.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSpec<'a> {
    /// Its name within the object.
    pub role: &'a str,
    /// Its storage type.
    pub dtype: Dtype,
    /// Its logical type.
    pub logical: Option<LogicalSpec<'a>>,
    /// Its encoding; none for the writer's.
    pub encoding: Option<Encoding>,
    /// Its digest; the outer none for the writer's, the inner one for no digest.
    pub digest: Option<Option<Algorithm>>,
    /// How many bytes will be streamed, if that is known.
    pub size: Option<u64>,
}

impl<'a> ComponentSpec<'a> {
    /// A component as the writer's options have it.
    pub fn new(role: &'a str, dtype: Dtype) -> Self {
        ComponentSpec { role, dtype, logical: None, encoding: None, digest: None, size: None }
    }
}

/// How a copy is encoded, where not as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recode {
    /// The encoding; none for the one that it has.
    pub encoding: Option<Encoding>,
    /// The digest; the outer none for the kind that it has or, if it has no digest, the writer's; the inner
    /// one for no digest.
    pub digest: Option<Option<Algorithm>>,
    /// The dtype of the data of dense objects of floats, also of 8 bits; none for the one that it has.
    pub floats: Option<Dtype>,
    /// Finite numbers may become infinite in that dtype; otherwise such an object is refused.
    pub lossy: bool,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of the file.
    pub file_size: u64,
    /// Objects in it.
    pub objects: u64,
    /// Components in it.
    pub components: u64,
    /// Stored bytes that this writer wrote.
    pub stored_bytes: u64,
    /// Bytes before encoding.
    pub data_bytes: u64,
    /// Components that were copied although their bytes do not agree with a checksum of their file.
    pub damaged: u64,
}

/// How to write.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Which text of the spec to follow.
    pub version: Version,
    /// Components start at multiples of this, and of what the version has.
    pub alignment: u64,
    /// Large ones at multiples of this; 0 for no difference.
    pub large_alignment: u64,
    /// From how many bytes a component is large.
    pub large_size: u64,
    /// Where a component asks for none.
    pub encoding: Encoding,
    /// The level of zstd.
    pub zstd_level: i32,
    /// The digest of components that ask for none.
    pub digest: Option<Algorithm>,
    /// If `digest` is none, whether components get the usual digest of the version: CRC-32C, in zTensor 2
    /// XXH3.
    pub usual_digest: bool,
    /// Threads that compress; 0 for as many as there are processors.
    pub threads: usize,
    /// What is called on each thread that is started.
    pub thread_hooks: ThreadHooks,
    /// Sync file and folder before the end.
    pub durable: bool,
    /// Bytes of an independent zstd frame.
    pub frame_size: u64,
    /// The one form in which the same tensors and attributes have the same bytes.
    pub canonical: bool,
    /// Copies go on past bytes that do not agree with a checksum of their file; the copy has no new digest of
    /// them.
    pub allow_damaged: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            version: container::NEWEST,
            alignment: container::capabilities(container::NEWEST).alignment,
            large_alignment: 0,
            large_size: 1 << 20,
            encoding: Encoding::Raw,
            zstd_level: 3,
            digest: None,
            usual_digest: true,
            threads: 0,
            thread_hooks: ThreadHooks::default(),
            durable: false,
            frame_size: 1 << 20,
            canonical: false,
            allow_damaged: false,
        }
    }
}

impl WriterOptions {
    /// The same with what the version has where nothing else is asked for, and with what its canonical form
    /// has.
    pub(super) fn resolved(&self) -> Result<WriterOptions> {
        let to = container::capabilities(self.version);
        let usual = to.usual_digest.filter(|_| self.usual_digest);
        let resolved = WriterOptions { digest: self.digest.or(usual), usual_digest: false, ..self.clone() };
        let step = match (self.canonical, to.canonical_alignment) {
            (false, _) => return Ok(resolved),
            (true, None) => return Err(to.cannot_represent("a canonical form")),
            (true, Some(step)) => step,
        };
        let asked = [
            ("an encoding", self.encoding != Encoding::Raw),
            ("a digest other than xxh3", self.digest.is_some_and(|digest| digest != Algorithm::Xxh3)),
            ("an alignment", self.alignment > step || (self.large_alignment > step)),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((what, _)) => {
                Err(fail!(InvalidArgument, "{what} is asked for, which the canonical form has not"))
            }
            None => Ok(WriterOptions {
                alignment: step,
                large_alignment: 0,
                digest: Some(Algorithm::Xxh3),
                ..resolved
            }),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let to = container::capabilities(self.version);
        let least = container::capabilities(container::NEWEST).alignment;
        for (name, value) in [("alignment", self.alignment), ("large_alignment", self.large_alignment)] {
            let none = name == "large_alignment" && value == 0;
            if !none && (!value.is_power_of_two() || !(least..=1 << 40).contains(&value)) {
                return Err(fail!(
                    InvalidArgument,
                    "{name} is {value}, not a power of two from {least} to 2^40"
                ));
            }
        }
        if !(1024..=1 << 30).contains(&self.frame_size) {
            return Err(fail!(InvalidArgument, "frame_size is {}, not from 1024 to 2^30", self.frame_size));
        }
        self.check_frames(self.encoding)?;
        to.check_digest(self.digest)?;
        if to.encoding(self.encoding).is_none() || to.number.is_none() {
            return Err(fail!(InvalidArgument, "that encoding or version cannot be written"));
        }
        if !(-7..=22).contains(&self.zstd_level) {
            return Err(fail!(InvalidArgument, "zstd_level is {}, not from -7 to 22", self.zstd_level));
        }
        Ok(())
    }

    /// Refuses frames that nobody would read in a component of that encoding.
    pub(super) fn check_frames(&self, encoding: Encoding) -> Result<()> {
        let to = container::capabilities(self.version);
        let (size, most) = (self.frame_size, to.max_frame);
        match encoding != Encoding::Raw && size > most {
            true => Err(to.cannot_represent(format_args!("frames of {size} bytes; {most} is the most"))),
            false => Ok(()),
        }
    }
}

/// Whether an object of that name can be written.
pub fn check_object_name(name: &str, to: &Capabilities) -> Result<()> {
    to.check_name("an object", name)?;
    match name.len() {
        size if size > NAME_LIMIT => Err(fail!(Limit, "a name of {size} bytes is longer than {NAME_LIMIT}")),
        _ => Ok(()),
    }
}

/// Bytes that a component must have, if its object's shape gives them.
pub fn expected_size(format: Format, shape: &[u64], spec: &ComponentSpec<'_>) -> Result<Option<u64>> {
    match format == Format::Dense && spec.role == "data" {
        true => dense_size(shape, spec.dtype, spec.logical),
        false => Ok(None),
    }
}

/// Bytes that the data of a dense object must have, if the size of its elements is known.
pub fn dense_size(shape: &[u64], dtype: Dtype, logical: Option<LogicalSpec<'_>>) -> Result<Option<u64>> {
    let overflow = || fail!(InvalidArgument, "the size of the shape {shape:?} leaves 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let block = match logical {
        None => dtype.block(),
        Some(LogicalSpec::Known(logical)) => logical.block(),
        Some(LogicalSpec::Other(_)) => return Ok(None),
    };
    block.size(elements).ok_or_else(overflow).map(Some)
}

/// Whether a component of such a type may end with so many bytes.
pub fn check_final_size(
    dtype: Dtype,
    logical: Option<Logical>,
    expected: Option<u64>,
    size: u64,
) -> Result<()> {
    // The last packed elements may fill only a part of their block.
    let block = logical.map_or(dtype.block(), Logical::block);
    let unit = if block.elements > 1 { 1 } else { block.bytes };
    match expected {
        Some(expected) if expected != size => {
            Err(fail!(BufferSize, "it takes {expected} bytes, {size} are given"))
        }
        _ if size % unit != 0 => {
            Err(fail!(BufferSize, "{size} bytes are no whole number of {unit}-byte elements"))
        }
        _ => Ok(()),
    }
}

/// Whether the container to be written allows a component of that type in such an object.
pub fn check_index_dtype(format: Format, spec: &ComponentSpec<'_>, to: &Capabilities) -> Result<()> {
    let allowed = to.index_dtypes;
    if !format.is_index(spec.role) || spec.logical.is_none() && allowed.contains(spec.dtype) {
        return Ok(());
    }
    let wanted = allowed.description();
    let (dtype, more) = (spec.dtype.name(), if spec.logical.is_some() { " with a type" } else { "" });
    Err(fail!(InvalidArgument, "its dtype is \"{dtype}\"{more}, but an index has to be {wanted}"))
}

/// The logical type, where its ratio is known.
pub fn known(logical: Option<LogicalSpec<'_>>) -> Option<Logical> {
    logical.as_ref().and_then(known_of)
}

/// Never inlined: with it the compiler looks at the type before it asks whether there is one, and valgrind
/// complains.
#[inline(never)]
fn known_of(logical: &LogicalSpec<'_>) -> Option<Logical> {
    match *logical {
        LogicalSpec::Known(logical) => Some(logical),
        LogicalSpec::Other(_) => None,
    }
}
