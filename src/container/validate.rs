//! The rules that all containers share: where components may be, and how large they must be. zTensor 2
//! adds its own in `ztensor_2/component_ranges.rs`.
//!
//! These checks only use the manifest and the file's size. Views and verification check the contents: sparse
//! structure, digests, bools.

use super::capabilities::{Capabilities, SharedBytes};
use super::frame::Frame;
use crate::error::{broken, fail, Quoted, Result, Rule};
use crate::memory::with_capacity;
use crate::model::component::{Layout, MAX_RANK};
use crate::model::manifest::{element_count, Component, Encoding, Format, Manifest, Object, TextId};
use crate::model::sort::{find_duplicate, sort};
use std::ops::Deref;

/// A manifest that follows every rule that can be checked without data. `validate` makes it, or a container
/// that checks its own rules. The default is for a model without files.
#[derive(Debug, Default)]
pub struct Validated(Manifest);

impl Validated {
    /// A manifest that is known to follow the rules: its container has checked its own, or objects of a valid
    /// one were combined.
    pub(crate) fn known(manifest: Manifest) -> Validated {
        Validated(manifest)
    }

    /// The manifest, to be changed.
    pub fn into_inner(self) -> Manifest {
        self.0
    }

    /// The components, to set marks that no rule depends on.
    pub(crate) fn components_mut(&mut self) -> &mut [Component] {
        &mut self.0.components
    }

    /// Reserves memory for the objects that [`Validated::append`] adds from these manifests.
    pub(crate) fn reserve_for<'m>(
        &mut self,
        parts: impl Iterator<Item = &'m Validated> + Clone,
    ) -> Result<()> {
        self.0.reserve_for(parts.map(|part| &part.0))
    }

    /// Adds the visible objects of another file. They were checked with that file.
    pub(crate) fn append(
        &mut self,
        part: &Validated,
        is_shown: &dyn Fn(usize) -> bool,
    ) -> Result<Option<TextId>> {
        self.0.append(&part.0, is_shown)
    }
}

impl Deref for Validated {
    type Target = Manifest;

    #[inline(always)]
    fn deref(&self) -> &Manifest {
        &self.0
    }
}

/// Checks every object, and sets the decoded sizes that follow from shapes.
pub fn validate(mut manifest: Manifest, frame: &Frame, capabilities: &Capabilities) -> Result<Validated> {
    let rules = Rules { frame, capabilities };
    let mut components = std::mem::take(&mut manifest.components);
    let data = Data(manifest.known_role("data"));
    let mut in_order = true;
    let mut last_end = 0;
    for object in manifest.objects.iter() {
        let first = object.component_start as usize;
        let end = first.saturating_add(object.component_count as usize);
        let parts = components.get_mut(first..end).unwrap_or_default();
        if let Err(e) = check_object(&manifest, object, parts, &rules, data) {
            return Err(e.within(format_args!("object {}", Quoted(manifest.texts.get_bytes(object.name)))));
        }
        for part in parts.iter().filter(|c| c.stored_size > 0) {
            in_order &= last_end <= part.offset;
            last_end = part.end();
        }
    }
    manifest.components = components;
    if !in_order {
        // Writers sort blobs by offset, so usually nothing has to be sorted.
        check_overlaps(&manifest, capabilities.shared_bytes)?;
    }
    Ok(Validated(manifest))
}

/// The properties of the file that the rules need.
struct Rules<'a> {
    frame: &'a Frame,
    capabilities: &'a Capabilities,
}

/// The role "data", which almost all components have.
#[derive(Clone, Copy)]
struct Data(Option<TextId>);

impl Data {
    /// Whether a component has this role. A role is almost always stored once, so no text has to be compared.
    #[inline(always)]
    fn is(self, manifest: &Manifest, c: &Component) -> bool {
        self.0 == Some(c.role) || manifest.texts.get_bytes(c.role) == b"data"
    }
}

