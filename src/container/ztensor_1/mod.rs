//! zTensor 1.0, 1.1 and 1.2: a map of objects after the components' bytes.

pub mod decode;
pub mod encode;
pub mod ends;
#[cfg(test)]
mod template_tests;

use super::capabilities::{
    no_layout, no_rule, AttributeKeys, Capabilities, Encodings, IndexDtypes, LogicalTypes, Roles, SharedBytes,
};
use super::frame::{ALIGNMENT, MANIFEST_LIMIT};
use crate::container::capabilities::NO_RULES;
use crate::container::interface::{Encode, Row};
use crate::digest::{Algorithm, DigestOf};
use crate::model::manifest::{Container, Encoding};

/// The capabilities of 1.2 and later minor versions.
pub(crate) const CAPABILITIES_1_2: Capabilities = Capabilities {
    container: Container::V1_2,
    number: Some(10200),
    name: "1.2.0",
    says_three_numbers: true,
    appends_as: Some(Container::V1_2),
    alignment: ALIGNMENT,
    manifest_limit: MANIFEST_LIMIT,
    file_attributes: true,
    attribute_keys: AttributeKeys::Any,
    roles: Roles::Any,
    logical_types: LogicalTypes::Any,
    unknown_names: true,
    reads_unknown_types: true,
    states_sizes: true,
    index_dtypes: IndexDtypes::U64,
    declares_sizes: true,
    shared_bytes: SharedBytes::All,
    duplicate_names: false,
    big_endian: false,
    any_byte_is_true: false,
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

/// The capabilities of 1.1. Appended objects follow 1.2, because the file may become 1.2.
pub(crate) const CAPABILITIES_1_1: Capabilities = Capabilities {
    container: Container::V1_1,
    number: Some(10100),
    name: "1.1.0",
    logical_types: LogicalTypes::InDtype,
    index_dtypes: IndexDtypes::Integers,
    declares_sizes: false,
    ..CAPABILITIES_1_2
};

/// The capabilities of 1.0.
pub(crate) const CAPABILITIES_1_0: Capabilities = Capabilities {
    container: Container::V1_0,
    number: None,
    name: "1.0",
    says_three_numbers: false,
    appends_as: None,
    logical_types: LogicalTypes::None,
    ..CAPABILITIES_1_1
};

/// Encodes 1.1 and 1.2 according to the capabilities.
const ENCODE: Encode = Encode {
    header: ends::MAGIC,
    manifest: encode::encode_manifest,
    frame: ends::frame_of,
    footer: ends::encode_footer,
    aligns_manifest: false,
    extend: Some(encode::extend),
};

/// The row of 1.2, which detects all of 1.x.
pub(crate) const ROW_1_2: Row = Row {
    capabilities: CAPABILITIES_1_2,
    detect: Some(ends::detect),
    may_be: &[Container::V1_1],
    decode: Some(decode::decode),
    has_own_rules: false,
    encode: Some(ENCODE),
    origin: None,
    ends: Some(ends::SEARCH),
    split: None,
    content_digest: None,
    canonical: None,
};

/// The row of 1.1.
pub(crate) const ROW_1_1: Row = Row { capabilities: CAPABILITIES_1_1, detect: None, may_be: &[], ..ROW_1_2 };

/// The row of 1.0, which is not written.
pub(crate) const ROW_1_0: Row = Row {
    capabilities: CAPABILITIES_1_0,
    detect: None,
    may_be: &[],
    decode: Some(decode::decode_1_0),
    has_own_rules: false,
    encode: None,
    origin: None,
    ends: None,
    split: None,
    content_digest: None,
    canonical: None,
};
