//! 0.1: an index of tensors behind their bytes; the magic at the front and the index's size (u64,
//! little-endian) at the end.

pub mod decode;
pub mod encode;

use super::capabilities::{
    no_layout, no_rule, AttributeKeys, Capabilities, Encodings, IndexDtypes, LogicalTypes, Roles, SharedBytes,
};
use super::frame::{frame, Detected, Ends, Frame, Limits, ALIGNMENT, MANIFEST_LIMIT};
use crate::container::capabilities::NO_RULES;
use crate::container::interface::{Encode, Row};
use crate::digest::{Algorithm, DigestOf};
use crate::error::{broken, Result, Rule};
use crate::model::manifest::{Container, Encoding};

/// What it can represent.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    container: Container::V0_1,
    number: Some(100),
    name: "0.1.0",
    says_three_numbers: false,
    appends_as: None,
    alignment: ALIGNMENT,
    manifest_limit: MANIFEST_LIMIT,
    file_attributes: false,
    attribute_keys: AttributeKeys::TextsExcept(&encode::FIELDS),
    roles: Roles::Only(encode::ROLE),
    logical_types: LogicalTypes::None,
    unknown_names: false,
    reads_unknown_types: true,
    states_sizes: true,
    index_dtypes: IndexDtypes::Integers,
    declares_sizes: false,
    shared_bytes: SharedBytes::All,
    duplicate_names: true,
    big_endian: true,
    any_byte_is_true: true,
    zero_gaps: true,
    unique_positions: false,
    padding_rule: None,
    check_layout: no_layout,
    rule_of: no_rule,
    encodings: Encodings::Written,
    zstd: Encoding::Zstd,
    digest_of: DigestOf::Stored,
    usual_digest: Some(Algorithm::Crc32c),
    checksums_optional: false,
    has_shards: false,
    max_frame: 1 << 30,
    canonical_alignment: None,
    old_ends_stay: false,
    write_rules: &NO_RULES,
};

/// Its row.
pub(crate) const ROW: Row = Row {
    capabilities: CAPABILITIES,
    detect: Some(detect),
    may_be: &[],
    decode: Some(decode::decode),
    has_own_rules: false,
    encode: Some(Encode {
        header: MAGIC,
        manifest: encode::encode_manifest,
        frame: frame_of,
        footer: encode_footer,
        aligns_manifest: false,
        extend: None,
    }),
    origin: None,
    ends: None,
    split: None,
    content_digest: None,
    canonical: None,
};

/// First bytes.
pub(crate) const MAGIC: &[u8; 8] = b"ZTEN0001";

/// Bytes behind the manifest.
pub(crate) const FOOTER_SIZE: u64 = 8;

/// Appends the footer.
fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    let footer = frame.manifest_size().to_le_bytes();
    out.try_reserve(footer.len())?;
    out.extend_from_slice(&footer);
    Ok(())
}

/// The frame of a file that is written, whose manifest begins at `start`.
fn frame_of(start: u64, manifest: &[u8], to: &Capabilities) -> Frame {
    let end = start.saturating_add(manifest.len() as u64);
    Frame::with_data_first(to.container, start..end, end.saturating_add(FOOTER_SIZE))
}

/// Where the manifest is, by the last bytes of a file that begins with the magic.
fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
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