#[inline(always)]
fn check_object(
    manifest: &Manifest,
    object: &Object,
    parts: &mut [Component],
    rules: &Rules<'_>,
    data: Data,
) -> Result<()> {
    let is_dense = object.format == Format::Dense;
    // True for almost all objects.
    let is_only_data = is_dense && matches!(&*parts, [only] if data.is(manifest, only));
    if !is_only_data {
        check_roles(manifest, object, parts)?;
    }
    if object.format == Format::SparseCsr && object.rank != 2 {
        return Err(broken!(
            Rule::CsrRank,
            "its format is sparse_csr, but its rank is {}, not 2",
            object.rank
        ));
    }
    for part in parts {
        let dense = is_only_data || (is_dense && data.is(manifest, part));
        if let Err(e) = check_component(manifest, dense.then_some(object), part, rules) {
            return Err(e.within(format_args!("component {:?}", manifest.texts.get(part.role))));
        }
    }
    Ok(())
}

#[inline(never)]
fn check_roles(manifest: &Manifest, object: &Object, parts: &[Component]) -> Result<()> {
    let role = |c: &Component| manifest.texts.get_bytes(c.role);
    for required in object.format.required_roles() {
        if !parts.iter().any(|c| role(c) == required.as_bytes()) {
            let format = object.format.name().unwrap_or_default();
            return Err(broken!(
                Rule::ComponentMissing,
                "its format is {format}, but it has no component {required:?}"
            ));
        }
    }
    match find_duplicate(parts, |a, b| role(a).cmp(role(b)))? {
        Some(duplicate) => {
            let role = manifest.texts.get(duplicate.role);
            Err(broken!(Rule::CborDuplicateKey, "it has two components {role:?}"))
        }
        None => Ok(()),
    }
}

/// Checks a component. `dense` is its object, if it is the data of a dense object.
#[inline(always)]
fn check_component(
    manifest: &Manifest,
    dense: Option<&Object>,
    c: &mut Component,
    rules: &Rules<'_>,
) -> Result<()> {
    check_range(c, rules)?;
    if c.encoding.is_compressed() && !c.is_size_declared() && rules.capabilities.declares_sizes {
        return Err(broken!(
            Rule::UncompressedLengthMissing,
            "its encoding is {}, but it has no \"uncompressed_length\", which spec 1.2 requires",
            c.encoding.name().unwrap_or_default()
        ));
    }
    let layout = manifest.layout(c).copied();
    if let Some(layout) = &layout {
        check_layout(manifest, dense, c, layout)?;
    }
    if c.encoding == Encoding::Raw && layout.is_none_or(|layout| layout.strides.is_none()) {
        if let Some(declared) = c.size().filter(|declared| *declared != c.stored_size) {
            return Err(broken!(
                Rule::UncompressedLengthRaw,
                "it is raw with \"length\" {}, but \"uncompressed_length\" {declared}",
                c.stored_size
            ));
        }
        c.set_size(Some(c.stored_size));
    }
    dense.map_or(Ok(()), |object| check_dense_size(manifest.shape(object), c))
}

/// Checks that all elements are in the decoded bytes.
#[cold]
fn check_layout(manifest: &Manifest, object: Option<&Object>, c: &Component, layout: &Layout) -> Result<()> {
    let Layout { decoded_size, start, .. } = *layout;
    let shape = object.map(|object| manifest.shape(object)).unwrap_or_default();
    let outside = |end: Option<u64>| match end.filter(|end| *end <= decoded_size) {
        Some(_) => Ok(()),
        None => Err(broken!(
            Rule::RangeEof,
            "its elements of the shape {shape:?} from byte {start} on pass its {decoded_size} decoded bytes"
        )),
    };
    if c.encoding == Encoding::Raw && (start != 0 || decoded_size != c.stored_size) {
        return Err(fail!(
            Internal,
            "{decoded_size} bytes from {start} on are raw, {} are stored",
            c.stored_size
        ));
    }
    let Some(strides) = manifest.strides(layout, shape.len()) else {
        return outside(start.checked_add(c.size().unwrap_or(u64::MAX)));
    };
    if object.is_none() || shape.len() > MAX_RANK || strides.len() != shape.len() {
        return Err(fail!(
            Unsupported,
            "it has strides of {} dimensions; at most {MAX_RANK} are supported",
            shape.len()
        ));
    }
    let Some(unit) = c.block().filter(|block| block.elements == 1) else {
        return Err(fail!(Unsupported, "it has strides, and elements that are not whole bytes"));
    };
    if shape.contains(&0) {
        return Ok(());
    }
    let last = Layout::reach(shape, strides).and_then(|last| last.checked_add(1)?.checked_mul(unit.bytes));
    outside(last.and_then(|end| end.checked_add(start)))
}

