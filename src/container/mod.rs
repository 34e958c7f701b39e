//! Bytes to model and back: which container a file is, where its manifest stands, how it is encoded, which rules it has
//! to keep. Pure functions over slices; no files, no clock, no panics.
//!
//! Containers end here. Reading, [`decode`] yields the same [`Manifest`] for all of them; writing, [`encode_head`],
//! [`encode_object`] and [`encode_footer`] make their bytes. What differs beside that is said by [`Capabilities`].
//! A new container is a folder and a row of the table in this file.

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
mod edits;
mod frame;
mod gguf;
pub mod json;
mod npz;
mod regions;
mod row;
mod safetensors;
mod tables;
#[allow(dead_code)]
mod torch;
mod validate;
mod window;
mod zip;
mod ztensor_0_1;
mod ztensor_1;

pub use capabilities::Capabilities;
pub(crate) use detect::END_BYTES;
pub use edits::{AttributeEdits, ObjectEdit, ObjectEdits};
pub(crate) use frame::HEADER_SIZE;
pub use frame::{Detected, Ends, Frame, Limits};
pub use regions::{OnRegion, Regions};
pub use validate::Validated;
pub use window::Window;
pub use ztensor_1::append_record::AppendRecord;
pub(crate) use ztensor_1::append_record::HEAD_BYTES;
pub use ztensor_1::footer::{possible_ends, PossibleEnd};

use crate::error::{fail, Result};
use crate::memory::{bytes_of, Budget};
use crate::model::manifest::{Container, Manifest, Object};
use row::{never, Decode, Encode, Row};
use std::ops::Range;

/// What is written where nothing else is asked for.
pub(crate) const NEWEST: Container = Container::V1_2;

/// Every container, in the order of their numbers. Files are asked in this order which one they are.
static TABLE: [&Row; 9] = [
    &ztensor_0_1::ROW,
    &ztensor_1::ROW_1_0,
    &ztensor_1::ROW_1_1,
    &ztensor_1::ROW_1_2,
    &not_read(Container::V2, detect::later_container),
    &safetensors::ROW,
    &gguf::ROW,
    &npz::ROW,
    &not_read(Container::Torch, never),
];

/// The row of a container that is not read so far.
const fn not_read(container: Container, detect: row::Detect) -> Row {
    let capabilities = Capabilities { container, ..capabilities::FOREIGN };
    Row { capabilities, detect, decode: None, encode: None }
}

fn row(container: Container) -> &'static Row {
    let [v0_1, v1_0, v1_1, v1_2, v2, safetensors, gguf, npz, torch] = &TABLE;
    match container {
        Container::V0_1 => v0_1,
        Container::V1_0 => v1_0,
        Container::V1_1 => v1_1,
        Container::V1_2 => v1_2,
        Container::V2 => v2,
        Container::Safetensors => safetensors,
        Container::Gguf => gguf,
        Container::Npz => npz,
        Container::Torch => torch,
    }
}

/// Which container a file is of which that is seen, and where its manifest stands.
pub fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let found = detect::detect(&TABLE, ends, limits)?;
    let container = match &found {
        Detected::Frame(frame) => frame.container,
        Detected::Front(container) | Detected::Scattered(container) => *container,
        Detected::NeedsHead(_) | Detected::Other => return Ok(found),
    };
    // Only the manifest tells 1.1 from 1.2, and only the members of an archive tell whose it is.
    let others = match container {
        Container::V1_2 => Container::V1_1.bit(),
        Container::Npz => Container::Torch.bit(),
        _ => 0,
    };
    check_allowed(container, container.bit() | others, limits)?;
    Ok(found)
}

/// Refuses a container that the caller did not ask for; it is one of those of `bits`.
fn check_allowed(container: Container, bits: u32, limits: &Limits) -> Result<()> {
    match limits.containers == 0 || limits.containers & bits != 0 {
        true => Ok(()),
        false => Err(fail!(
            Unsupported,
            "this is a file of {}, which is none of the containers that the options allow",
            container.name()
        )),
    }
}

/// What files of that container can represent.
pub fn capabilities(container: Container) -> &'static Capabilities {
    &row(container).capabilities
}

/// What the file of a manifest can represent.
pub fn capabilities_of(manifest: &Manifest) -> &'static Capabilities {
    capabilities(manifest.container.unwrap_or(NEWEST))
}

/// The container that has that number in `zt_spec_version`, if files of it are written.
pub fn version_to_write(number: u32) -> Option<Container> {
    let capabilities = TABLE.iter().map(|row| &row.capabilities);
    capabilities.into_iter().find(|row| row.number == Some(number)).map(|row| row.container)
}

