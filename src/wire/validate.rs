//! The rules that all versions share: where components may stand and how large they must be.
//!
//! Only the manifest and the file's size are looked at. What the bytes hold (sparse structure,
//! digests, bool bytes) is for the views and for verification.

use super::frame::{Frame, ALIGNMENT};
use crate::error::{broken, Error, Result, Rule};
use crate::model::manifest::{
    element_count, Component, Encoding, Format, LogicalType, Manifest, Object, Version,
};

/// A manifest that keeps every rule which it can show by itself. Only [`validate`] makes one.
#[derive(Debug)]
pub struct Validated(Manifest);

impl Validated {
    /// The manifest.
    pub fn into_inner(self) -> Manifest {
        self.0
    }
}

/// Checks every object and fills in the decoded sizes that follow from shapes.
pub fn validate(mut manifest: Manifest, frame: &Frame) -> Result<Validated> {
    let version = manifest.version.unwrap_or(Version::V1_2);
    for at in 0..manifest.objects.len() {
        let Some(object) = manifest.objects.get(at).copied() else { continue };
        check_object(&mut manifest, &object, version, frame).map_err(|e| in_object(&manifest, &object, e))?;
    }
    check_overlaps(&manifest)?;
    Ok(Validated(manifest))
}

#[cold]
fn in_object(manifest: &Manifest, object: &Object, error: Error) -> Error {
    error.within(format_args!("object {:?}", manifest.texts.get(object.name)))
}

fn check_object(manifest: &mut Manifest, object: &Object, version: Version, frame: &Frame) -> Result<()> {
    for role in object.format.required_roles() {
        if manifest.component(object, role).is_none() {
            let format = object.format.name().unwrap_or_default();
            return Err(broken!(
                Rule::ComponentMissing,
                "its format is {format}, but it has no component {role:?}"
            ));
        }
    }
    check_roles(manifest, object)?;
    if object.format == Format::SparseCsr && object.rank != 2 {
        return Err(broken!(
            Rule::CsrRank,
            "its format is sparse_csr, but its rank is {}, not 2",
            object.rank
        ));
    }
    let first = object.component_start as usize;
    for at in first..first.saturating_add(object.component_count as usize) {
        let Some(mut component) = manifest.components.get(at).copied() else { continue };
        let checked = check_component(manifest, object, &mut component, version, frame);
        checked.map_err(|e| e.within(format_args!("component {:?}", manifest.texts.get(component.role))))?;
        if let Some(place) = manifest.components.get_mut(at) {
            *place = component;
        }
    }
    Ok(())
}

fn check_roles(manifest: &Manifest, object: &Object) -> Result<()> {
    let components = manifest.components(object);
    let twice = |role: &str| broken!(Rule::CborDuplicateKey, "it has two components {role:?}");
    match components {
        [] | [_] => Ok(()),
        _ => {
            let mut roles = Vec::new();
            roles.try_reserve_exact(components.len())?;
            roles.extend(components.iter().map(|c| manifest.texts.get(c.role)));
            roles.sort_unstable();
            match roles.windows(2).find(|pair| pair.first() == pair.last()) {
                Some(pair) => Err(twice(pair.first().copied().unwrap_or_default())),
                None => Ok(()),
            }
        }
    }
}

fn check_component(
    manifest: &Manifest,
    object: &Object,
    c: &mut Component,
    version: Version,
    frame: &Frame,
) -> Result<()> {
    check_place(c, frame)?;
    if c.encoding == Encoding::Zstd && !c.size_declared && version >= Version::V1_2 {
        return Err(broken!(
            Rule::UncompressedLengthMissing,
            "its encoding is zstd, but it has no \"uncompressed_length\", which spec 1.2 demands"
        ));
    }
    if c.encoding == Encoding::Raw {
        if let Some(declared) = c.size.filter(|declared| *declared != c.stored_size) {
            return Err(broken!(
                Rule::UncompressedLengthRaw,
                "it is raw with \"length\" {}, but \"uncompressed_length\" {declared}",
                c.stored_size
            ));
        }
        c.size = Some(c.stored_size);
    }
    if object.format == Format::Dense && manifest.texts.get(c.role) == "data" {
        check_dense_size(manifest.shape(object), c)?;
    }
    Ok(())
}