#[inline(always)]
fn check_range(c: &Component, rules: &Rules<'_>) -> Result<()> {
    let (frame, alignment) = (rules.frame, rules.capabilities.alignment);
    let (offset, length, file_size) = (c.offset, c.stored_size, frame.file_size);
    if offset & alignment.saturating_sub(1) != 0 {
        return Err(broken!(Rule::OffsetAlign, "its offset {offset} is not a multiple of {alignment}"));
    }
    let Some(end) = offset.checked_add(length) else {
        return Err(broken!(Rule::RangeOverflow, "its offset {offset} and length {length} exceed 64 bits"));
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
    if offset < frame.data.start {
        return Err(broken!(
            Rule::RangeHeader,
            "its bytes {offset} to {end} cover the file's first {}, where no data may be",
            frame.data.start
        ));
    }
    if end > frame.data.end {
        return Err(broken!(
            Rule::RangeManifest,
            "its bytes {offset} to {end} reach into the manifest at {}",
            frame.data.end
        ));
    }
    Ok(())
}

#[inline(always)]
fn check_dense_size(shape: &[u64], c: &mut Component) -> Result<()> {
    let overflow = || broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} exceeds 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    let Some(block) = c.block() else { return Ok(()) };
    let expected = block.size(elements).ok_or_else(overflow)?;
    match c.size() {
        Some(size) if size != expected => Err(broken!(
            Rule::DenseSize,
            "it has {size} bytes, but the shape {shape:?} of {}-byte elements takes {expected}",
            block.bytes
        )),
        _ => {
            if c.encoding.is_compressed() {
                c.set_size(Some(expected));
            }
            Ok(())
        }
    }
}

/// Refuses two components that share bytes which they may not share.
fn check_overlaps(manifest: &Manifest, shared: SharedBytes) -> Result<()> {
    let may_be_identical = match shared {
        SharedBytes::None => false,
        SharedBytes::All => true,
        SharedBytes::Any => return Ok(()),
    };
    let mut ranges: Vec<(u64, u64)> = with_capacity(manifest.components.len())?;
    let occupied = manifest.components.iter().filter(|c| c.stored_size > 0);
    ranges.extend(occupied.map(|c| (c.offset, c.end())));
    sort(&mut ranges);
    if may_be_identical {
        ranges.dedup();
    }
    let overlap = ranges.windows(2).find_map(|pair| match pair {
        [a, b] if b.0 < a.1 => Some((*a, *b)),
        _ => None,
    });
    let Some((a, b)) = overlap else { return Ok(()) };
    let at =
        |range| FirstComponent(manifest, move |c: &Component| (c.offset, c.end()) == range, "a component");
    let (first, second) = (at(a), at(b));
    Err(broken!(
        Rule::RangeOverlap,
        "{first} at {} to {} and {second} at {} to {} overlap",
        a.0,
        a.1,
        b.0,
        b.1
    ))
}

/// For a message: the object and role of the first component that meets a condition. If no component does,
/// the text.
pub(super) struct FirstComponent<'a, F>(pub &'a Manifest, pub F, pub &'static str);

impl<F: Fn(&Component) -> bool> std::fmt::Display for FirstComponent<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FirstComponent(manifest, is_meant, otherwise) = self;
        for object in manifest.objects.iter() {
            if let Some(c) = manifest.components(object).iter().find(|c| is_meant(c)) {
                let [name, role] = [object.name, c.role].map(|id| Quoted(manifest.texts.get_bytes(id)));
                return write!(f, "object {name} component {role}");
            }
        }
        f.write_str(otherwise)
    }
}
