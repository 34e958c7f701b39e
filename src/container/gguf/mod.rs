//! GGUF, versions 1 to 3, in either byte order: keys and tensor descriptions come before all data.
//!
//! How long they are stands nowhere: they are read item by item, over a window that moves through the file
//! where its bytes cannot be lent. What is read where ggml's document leaves room is in docs/gguf.md.

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

/// What it can represent: read only.
const CAPABILITIES: Capabilities =
    Capabilities { container: Container::Gguf, unknown_names: true, big_endian: true, ..FOREIGN };

/// How it is read.
pub(crate) const ROW: Row = Row {
    capabilities: CAPABILITIES,
    detect: Some(detect),
    may_be: &[],
    decode: Some(decode::decode),
    has_own_rules: false,
    encode: None,
    origin: Some(origin::origin),
    ends: None,
    split: Some(keys::split),
    content_digest: None,
    canonical: None,
};

/// What ends as a `.zt` file does is one that lost its beginning.
fn detect(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    match ends.head.starts_with(decode::MAGIC) && !ends.tail.ends_with(ztensor_1::ends::MAGIC) {
        true => Ok(Detected::Frame(Frame::of_unknown_manifest(Container::Gguf, ends.file_size))),
        false => Ok(Detected::Other),
    }
}
