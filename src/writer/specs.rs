//! What is to be written, and what was.

use crate::digest::Algorithm;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::Encoding;

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
    /// The digest; the outer none for the kind that it has, the inner one for no digest.
    pub digest: Option<Option<Algorithm>>,
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
}
