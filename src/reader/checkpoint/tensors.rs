//! The tensors that a quantized weight was, so that it can become them again.

use super::schemes;
use crate::error::{broken, fail, Result, Rule};
use crate::model::manifest::element_count;
use crate::model::value::{Element, Kind, OwnedValue, Value};
use crate::reader::object::{Component, Object};

/// The attribute that has the shape of each tensor, under its role.
pub const SHAPES: &str = "shapes";

/// A tensor of a weight.
pub struct StoredTensor<'f> {
    /// Its name.
    pub name: Vec<u8>,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Its bytes.
    pub component: Component<'f>,
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
        let mut tensors = Vec::new();
        tensors.try_reserve_exact(self.components().len()).map_err(|e| self.wrap(e.into()))?;
        for component in self.components() {
            let part = scheme.parts.iter().find(|part| part.role == component.role());
            let part = part.ok_or_else(|| {
                component.wrap(fail!(Unsupported, "weights of {} have no such tensor", scheme.name))
            })?;
            let mut name = Vec::new();
            name.try_reserve_exact(module.len().saturating_add(part.suffix.len()))?;
            name.extend_from_slice(module);
            name.extend_from_slice(part.suffix.as_bytes());
            let shape = self.shape_of(&component)?;
            tensors.push(StoredTensor { name, shape, component });
        }
        Ok(Some(tensors))
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

    /// The shape of one of its tensors.
    fn shape_of(&self, component: &Component<'f>) -> Result<Vec<u64>> {
        let mut shape = Vec::new();
        if let Some(stored) = component.stored_shape() {
            shape.try_reserve_exact(stored.len())?;
            shape.extend_from_slice(stored);
            return Ok(shape);
        }
        let stated = self.attributes().and_then(|map| map.get(SHAPES)?.get(component.role()));
        let Some(Kind::Array(items)) = stated.map(Value::kind) else {
            return Err(component.wrap(fail!(
                Unsupported,
                "its shape is not known: the object has no attribute {SHAPES:?} that says it"
            )));
        };
        shape.try_reserve_exact(items.len())?;
        for item in items.iter() {
            let dimension = item.as_u64();
            shape.push(dimension.ok_or_else(|| {
                component.wrap(broken!(Rule::QuantizedGeometry, "its shape has what is no size"))
            })?);
        }
        let block = component.known_block().map_err(|e| component.wrap(e))?;
        match element_count(&shape).and_then(|count| block.size(count)) == component.size().ok() {
            true => Ok(shape),
            false => Err(component.wrap(broken!(
                Rule::QuantizedGeometry,
                "its bytes are not those of the shape {shape:?} that the object says"
            ))),
        }
    }
}

impl<'f> Component<'f> {
    /// The shape of the tensor that it is by itself, if its file was opened with weights as objects.
    pub(in crate::reader) fn stored_shape(&self) -> Option<&'f [u64]> {
        let manifest = &self.file.manifest;
        let (start, rank) = *manifest.stored_shapes.get(self.index).filter(|(_, rank)| *rank != u32::MAX)?;
        manifest.dimensions.get(start as usize..(start as usize).saturating_add(rank as usize))
    }
}
