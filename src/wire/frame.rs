//! Which container a file is, detected from both of its ends, and where its manifest stands.
//!
//! | container | first 8 bytes | last bytes |
//! |---|---|---|
//! | 0.1 | `ZTEN0001` | manifest size (u64, little-endian) |
//! | 1.0 | `ZTEN1000` | manifest size |
//! | 1.1, 1.2 | `ZTEN1000` | manifest size, `ZTEN1000` |

use crate::error::{broken, fail, Result, Rule};
use std::ops::Range;

/// First bytes of a 0.1 file.
pub(crate) const MAGIC_0_1: &[u8; 8] = b"ZTEN0001";
/// First bytes of a 1.x file, and last bytes from 1.1 on.
pub(crate) const MAGIC_1: &[u8; 8] = b"ZTEN1000";
/// First bytes of the container that came after 1.x.
const MAGIC_2: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// Bytes of each end that [`detect`] wants to see.
pub(crate) const END_BYTES: usize = 16;
/// Components start at multiples of this (0.1 section 3.2, 1.1 part I.2, 1.2 section 4).
pub(crate) const ALIGNMENT: u64 = 64;
/// The specs' own limit on a manifest (1.1 part IV.1.4, 1.2 section 5.4).
pub(crate) const MANIFEST_LIMIT: u64 = 1 << 30;

/// How the file is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// 0.1
    V0_1,
    /// 1.0
    V1_0,
    /// 1.1 and later minor versions
    V1,
}

/// A container and where its manifest stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How the file is framed.
    pub container: Container,
    /// The manifest's bytes.
    pub manifest: Range<u64>,
    /// Bytes of the whole file.
    pub file_size: u64,
}

/// What a caller allows a file to claim.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the manifest.
    pub manifest_size: u64,
    /// Number of objects.
    pub objects: u64,
    /// Bytes of memory that opening it may take; none for [`Limits::memory_for`]'s default.
    pub memory: Option<u64>,
}

/// Memory that opening any file may take by default.
const LEAST_MEMORY: u64 = 256 << 20;
/// The same for a file with a large manifest, in bytes for each of its bytes.
const MEMORY_PER_BYTE: u64 = 16;

impl Limits {
    /// Bytes of memory that opening a file with a manifest of that size may take.
    pub fn memory_for(&self, manifest_size: u64) -> u64 {
        let default = manifest_size.saturating_mul(MEMORY_PER_BYTE).max(LEAST_MEMORY);
        self.memory.unwrap_or(default)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { manifest_size: MANIFEST_LIMIT, objects: 1 << 24, memory: None }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

/// Decides from the first and the last `END_BYTES` bytes (fewer if the file is shorter).
pub fn detect(file_size: u64, head: &[u8], tail: &[u8], limits: &Limits) -> Result<Frame> {
    let magic = head.first_chunk::<8>();
    let last8 = tail.last_chunk::<8>();
    let ends_in_magic = last8 == Some(MAGIC_1);
    match magic {
        Some(MAGIC_0_1) => detect_0_1(file_size, last8, ends_in_magic, limits),
        Some(MAGIC_1) => detect_1(file_size, tail, last8, ends_in_magic, limits),
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
fn later_container(tail: &[u8]) -> crate::error::Error {
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

fn detect_0_1(
    file_size: u64,
    last8: Option<&[u8; 8]>,
    ends_in_magic: bool,
    limits: &Limits,
) -> Result<Frame> {
    if file_size < 16 {
        return Err(broken!(
            Rule::FileTooSmall,
            "a 0.1 file of {file_size} bytes; the magic and the index size alone take 16"
        ));
    }
    if ends_in_magic {
        return Err(broken!(
            Rule::HeaderMagic,
            "the file begins like 0.1 (ZTEN0001) but ends like 1.1 (ZTEN1000)"
        ));
    }
    let size = last8.map_or(0, |b| u64::from_le_bytes(*b));
    let capacity = file_size.saturating_sub(16);
    if size == 0 && capacity > 0 {
        return Err(broken!(Rule::ManifestEmpty, "the index size is 0 in a file of {file_size} bytes"));
    }
    frame(Container::V0_1, file_size, 8, size, capacity, limits)
}

fn detect_1(
    file_size: u64,
    tail: &[u8],
    last8: Option<&[u8; 8]>,
    ends_in_magic: bool,
    limits: &Limits,
) -> Result<Frame> {
    if file_size < 17 {
        return Err(broken!(Rule::FileTooSmall, "a 1.x file of {file_size} bytes; the smallest has 25"));
    }
    if ends_in_magic {
        if file_size < 25 {
            return Err(broken!(Rule::FileTooSmall, "a 1.x file of {file_size} bytes; the smallest has 25"));
        }
        let size = tail.last_chunk::<16>().map_or(0, |b| little_endian(b));
        if size > limits.manifest_size {
            return Err(over_limit(size, limits));
        }
        if size == 0 {
            return Err(broken!(Rule::ManifestEmpty, "the manifest size is 0"));
        }
        return frame(Container::V1, file_size, 16, size, file_size.saturating_sub(24), limits);
    }
    let size = last8.map_or(0, |b| u64::from_le_bytes(*b));
    let capacity = file_size.saturating_sub(16);
    if size == 0 || size > capacity {
        return Err(footer_missing(file_size));
    }
    frame(Container::V1_0, file_size, 8, size, capacity, limits)
}

/// The file does not end as any 1.x file does.
#[cold]
pub fn footer_missing(file_size: u64) -> crate::error::Error {
    broken!(
        Rule::FooterMagic,
        "the file begins like 1.x but its {file_size} bytes do not end in ZTEN1000: cut short, or not closed"
    )
}

fn frame(
    container: Container,
    file_size: u64,
    footer_size: u64,
    size: u64,
    capacity: u64,
    limits: &Limits,
) -> Result<Frame> {
    if size > capacity {
        return Err(broken!(
            Rule::ManifestRange,
            "the manifest size is {size}, but the file of {file_size} bytes has room for {capacity}"
        ));
    }
    if size > limits.manifest_size {
        return Err(over_limit(size, limits));
    }
    let end = file_size.saturating_sub(footer_size);
    Ok(Frame { container, manifest: end.saturating_sub(size)..end, file_size })
}

#[cold]
fn over_limit(size: u64, limits: &Limits) -> crate::error::Error {
    fail!(Limit, "the manifest size is {size}, above the limit of {} bytes", limits.manifest_size)
}

/// The first bytes of something, for a message.
struct EscapedBytes<'a>(&'a [u8]);

impl std::fmt::Display for EscapedBytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.get(..8).unwrap_or(self.0);
        write!(f, "\"{}\"", shown.escape_ascii())
    }
}
