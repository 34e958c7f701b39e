//! Tables of a manifest in CBOR. They grow by the number of entries that the rest of the manifest probably
//! needs. Shapes and attribute maps that many objects share are stored once.

use super::cursor::Cursor;
use crate::container::tables::{grow, push, Growth};
use crate::error::Result;
use crate::memory::Budget;
use crate::model::manifest::{table_position, Manifest, Position, RareNames};

impl Growth for Cursor<'_> {
    const SMALL_TABLES: &'static str = "shapes and attributes";
    const MIN_TEXTS: usize = 0;

    fn budget(&self) -> Option<&Budget> {
        self.budget
    }

    fn more(&self, filled: usize, least: usize) -> usize {
        self.estimate_remaining(filled, least)
    }
}

/// Reserves memory for a small value, or for the expected number of items. For a large value, the tape grows
/// while it is read.
pub fn reserve_value(cursor: &Cursor<'_>, manifest: &mut Manifest) -> Result<()> {
    const SMALL: usize = 256;
    let values = &mut manifest.values;
    match cursor.budget {
        Some(budget) if values.spare_capacity() < SMALL => {
            let more = cursor.estimate_remaining(values.size(), SMALL);
            let fits = budget.has(values.size().saturating_add(more) as u64);
            values.reserve_within(if fits { more } else { SMALL }, budget)
        }
        _ => Ok(()), // without a budget, it grows while it is filled
    }
}

/// Stores the rare texts of a component, if it has any.
#[inline(always)]
pub fn push_rare_names(
    cursor: &Cursor<'_>,
    manifest: &mut Manifest,
    rare: RareNames,
) -> Result<Option<Position>> {
    let table = &mut manifest.rare_names;
    let (filled, capacity) = (table.len(), table.capacity());
    if filled == capacity && !rare.is_empty() {
        let reserve = |more| table.try_reserve_exact(more);
        grow::<RareNames>(cursor, "components", (filled, capacity), 1, reserve)?;
    }
    manifest.add_rare_names(rare)
}

/// The positions of the shapes that were read last, in slots chosen by [`ShapeInterner::slot`]. Many objects
/// have the same shape.
pub struct ShapeInterner([(u32, u32); 64]);

impl Default for ShapeInterner {
    fn default() -> Self {
        ShapeInterner([(0, 0); 64]) // position 0 is the shape without dimensions
    }
}

impl ShapeInterner {
    /// The slot of a shape.
    #[inline(always)]
    fn slot(shape: &[u64]) -> usize {
        let mixed = shape.iter().fold(0, |sum: u64, d| (sum ^ d).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        usize::try_from(mixed >> 58).unwrap_or(0) // six bits, for 64 slots
    }

    /// Stores a shape in the manifest, or finds an equal one. Returns the position of its first dimension and
    /// its rank.
    #[inline(always)]
    pub fn intern(
        &mut self,
        cursor: &Cursor<'_>,
        manifest: &mut Manifest,
        shape: &[u64],
    ) -> Result<(u32, u32)> {
        let slot = ShapeInterner::slot(shape);
        if let Some((start, rank)) = self.0.get(slot).copied() {
            let known = manifest.dimensions.get(start as usize..).unwrap_or_default();
            let known = known.get(..rank as usize).unwrap_or_default();
            if known.len() == shape.len() && known.iter().zip(shape).all(|(a, b)| a == b) {
                return Ok((start, rank));
            }
        }
        let start = table_position(manifest.dimensions.len())?;
        let rank = table_position(shape.len())?;
        for dimension in shape {
            push(cursor, &mut manifest.dimensions, *dimension)?;
        }
        if let Some(place) = self.0.get_mut(slot) {
            *place = (start, rank);
        }
        Ok((start, rank))
    }
}

/// How many attribute maps are remembered.
const MAX_MAPS: usize = 4;

/// The last attribute maps in encoded form, and the positions of their values. All objects of a quantized
/// model have the same map. It would take memory for each value, and most of the time of reading such an
/// object.
pub struct MapInterner<'a> {
    input: &'a [u8],
    known: [Option<(&'a [u8], Position)>; MAX_MAPS],
    last: usize,
}

impl<'a> MapInterner<'a> {
    /// An empty interner for `input`.
    pub fn new(input: &'a [u8]) -> Self {
        MapInterner { input, known: [None; MAX_MAPS], last: 0 }
    }

    /// If the next map has the same bytes as a remembered one, consumes it and returns the position.
    /// Otherwise consumes nothing.
    pub fn read(&self, cursor: &mut Cursor<'_>) -> Option<Position> {
        // If the input begins with all bytes of an item, the next item is that one.
        let mut known = self.known.iter().flatten();
        known.find(|(encoded, _)| cursor.take_if(encoded)).map(|(_, position)| *position)
    }

    /// Remembers a map that was read from `start` to the cursor and is stored at `position`.
    pub fn remember(&mut self, start: usize, cursor: &Cursor<'_>, position: Position) {
        self.last = self.last.saturating_add(1) % MAX_MAPS;
        let encoded = self.input.get(start..cursor.position());
        if let (Some(place), Some(encoded)) = (self.known.get_mut(self.last), encoded) {
            *place = Some((encoded, position));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_was_met_is_known_by_all_of_its_bytes() {
        let input = b"\xa1\x61a\x01\xa1\x61a\x02\xa1\x61a\x01\xa1\x61a";
        let at = |n| Position::after(n).unwrap();
        let (mut maps, mut cursor) = (MapInterner::new(input), Cursor::new(input, 0));
        for n in 0..2 {
            assert_eq!(maps.read(&mut cursor), None);
            let start = cursor.position();
            cursor.take(4).unwrap();
            maps.remember(start, &cursor, at(n));
        }
        assert_eq!((maps.read(&mut cursor), cursor.position()), (Some(at(0)), 12));
        assert_eq!((maps.read(&mut cursor), cursor.position()), (None, 12), "it is cut short");
    }
}
