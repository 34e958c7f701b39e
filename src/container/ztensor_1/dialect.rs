//! What differs between the 1.x manifests.

use crate::container::cbor::tables::{push_rare_names, push_text};
use crate::container::cbor::Cursor;
use crate::error::Result;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Format, LogicalType, Manifest, Object};

/// A storage type, and the logical type that its name brings along in 1.1.
pub type NamedDtype = (Dtype, Option<Logical>);

/// What differs between the 1.x manifests.
pub struct Dialect {
    /// The key of the objects.
    pub objects_key: &'static str,
    /// dtype by name, and what it implies.
    pub dtype: fn(&str) -> Option<NamedDtype>,
    /// The dtype stands in the object and not in its components (1.0).
    pub dtype_in_object: bool,
}

/// Gives the components from `first` on the dtype that their tensor names, where they name none.
pub fn spread_dtype(cursor: &Cursor<'_>, manifest: &mut Manifest, first: usize, name: &str) -> Result<()> {
    let known = Dtype::from_old_name(name);
    let mut kept = None; // once, however many components have it
    for at in first..manifest.components.len() {
        let Some(mut component) = manifest.components.get(at).copied() else { continue };
        let mut rare = manifest.rare(&component);
        if component.dtype.is_some() || rare.dtype.is_some() {
            continue;
        }
        let is_index = matches!(manifest.texts.get(component.role), "indices" | "indptr" | "coords");
        component.dtype = if is_index { Some(Dtype::U64) } else { known };
        if component.dtype.is_none() {
            let text = match kept {
                Some(text) => text,
                None => push_text(cursor, manifest, name.as_bytes())?,
            };
            kept = Some(text);
            rare.dtype = Some(text);
            component.rare = push_rare_names(cursor, manifest, rare)?;
        }
        if let Some(place) = manifest.components.get_mut(at) {
            *place = component;
        }
    }
    Ok(())
}

/// The data of an object that is made of blocks gets the type that the format names.
pub fn name_blocks(manifest: &mut Manifest, object: &Object) {
    let Format::Blocks(logical) = object.format else { return };
    for at in object.component_start..object.component_start.saturating_add(object.component_count) {
        let Some(component) = manifest.components.get_mut(at as usize) else { continue };
        let plain = component.dtype == Some(logical.dtype()) && component.logical == LogicalType::Absent;
        if plain && manifest.texts.get_bytes(component.role) == b"data" {
            component.logical = LogicalType::Known(logical);
        }
    }
}
