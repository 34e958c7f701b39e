//! Tables of a manifest that is being read. They grow by as much as the rest of it seems to need.

use super::alike::Like;
use super::cbor::Cursor;
use super::shared::Shapes;
use crate::error::{fail, Result};
use crate::memory::{bytes_of, Table};
use crate::model::manifest::{Extra, Manifest, Object, Position, Text};

/// Keeps a text of UTF-8 in the manifest's arena.
#[inline(always)]
pub fn keep(cursor: &Cursor<'_>, manifest: &mut Manifest, text: &[u8]) -> Result<Text> {
    make_room(cursor, manifest, text.len())?;
    manifest.texts.add_utf8(text)
}

/// Makes room for a text of so many bytes in the manifest's arena.
#[inline(always)]
pub fn make_room(cursor: &Cursor<'_>, manifest: &mut Manifest, bytes: usize) -> Result<()> {
    let texts = &mut manifest.texts;
    let size = bytes.saturating_add(1);
    if size > texts.room() {
        let (held, room) = (texts.size(), texts.room());
        charged::<u8>(cursor, held, held.saturating_add(room), size, "names", |more| texts.reserve(more))?;
    }
    Ok(())
}

/// Keeps the less usual texts of a component, unless there are none.
#[inline(always)]
pub fn keep_extra(cursor: &Cursor<'_>, manifest: &mut Manifest, extra: Extra) -> Result<Option<Position>> {
    let extras = &mut manifest.extras;
    if extras.len() == extras.capacity() && extra != Extra::default() {
        let (filled, room) = (extras.len(), extras.capacity());
        charged::<Extra>(cursor, filled, room, 1, "components", |more| extras.try_reserve_exact(more))?;
    }
    manifest.add_extra(extra)
}

/// Puts `value` at the end of a table, which grows by as much as the rest of the manifest seems to need.
#[inline(always)]
pub fn push<T>(cursor: &Cursor<'_>, table: &mut Vec<T>, value: T) -> Result<()> {
    if table.len() == table.capacity() {
        let (filled, room) = (table.len(), table.capacity());
        charged::<T>(cursor, filled, room, 1, "shapes and attributes", |more| {
            Ok(table.try_reserve_exact(more)?)
        })?;
    }
    table.push(value);
    Ok(())
}

/// The same for a table that may become large.
#[inline(always)]
pub fn add<T: Copy>(cursor: &Cursor<'_>, table: &mut Table<T>, entry: T) -> Result<()> {
    if table.len() == table.capacity() {
        let (filled, room) = (table.len(), table.capacity());
        charged::<T>(cursor, filled, room, 1, "objects", |more| table.try_reserve_exact(more))?;
    }
    table.push(entry)
}

/// Makes room for as many entries as are claimed, unless that is more than opening may take.
pub fn expect<T: Copy>(cursor: &Cursor<'_>, table: &mut Table<T>, entries: usize) -> Result<()> {
    if !cursor.has(bytes_of::<T>(entries)) {
        return Ok(()); // it grows as they come
    }
    cursor.charge(bytes_of::<T>(entries), "objects")?;
    table.try_reserve_exact(entries)
}

/// Lets a table grow that has `filled` entries and room for `room`: by as many as seem to come, at least `least`, or by
/// fewer where opening may not take as much. Both tables are there while one is copied to the other.
#[cold]
fn charged<T>(
    cursor: &Cursor<'_>,
    filled: usize,
    room: usize,
    least: usize,
    what: &str,
    grow: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    let size = |more: usize| bytes_of::<T>(filled.saturating_add(more));
    let mut more = cursor.to_come(filled, least);
    if !cursor.has(size(more)) {
        more = (filled / 4).max(least);
    }
    cursor.charge(size(more), what)?;
    grow(more)?;
    cursor.give_back(bytes_of::<T>(room));
    Ok(())
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
