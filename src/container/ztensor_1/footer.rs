//! The ends of a 1.x file: the magic at the start; at the end the manifest's size (u64, little-endian) and,
//! from 1.1 on, the magic again. The head may have an append record.
//!
//! The append record is written to the head of a 1.x file before an append writes anything else.
//!
//! Bytes 8 to 64 of a 1.x file are padding that no component may cover. They are zero in a finished file
//! whose data or manifest begins after them. An append uses 32 of these bytes until its new end is on the
//! disk:
//!
//! | bytes | what |
//! |---|---|
//! | 8..16 | `ZTAPPEND` |
//! | 16..24 | where the file ended before (u64, little-endian) |
//! | 24..32 | where its manifest began |
//! | 32..36 | CRC-32C of that manifest and its footer |
//! | 36..40 | CRC-32C of bytes 8 to 36 |
//!
//! The bytes of tensors begin at 64 or later, so nothing that is appended can look like a record. Readers
//! that do not know the record skip it like other padding.

use crate::container::capabilities::Capabilities;
use crate::container::frame::{frame, over_limit, Detected, Ends, Frame, Limits, ALIGNMENT};
use crate::container::interface::EndSearch;
use crate::error::{broken, Error, Result, Rule};
use crate::memory::append;
use crate::model::manifest::Container;
use std::ops::Range;

/// The first bytes, and from 1.1 on also the last bytes.
pub(crate) const MAGIC: &[u8; 8] = b"ZTEN1000";

/// The size of the footer of 1.0.
pub(crate) const FOOTER_SIZE_1_0: u64 = 8;
/// The size of the footer from 1.1 on.
pub(crate) const FOOTER_SIZE: usize = 16;

/// The footer after a manifest of `manifest_size` bytes.
pub fn footer(manifest_size: u64) -> [u8; FOOTER_SIZE] {
    let mut footer = [0; FOOTER_SIZE];
    footer.copy_from_slice([manifest_size.to_le_bytes(), *MAGIC].as_flattened());
    footer
}

pub fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    append(out, &footer(frame.manifest_size()))
}

/// The frame of a written file whose manifest begins at `start`.
pub fn frame_of(start: u64, manifest: &[u8], to: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    Frame::with_data_first(to.container, start..end, end.saturating_add(FOOTER_SIZE as u64))
}

/// Finds the manifest of a file that begins with the magic, from its last bytes.
pub fn detect(Ends { file_size, tail, .. }: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let last8 = tail.last_chunk::<8>();
    let ends_in_magic = last8 == Some(MAGIC);
    if file_size < if ends_in_magic { 25 } else { 17 } {
        return Err(broken!(Rule::FileTooSmall, "a 1.x file of {file_size} bytes; the smallest has 25"));
    }
    if ends_in_magic {
        let size = tail.last_chunk::<16>().and_then(|footer| footer.first_chunk());
        let size = size.map_or(0, |size| u64::from_le_bytes(*size));
        if size > limits.manifest_size {
            return Err(over_limit(size, limits));
        }
        if size == 0 {
            return Err(broken!(Rule::ManifestEmpty, "the manifest size is 0"));
        }
        let capacity = file_size.saturating_sub(24);
        return frame(Container::V1_2, file_size, FOOTER_SIZE as u64, size, capacity, limits);
    }
    let size = last8.map_or(0, |b| u64::from_le_bytes(*b));
    let capacity = file_size.saturating_sub(16);
    if size == 0 || size > capacity {
        return Err(footer_missing(file_size));
    }
    frame(Container::V1_0, file_size, FOOTER_SIZE_1_0, size, capacity, limits)
}

/// The error for a file that does not end like a 1.x file.
#[cold]
pub fn footer_missing(file_size: u64) -> Error {
    broken!(
        Rule::FooterMagic,
        "the file begins like 1.x but its {file_size} bytes do not end in ZTEN1000: truncated, or not closed"
    )
}

/// How to search a file for positions that look like the end of a file from 1.1 on.
pub(crate) const SEARCH: EndSearch =
    EndSearch { magic: MAGIC, size: FOOTER_SIZE, manifest: manifest_before, last_wins: false };

fn manifest_before(footer: &[u8], at: u64) -> Option<Range<u64>> {
    let start = at.checked_sub(u64::from_le_bytes(*footer.first_chunk()?))?;
    (MAGIC.len() as u64..at).contains(&start).then_some(start..at)
}

const TAG: &[u8; 8] = b"ZTAPPEND";

/// How many bytes at the start of a file [`AppendRecord::find`] needs.
pub(crate) const HEAD_BYTES: usize = 64;

/// Describes the file before the append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendRecord {
    /// Its manifest and footer: from the start of the manifest to the end of the file.
    pub tail: Range<u64>,
    /// The CRC-32C of these bytes.
    pub tail_crc: u32,
}

impl AppendRecord {
    /// The size of a record.
    pub(crate) const SIZE: usize = 32;
    /// Its offset in the file.
    pub(crate) const OFFSET: u64 = 8;

    /// The record for a file whose manifest has these encoded bytes and begins at `start`.
    pub fn of(start: u64, manifest: &[u8]) -> AppendRecord {
        let footer = footer(manifest.len() as u64);
        let tail_crc = crc32c::crc32c_append(crc32c::crc32c(manifest), &footer);
        let size = (manifest.len() as u64).saturating_add(footer.len() as u64);
        AppendRecord { tail: start..start.saturating_add(size), tail_crc }
    }

    /// Whether a file whose manifest begins at `manifest_start` has space for a record.
    pub fn fits_before(manifest_start: u64) -> bool {
        manifest_start >= ALIGNMENT
    }

    /// The record in the first bytes of a 1.x file, if it is complete.
    pub fn find(head: &[u8]) -> Option<AppendRecord> {
        let (magic, rest) = head.split_first_chunk::<8>()?;
        let (checked, rest) = rest.split_first_chunk::<28>()?;
        let crc = rest.first_chunk::<4>()?;
        let (tag, rest) = checked.split_first_chunk::<8>()?;
        // Compute the checksum last: detecting the processor's instruction for it can take longer than
        // opening a file.
        if magic != MAGIC || tag != TAG || u32::from_le_bytes(*crc) != crc32c::crc32c(checked) {
            return None;
        }
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (start, tail_crc) = rest.split_first_chunk::<8>()?;
        let (end, start) = (u64::from_le_bytes(*end), u64::from_le_bytes(*start));
        let tail_crc = u32::from_le_bytes(*tail_crc.first_chunk()?);
        Some(AppendRecord { tail: start..end, tail_crc })
    }

    /// The encoded record.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let [end, start] = [self.tail.end, self.tail.start].map(u64::to_le_bytes);
        // The checksum of the record takes the upper half of the last field.
        bytes.copy_from_slice([*TAG, end, start, u64::from(self.tail_crc).to_le_bytes()].as_flattened());
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
