//! Zip archives: the end record, the directory, and the local headers of members.
//!
//! The directory and the local header of a member have to agree, no two members may share bytes, and the
//! directory has to end where the end records begin. Every size and offset is compared with the file's size
//! before it is used.

mod directory;
mod end;
mod local;
#[cfg(test)]
mod tests;

pub(crate) use directory::{Directory, Member, Method};

use super::frame::Ends;
use super::ztensor_1;

/// The first bytes of an archive with members, and of one without.
const MAGICS: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Whether a file begins like an archive. A file that also ends like a `.zt` file is a `.zt` file without its
/// beginning.
pub(crate) fn begins(ends: Ends<'_>) -> bool {
    MAGICS.iter().any(|magic| ends.head.starts_with(*magic)) && !ends.tail.ends_with(ztensor_1::footer::MAGIC)
}
