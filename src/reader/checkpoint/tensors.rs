//! The tensors that a quantized weight was, so that it can become them again.

use super::schemes;
use crate::container::Quantized;
use crate::convert::scaled::swapped_words;
use crate::error::{fail, Result};
use crate::memory::{append, copied, in_memory, with_capacity, zeroed};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Format};
use crate::model::value::{Attributes, Element, OwnedValue, Value, ValueKind};
use crate::reader::object::{Component, Object};

/// Attributes that have, under the role of each tensor, its shape, its type if its component has another, and
/// its bytes if no component has them.
pub const SHAPES: &str = "shapes";
const TYPES: &str = "types";
const PARTS: &str = "parts";

/// The parts of a weight that groups of codes have.
/// cbindgen:ignore
pub const ROLES_OF_GROUPS: [&str; 3] = ["packed_weight", "scales", "zeros"];

/// The most bytes of a tensor that becomes an attribute.
/// cbindgen:ignore
pub const MAX_PART: u64 = 4096;

/// A tensor of a weight.
pub struct StoredTensor<'f> {
    /// Its name.
    pub name: Vec<u8>,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The storage type of its elements. None if it is unknown.
    pub dtype: Option<Dtype>,
    /// Their logical type, if they have one.
    pub logical: Option<Logical>,
    /// The component that has its bytes.
    pub component: Option<Component<'f>>,
    /// Its bytes, if no component has them, as a file has them.
    bytes: &'f [u8],
}

impl StoredTensor<'_> {
    /// Whether its elements are those of a component.
    pub fn is_component(&self) -> bool {
        self.component.is_some_and(|component| component.dtype() == self.dtype)
    }

    /// Calls `body` with its elements in the byte order of the host, front to back.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(component) = self.component.filter(|_| self.is_component()) {
            return component.for_each_decoded(body);
        }
        // Its elements are words, but the component has their bytes.
        let width = self.dtype.map_or(1, Dtype::size);
        let mut words = Vec::new();
        let mut in_words = |bytes: &[u8]| {
            words.clear();
            append(&mut words, bytes)?;
            swapped_words(&mut words, width);
            body(&words)
        };
        match self.component {
            Some(component) => component.for_each_decoded(&mut in_words),
            None => in_words(self.bytes),
        }
    }
}

