//! NumPy's arrays: npz, an archive of them, and npy, one by itself.
//!
//! An array is a header, the text of a Python dictionary, and the elements. In an archive the arrays are the
//! members that begin as one does, stored or deflated; an array by itself has the empty name. What is not
//! read here is listed: arrays of other types, members that are compressed in other ways, members that are
//! not arrays.

mod arrays;
mod descr;
pub mod header;
mod literal;
#[cfg(test)]
mod tests;

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{Detected, Ends, Frame, Limits};
use super::regions::Regions;
use super::row::{Decode, Row};
use super::torch;
use super::zip::{self, Directory};
use crate::error::Result;
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};

/// Its row.
pub(crate) const ROW: Row = Row {
    capabilities: Capabilities {
        container: Container::Npz,
        unknown_names: true,
        big_endian: true,
        zero_gaps: false,
        ..FOREIGN
    },
    detect: Some(detect),
    may_be: &[Container::Torch],
    decode: Some(Decode::Scattered(decode)),
    encode: None,
    origin: None,
    ends: None,
    split: None,
    content_digest: None,
    canonical: None,
};

/// Detects an array by its magic, and an archive, whose members then show whether it is an npz or a
/// checkpoint.
fn detect(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    match ends.head.starts_with(header::MAGIC) || zip::begins(ends) {
        true => Ok(Detected::Scattered(Container::Npz)),
        false => Ok(Detected::Other),
    }
}

fn decode(regions: &mut dyn Regions, limits: &Limits, budget: &Budget) -> Result<(Frame, Manifest)> {
    let magic = (header::MAGIC.len() as u64).min(regions.file_size());
    if regions.bytes(0..magic)? == header::MAGIC {
        return arrays::single(regions, limits, budget);
    }
    let directory = Directory::read(regions, limits, budget)?;
    if directory.members.iter().any(|member| torch::is_pickle(directory.name(member))) {
        return torch::decode(directory, regions, limits, budget);
    }
    arrays::archive(directory, regions, budget)
}
