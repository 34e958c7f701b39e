//! Bytes to model and back: which container a file is, where its manifest stands, how it is encoded, which rules it has
//! to keep. Pure functions over slices; no files, no clock, no panics.
//!
//! Containers end here. Reading, [`decode`] yields the same [`Manifest`] for all of them; writing, [`encode_head`],
//! [`encode_object`] and [`encode_footer`] make their bytes. What differs beside that is said by [`Capabilities`].
//! A new container is a folder, and an arm wherever the compiler asks for one in this file and in `detect`.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod capabilities;
pub mod cbor;
mod detect;
mod frame;
pub mod json;
mod validate;
mod ztensor_0_1;
mod ztensor_1;

pub use capabilities::Capabilities;
pub use detect::detect;
pub(crate) use detect::END_BYTES;
pub(crate) use frame::HEADER_SIZE;
pub use frame::{Container, Frame, Limits};
pub use validate::Validated;
pub use ztensor_1::append_record::AppendRecord;
pub(crate) use ztensor_1::append_record::HEAD_BYTES;
pub use ztensor_1::footer::{possible_ends, PossibleEnd};

use crate::error::{fail, Result};
use crate::memory::{bytes_of, Budget};
use crate::model::manifest::{Manifest, Object, Version};
use crate::model::value::Value;
use std::ops::Range;

/// What is written where nothing else is asked for.
pub(crate) const NEWEST: Version = Version::V1_2;

/// Every container and what it can represent.
static TABLE: [Capabilities; 4] = [
    ztensor_0_1::CAPABILITIES,
    ztensor_1::CAPABILITIES_1_0,
    ztensor_1::CAPABILITIES_1_1,
    ztensor_1::CAPABILITIES_1_2,
];

/// What files of that version can represent.
pub fn capabilities(version: Version) -> &'static Capabilities {
    let [v0_1, v1_0, v1_1, v1_2] = &TABLE;
    match version {
        Version::V0_1 => v0_1,
        Version::V1_0 => v1_0,
        Version::V1_1 => v1_1,
        Version::V1_2 => v1_2,
    }
}

/// What the file of a manifest can represent.
pub fn capabilities_of(manifest: &Manifest) -> &'static Capabilities {
    capabilities(manifest.version.unwrap_or(NEWEST))
}

/// The version that has that number in `zt_spec_version`, if files of it are written.
pub fn version_to_write(number: u32) -> Option<Version> {
    TABLE.iter().find(|row| row.number == Some(number)).map(|row| row.version)
}

/// The manifest in `bytes`, which are those of `frame.manifest`, checked against every rule that
/// the manifest and the file's size can show.
pub fn decode(frame: &Frame, bytes: &[u8], limits: &Limits) -> Result<Validated> {
    decode_within(frame, bytes, limits, &Budget::new(limits.memory_for(bytes.len() as u64)))
}

/// The same; what it takes is charged to `budget`.
pub(crate) fn decode_within(
    frame: &Frame,
    bytes: &[u8],
    limits: &Limits,
    budget: &Budget,
) -> Result<Validated> {
    let manifest: Manifest = match frame.container {
        Container::V0_1 => ztensor_0_1::decode::decode(frame, bytes, limits, budget)?,
        Container::V1_0 => ztensor_1::v1_0::decode(frame, bytes, limits, budget)?,
        Container::V1 => ztensor_1::decode::decode(frame, bytes, limits, budget)?,
    };
    // Validation sorts components by reference, and then by their places.
    let sorted = bytes_of::<(u64, u64)>(manifest.components.len());
    budget.charge(sorted, "components that are sorted")?;
    let validated = validate(manifest, frame)?;
    budget.give_back(sorted);
    Ok(validated)
}

/// Checks a manifest against every rule that it and the file's size can show.
pub fn validate(manifest: Manifest, frame: &Frame) -> Result<Validated> {
    let capabilities = capabilities_of(&manifest);
    validate::validate(manifest, frame, capabilities)
}

/// How a file of that version is framed whose manifest is at that range.
pub fn frame_of(version: Version, manifest: Range<u64>) -> Frame {
    let (container, footer_size) = match version {
        Version::V0_1 => (Container::V0_1, ztensor_0_1::footer::FOOTER_SIZE),
        Version::V1_0 => (Container::V1_0, ztensor_1::footer::FOOTER_SIZE_1_0),
        Version::V1_1 | Version::V1_2 => (Container::V1, ztensor_1::footer::FOOTER_SIZE as u64),
    };
    Frame { container, file_size: manifest.end.saturating_add(footer_size), manifest }
}

/// The first bytes of a file.
pub fn header(version: Version) -> &'static [u8] {
    match version {
        Version::V0_1 => ztensor_0_1::footer::MAGIC,
        Version::V1_0 | Version::V1_1 | Version::V1_2 => ztensor_1::footer::MAGIC,
    }
}

/// What a manifest has in front of the first object; [`encode_object`] makes the rest.
pub fn encode_head(manifest: &Manifest, version: Version, out: &mut Vec<u8>) -> Result<()> {
    match version {
        Version::V0_1 => ztensor_0_1::encode::encode_head(manifest, capabilities(version), out),
        Version::V1_1 | Version::V1_2 => ztensor_1::encode::encode_head(manifest, capabilities(version), out),
        Version::V1_0 => Err(not_written(version)),
    }
}

/// An object as a manifest has it.
pub fn encode_object(
    manifest: &Manifest,
    object: &Object,
    version: Version,
    out: &mut Vec<u8>,
) -> Result<()> {
    match version {
        Version::V0_1 => ztensor_0_1::encode::encode_object(manifest, object, capabilities(version), out),
        Version::V1_1 | Version::V1_2 => {
            ztensor_1::encode::encode_object(manifest, object, capabilities(version), out)
        }
        Version::V1_0 => Err(not_written(version)),
    }
}

/// What stands behind a manifest of `size` bytes.
pub fn encode_footer(version: Version, size: u64, out: &mut Vec<u8>) -> Result<()> {
    out.try_reserve(ztensor_1::footer::FOOTER_SIZE)?;
    match version {
        Version::V0_1 => out.extend_from_slice(&ztensor_0_1::footer::footer(size)),
        Version::V1_1 | Version::V1_2 => out.extend_from_slice(&ztensor_1::footer::footer(size)),
        Version::V1_0 => return Err(not_written(version)),
    }
    Ok(())
}

/// The manifest of a file to which objects are appended: `old` once more, which is `encoded` as the file has it, with
/// the objects of `added` behind its own and `attributes`, if there are any, for those of the file.
pub fn extend(
    encoded: &[u8],
    old: &Manifest,
    added: &Manifest,
    attributes: Option<Value<'_>>,
) -> Result<Vec<u8>> {
    match capabilities_of(old).appends_as {
        Some(version @ (Version::V1_1 | Version::V1_2)) => {
            ztensor_1::extend::extend(encoded, old, added, capabilities(version), attributes)
        }
        Some(version @ (Version::V0_1 | Version::V1_0)) => Err(not_written(version)),
        None => Err(fail!(Unsupported, "a file of version {} cannot be appended to", old.version_text())),
    }
}

#[cold]
fn not_written(version: Version) -> crate::error::Error {
    fail!(Internal, "files of spec {} are not written", capabilities(version).name)
}
