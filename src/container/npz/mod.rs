//! NumPy's arrays: npz is an archive of arrays, npy is a single array.
//!
//! An array has a header, which is the text of a Python dictionary, and then its elements. In an archive,
//! arrays are the members that begin like one, stored or deflated. A single array gets the empty name. What
//! the library does not read is listed: arrays of other types, members with other compression, and members
//! that are not arrays.

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
    ..Row::BASE
};

/// Detects an array by its magic, and archives. The members of an archive then show whether it is an npz or a
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
