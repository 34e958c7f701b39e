//! NumPy's arrays: npz, an archive of them, and npy, one by itself.
//!
//! An array is a header, the text of a Python dictionary, and the elements. In an archive the arrays are the
//! members that begin as one does, stored or deflated; an array by itself has the empty name. What is not
//! read here is listed: arrays of other types, members that are compressed in other ways, members that are
//! not arrays.

mod arrays;
pub mod header;
#[cfg(test)]
mod tests;

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{Detected, Ends, Frame, Input, Limits};
use super::interface::Row;
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
    decode: Some(decode),
    has_own_rules: false,
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
        true => Ok(Detected::Frame(Frame::of_unknown_manifest(Container::Npz, ends.file_size))),
        false => Ok(Detected::Other),
    }
}

fn decode(frame: &mut Frame, input: &mut dyn Input, limits: &Limits, budget: &Budget) -> Result<Manifest> {
    let magic = (header::MAGIC.len() as u64).min(input.file_size());
    if input.read(0..magic)? == header::MAGIC {
        return arrays::single(frame, input, limits, budget);
    }
    let directory = Directory::read(input, limits, budget)?;
    if directory.members.iter().any(|member| torch::is_pickle(directory.name(member))) {
        return torch::decode(directory, frame, input, limits, budget);
    }
    arrays::archive(directory, frame, input, budget)
}
