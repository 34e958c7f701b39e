//! Which container a file is, detected from both of its ends, and where its manifest stands.
//!
//! | container | first 8 bytes | last bytes |
//! |---|---|---|
//! | 0.1 | `ZTEN0001` | manifest size (u64, little-endian) |
//! | 1.0 | `ZTEN1000` | manifest size |
//! | 1.1, 1.2 | `ZTEN1000` | manifest size, `ZTEN1000` |

use super::frame::{Frame, Limits};
use super::{ztensor_0_1, ztensor_1};
use crate::error::{broken, fail, Error, Result, Rule};

/// First bytes of the container that came after 1.x.
const MAGIC_2: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// Bytes of a file's end that [`detect`] wants to see.
pub(crate) const END_BYTES: usize = 16;
/// Decides from the first and the last `END_BYTES` bytes (fewer if the file is shorter).
pub fn detect(file_size: u64, head: &[u8], tail: &[u8], limits: &Limits) -> Result<Frame> {
    let magic = head.first_chunk::<8>();
    let last8 = tail.last_chunk::<8>();
    let ends_in_magic = last8 == Some(ztensor_1::footer::MAGIC);
    match magic {
        Some(ztensor_0_1::footer::MAGIC) => {
            ztensor_0_1::footer::detect(file_size, last8, ends_in_magic, limits)
        }
        Some(ztensor_1::footer::MAGIC) => {
            ztensor_1::footer::detect(file_size, tail, last8, ends_in_magic, limits)
        }
        Some(MAGIC_2) => Err(later_container(tail)),
        _ if ends_in_magic => Err(broken!(
            Rule::HeaderMagic,
            "the file ends in ZTEN1000 but begins with {} instead of ZTEN1000",
            EscapedBytes(head)
        )),
        Some([b'Z', b'T', b'E', b'N', digits @ ..]) if digits.iter().all(u8::is_ascii_digit) => Err(fail!(
            Unsupported,
            "the file begins with {}: another major version; 0.1 (ZTEN0001) and 1.x (ZTEN1000) are read here",
            EscapedBytes(head)
        )),
        _ if file_size == 0 => Err(fail!(NotZtensor, "the file is empty")),
        _ => Err(fail!(
            NotZtensor,
            "not a zTensor file: it begins with {}, not with ZTEN1000 or ZTEN0001",
            EscapedBytes(head)
        )),
    }
}

/// The container that came after 1.x: its footer has the version, 16 bytes from the end (spec 2 section 1).
#[cold]
fn later_container(tail: &[u8]) -> Error {
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
