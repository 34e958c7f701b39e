//! An object that matches a template, entered into the manifest's tables.

use super::cursor::Cursor;
use super::intern::ShapeInterner;
use super::tables::{add, push_rare_names, push_text};
use super::template::Match;
use crate::error::Result;
use crate::model::manifest::{table_position, Manifest, Object, RareNames, TextId};

/// Enters an object that matches a template.
#[inline(always)]
pub fn add_matched(
    cursor: &Cursor<'_>,
    manifest: &mut Manifest,
    shapes: &mut ShapeInterner,
    name: TextId,
    matched: &Match<'_, '_>,
) -> Result<()> {
    let (shape_start, rank) = shapes.intern(cursor, manifest, matched.shape())?;
    let component_start = table_position(manifest.components.len())?;
    for (mut component, digest) in matched.components() {
        if let Some(digest) = digest {
            let digest = Some(push_text(cursor, manifest, digest)?);
            component.rare = push_rare_names(cursor, manifest, RareNames { digest, ..RareNames::default() })?;
        }
        add(cursor, &mut manifest.components, component)?;
    }
    let object = Object { name, shape_start, rank, component_start, ..matched.object() };
    add(cursor, &mut manifest.objects, object)
}
