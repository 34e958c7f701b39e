//! Tables of a manifest that is being read. Memory is charged to a budget before it is allocated.

use crate::error::{try_format, Result};
use crate::memory::{bytes_of, Budget, HugeVec};
use crate::model::component::Layout;
use crate::model::manifest::{
    table_position, Component, Manifest, Object, Position, RareNames, TextArena, TextId,
};
use std::fmt::Display;

/// By how much tables grow, and the budget to which they are charged.
pub trait Growth {
    /// The least number of bytes by which texts grow.
    const MIN_TEXTS: usize;

    /// The budget; `None` for no limit.
    fn budget(&self) -> Option<&Budget>;

    /// By how many entries a table that has `filled` grows: at least `least`.
    fn more(&self, filled: usize, least: usize) -> usize;

    /// Charges memory before it is allocated.
    fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        self.budget().map_or(Ok(()), |budget| budget.charge(bytes, what))
    }

    /// Returns memory that was freed to the budget.
    fn give_back(&self, bytes: u64) {
        if let Some(budget) = self.budget() {
            budget.give_back(bytes);
        }
    }

    /// Whether the budget allows this much memory.
    fn has(&self, bytes: u64) -> bool {
        self.budget().is_none_or(|budget| budget.has(bytes))
    }
}

/// Tables double their size.
impl Growth for Budget {
    const MIN_TEXTS: usize = 4096;

    fn budget(&self) -> Option<&Budget> {
        Some(self)
    }

    fn more(&self, filled: usize, least: usize) -> usize {
        const MIN_GROWTH: usize = 64;
        filled.max(MIN_GROWTH).max(least)
    }
}

/// Grows a table that has `filled` entries and memory for `capacity`, by at least `least`. If opening may not
/// take much memory, grows it by fewer than usual. The old and the new table both exist while one is copied
/// to the other.
#[cold]
pub fn grow<T>(
    growth: &impl Growth,
    what: &str,
    (filled, capacity): (usize, usize),
    least: usize,
    reserve: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    let size = |more: usize| bytes_of::<T>(filled.saturating_add(more));
    let mut more = growth.more(filled, least);
    if !growth.has(size(more)) {
        more = (filled / 4).max(least);
    }
    growth.charge(size(more), what)?;
    reserve(more)?;
    growth.give_back(bytes_of::<T>(capacity));
    Ok(())
}

/// Appends to a table that may become large.
#[inline(always)]
pub fn add<T: Copy>(growth: &impl Growth, table: &mut HugeVec<T>, entry: T) -> Result<()> {
    let (filled, capacity) = (table.len(), table.capacity());
    if filled == capacity {
        grow::<T>(growth, "objects", (filled, capacity), 1, |more| table.try_reserve_exact(more))?;
    }
    table.push(entry)
}

/// Appends an object and its only component.
#[inline(always)]
pub fn add_object(
    growth: &impl Growth,
    manifest: &mut Manifest,
    object: Object,
    component: Component,
) -> Result<()> {
    let component_start = table_position(manifest.components.len())?;
    add(growth, &mut manifest.components, component)?;
    add(growth, &mut manifest.objects, Object { component_start, ..object })
}

/// Reserves memory for the claimed number of entries, unless opening may not take that much: then the table
/// grows as entries come.
pub fn expect<T: Copy>(growth: &impl Growth, table: &mut HugeVec<T>, claimed: u64) -> Result<()> {
    match usize::try_from(claimed) {
        Ok(claimed) if growth.has(bytes_of::<T>(claimed)) => {
            growth.charge(bytes_of::<T>(claimed), "objects")?;
            table.try_reserve_exact(claimed)
        }
        _ => Ok(()),
    }
}

#[inline(always)]
pub fn push<T>(growth: &impl Growth, table: &mut Vec<T>, entry: T) -> Result<()> {
    let (filled, capacity) = (table.len(), table.capacity());
    if filled == capacity {
        let reserve = |more| Ok(table.try_reserve_exact(more)?);
        grow::<T>(growth, "shapes, keys and attributes", (filled, capacity), 1, reserve)?;
    }
    table.push(entry);
    Ok(())
}

pub fn extend(budget: &Budget, table: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let (filled, capacity) = (table.len(), table.capacity());
    if capacity.saturating_sub(filled) < bytes.len() {
        let reserve = |more| Ok(table.try_reserve_exact(more)?);
        grow::<u8>(budget, "texts", (filled, capacity), bytes.len(), reserve)?;
    }
    table.extend_from_slice(bytes);
    Ok(())
}

#[inline(always)]
pub fn add_text(growth: &impl Growth, manifest: &mut Manifest, text: &[u8]) -> Result<TextId> {
    add_to(growth, &mut manifest.texts, text)
}

/// Stores a text in an arena.
#[inline(always)]
pub fn add_to(growth: &impl Growth, texts: &mut TextArena, text: &[u8]) -> Result<TextId> {
    reserve_text(growth, texts, text.len())?;
    texts.add_bytes(text)
}

/// Reserves memory for a text of this size.
#[inline(always)]
pub fn reserve_text<G: Growth>(growth: &G, texts: &mut TextArena, size: usize) -> Result<()> {
    let size = size.saturating_add(1);
    if size > texts.spare_capacity() {
        let (filled, least) = (texts.size(), size.max(G::MIN_TEXTS));
        let capacity = filled.saturating_add(texts.spare_capacity());
        grow::<u8>(growth, "names", (filled, capacity), least, |more| texts.reserve(more))?;
    }
    Ok(())
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
