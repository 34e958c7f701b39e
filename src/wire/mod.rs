//! Bytes to model and back: where the manifest stands, how each version encodes it, which rules a
//! file has to keep. Pure functions over slices; no files, no clock, no panics.
//!
//! Versions end here: [`decode`] yields the same [`Manifest`] for all four containers.

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

pub mod append_record;
pub mod cbor;
pub mod cbor_encode;
pub mod fields;
pub mod frame;
mod intern;
pub mod json;
pub mod tables;
mod template;
pub mod v0_1;
pub mod v1;
pub mod v1_0;
pub mod v1_encode;
pub mod validate;

pub use frame::{detect, Container, Frame, Limits};
pub use validate::Validated;

use crate::error::Result;
use crate::memory::{bytes_of, Budget};
use crate::model::manifest::Manifest;

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
        Container::V0_1 => v0_1::decode(frame, bytes, limits, budget)?,
        Container::V1_0 => v1_0::decode(frame, bytes, limits, budget)?,
        Container::V1 => v1::decode(frame, bytes, limits, budget)?,
    };
    // Validation sorts components by reference, and then by their places.
    let sorted = bytes_of::<(u64, u64)>(manifest.components.len());
    budget.charge(sorted, "components that are sorted")?;
    let validated = validate::validate(manifest, frame)?;
    budget.give_back(sorted);
    Ok(validated)
}