fn check_place(c: &Component, frame: &Frame) -> Result<()> {
    let (offset, length, file_size) = (c.offset, c.stored_size, frame.file_size);
    if offset & (ALIGNMENT - 1) != 0 {
        return Err(broken!(Rule::OffsetAlign, "its offset {offset} is not a multiple of {ALIGNMENT}"));
    }
    let Some(end) = offset.checked_add(length) else {
        return Err(broken!(Rule::RangeOverflow, "its offset {offset} and length {length} leave 64 bits"));
    };
    if end > file_size {
        return Err(broken!(
            Rule::RangeEof,
            "its bytes {offset} to {end} pass the end of the file of {file_size} bytes"
        ));
    }
    if length == 0 {
        return Ok(());
    }
    if offset < ALIGNMENT {
        return Err(broken!(Rule::RangeHeader, "its bytes {offset} to {end} cover the file's magic"));
    }
    if end > frame.manifest.start {
        let start = frame.manifest.start;
        return Err(broken!(
            Rule::RangeManifest,
            "its bytes {offset} to {end} reach into the manifest at {start}"
        ));
    }
    Ok(())
}

fn check_dense_size(shape: &[u64], c: &mut Component) -> Result<()> {
    let overflow = || broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} leaves 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let (Some(width), ratio) = (
        c.element_size(),
        match c.logical {
            LogicalType::Known(logical) => logical.ratio(),
            LogicalType::Absent | LogicalType::SameAsDtype => 1,
            LogicalType::Other => return Ok(()), // its ratio is unknown, so is the size
        },
    ) else {
        return Ok(());
    };
    let expected = elements.checked_mul(ratio).and_then(|n| n.checked_mul(width)).ok_or_else(overflow)?;
    match c.size {
        Some(size) if size != expected => Err(broken!(
            Rule::DenseSize,
            "it has {size} bytes, but the shape {shape:?} of {width}-byte elements{} takes {expected}",
            if ratio == 1 { "" } else { " in pairs" }
        )),
        _ => {
            if c.encoding == Encoding::Zstd {
                c.size = Some(expected);
            }
            Ok(())
        }
    }
}

/// Two components may be the same bytes (tied weights), but not share some of them.
fn check_overlaps(manifest: &Manifest) -> Result<()> {
    let occupied = || manifest.components.iter().filter(|c| c.stored_size > 0);
    // Writers put blobs in order: then one pass tells, and nothing is allocated.
    if occupied().zip(occupied().skip(1)).all(|(a, b)| a.end() <= b.offset) {
        return Ok(());
    }
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    ranges.try_reserve_exact(manifest.components.len())?;
    ranges.extend(occupied().map(|c| (c.offset, c.end())));
    ranges.sort_unstable();
    ranges.dedup();
    let overlap = ranges.windows(2).find_map(|pair| match pair {
        [a, b] if b.0 < a.1 => Some((*a, *b)),
        _ => None,
    });
    match overlap {
        None => Ok(()),
        Some((a, b)) => Err(broken!(
            Rule::RangeOverlap,
            "{} at {} to {} and {} at {} to {} overlap",
            Named(manifest, a),
            a.0,
            a.1,
            Named(manifest, b),
            b.0,
            b.1
        )),
    }
}

/// The first component at a range, by its object and role, for a message.
struct Named<'a>(&'a Manifest, (u64, u64));

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Named(manifest, range) = *self;
        for object in &manifest.objects {
            for c in manifest.components(object) {
                if (c.offset, c.end()) == range {
                    let (name, role) = (manifest.texts.get(object.name), manifest.texts.get(c.role));
                    return write!(f, "object {name:?} component {role:?}");
                }
            }
        }
        f.write_str("a component")
    }
}
