//! The magic at both ends, and the footer: the position of the manifest, its hash, the version (spec 2
//! section 1).

use crate::container::capabilities::Capabilities;
use crate::container::frame::{over_limit, Detected, Ends, Frame, Limits};
use crate::container::interface::EndSearch;
use crate::digest::xxh3;
use crate::error::{broken, fail, Result, Rule};
use crate::model::manifest::Container;
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";
pub(crate) const FOOTER_SIZE: u64 = FOOTER_BYTES as u64;
const FOOTER_BYTES: usize = 40;
/// Blobs and the manifest begin at multiples of this. The first page is not used for them.
pub(crate) const PAGE: u64 = 4096;
/// The largest manifest.
pub(crate) const MANIFEST_LIMIT: u64 = 1 << 30;
/// The smallest file: a magic and a footer.
pub(crate) const MIN_SIZE: u64 = 48;
const VERSION: u64 = 2;

/// The numbers of a footer: the offset, the size and the hash of the manifest, and the version.
fn numbers(footer: &[u8]) -> [u64; 4] {
    let mut eights = footer.chunks_exact(8).filter_map(<[u8]>::first_chunk::<8>);
    let mut next = || eights.next().map_or(0, |eight| u64::from_le_bytes(*eight));
    let (offset, size, hash, version) = (next(), next(), next(), next());
    [offset, size, hash, version & u64::from(u32::MAX)] // reserved bytes follow the version
}

/// Finds the manifest of a file that begins with the magic, from its footer.
pub fn detect(Ends { file_size, tail, .. }: Ends<'_>, limits: &Limits) -> Result<Detected> {
    if file_size < MIN_SIZE {
        return Err(broken!(
            Rule::Zt2FileTooSmall,
            "a file of zTensor 2 of {file_size} bytes; the smallest has {MIN_SIZE}"
        ));
    }
    let Some(footer) = tail.last_chunk::<FOOTER_BYTES>().filter(|tail| tail.ends_with(MAGIC)) else {
        return Err(broken!(
            Rule::Zt2FooterMagic,
            "the file begins like zTensor 2 but does not end with its magic"
        ));
    };
    let [manifest_offset, manifest_length, manifest_hash, version] = numbers(footer);
    if version != VERSION {
        let unsupported = fail!(
            Unsupported,
            "this is a zTensor version {version} container; 0.1 to 1.2 and 2 are read here"
        );
        return Err(unsupported.called(Rule::Zt2Version));
    }
    let end = file_size.saturating_sub(FOOTER_SIZE);
    if manifest_length == 0 {
        if manifest_offset != 0 || manifest_hash != 0 {
            return Err(broken!(
                Rule::Zt2ManifestBounds,
                "the manifest has no bytes, but the footer says that it is at {manifest_offset} and has the \
                 hash {manifest_hash:#018x}; without a manifest both are 0"
            ));
        }
        return Ok(Detected::Frame(frame(end..end, file_size, None)));
    }
    if manifest_length > MANIFEST_LIMIT {
        return Err(broken!(
            Rule::Zt2ManifestTooLarge,
            "the manifest size is {manifest_length}, above the {MANIFEST_LIMIT} bytes that the format allows"
        ));
    }
    if manifest_length > limits.manifest_size {
        return Err(over_limit(manifest_length, limits));
    }
    if manifest_offset < PAGE || manifest_offset % PAGE != 0 {
        return Err(broken!(
            Rule::Zt2BlobAlignment,
            "the manifest is at {manifest_offset}, which is not a multiple of {PAGE} from {PAGE} on"
        ));
    }
    match manifest_offset.checked_add(manifest_length).filter(|manifest_end| *manifest_end <= end) {
        Some(manifest_end) => {
            Ok(Detected::Frame(frame(manifest_offset..manifest_end, file_size, Some(manifest_hash))))
        }
        None => Err(broken!(
            Rule::Zt2ManifestBounds,
            "the manifest of {manifest_length} bytes at {manifest_offset} passes the footer at {end}"
        )),
    }
}

/// The bytes of the footer that are 0, and that readers ignore.
pub fn reserved(file_size: u64) -> Range<u64> {
    file_size.saturating_sub(12)..file_size.saturating_sub(8)
}

pub fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    out.try_reserve(FOOTER_BYTES)?;
    let hash = frame.manifest_hash.unwrap_or(0);
    for number in [frame.manifest.start, frame.manifest_size(), hash, VERSION] {
        // The version as 8 bytes; the upper 4 are the reserved ones, which are 0.
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(MAGIC);
    Ok(())
}

/// The frame of a written file whose manifest begins at `start`.
pub fn frame_of(start: u64, manifest: &[u8], _: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    frame(start..end, end.saturating_add(FOOTER_SIZE), Some(xxh3(manifest)))
}

fn frame(manifest: Range<u64>, file_size: u64, manifest_hash: Option<u64>) -> Frame {
    let data = PAGE..file_size.saturating_sub(FOOTER_SIZE);
    Frame { container: Container::V2, manifest, data, file_size, manifest_hash }
}

/// How to search a file for positions that look like its end.
pub(crate) const SEARCH: EndSearch =
    EndSearch { magic: MAGIC, size: FOOTER_BYTES, manifest: manifest_before, last_wins: true };

fn manifest_before(footer: &[u8], at: u64) -> Option<Range<u64>> {
    let [offset, size, _, version] = numbers(footer);
    let end = offset.checked_add(size).filter(|end| *end <= at)?;
    let is_place = offset >= PAGE && offset % PAGE == 0 && size > 0;
    (is_place && version == VERSION).then_some(offset..end)
}
