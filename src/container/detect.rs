//! Which container a file is, detected by its content, and where its manifest stands.
//!
//! | container | first bytes | last bytes |
//! |---|---|---|
//! | 0.1 | `ZTEN0001` | manifest size (u64, little-endian) |
//! | 1.0 | `ZTEN1000` | manifest size |
//! | 1.1, 1.2 | `ZTEN1000` | manifest size, `ZTEN1000` |
//! | 2 | `\x89ZT2\r\n\x1a\n` | where the manifest is and its hash, the version, the magic |
//! | safetensors | header size (u64, little-endian), `{` | |
//! | GGUF | `GGUF` | |
//! | npy | `\x93NUMPY` | |
//! | npz, PyTorch | `PK\x03\x04`, or `PK\x05\x06` of one without members | |

use super::frame::{Detected, Ends, Limits};
use super::row::Row;
use super::{other_files, ztensor_1, ztensor_2};
use crate::error::{broken, fail, Error, Result, Rule};
use crate::model::manifest::Container;
use std::fmt;

/// Bytes of a file's end that [`detect`] wants to see.
pub(crate) const END_BYTES: usize = 40;

/// Decides by what is seen of a file: what the first row says that knows it, if the caller allows that
/// container.
pub fn detect(table: &[&Row], ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    for detect in table.iter().filter_map(|row| row.detect) {
        let found = detect(ends, limits)?;
        let container = match &found {
            Detected::Other => continue,
            Detected::NeedsHead(_) => return Ok(found),
            Detected::Frame(frame) => frame.container,
        };
        let others = super::row(container).map_or(&[][..], |row| row.may_be);
        let bits = others.iter().fold(container.bit(), |bits, other| bits | other.bit());
        check_allowed(container, bits, limits)?;
        return Ok(found);
    }
    Err(not_read(table, ends))
}

/// Refuses a container that the caller did not ask for; it is one of those of `bits`.
pub fn check_allowed(container: Container, bits: u32, limits: &Limits) -> Result<()> {
    match limits.containers == 0 || limits.containers & bits != 0 {
        true => Ok(()),
        false => Err(fail!(
            Unsupported,
            "this is a file of {}, which is none of the containers that the options allow",
            container.name()
        )),
    }
}

/// What is wrong with a file that no row knows.
#[cold]
fn not_read(table: &[&Row], ends: Ends<'_>) -> Error {
    let head = ends.head;
    let is_short = ends.file_size < ztensor_2::ends::MIN_SIZE;
    match head.first_chunk::<8>() {
        Some([b'Z', b'T', b'E', b'N', digits @ ..]) if digits.iter().all(u8::is_ascii_digit) => fail!(
            Unsupported,
            "the file begins with {}: another major version; 0.1 (ZTEN0001) and 1.x (ZTEN1000) are read here",
            EscapedBytes(head)
        ),
        _ if ends.tail.ends_with(ztensor_1::footer::MAGIC) => broken!(
            Rule::HeaderMagic,
            "the file ends in ZTEN1000 but begins with {} instead of ZTEN1000",
            EscapedBytes(head)
        ),
        _ if ends.tail.ends_with(ztensor_2::ends::MAGIC) && is_short => broken!(
            Rule::Zt2FileTooSmall,
            "the file ends as one of zTensor 2 does, but has {} bytes; the smallest has {}",
            ends.file_size,
            ztensor_2::ends::MIN_SIZE
        ),
        _ if ends.tail.ends_with(ztensor_2::ends::MAGIC) => broken!(
            Rule::Zt2HeaderMagic,
            "the file ends as one of zTensor 2 does but begins with {} instead of {}",
            EscapedBytes(head),
            EscapedBytes(ztensor_2::ends::MAGIC)
        ),
        _ if ends.file_size == 0 => fail!(NotZtensor, "the file is empty"),
        _ if is_short && ztensor_2::ends::MAGIC.starts_with(head) => broken!(
            Rule::Zt2FileTooSmall,
            "the file has the first {} bytes of one of zTensor 2 and no more",
            ends.file_size
        ),
        _ => match other_files::find(head, ends.tail) {
            Some(known) => fail!(NotZtensor, "{known}"),
            None => unknown(table, head),
        },
    }
}

#[cold]
fn unknown(table: &[&Row], head: &[u8]) -> Error {
    fail!(
        NotZtensor,
        "no container that is read here: it begins with {}; {} are read",
        EscapedBytes(head),
        Read(table)
    )
}

/// The names of those that are read, for a message.
struct Read<'a>(&'a [&'a Row]);

impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = || self.0.iter().filter(|row| row.decode.is_some());
        let count = read().count();
        for (at, row) in read().enumerate() {
            let between = match count.saturating_sub(at) {
                _ if at == 0 => "",
                1 => " and ",
                _ => ", ",
            };
            write!(f, "{between}{}", row.capabilities.container.name())?;
        }
        Ok(())
    }
}

/// The first bytes of something, for a message.
struct EscapedBytes<'a>(&'a [u8]);

impl std::fmt::Display for EscapedBytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.get(..8).unwrap_or(self.0);
        write!(f, "\"{}\"", shown.escape_ascii())
    }
}
