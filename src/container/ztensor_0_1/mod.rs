//! 0.1: an index of tensors behind their bytes.

pub mod decode;
pub mod encode;
pub mod footer;

use super::capabilities::{
    no_layout, no_rule, AttributeKeys, Capabilities, Encodings, IndexDtypes, LogicalTypes, Roles, SharedBytes,
};
use super::frame::{ALIGNMENT, MANIFEST_LIMIT};
use crate::container::row::{Encode, Row};
use crate::container::write_rules::NO_RULES;
use crate::digest::{Algorithm, DigestOf};
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
    detect: Some(footer::detect),
    may_be: &[],
    decode: Some(decode::decode),
    has_own_rules: false,
    encode: Some(Encode {
        header: footer::MAGIC,
        manifest: encode::encode_manifest,
        frame: footer::frame_of,
        footer: footer::encode_footer,
        aligns_manifest: false,
        extend: None,
    }),
    origin: None,
    ends: None,
    split: None,
    content_digest: None,
    canonical: None,
};
