//! Decodes files into the model and encodes them: which container a file has, where its manifest is, how it
//! is encoded, and which rules it must follow. Pure functions on slices: no files, no clock, no panics.
//!
//! The rest of the library does not see containers. When reading, [`decode`] returns the same [`Manifest`]
//! for all of them. When writing, [`encode_manifest`] and [`encode_footer`] make their bytes. Other
//! differences are in [`Capabilities`]. A new container is a file or folder, and a row of the table in this
//! file.

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
mod clashes;
pub mod contents;
#[cfg(test)]
mod differential;
mod frame;
mod gguf;
mod interface;
pub mod json;
mod not_read;
mod npz;
mod safetensors;
mod shard_index;
mod tables;
mod torch;
mod validate;
mod write_checks;
mod zip;
mod ztensor_0_1;
mod ztensor_1;
mod ztensor_2;

pub use capabilities::{Capabilities, Quantized, QuantizedForm};
pub use frame::{Detected, Ends, Frame, InMemory, Input, Limits, OnRange};
pub(crate) use frame::{HEADER_SIZE, MAX_SHARDS};
pub use gguf::cursor::ValueType as GgufValueType;
pub use gguf::decode::MAX_RANK as GGUF_MAX_RANK;
pub use gguf::keys::MAX_DEPTH as GGUF_MAX_DEPTH;
pub use gguf::keys::SPLIT_KEYS;
pub use interface::{AttributeEdits, EndSearch, ObjectEdit, ObjectEdits, OriginOf, Split};
pub(crate) use not_read::is_zero;
pub use npz::header::MAX_RANK as NPZ_MAX_RANK;
pub use safetensors::{dtype_name as safetensors_dtype, MAX_HEADER as SAFETENSORS_MAX_HEADER};
pub use shard_index::ShardIndex;
pub use validate::Validated;
pub use ztensor_1::footer::AppendRecord;
pub(crate) use ztensor_1::footer::HEAD_BYTES;

use crate::error::{fail, Result};
use crate::memory::{bytes_of, Budget};
use crate::model::manifest::{Container, Manifest};
use crate::model::value::OwnedValue;
use interface::{Canonical, ContentDigest, Encode, Row};
use std::ffi::CStr;

/// The container that is written by default.
pub(crate) const NEWEST: Container = Container::V1_2;

/// How many bytes of a file's end [`detect`] needs.
pub(crate) const END_BYTES: usize = 40;

/// Turns a list of rows into the containers, and the table of how each is read and written.
macro_rules! containers {
    ($($(#[$about:meta])* $name:ident = $number:literal, $constant:literal, $text:literal, $row:expr;)*) => {
        #[allow(non_upper_case_globals)] // they are used as the variants of an enum are
        impl Container {
            $($(#[$about])* pub const $name: Container = Container::new($number);)*

            /// All containers, in the order of the table.
            pub const ALL: [Container; [$($number),*].len()] = [$(Container::$name),*];

            /// Its name, with a NUL at the end.
            pub const fn c_name(self) -> &'static CStr {
                match self {
                    $(Container::$name => $text,)*
                    _ => c"",
                }
            }

            /// The name of its C constant after `ZT_CONTAINER_`.
            pub const fn constant(self) -> &'static str {
                match self {
                    $(Container::$name => $constant,)*
                    _ => "",
                }
            }
        }

        // A row that is derived from another one would have the other's container if it forgot to set its
        // own.
        const _: () = { $(assert!($row.capabilities.container.number() == $number, "a row of another container");)* };

        /// Detection tries the rows in this order.
        static TABLE: [&Row; Container::ALL.len()] = [$($row),*];
    };
}

containers! {
    /// `ZTEN0001`: an array of tensors, no footer magic.
    V0_1 = 1, "ZT_0_1", c"zTensor 0.1", &ztensor_0_1::ROW;
    /// `ZTEN1000` without a footer magic; `tensors`.
    V1_0 = 2, "ZT_1_0", c"zTensor 1.0", &ztensor_1::ROW_1_0;
    /// `ZTEN1000` at both ends; the manifest says 1.1.
    V1_1 = 3, "ZT_1_1", c"zTensor 1.1", &ztensor_1::ROW_1_1;
    /// `ZTEN1000` at both ends; the manifest says 1.2 or a later minor version.
    V1_2 = 4, "ZT_1_2", c"zTensor 1.2", &ztensor_1::ROW_1_2;
    /// zTensor 2.
    V2 = 5, "ZT_2", c"zTensor 2", &ztensor_2::ROW;
    /// A JSON header before the data.
    Safetensors = 6, "SAFETENSORS", c"safetensors", &safetensors::ROW;
    /// ggml's file.
    Gguf = 7, "GGUF", c"GGUF", &gguf::ROW;
    /// A zip archive of NumPy arrays, or one array.
    Npz = 8, "NPZ", c"npz", &npz::ROW;
    /// A zip archive that PyTorch saved, or its older form.
    Torch = 9, "TORCH", c"PyTorch", &torch::ROW;
}

impl Container {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or_default()
    }

    /// The container with this number in C.
    pub fn from_number(number: i32) -> Option<Container> {
        Container::ALL.into_iter().find(|container| container.number() == number)
    }
}

fn row(container: Container) -> Option<&'static Row> {
    TABLE.into_iter().find(|row| row.capabilities.container == container)
}

