//! Tables of a manifest that is being read. They grow by as much as the rest of it seems to need.

use super::cursor::Cursor;
use crate::error::Result;
use crate::memory::{bytes_of, HugeVec};
use crate::model::manifest::{Manifest, Position, RareNames, TextId};

/// Keeps a text of UTF-8 in the manifest's arena.
#[inline(always)]
pub fn push_text(cursor: &Cursor<'_>, manifest: &mut Manifest, text: &[u8]) -> Result<TextId> {
    reserve_entry(cursor, manifest, text.len())?;
    manifest.texts.add_bytes(text)
}

/// Makes room for a text of so many bytes in the manifest's arena.
#[inline(always)]
pub fn reserve_entry(cursor: &Cursor<'_>, manifest: &mut Manifest, bytes: usize) -> Result<()> {
    let texts = &mut manifest.texts;
    let size = bytes.saturating_add(1);
    if size > texts.spare_capacity() {
        let (held, capacity) = (texts.size(), texts.spare_capacity());
        charged::<u8>(cursor, held, held.saturating_add(capacity), size, "names", |more| {
            texts.reserve(more)
        })?;
    }
    Ok(())
}

/// Makes room for a small value, or for as many as seem to come; a large one has its tape grow as it is read.
pub fn reserve_value(cursor: &Cursor<'_>, manifest: &mut Manifest) -> Result<()> {
    const SMALL: usize = 256;
    let values = &mut manifest.values;
    match cursor.budget {
        Some(budget) if values.spare_capacity() < SMALL => {
            let more = cursor.estimate_remaining(values.size(), SMALL);
            let fits = budget.has(values.size().saturating_add(more) as u64);
            values.reserve_within(if fits { more } else { SMALL }, budget)
        }
        _ => Ok(()), // where nothing is charged, it grows as it is filled
    }
}

/// Keeps the less usual texts of a component, unless there are none.
#[inline(always)]
pub fn push_rare_names(
    cursor: &Cursor<'_>,
    manifest: &mut Manifest,
    rare: RareNames,
) -> Result<Option<Position>> {
    let rare_names = &mut manifest.rare_names;
    if rare_names.len() == rare_names.capacity() && !rare.is_empty() {
        let (filled, capacity) = (rare_names.len(), rare_names.capacity());
        charged::<RareNames>(cursor, filled, capacity, 1, "components", |more| {
            rare_names.try_reserve_exact(more)
        })?;
    }
    manifest.add_rare_names(rare)
}

/// Puts `value` at the end of a table, which grows by as much as the rest of the manifest seems to need.
#[inline(always)]
pub fn push<T>(cursor: &Cursor<'_>, table: &mut Vec<T>, value: T) -> Result<()> {
    if table.len() == table.capacity() {
        let (filled, capacity) = (table.len(), table.capacity());
        charged::<T>(cursor, filled, capacity, 1, "shapes and attributes", |more| {
            Ok(table.try_reserve_exact(more)?)
        })?;
    }
    table.push(value);
    Ok(())
}

/// Appends to a table that may become large.
#[inline(always)]
pub fn add<T: Copy>(cursor: &Cursor<'_>, table: &mut HugeVec<T>, entry: T) -> Result<()> {
    if table.len() == table.capacity() {
        let (filled, capacity) = (table.len(), table.capacity());
        charged::<T>(cursor, filled, capacity, 1, "objects", |more| table.try_reserve_exact(more))?;
    }
    table.push(entry)
}

/// Makes room for as many entries as are claimed, unless that is more than opening may take.
pub fn expect<T: Copy>(cursor: &Cursor<'_>, table: &mut HugeVec<T>, entries: usize) -> Result<()> {
    if !cursor.has(bytes_of::<T>(entries)) {
        return Ok(()); // it grows as they come
    }
    cursor.charge(bytes_of::<T>(entries), "objects")?;
    table.try_reserve_exact(entries)
}

/// Lets a table grow that has `filled` entries and room for `capacity`: by as many as seem to come, at least
/// `least`, or by fewer where opening may not take as much. Both tables are there while one is copied to the
/// other.
#[cold]
fn charged<T>(
    cursor: &Cursor<'_>,
    filled: usize,
    capacity: usize,
    least: usize,
    what: &str,
    grow: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    let size = |more: usize| bytes_of::<T>(filled.saturating_add(more));
    let mut more = cursor.estimate_remaining(filled, least);
    if !cursor.has(size(more)) {
        more = (filled / 4).max(least);
    }
    cursor.charge(size(more), what)?;
    grow(more)?;
    cursor.give_back(bytes_of::<T>(capacity));
    Ok(())
}
