//! zTensor 1.0, 1.1 and 1.2: a map of objects after the components' bytes.

pub mod decode;
pub mod encode;
pub mod footer;
#[cfg(test)]
mod template_tests;

use super::capabilities::{Capabilities, Encodings, IndexDtypes, LogicalTypes, Roles, SharedBytes, FOREIGN};
use super::frame::ALIGNMENT;
use super::interface::{Encode, Row};
use crate::digest::Algorithm;
use crate::model::manifest::Container;

/// The capabilities of 1.2 and later minor versions.
pub(crate) const CAPABILITIES_1_2: Capabilities = Capabilities {
    container: Container::V1_2,
    number: Some(10200),
    name: "1.2.0",
    says_three_numbers: true,
    appends_as: Some(Container::V1_2),
    alignment: ALIGNMENT,
    roles: Roles::Any,
    unknown_names: true,
    states_sizes: true,
    index_dtypes: IndexDtypes::U64,
    declares_sizes: true,
    shared_bytes: SharedBytes::All,
    any_byte_is_true: false,
    encodings: Encodings::Written,
    usual_digest: Some(Algorithm::Crc32c),
    ..FOREIGN
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
    manifest: encode::encode_manifest,
    frame: footer::frame_of,
    footer: footer::encode_footer,
    aligns_manifest: false,
    extend: Some(encode::extend),
};

/// The row of 1.2, which detects all of 1.x.
pub(crate) const ROW_1_2: Row = Row {
    capabilities: CAPABILITIES_1_2,
    header: footer::MAGIC,
    detect: Some(footer::detect),
    may_be: &[Container::V1_1],
    decode: Some(decode::decode),
    encode: Some(ENCODE),
    ends: Some(footer::SEARCH),
    ..Row::BASE
};

/// The row of 1.1.
pub(crate) const ROW_1_1: Row = Row { capabilities: CAPABILITIES_1_1, detect: None, may_be: &[], ..ROW_1_2 };

/// The row of 1.0, which is not written.
pub(crate) const ROW_1_0: Row =
    Row { capabilities: CAPABILITIES_1_0, decode: Some(decode::decode), ..Row::BASE };