/// Detects the container of a file from its ends, and the position of its manifest: the result of the first
/// row that recognises it, if the caller allows that container.
///
/// | container | first bytes | last bytes |
/// |---|---|---|
/// | 0.1 | `ZTEN0001` | manifest size (u64, little-endian) |
/// | 1.0 | `ZTEN1000` | manifest size |
/// | 1.1, 1.2 | `ZTEN1000` | manifest size, `ZTEN1000` |
/// | 2 | `\x89ZT2\r\n\x1a\n` | where the manifest is and its hash, the version, the magic |
/// | safetensors | header size (u64, little-endian), `{` | |
/// | GGUF | `GGUF` | |
/// | npy | `\x93NUMPY` | |
/// | npz, PyTorch | `PK\x03\x04`, or `PK\x05\x06` of one without members | |
/// | PyTorch before 1.6 | a pickle of a certain number | |
pub fn detect(ends: Ends<'_>, limits: &Limits) -> Result<Detected> {
    let may_be = TABLE.into_iter().filter(|row| ends.head.starts_with(row.header));
    for detect in may_be.filter_map(|row| row.detect) {
        let found = detect(ends, limits)?;
        let container = match &found {
            Detected::Other => continue,
            Detected::NeedsHead(_) => return Ok(found),
            Detected::Frame(frame) => frame.container,
        };
        let others = row(container).map_or(&[][..], |row| row.may_be);
        let bits = others.iter().fold(container.bit(), |bits, other| bits | other.bit());
        check_allowed(container, bits, limits)?;
        return Ok(found);
    }
    Err(not_read::error(&TABLE, ends))
}

/// Refuses a container that the caller does not allow. `bits` are the allowed containers.
fn check_allowed(container: Container, bits: u32, limits: &Limits) -> Result<()> {
    match limits.containers == 0 || limits.containers & bits != 0 {
        true => Ok(()),
        false => Err(fail!(
            Unsupported,
            "this is a file of {}, a container that the options do not allow",
            container.name()
        )),
    }
}

/// The capabilities of files of this container.
pub fn capabilities(container: Container) -> &'static Capabilities {
    row(container).map_or(&capabilities::FOREIGN, |row| &row.capabilities)
}

/// The capabilities of the file with this manifest.
pub fn capabilities_of(manifest: &Manifest) -> &'static Capabilities {
    capabilities(manifest.container.unwrap_or(NEWEST))
}

/// The container with this number in `zt_spec`, if it can be written.
pub fn version_to_write(number: u32) -> Option<Container> {
    let capabilities = TABLE.iter().map(|row| &row.capabilities);
    capabilities.into_iter().find(|row| row.number == Some(number)).map(|row| row.container)
}

/// Decodes the manifest of a file with this frame, and checks every rule that the manifest and the file's
/// size can show. Returns the complete frame, too. Memory is charged to `budget`; its limit grows with the
/// manifest.
pub fn decode(
    mut frame: Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Frame, Validated)> {
    let unread = || fail!(Internal, "files of {} are not read", frame.container.name());
    let row = row(frame.container).ok_or_else(unread)?;
    let decode = row.decode.ok_or_else(unread)?;
    budget.raise(limits.memory_for(frame.manifest_size()));
    let manifest = decode(&mut frame, input, limits, budget)?;
    if row.has_own_rules {
        return Ok((frame, Validated::known(manifest)));
    }
    let container = manifest.container.unwrap_or(frame.container);
    check_allowed(container, container.bit(), limits)?;
    // Validation sorts components by reference, then by position.
    let sorted = bytes_of::<(u64, u64)>(manifest.components.len());
    budget.charge(sorted, "components that are sorted")?;
    let validated = validate(manifest, &frame)?;
    budget.give_back(sorted);
    Ok((frame, validated))
}

