//! Tables of a manifest that double their size when they grow. Memory is charged to a budget before it is
//! allocated.

use crate::error::{try_format, Result};
use crate::memory::{bytes_of, Budget, HugeVec};
use crate::model::component::Layout;
use crate::model::manifest::{Manifest, Position, RareNames, TextArena, TextId};
use std::fmt::Display;

/// The least number of entries by which a table grows.
const MIN_GROWTH: usize = 64;

/// Charges the memory of a table that grows from `capacity` entries. The old and the new table both exist
/// while one is copied to the other.
#[cold]
fn growing<T>(
    budget: &Budget,
    what: &str,
    capacity: usize,
    least: usize,
    grow: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    let mut more = capacity.max(MIN_GROWTH).max(least);
    if !budget.has(bytes_of::<T>(capacity.saturating_add(more))) {
        more = (capacity / 4).max(least);
    }
    budget.charge(bytes_of::<T>(capacity.saturating_add(more)), what)?;
    grow(more)?;
    budget.give_back(bytes_of::<T>(capacity));
    Ok(())
}

/// Appends to a table that may become large.
#[inline(always)]
pub fn add<T: Copy>(budget: &Budget, table: &mut HugeVec<T>, entry: T) -> Result<()> {
    if table.len() == table.capacity() {
        let capacity = table.capacity();
        growing::<T>(budget, "objects", capacity, 1, |more| table.try_reserve_exact(more))?;
    }
    table.push(entry)
}

/// Reserves memory for the claimed number of entries, unless opening may not take that much: then the table
/// grows as entries come.
pub fn expect<T: Copy>(budget: &Budget, table: &mut HugeVec<T>, claimed: u64) -> Result<()> {
    match usize::try_from(claimed) {
        Ok(claimed) if budget.has(bytes_of::<T>(claimed)) => {
            budget.charge(bytes_of::<T>(claimed), "objects")?;
            table.try_reserve_exact(claimed)
        }
        _ => Ok(()),
    }
}

/// Appends to a table.
#[inline(always)]
pub fn push<T>(budget: &Budget, table: &mut Vec<T>, entry: T) -> Result<()> {
    if table.len() == table.capacity() {
        let capacity = table.capacity();
        growing::<T>(budget, "shapes and keys", capacity, 1, |more| Ok(table.try_reserve_exact(more)?))?;
    }
    table.push(entry);
    Ok(())
}

/// Appends bytes.
pub fn extend(budget: &Budget, table: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if table.capacity().saturating_sub(table.len()) < bytes.len() {
        let capacity = table.capacity();
        let free = capacity.saturating_sub(table.len());
        growing::<u8>(budget, "texts", capacity, bytes.len(), |more| {
            Ok(table.try_reserve_exact(free.saturating_add(more))?) // exactly as much as was charged
        })?;
    }
    table.extend_from_slice(bytes);
    Ok(())
}

/// Stores a text.
#[inline(always)]
pub fn add_text(budget: &Budget, manifest: &mut Manifest, text: &[u8]) -> Result<TextId> {
    add_to(budget, &mut manifest.texts, text)
}

/// Stores a text in an arena.
#[inline(always)]
pub fn add_to(budget: &Budget, texts: &mut TextArena, text: &[u8]) -> Result<TextId> {
    let size = text.len().saturating_add(1);
    if size > texts.spare_capacity() {
        let capacity = texts.size().saturating_add(texts.spare_capacity());
        growing::<u8>(budget, "names", capacity, size.max(4096), |more| texts.reserve(more))?;
    }
    texts.add_bytes(text)
}

/// Stores the rare texts of a component and the positions of its elements.
pub fn add_layout(
    budget: &Budget,
    manifest: &mut Manifest,
    rare: RareNames,
    layout: Layout,
) -> Result<Option<Position>> {
    let at = Position::after(manifest.layouts.len())?;
    add(budget, &mut manifest.layouts, layout)?;
    let rare = RareNames { layout: Some(at), ..rare };
    let at = Position::after(manifest.rare_names.len())?;
    add(budget, &mut manifest.rare_names, rare)?;
    Ok(Some(at))
}

/// Stores the name of a type or encoding that is not read. `text` formats it.
pub fn add_name(budget: &Budget, manifest: &mut Manifest, text: impl Display) -> Result<TextId> {
    add_text(budget, manifest, try_format(format_args!("{text}"))?.as_bytes())
}
