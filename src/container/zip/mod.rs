//! Zip archives: the end record, the directory, the local headers of the members.
//!
//! What both say of a member has to agree; no two members share bytes; the directory ends where the records
//! of the end begin. No size or offset is used before it was compared with the file's size.

mod directory;
mod end;
mod local;
#[cfg(test)]
mod tests;

pub(crate) use directory::{Directory, Member, Method};
pub(crate) use local::Seen;

use super::frame::Ends;

use super::ztensor_1;

/// First bytes of an archive with members, and of one without.
const MAGICS: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Whether a file begins as an archive does; what ends as a `.zt` file does is one that lost its beginning.
pub(crate) fn begins(ends: Ends<'_>) -> bool {
    MAGICS.iter().any(|magic| ends.head.starts_with(*magic)) && !ends.tail.ends_with(ztensor_1::ends::MAGIC)
}