/// What a file declares about the model of several files that it is a part of.
pub fn split(manifest: &Manifest) -> Result<Option<Split>> {
    let split = manifest.container.and_then(row).and_then(|row| row.split);
    split.map_or(Ok(None), |split| split(manifest))
}

/// Computes the digest of a file's objects. Fails for a container that defines none.
pub(crate) fn content_digest(frame: &Frame) -> Result<ContentDigest> {
    row(frame.container).and_then(|row| row.content_digest).ok_or_else(|| {
        fail!(
            Unsupported,
            "a file of {} has no content digest; only zTensor 2 defines one",
            frame.container.name()
        )
    })
}

/// The canonical form of a file. Fails for a container that has none.
pub(crate) fn canonical_form(frame: &Frame) -> Result<&'static Canonical> {
    let none = || fail!(Unsupported, "files of {} have no canonical form", frame.container.name());
    row(frame.container).and_then(|row| row.canonical.as_ref()).ok_or_else(none)
}

/// Checks every rule that a manifest and the file's size can show.
pub fn validate(manifest: Manifest, frame: &Frame) -> Result<Validated> {
    let capabilities = capabilities_of(&manifest);
    validate::validate(manifest, frame, capabilities)
}

/// What a copy of a file records, so that converting back gives the same file. It is a map; `None` for
/// zTensor files, and if there is nothing besides objects and attributes.
pub fn origin(of: &OriginOf<'_>) -> Result<Option<OwnedValue>> {
    let origin = row(of.frame.container).and_then(|row| row.origin);
    origin.map_or(Ok(None), |origin| origin(of))
}

fn encoder(container: Container) -> Result<&'static Encode> {
    let encode = row(container).and_then(|row| row.encode.as_ref());
    encode.ok_or_else(|| fail!(Internal, "files of {} are not written", container.name()))
}

/// The frame of a written file whose manifest begins at `start` and has these bytes.
pub fn frame_of(container: Container, start: u64, manifest: &[u8]) -> Result<Frame> {
    Ok((encoder(container)?.frame)(start, manifest, capabilities(container)))
}

/// How to find earlier ends of a file with these first bytes that was appended to.
pub fn end_search(head: &[u8]) -> Option<&'static EndSearch> {
    TABLE.into_iter().filter(|row| head.starts_with(row.header)).find_map(|row| row.ends.as_ref())
}

/// The first bytes of a written file.
pub fn header(container: Container) -> &'static [u8] {
    row(container).map_or(b"", |row| row.header)
}

/// Whether the manifest begins at a multiple of the components' alignment.
pub fn aligns_manifest(container: Container) -> bool {
    encoder(container).is_ok_and(|encode| encode.aligns_manifest)
}

/// Encodes a manifest.
pub fn encode_manifest(manifest: &Manifest, container: Container, out: &mut Vec<u8>) -> Result<()> {
    (encoder(container)?.manifest)(manifest, capabilities(container), out)
}

/// Encodes the footer for this frame.
pub fn encode_footer(frame: &Frame, out: &mut Vec<u8>) -> Result<()> {
    (encoder(frame.container)?.footer)(frame, out)
}

/// Checks that a reader would accept a manifest that was encoded as these bytes.
pub fn check_encoded(manifest: Manifest, frame: &Frame, bytes: &[u8]) -> Result<()> {
    match row(frame.container).is_some_and(|row| row.has_own_rules) {
        true => {
            drop(manifest);
            decode_encoded(frame, bytes).map(drop)
        }
        false => validate(manifest, frame).map(drop),
    }
}

/// The manifest as a reader would see it, if it was encoded as these bytes.
pub fn decode_encoded(frame: &Frame, bytes: &[u8]) -> Result<Validated> {
    let limits = Limits { objects: u64::from(u32::MAX), ..Limits::default() };
    let budget = Budget::new(limits.memory_for(bytes.len() as u64));
    decode(frame.clone(), &mut InMemory::manifest(frame, bytes), &limits, &budget)
        .map(|(_, manifest)| manifest)
}

/// Encodes the manifest of a file that is appended to: `old`, whose bytes are `encoded`, with the edits of
/// `attributes` and `objects`, followed by the objects of `added`.
pub fn extend(
    encoded: &[u8],
    old: &Manifest,
    added: &Manifest,
    attributes: &AttributeEdits,
    objects: &ObjectEdits,
) -> Result<Vec<u8>> {
    let container = capabilities_of(old).appends_as;
    let extend = container.and_then(|container| Some((container, encoder(container).ok()?.extend?)));
    let refused = || fail!(Unsupported, "a file of version {} cannot be appended to", old.version_text());
    let (container, extend) = extend.ok_or_else(refused)?;
    extend(encoded, old, added, capabilities(container), attributes, objects)
}
