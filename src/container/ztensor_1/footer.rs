//! The magic at the front; the manifest's size (u64, little-endian) at the end and, from 1.1 on, the magic
//! once more.

use crate::container::capabilities::Capabilities;
use crate::container::frame::{frame, over_limit, Detected, Ends, Frame, Limits};
use crate::container::row::{EndSearch, PossibleEnd};
use crate::error::{broken, Error, Result, Rule};
use crate::model::manifest::Container;

/// First bytes, and last bytes from 1.1 on.
pub(crate) const MAGIC: &[u8; 8] = b"ZTEN1000";

/// Bytes behind a 1.0 manifest.
pub(crate) const FOOTER_SIZE_1_0: u64 = 8;
/// Bytes behind a manifest from 1.1 on.
pub(crate) const FOOTER_SIZE: usize = 16;

/// The footer behind a manifest of `manifest_size` bytes.
pub fn footer(manifest_size: u64) -> [u8; FOOTER_SIZE] {
    let mut footer = [0; FOOTER_SIZE];
    let (size, magic) = footer.split_at_mut(8);
    size.copy_from_slice(&manifest_size.to_le_bytes());
    magic.copy_from_slice(MAGIC);
    footer
}

/// Appends the footer.
pub fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    out.try_reserve(FOOTER_SIZE)?;
    out.extend_from_slice(&footer(frame.manifest_size()));
    Ok(())
}

/// The frame of a file that is written, whose manifest begins at `start`.
pub fn frame_of(start: u64, manifest: &[u8], to: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    Frame::with_data_first(to.container, start..end, end.saturating_add(FOOTER_SIZE as u64))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

/// Where the manifest is, by the last bytes of a file that begins with the magic.
pub fn detect(Ends { file_size, head, tail }: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let last8 = tail.last_chunk::<8>();
    let ends_in_magic = last8 == Some(MAGIC);
    if !head.starts_with(MAGIC) {
        return Ok(Detected::Other);
    }
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
        return frame(
            Container::V1_2,
            file_size,
            FOOTER_SIZE as u64,
            size,
            file_size.saturating_sub(24),
            limits,
        );
    }
    let size = last8.map_or(0, |b| u64::from_le_bytes(*b));
    let capacity = file_size.saturating_sub(16);
    if size == 0 || size > capacity {
        return Err(footer_missing(file_size));
    }
    frame(Container::V1_0, file_size, FOOTER_SIZE_1_0, size, capacity, limits)
}

/// The error of a file that does not end as 1.x files do.
#[cold]
pub fn footer_missing(file_size: u64) -> Error {
    broken!(
        Rule::FooterMagic,
        "the file begins like 1.x but its {file_size} bytes do not end in ZTEN1000: cut short, or not closed"
    )
}

/// How to search a file for what looks like the end of one from 1.1 on.
pub(crate) const SEARCH: EndSearch =
    EndSearch { header: MAGIC, size: FOOTER_SIZE, find: possible_ends, last_wins: false };

fn possible_ends(window: &[u8], start: u64, found: &mut dyn FnMut(PossibleEnd) -> Result<()>) -> Result<()> {
    for (at, footer) in window.windows(FOOTER_SIZE).enumerate() {
        let Some((size, _)) = footer.split_first_chunk().filter(|(_, magic)| magic == MAGIC) else {
            continue;
        };
        let manifest_end = start.saturating_add(at as u64);
        let Some(manifest_start) = manifest_end.checked_sub(u64::from_le_bytes(*size)) else { continue };
        let behind_magic = MAGIC.len() as u64..manifest_end;
        if behind_magic.contains(&manifest_start) {
            let end = manifest_end.saturating_add(FOOTER_SIZE as u64);
            found(PossibleEnd { manifest: manifest_start..manifest_end, end })?;
        }
    }
    Ok(())
}
