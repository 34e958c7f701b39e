//! The magic at the front and the manifest's size (u64, little-endian) at the end.

use crate::container::capabilities::Capabilities;
use crate::container::frame::{frame, Detected, Ends, Frame, Limits};
use crate::error::{broken, Result, Rule};
use crate::model::manifest::Container;

/// First bytes.
pub(crate) const MAGIC: &[u8; 8] = b"ZTEN0001";

/// Bytes behind the manifest.
pub(crate) const FOOTER_SIZE: u64 = 8;

/// Appends the footer.
pub fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    let footer = frame.manifest_size().to_le_bytes();
    out.try_reserve(footer.len())?;
    out.extend_from_slice(&footer);
    Ok(())
}

/// The frame of a file that is written, whose manifest begins at `start`.
pub fn frame_of(start: u64, manifest: &[u8], to: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    Frame::with_data_first(to.container, start..end, end.saturating_add(FOOTER_SIZE))
}

/// Where the manifest is, by the last bytes of a file that begins with the magic.
pub fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    if !ends.head.starts_with(MAGIC) {
        return Ok(Detected::Other);
    }
    let (file_size, last8) = (ends.file_size, ends.tail.last_chunk::<8>());
    if file_size < 16 {
        return Err(broken!(
            Rule::FileTooSmall,
            "a 0.1 file of {file_size} bytes; the magic and the index size alone take 16"
        ));
    }
    if last8 == Some(b"ZTEN1000") {
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
    frame(Container::V0_1, file_size, FOOTER_SIZE, size, capacity, limits)
}