/// The manifest in `bytes`, which are those of `frame.manifest`, checked against every rule that
/// the manifest and the file's size can show.
pub fn decode(frame: &Frame, bytes: &[u8], limits: &Limits) -> Result<Validated> {
    decode_within(frame, bytes, limits, &Budget::new(limits.memory_for(bytes.len() as u64)))
}

/// Decodes a manifest; what it takes is charged to `budget`.
pub(crate) fn decode_within(
    frame: &Frame,
    bytes: &[u8],
    limits: &Limits,
    budget: &Budget,
) -> Result<Validated> {
    let Some(Decode::Whole(decode)) = row(frame.container).decode else {
        return Err(fail!(Internal, "files of {} have no manifest of known size", frame.container.name()));
    };
    let manifest = decode(frame, bytes, limits, budget)?;
    validate_within(manifest, frame, limits, budget)
}

/// The manifest of a container that is read from the front of a file, checked likewise; what it takes is charged to
/// `budget`, which holds more the longer the manifest is.
pub(crate) fn decode_front(
    container: Container,
    window: &mut dyn Window,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Frame, Validated)> {
    let Some(Decode::Front(decode)) = row(container).decode else {
        return Err(fail!(Internal, "files of {} have a manifest of known size", container.name()));
    };
    let (frame, manifest) = decode(window, limits, budget)?;
    let validated = validate_within(manifest, &frame, limits, budget)?;
    Ok((frame, validated))
}

/// The manifest of a container that is read from places all over a file, checked likewise.
pub(crate) fn decode_scattered(
    container: Container,
    regions: &mut dyn Regions,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Frame, Validated)> {
    let Some(Decode::Scattered(decode)) = row(container).decode else {
        return Err(fail!(Internal, "files of {} have a manifest in one piece", container.name()));
    };
    let (frame, manifest) = decode(regions, limits, budget)?;
    let validated = validate_within(manifest, &frame, limits, budget)?;
    Ok((frame, validated))
}

fn validate_within(manifest: Manifest, frame: &Frame, limits: &Limits, budget: &Budget) -> Result<Validated> {
    let container = manifest.container.unwrap_or(frame.container);
    check_allowed(container, container.bit(), limits)?;
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

fn encoder(container: Container) -> Result<&'static Encode> {
    let encode = row(container).encode.as_ref();
    encode.ok_or_else(|| fail!(Internal, "files of {} are not written", container.name()))
}

/// How a file is framed that is written and whose manifest is at that range.
pub fn frame_of(container: Container, manifest: Range<u64>) -> Frame {
    let footer_size = row(container).encode.as_ref().map_or(0, |encode| encode.footer_size);
    let file_size = manifest.end.saturating_add(footer_size);
    Frame::with_data_first(container, manifest, file_size)
}

/// The first bytes of a file that is written.
pub fn header(container: Container) -> &'static [u8] {
    row(container).encode.as_ref().map_or(b"", |encode| encode.header)
}

/// What a manifest has in front of the first object; [`encode_object`] makes the rest.
pub fn encode_head(manifest: &Manifest, container: Container, out: &mut Vec<u8>) -> Result<()> {
    (encoder(container)?.head)(manifest, capabilities(container), out)
}

/// An object as a manifest has it.
pub fn encode_object(
    manifest: &Manifest,
    object: &Object,
    container: Container,
    out: &mut Vec<u8>,
) -> Result<()> {
    (encoder(container)?.object)(manifest, object, capabilities(container), out)
}

/// What stands behind a manifest of `size` bytes.
pub fn encode_footer(container: Container, size: u64, out: &mut Vec<u8>) -> Result<()> {
    (encoder(container)?.footer)(size, out)
}

/// The manifest of a file to which objects are appended: `old` once more, which is `encoded` as the file has it, with
/// what `attributes` and `objects` change of it, and the objects of `added` behind its own.
pub fn extend(
    encoded: &[u8],
    old: &Manifest,
    added: &Manifest,
    attributes: &AttributeEdits,
    objects: &ObjectEdits,
) -> Result<Vec<u8>> {
    let container = capabilities_of(old).appends_as;
    let extend = container.and_then(|container| Some((container, row(container).encode.as_ref()?.extend?)));
    let refused = || fail!(Unsupported, "a file of version {} cannot be appended to", old.version_text());
    let (container, extend) = extend.ok_or_else(refused)?;
    extend(encoded, old, added, capabilities(container), attributes, objects)
}
