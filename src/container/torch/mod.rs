//! PyTorch's checkpoints: zip archives with a pickle, `data.pkl`, and the bytes of storages, `data/0` and so
//! on. Before 1.6, the pickle and the storages were directly in the file: `legacy`.
//!
//! The pickle describes the tensors and the positions of their elements in storages. It is a program for a
//! stack machine that may call any Python function. Here it only makes values in flat tables, and the few
//! functions that it may name compute with these. docs/torch.md explains what is read.

mod archive;
mod calls;
mod decode;
mod globals;
mod legacy;
mod opcodes;
mod pickle;
mod scalars;
#[cfg(test)]
mod tests;
mod tree;
mod values;

pub(crate) use archive::is_pickle;
pub(crate) use decode::decode;

use super::capabilities::{Capabilities, SharedBytes, FOREIGN};
use super::frame::{Detected, Ends, Frame, Limits};
use super::interface::Row;
use crate::error::{fail, Result};
use crate::model::manifest::Container;

/// Its row in the table. It detects files from before 1.6. Archives are detected as npz, whose decoder finds
/// out from the members whether they are checkpoints.
pub(crate) const ROW: Row = Row {
    capabilities: Capabilities {
        container: Container::Torch,
        unknown_names: true,
        big_endian: true,
        zero_gaps: false,
        checksums_optional: true,
        shared_bytes: SharedBytes::Any,
        ..FOREIGN
    },
    detect: Some(detect),
    decode: Some(legacy::decode),
    ..Row::BASE
};

/// The first value of a file from before PyTorch 1.6: a pickled number, after the protocol and, from protocol
/// 4 on, a FRAME.
const LEGACY: &[u8] = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
const FRAME_SIZE: usize = 9;
/// The offset of a tar archive's magic, and the magic.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// Tar archives consist of blocks of this size.
const TAR_BLOCK: u64 = 512;

/// Detects files from before 1.6. For other files of PyTorch, returns an error that says what they are.
fn detect(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    let form = match ends.head {
        [0x80, 2..=5, rest @ ..]
            if rest.starts_with(LEGACY)
                || rest.get(FRAME_SIZE..).is_some_and(|rest| rest.starts_with(LEGACY)) =>
        {
            return Ok(Detected::Frame(Frame::of_unknown_manifest(Container::Torch, ends.file_size)));
        }
        [0x80, 1..=5, ..] if ends.tail.ends_with(b".") => "a bare pickle of Python",
        head => {
            let (at, magic) = TAR;
            let end = at.saturating_add(magic.len());
            let may_be = ends.file_size >= TAR_BLOCK && ends.file_size % TAR_BLOCK == 0;
            match head.get(at..end) {
                None if may_be => return Ok(Detected::NeedsHead(end as u64)),
                Some(found) if may_be && found == magic => "a tar archive, as PyTorch 0.1 saved checkpoints",
                _ => return Ok(Detected::Other),
            }
        }
    };
    Err(fail!(
        Unsupported,
        "this is {form}, which is not read; torch.save writes it anew as a zip archive, which is"
    ))
}
