//! Which container a file is, detected by its content, and where its manifest stands.
//!
//! | container | first bytes | last bytes |
//! |---|---|---|
//! | 0.1 | `ZTEN0001` | manifest size (u64, little-endian) |
//! | 1.0 | `ZTEN1000` | manifest size |
//! | 1.1, 1.2 | `ZTEN1000` | manifest size, `ZTEN1000` |
//! | safetensors | header size (u64, little-endian), `{` | |
//! | GGUF | `GGUF` | |
//! | npy | `\x93NUMPY` | |
//! | npz, PyTorch | `PK\x03\x04`, or `PK\x05\x06` of one without members | |

use super::frame::{Detected, Ends, Limits};
use super::row::Row;
use super::ztensor_1;
use crate::error::{broken, fail, Error, Result, Rule};
use std::fmt;

/// First bytes of the container that came after 1.x.
const MAGIC_2: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// Bytes of a file's end that [`detect`] wants to see.
pub(crate) const END_BYTES: usize = 16;

/// Decides by what is seen of a file: what the first row says that knows it.
pub fn detect(table: &[&Row], ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    for row in table {
        match (row.detect)(ends, limits)? {
            Detected::Other => {}
            _ if row.decode.is_none() => {
                let name = row.capabilities.container.name();
                return Err(fail!(Unsupported, "this is a file of {name}; {} are read here", Read(table)));
            }
            found => return Ok(found),
        }
    }
    let head = ends.head;
    Err(match head.first_chunk::<8>() {
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
        _ if ends.file_size == 0 => fail!(NotZtensor, "the file is empty"),
        _ => fail!(
            NotZtensor,
            "no container that is read here: it begins with {}; {} are read",
            EscapedBytes(head),
            Read(table)
        ),
    })
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

/// The container that came after 1.x: its footer has the version, 16 bytes from the end (spec 2 section 1).
pub fn later_container(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    match ends.head.starts_with(MAGIC_2) {
        true => Err(not_read_so_far(ends.tail)),
        false => Ok(Detected::Other),
    }
}

#[cold]
fn not_read_so_far(tail: &[u8]) -> Error {
    let footer = tail.last_chunk::<16>().and_then(|footer| footer.split_first_chunk::<4>());
    match footer.filter(|(_, rest)| rest.ends_with(MAGIC_2)) {
        Some((version, _)) => fail!(
            Unsupported,
            "this is a zTensor version {} container; versions 0.1, 1.0, 1.1 and 1.2 are read here",
            u32::from_le_bytes(*version)
        ),
        None => fail!(
            Unsupported,
            "this begins like a zTensor version 2 container but does not end like one; versions 0.1, 1.0, 1.1 and 1.2 \
             are read here"
        ),
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