impl<'f> Object<'f> {
    /// The tensors that it was, if it is a weight of a scheme, with names for a weight of that name.
    pub fn stored_tensors(&self, name: &[u8]) -> Result<Option<Vec<StoredTensor<'f>>>> {
        let Some(scheme) = self.scheme().and_then(schemes::by_name) else { return Ok(None) };
        let module = name.strip_suffix(scheme.weight.as_bytes());
        let module = module.ok_or_else(|| {
            let (name, weight) = (scheme.name, scheme.weight);
            self.wrap(fail!(
                Unsupported,
                "weights of {name} have names that end in {weight:?}: give it such a name"
            ))
        })?;
        let mut tensors = with_capacity(scheme.parts.len()).map_err(|e| self.wrap(e))?;
        let codes = if self.format() == Format::QuantizedGroup { "packed_weight" } else { "data" };
        for component in self.components() {
            let role = if component.role() == codes { "packed_weight" } else { component.role() };
            let part = scheme.parts.iter().find(|part| part.role == role).ok_or_else(|| {
                component.wrap(fail!(Unsupported, "weights of {} have no such tensor", scheme.name))
            })?;
            let (dtype, logical) = match self.stated(TYPES, role).and_then(|name| name.as_text()) {
                Some(name) => type_called(name),
                None => (component.dtype(), component.known_logical()),
            };
            let tensor = StoredTensor {
                name: part.name_in(module)?,
                shape: self.shape_of(&component, role)?,
                dtype,
                logical,
                component: Some(component),
                bytes: &[],
            };
            tensors.push(match component.stored_shape() {
                Some(_) => tensor,
                None => tensor.checked(component.size()?).map_err(|e| component.wrap(e))?,
            });
        }
        for part in scheme.parts {
            let Some(ValueKind::Bytes(bytes)) = self.stated(PARTS, part.role).map(Value::kind) else {
                continue;
            };
            let name = self.stated(TYPES, part.role).and_then(|name| name.as_text()).unwrap_or_default();
            let (dtype, logical) = type_called(name);
            let tensor = StoredTensor {
                name: part.name_in(module)?,
                shape: self.stated_shape(part.role).map_err(|e| self.wrap(e))?,
                dtype,
                logical,
                component: None,
                bytes,
            };
            tensors.push(tensor.checked(bytes.len() as u64).map_err(|e| self.wrap(e))?);
        }
        Ok(Some(tensors))
    }

    /// What an attribute says of the tensor of a role.
    fn stated(&self, key: &str, role: &str) -> Option<Value<'f>> {
        self.attributes()?.get(key)?.get(role)
    }

    /// What an attribute says of tensors that no component has.
    fn stated_of_others(&self, key: &str) -> impl Iterator<Item = (&'f str, Value<'f>)> + '_ {
        let stated = self.attributes().and_then(|map| map.get(key)).unwrap_or(Value::EMPTY_MAP).pairs();
        let stated = stated.filter_map(|(role, value)| Some((role.as_text()?, value)));
        stated.filter(|(role, _)| self.component(role).is_none())
    }

    /// The types that its codes and scales had before they became those of a layout, if it says them.
    pub(crate) fn groups_before(&self) -> Option<Quantized<'static>> {
        let stated = |role: &str| {
            let (dtype, logical) = self.stated(TYPES, role)?.as_text().map(type_called)?;
            let component = self.component(if role == "scales" { role } else { "data" })?;
            let bytes = logical.map(Logical::block).or(dtype.map(Dtype::block))?.bytes;
            let is_whole = component.size().ok()?.checked_rem(bytes) == Some(0);
            dtype.filter(|_| is_whole).map(|dtype| (dtype, logical))
        };
        Some(Quantized {
            bits: None,
            group_size: None,
            packing: None,
            grouping: None,
            codes: stated("packed_weight")?,
            scales: stated("scales")?,
            has_zeros: self.component("zeros").is_some(),
        })
    }

    /// Adds attributes that say what its tensors were, as groups of codes will not show it.
    pub(crate) fn keep_tensors(&self, to: &mut Attributes) -> Result<()> {
        let types = OwnedValue::build(|builder| {
            builder.begin_map(None)?;
            for component in self.components() {
                builder.text(component.role())?;
                builder.text(component.logical_name().unwrap_or(component.dtype_name()))?;
            }
            for (role, name) in self.stated_of_others(TYPES) {
                builder.text(role)?;
                builder.text(name.as_text().unwrap_or_default())?;
            }
            builder.end().map(drop)
        })?;
        to.set(TYPES, types.get())?;
        let parts = OwnedValue::build(|builder| {
            builder.begin_map(None)?;
            let is_other = |component: &Component<'_>| !ROLES_OF_GROUPS.contains(&component.role());
            for component in self.components().filter(is_other) {
                let mut bytes = zeroed(in_memory(component.size()?)?)?;
                component.read(&mut bytes)?;
                swapped_words(&mut bytes, component.dtype().map_or(1, Dtype::size));
                builder.text(component.role())?;
                builder.bytes(&bytes)?;
            }
            for (role, part) in self.stated_of_others(PARTS) {
                let ValueKind::Bytes(bytes) = part.kind() else { continue };
                builder.text(role)?;
                builder.bytes(bytes)?;
            }
            builder.end().map(drop)
        })?;
        match parts.get().pairs().len() {
            0 => Ok(()),
            _ => to.set(PARTS, parts.get()),
        }
    }

    /// The shapes of its tensors as the value of an attribute, if they are known and no attribute says them.
    pub(crate) fn shapes_to_keep(&self) -> Result<Option<OwnedValue>> {
        let is_known = !self.file.manifest.stored_shapes.is_empty() && self.scheme().is_some();
        if !is_known || self.attributes().is_some_and(|map| map.get(SHAPES).is_some()) {
            return Ok(None);
        }
        let shapes = OwnedValue::build(|builder| {
            builder.begin_map(Some(self.components().len() as u64))?;
            for component in self.components() {
                let shape = component.stored_shape().unwrap_or_default();
                builder.text(component.role())?;
                builder.begin_array(Element::Any, Some(shape.len() as u64))?;
                shape.iter().try_for_each(|dimension| builder.unsigned(*dimension))?;
                builder.end()?;
            }
            builder.end().map(drop)
        })?;
        Ok(Some(shapes))
    }

    fn shape_of(&self, component: &Component<'f>, role: &str) -> Result<Vec<u64>> {
        let Some(stored) = component.stored_shape() else {
            return self.stated_shape(role).map_err(|e| component.wrap(e));
        };
        copied(stored)
    }

    fn stated_shape(&self, role: &str) -> Result<Vec<u64>> {
        let Some(ValueKind::Array(items)) = self.stated(SHAPES, role).map(Value::kind) else {
            return Err(fail!(
                Unsupported,
                "the shape of its {role} is not known: the object has no attribute {SHAPES:?} that says it"
            ));
        };
        let mut shape = with_capacity(items.len())?;
        let no_size = || geometry!("the shape of its {role} has an entry that is not a size");
        for item in items.iter() {
            shape.push(item.as_u64().ok_or_else(no_size)?);
        }
        Ok(shape)
    }
}

impl<'f> StoredTensor<'f> {
    /// The same, if that many bytes are those of its shape and its type.
    fn checked(self, size: u64) -> Result<StoredTensor<'f>> {
        let block = self.logical.map(Logical::block).or(self.dtype.map(Dtype::block));
        let block = block.ok_or_else(|| fail!(Unsupported, "its type is not known"))?;
        match element_count(&self.shape).and_then(|count| block.size(count)) == Some(size) {
            true => Ok(self),
            false => Err(geometry!(
                "its {size} bytes are not those of the shape {:?} that the object says",
                self.shape
            )),
        }
    }
}

fn type_called(name: &str) -> (Option<Dtype>, Option<Logical>) {
    let logical = Logical::from_name(name);
    (logical.map(Logical::dtype).or(Dtype::from_name(name)), logical)
}

impl<'f> Component<'f> {
    /// The shape of the tensor that it is by itself, if its file was opened with weights as objects.
    pub(in crate::reader) fn stored_shape(&self) -> Option<&'f [u64]> {
        let manifest = &self.file.manifest;
        let (start, rank) = *manifest.stored_shapes.get(self.index).filter(|(_, rank)| *rank != u32::MAX)?;
        manifest.dimensions.get(start as usize..(start as usize).saturating_add(rank as usize))
    }
}
