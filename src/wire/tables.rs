//! Tables of a manifest that is being read. They grow by as much as the rest of it seems to need.

use super::alike::Like;
use super::cbor::Cursor;
use super::shared::Shapes;
use crate::error::{fail, Result};
use crate::memory::Table;
use crate::model::manifest::{Extra, Manifest, Object, Position, Text};

/// Keeps a text of UTF-8 in the manifest's arena.
#[inline(always)]
pub fn keep(cursor: &Cursor<'_>, manifest: &mut Manifest, text: &[u8]) -> Result<Text> {
    let texts = &mut manifest.texts;
    let size = text.len().saturating_add(1);
    if size > texts.room() {
        texts.reserve(cursor.to_come(texts.size(), size))?;
    }
    texts.add_utf8(text)
}

/// Keeps the less usual texts of a component, unless there are none.
#[inline(always)]
pub fn keep_extra(cursor: &Cursor<'_>, manifest: &mut Manifest, extra: Extra) -> Result<Option<Position>> {
    let extras = &mut manifest.extras;
    if extras.len() == extras.capacity() && extra != Extra::default() {
        extras.try_reserve_exact(cursor.to_come(extras.len(), 1))?;
    }
    manifest.add_extra(extra)
}

/// Puts `value` at the end of a table, which grows by as much as the rest of the manifest seems to need.
#[inline(always)]
pub fn push<T>(cursor: &Cursor<'_>, table: &mut Vec<T>, value: T) -> Result<()> {
    if table.len() == table.capacity() {
        table.try_reserve_exact(cursor.to_come(table.len(), 1))?;
    }
    table.push(value);
    Ok(())
}

/// The same for a table that may become large.
#[inline(always)]
pub fn add<T: Copy>(cursor: &Cursor<'_>, table: &mut Table<T>, entry: T) -> Result<()> {
    if table.len() == table.capacity() {
        table.try_reserve_exact(cursor.to_come(table.len(), 1))?;
    }
    table.push(entry)
}

/// Enters an object that is spelled as another.
#[inline(always)]
pub fn add_like(
    cursor: &Cursor<'_>,
    manifest: &mut Manifest,
    shapes: &mut Shapes,
    name: Text,
    like: &Like<'_, '_>,
) -> Result<()> {
    let (shape_start, rank) = shapes.keep(cursor, manifest, like.shape())?;
    let component_start = table_position(manifest.components.len())?;
    for (mut component, digest) in like.components() {
        if let Some(digest) = digest {
            let digest = Some(keep(cursor, manifest, digest)?);
            component.extra = keep_extra(cursor, manifest, Extra { digest, ..Extra::default() })?;
        }
        add(cursor, &mut manifest.components, component)?;
    }
    let object = Object { name, shape_start, rank, component_start, ..like.object() };
    add(cursor, &mut manifest.objects, object)
}

/// A position in one of the manifest's tables.
pub fn table_position(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| fail!(Limit, "a table of the manifest passes 2^32 entries"))
}
