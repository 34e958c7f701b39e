//! GGUF, versions 1 to 3, in either byte order. Keys and tensor descriptions come before all data.
//!
//! Their size is not given, so they are read item by item, through a window that moves over the file if its
//! bytes cannot be borrowed. docs/gguf.md explains how the library reads what ggml's document leaves open.

pub mod cursor;
pub mod decode;
pub mod keys;
mod origin;
#[cfg(test)]
mod tests;

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{Detected, Ends, Frame, Limits};
use super::interface::Row;
use super::ztensor_1;
use crate::error::Result;
use crate::model::manifest::Container;

/// Its capabilities. It is read only.
const CAPABILITIES: Capabilities =
    Capabilities { container: Container::Gguf, unknown_names: true, big_endian: true, ..FOREIGN };

pub(crate) const ROW: Row = Row {
    capabilities: CAPABILITIES,
    header: decode::MAGIC,
    detect: Some(detect),
    decode: Some(decode::decode),
    origin: Some(origin::origin),
    split: Some(keys::split),
    ..Row::BASE
};

/// A file that ends like a `.zt` file is a `.zt` file without its beginning.
fn detect(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    match ends.tail.ends_with(ztensor_1::footer::MAGIC) {
        true => Ok(Detected::Other),
        false => Ok(Detected::Frame(Frame::of_unknown_manifest(Container::Gguf, ends.file_size))),
    }
}
