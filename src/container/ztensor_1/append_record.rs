//! The append record: what an append writes to the head of a 1.x file before anything else.
//!
//! Bytes 8 to 64 of a 1.x file are padding that no component may cover, and zero in a finished file whose
//! data or manifest begins behind them. An append keeps 32 of them in use until its new end is on the disk:
//!
//! | bytes | what |
//! |---|---|
//! | 8..16 | `ZTAPPEND` |
//! | 16..24 | where the file ended before (u64, little-endian) |
//! | 24..32 | where its manifest began |
//! | 32..36 | CRC-32C of that manifest and its footer |
//! | 36..40 | CRC-32C of bytes 8 to 36 |
//!
//! A tensor's bytes begin at 64 or later, so nothing that is appended can be taken for a record. Readers that
//! do not know it pass over it, as over any padding.

use super::footer::{footer, MAGIC};
use crate::container::frame::ALIGNMENT;
use std::ops::Range;

const TAG: &[u8; 8] = b"ZTAPPEND";

/// Bytes of a record.
const SIZE: usize = 32;
/// How many bytes from a file's beginning [`AppendRecord::find`] needs.
pub(crate) const HEAD_BYTES: usize = 64;

/// The file that is appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendRecord {
    /// Its manifest and footer: from where the manifest begins to the end of the file.
    pub tail: Range<u64>,
    /// CRC-32C of those bytes.
    pub tail_crc: u32,
}

impl AppendRecord {
    /// Bytes of a record.
    pub(crate) const SIZE: usize = SIZE;
    /// Its offset in the file.
    pub(crate) const OFFSET: u64 = 8;

    /// The record of a file whose encoded manifest begins at `start`.
    pub fn of(start: u64, manifest: &[u8]) -> AppendRecord {
        let footer = footer(manifest.len() as u64);
        let tail_crc = crc32c::crc32c_append(crc32c::crc32c(manifest), &footer);
        let size = (manifest.len() as u64).saturating_add(footer.len() as u64);
        AppendRecord { tail: start..start.saturating_add(size), tail_crc }
    }

    /// Whether there is room for a record in a file whose manifest begins at `manifest_start`.
    pub fn fits_before(manifest_start: u64) -> bool {
        manifest_start >= ALIGNMENT
    }

    /// The record in the first bytes of a 1.x file, if a whole one is there.
    pub fn find(head: &[u8]) -> Option<AppendRecord> {
        let (magic, rest) = head.split_first_chunk::<8>()?;
        let (checked, rest) = rest.split_first_chunk::<28>()?;
        let crc = rest.first_chunk::<4>()?;
        let (tag, rest) = checked.split_first_chunk::<8>()?;
        // The checksum last: finding the processor's instructions for it can take longer than opening a file.
        if magic != MAGIC || tag != TAG || u32::from_le_bytes(*crc) != crc32c::crc32c(checked) {
            return None;
        }
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (start, tail_crc) = rest.split_first_chunk::<8>()?;
        let (end, start) = (u64::from_le_bytes(*end), u64::from_le_bytes(*start));
        let tail_crc = u32::from_le_bytes(*tail_crc.first_chunk()?);
        Some(AppendRecord { tail: start..end, tail_crc })
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let fields = [
            &TAG[..],
            &self.tail.end.to_le_bytes(),
            &self.tail.start.to_le_bytes(),
            &self.tail_crc.to_le_bytes(),
        ];
        let mut rest = &mut bytes[..];
        for field in fields {
            let Some((front, behind)) = rest.split_at_mut_checked(field.len()) else { break };
            front.copy_from_slice(field);
            rest = behind;
        }
        if let Some((checked, crc)) = bytes.split_last_chunk_mut::<4>() {
            *crc = crc32c::crc32c(checked).to_le_bytes();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Vec<u8> {
        let record = AppendRecord { tail: 64..0x0102_0304_0506, tail_crc: 0xdead_beef };
        [&MAGIC[..], &record.to_bytes(), &[0; 24]].concat()
    }

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let head = head();
        assert_eq!(head.len(), HEAD_BYTES);
        assert_eq!(&head[8..16], b"ZTAPPEND");
        assert_eq!(head[16..24], [6, 5, 4, 3, 2, 1, 0, 0]);
        assert_eq!(head[24..32], [64, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(head[32..36], [0xef, 0xbe, 0xad, 0xde]);
        assert_eq!(head[36..40], crc32c::crc32c(&head[8..36]).to_le_bytes());
        let found = AppendRecord::find(&head).unwrap();
        assert_eq!((found.tail, found.tail_crc), (64..0x0102_0304_0506, 0xdead_beef));
    }

    #[test]
    fn a_record_with_any_bit_changed_or_missing_is_none() {
        let head = head();
        for bit in 0..40 * 8 {
            let mut changed = head.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(AppendRecord::find(&changed), None, "bit {bit}");
        }
        for size in 0..40 {
            assert_eq!(AppendRecord::find(&head[..size]), None, "{size} bytes");
            let torn = [&head[..size], &[0; HEAD_BYTES][size..]].concat();
            assert_eq!(AppendRecord::find(&torn), None, "torn at {size}");
        }
    }
}
