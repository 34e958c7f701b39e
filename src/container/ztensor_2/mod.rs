//! zTensor 2: blobs that begin at pages, a manifest in deterministic CBOR, and a footer with its hash.
//!
//! These parts do not depend on objects: the ends of a file ([`footer`]), the encoding of the manifest
//! ([`deterministic`]), names ([`names`]), and the positions of blobs ([`component_ranges`]).

mod canonical;
mod component_ranges;
mod decode;
mod deterministic;
mod encode;
pub mod footer;
mod layouts;
mod names;
mod parts;
mod rules;

use super::capabilities::{
    AttributeKeys, Capabilities, IndexDtypes, LogicalTypes, Roles, SharedBytes, FOREIGN,
};
use super::interface::{Canonical, Encode, Row};
use crate::digest::{Algorithm, DigestOf};
use crate::error::{Cause, Rule};
use crate::model::manifest::{Container, Encoding};

const CAPABILITIES: Capabilities = Capabilities {
    container: Container::V2,
    name: "2",
    number: Some(20000),
    appends_as: Some(Container::V2),
    alignment: footer::PAGE,
    manifest_limit: footer::MANIFEST_LIMIT,
    attribute_keys: AttributeKeys::TextsExcept(&[]),
    roles: Roles::Any,
    logical_types: LogicalTypes::Registered(&parts::TYPES),
    unknown_names: true,
    reads_unknown_types: false,
    states_sizes: true,
    index_dtypes: IndexDtypes::Unsigned,
    declares_sizes: true,
    shared_bytes: SharedBytes::All,
    any_byte_is_true: false,
    zero_gaps: false,
    unique_positions: true,
    padding_rule: Some(Rule::Zt2LayoutData),
    check_layout: rules::check,
    rule_of,
    encodings: parts::ENCODINGS,
    zstd: Encoding::ZstdSeekable,
    digest_of: DigestOf::Decoded,
    usual_digest: Some(Algorithm::Xxh3),
    has_shards: true,
    max_frame: 16 << 20,
    canonical_alignment: Some(canonical::CANONICAL_ALIGNMENT),
    old_ends_stay: true,
    write_rules: &rules::RULES,
    ..FOREIGN
};

pub(crate) const ROW: Row = Row {
    capabilities: CAPABILITIES,
    header: footer::MAGIC,
    detect: Some(footer::detect),
    decode: Some(decode::decode),
    has_own_rules: true,
    encode: Some(Encode {
        manifest: encode::encode_manifest,
        frame: footer::frame_of,
        footer: footer::encode_footer,
        aligns_manifest: true,
        extend: Some(encode::extend),
    }),
    ends: Some(footer::SEARCH),
    content_digest: Some(canonical::digest),
    canonical: Some(Canonical { violation: canonical::violation, reserved: footer::reserved }),
    ..Row::BASE
};

/// The rule of zTensor 2 for a failure in the rest of the library.
fn rule_of(cause: Cause) -> Option<Rule> {
    match cause {
        Cause::DigestMismatch => Some(Rule::Zt2Digest),
        Cause::Broken(rule) => match rule {
            Rule::DigestForm => Some(Rule::Zt2Digest),
            Rule::ZstdCorrupt
            | Rule::ZstdLength
            | Rule::ZstdTrailing
            | Rule::EncodingCorrupt
            | Rule::EncodingLength => Some(Rule::Zt2Encoding),
            Rule::BoolByte | Rule::CsrIndptrOrder | Rule::CsrColumn | Rule::CooCoordinate => {
                Some(Rule::Zt2LayoutData)
            }
            Rule::ComponentMissing
            | Rule::CsrRank
            | Rule::CsrIndptrCount
            | Rule::CsrIndicesCount
            | Rule::CooCount
            | Rule::IndexDtype
            | Rule::ElementSize
            | Rule::QuantizedGeometry
            | Rule::DenseSize => Some(Rule::Zt2LayoutRule),
            _ => None,
        },
        _ => None,
    }
}
