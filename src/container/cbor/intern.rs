//! What many objects of a manifest have in common, and is kept once: shapes and attribute maps.

use super::cursor::Cursor;
use super::tables::push;
use crate::error::Result;
use crate::model::manifest::{table_position, Manifest, Position};

/// Where the shapes that were met last stand, by what [`ShapeInterner::slot`] says: many objects share one.
pub struct ShapeInterner([(u32, u32); 64]);

impl Default for ShapeInterner {
    fn default() -> Self {
        ShapeInterner([(0, 0); 64]) // a shape without dimensions, of which there is but one
    }
}

impl ShapeInterner {
    /// Which of the places a shape has.
    #[inline(always)]
    fn slot(shape: &[u64]) -> usize {
        let mixed = shape.iter().fold(0, |sum: u64, d| (sum ^ d).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        usize::try_from(mixed >> 58).unwrap_or(0) // six bits of 64
    }

    /// Keeps a shape in the manifest, or finds the copy that is there: where it begins, and its rank.
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

/// Attribute maps that are remembered.
const MAX_MAPS: usize = 4;

/// Attribute maps that were met last, as they are encoded, and where each is kept: all objects of a quantized
/// model have the same one. It takes memory for each of its values, and most of the time in which such an
/// object is read.
pub struct MapInterner<'a> {
    input: &'a [u8],
    known: [Option<(&'a [u8], Position)>; MAX_MAPS],
    last: usize,
}

impl<'a> MapInterner<'a> {
    /// Nothing was met in `input` yet.
    pub fn new(input: &'a [u8]) -> Self {
        MapInterner { input, known: [None; MAX_MAPS], last: 0 }
    }

    /// Where the map that comes next is kept, if it has the bytes of one that was met; else nothing is
    /// consumed.
    pub fn read(&self, cursor: &mut Cursor<'_>) -> Option<Position> {
        // What begins with all bytes of a whole item is that item.
        let mut known = self.known.iter().flatten();
        known.find(|(encoded, _)| cursor.take_if(encoded)).map(|(_, position)| *position)
    }

    /// A map was read, from `start` on up to where the cursor is, and is kept at `position`.
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
