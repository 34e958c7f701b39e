//! Reads typed fields of CBOR maps into the tables of a manifest. All `.zt` containers use it. Shapes and
//! attribute maps that many objects share are stored once.

use super::cursor::{Cursor, Head};
use super::fast_path::packed;
use crate::container::frame::Frame;
use crate::container::tables::{add_text, grow, push, reserve_text, Growth};
use crate::error::{broken, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{
    table_position, Format, LogicalType, Manifest, Object, Position, RareNames, TextId,
};
use crate::model::value::{self, Attributes, Tape, Value};
use std::borrow::Cow;

pub struct FieldReader<'a> {
    pub cursor: Cursor<'a>,
    /// What was read so far.
    pub manifest: Manifest,
    /// Short roles that were read, by their [`packed`].
    roles: Vec<(u64, TextId)>,
    shapes: ShapeInterner,
    maps: MapInterner<'a>,
}

pub struct MapKey<'a> {
    /// The [`packed`] of the key. It identifies a key of at most seven bytes, but not a longer one.
    pub packed: u64,
    text: Cow<'a, [u8]>,
}

impl std::ops::Deref for MapKey<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.text
    }
}

/// The keys of a map so far: known keys as bits, unknown keys as bytes.
#[derive(Default)]
pub struct SeenKeys {
    known: u32,
    /// `None` for most maps.
    unknown: Option<Attributes>,
}

impl SeenKeys {
    /// Records a known key. Fails if it was there before.
    #[inline(always)]
    pub fn once(&mut self, bit: u32, key: &[u8]) -> Result<()> {
        if self.has(bit) {
            return Err(duplicate_field(key));
        }
        self.known |= 1u32.checked_shl(bit).unwrap_or(0);
        Ok(())
    }

    #[inline]
    pub fn has(&self, bit: u32) -> bool {
        self.known & 1u32.checked_shl(bit).unwrap_or(0) != 0
    }

    /// Records an unknown key, and the value that `read` reads for it.
    #[inline(never)]
    pub fn push_unknown(
        &mut self,
        cursor: &Cursor<'_>,
        key: &str,
        read: impl FnOnce(&mut Tape) -> Result<Position>,
    ) -> Result<()> {
        self.unknown.get_or_insert_default().push_read(key, cursor.budget, read)
    }

    /// Drops the unknown keys, which were only kept to find duplicates.
    #[inline(always)]
    pub fn end(self, cursor: &Cursor<'_>) -> Result<()> {
        if self.unknown.is_some() {
            let memory = self.into_unknown()?.map_or(0, |unknown| unknown.charged());
            cursor.give_back(memory);
        }
        Ok(())
    }

    /// Returns the unknown keys, after checking that all are different.
    #[inline(always)]
    pub fn into_unknown(self) -> Result<Option<Attributes>> {
        match &self.unknown {
            Some(unknown) if !value::keys_are_unique(unknown.iter())? => {
                Err(broken!(Rule::CborDuplicateKey, "an unknown field is twice in one map"))
            }
            _ => Ok(self.unknown),
        }
    }
}

#[cold]
fn duplicate_field(key: &[u8]) -> Error {
    let key = key.escape_ascii();
    broken!(Rule::CborDuplicateKey, "the field \"{key}\" is twice in one map")
}

const DIMENSION: &str = "a dimension of \"shape\"";

#[cold]
fn wrong(at: u64, rule: Rule, what: &str, wanted: &str, found: &Head) -> Error {
    broken!(rule, "{what} at offset {at} is {}, not {wanted}", found.kind())
}

impl<'a> FieldReader<'a> {
    /// A decoder at the start of the manifest.
    pub fn new(frame: &Frame, bytes: &'a [u8], budget: &'a Budget) -> Self {
        FieldReader {
            cursor: Cursor::new(bytes, frame.manifest.start).within(budget),
            manifest: Manifest::default(),
            roles: Vec::new(),
            shapes: ShapeInterner::default(),
            maps: MapInterner::new(bytes),
        }
    }

    /// Reads the head of a map. Returns how many pairs it has.
    #[inline]
    pub fn map(&mut self, rule: Rule, what: &str) -> Result<Option<u64>> {
        if let Some(length) = self.cursor.short_map() {
            return Ok(Some(length));
        }
        let at = self.cursor.file_offset();
        match self.cursor.head()? {
            Head::Map(left) => Ok(left),
            other => Err(wrong(at, rule, what, "a map", &other)),
        }
    }

    /// Reads a map key, which the specification defines as text. Known keys are compared by their bytes; the
    /// caller has to check that an unknown one is UTF-8.
    #[inline(always)]
    pub fn key(&mut self) -> Result<MapKey<'a>> {
        match self.cursor.short_text() {
            Some((text, packed)) => Ok(MapKey { packed, text: Cow::Borrowed(text) }),
            None => self.key_slow(),
        }
    }

    #[inline(never)]
    fn key_slow(&mut self) -> Result<MapKey<'a>> {
        let text = self.name_slow()?;
        Ok(MapKey { packed: packed(&text), text })
    }

    /// Reads a map key that is a name from the file. Checks that it is UTF-8.
    #[inline(always)]
    pub fn name(&mut self) -> Result<Cow<'a, [u8]>> {
        match self.cursor.try_ascii() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.name_slow(),
        }
    }

    #[inline(never)]
    fn name_slow(&mut self) -> Result<Cow<'a, [u8]>> {
        self.text(Rule::KeyType, "a key").map(into_bytes)
    }

    /// Reads a map key that is the role of a component, and stores it in the manifest.
    #[inline(always)]
    pub fn role(&mut self) -> Result<TextId> {
        let packed = self.cursor.peek_packed();
        if let Some((packed, role)) = self.roles.iter().find(|(met, _)| Some(*met) == packed) {
            self.cursor.skip_packed(*packed);
            return Ok(*role);
        }
        self.new_role(packed)
    }

    #[inline(never)]
    fn new_role(&mut self, packed: Option<u64>) -> Result<TextId> {
        const MAX_CACHED_ROLES: usize = 8;
        let role = self.text(Rule::KeyType, "a key")?;
        reserve_text(&self.cursor, &mut self.manifest.texts, role.len())?;
        let role = self.manifest.intern_role(&role)?;
        if let Some(packed) = packed.filter(|_| self.roles.len() < MAX_CACHED_ROLES) {
            self.roles.try_reserve(1)?;
            self.roles.push((packed, role));
        }
        Ok(role)
    }

    /// Consumes the next item if it is the text of at most seven bytes with this [`packed`]. Returns whether
    /// it was.
    #[inline(always)]
    pub fn take_packed(&mut self, packed: u64) -> bool {
        let is = self.cursor.peek_packed() == Some(packed);
        if is {
            self.cursor.skip_packed(packed);
        }
        is
    }

    #[inline]
    pub fn text(&mut self, rule: Rule, what: &str) -> Result<Cow<'a, str>> {
        let at = self.cursor.file_offset();
        let text = self.optional_text(rule, what)?;
        text.ok_or_else(|| wrong(at, rule, what, "a text string", &Head::NULL))
    }

    /// Reads a text or null.
    #[inline]
    pub fn optional_text(&mut self, rule: Rule, what: &str) -> Result<Option<Cow<'a, str>>> {
        if let Some(text) = self.cursor.try_text() {
            return self.cursor.utf8(text).map(|text| Some(Cow::Borrowed(text)));
        }
        let at = self.cursor.file_offset();
        match self.cursor.head()? {
            Head::Text(length) => self.cursor.text_body(length).map(Some),
            Head::NULL => Ok(None),
            other => Err(wrong(at, rule, what, "a text string", &other)),
        }
    }

    /// Reads an integer from 0 to 2^64-1.
    #[inline(always)]
    pub fn unsigned(&mut self, rule: Rule, what: &str) -> Result<u64> {
        match self.cursor.try_unsigned() {
            Some(value) => Ok(value),
            None => self.unsigned_slow(rule, what),
        }
    }

    #[inline(never)]
    fn unsigned_slow(&mut self, rule: Rule, what: &str) -> Result<u64> {
        let at = self.cursor.file_offset();
        let number = self.optional_unsigned(rule, what)?;
        number.ok_or_else(|| wrong(at, rule, what, "an unsigned integer", &Head::NULL))
    }

    /// Reads an integer from 0 to 2^64-1, or null.
    pub fn optional_unsigned(&mut self, rule: Rule, what: &str) -> Result<Option<u64>> {
        if let Some(value) = self.cursor.try_unsigned() {
            return Ok(Some(value));
        }
        let at = self.cursor.file_offset();
        match self.cursor.head()? {
            Head::Unsigned(v) => Ok(Some(v)),
            Head::NULL => Ok(None),
            other => Err(wrong(at, rule, what, "an unsigned integer", &other)),
        }
    }

    /// Reads a shape. Returns the position of its first dimension and its rank.
    #[inline]
    pub fn shape(&mut self) -> Result<(u32, u32)> {
        let at = self.cursor.file_offset();
        let mut left = match self.cursor.short_array() {
            Some(length) => Some(length),
            None => match self.cursor.head()? {
                Head::Array(left) => left,
                other => return Err(wrong(at, Rule::ShapeType, "\"shape\"", "an array", &other)),
            },
        };
        let mut inline = [0; 8];
        let rank = left.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        if let Some(shape) = inline.get_mut(..rank) {
            for dimension in &mut *shape {
                *dimension = self.unsigned(Rule::ShapeType, DIMENSION)?;
            }
            return self.intern_shape(shape);
        }
        let start = self.manifest.dimensions.len();
        while self.cursor.another(&mut left)? {
            let dimension = self.unsigned(Rule::ShapeType, DIMENSION)?;
            push(&self.cursor, &mut self.manifest.dimensions, dimension)?;
        }
        let rank = self.manifest.dimensions.len().saturating_sub(start);
        Ok((table_position(start)?, table_position(rank)?))
    }

    /// Stores a shape, or finds an equal one. Returns the position of its first dimension and its rank.
    #[inline(always)]
    pub fn intern_shape(&mut self, shape: &[u64]) -> Result<(u32, u32)> {
        self.shapes.intern(&self.cursor, &mut self.manifest, shape)
    }

    /// Reads a map of attributes, or null. Returns its position.
    pub fn attributes(&mut self) -> Result<Option<Position>> {
        let at = self.cursor.file_offset();
        match self.cursor.peek()? {
            Head::Map(_) => {
                self.reserve_value()?;
                self.cursor.value_to(&mut self.manifest.values).map(Some)
            }
            Head::NULL => self.cursor.skip().map(|()| None),
            other => Err(wrong(at, Rule::AttributesType, "\"attributes\"", "a map", &other)),
        }
    }

    /// Reads an object's attributes. Returns their position. Objects with the same encoded map share it.
    pub fn object_attributes(&mut self) -> Result<Option<Position>> {
        if let Some(position) = self.maps.read(&mut self.cursor) {
            return Ok(Some(position));
        }
        let start = self.cursor.position();
        let position = self.attributes()?;
        if let Some(position) = position {
            self.maps.remember(start, &self.cursor, position);
        }
        Ok(position)
    }

    /// Stores an object's attributes, which came as unknown fields. Returns their position.
    pub fn push_attributes(&mut self, attributes: &Attributes) -> Result<Position> {
        self.reserve_value()?;
        let position = attributes.put(&mut self.manifest.values, self.cursor.budget)?;
        self.cursor.give_back(attributes.charged());
        Ok(position)
    }

    /// Reserves memory for a small value, or for the expected number of items. For a large value, the tape
    /// grows while it is read.
    fn reserve_value(&mut self) -> Result<()> {
        const SMALL: usize = 256;
        let values = &mut self.manifest.values;
        match self.cursor.budget {
            Some(budget) if values.spare_capacity() < SMALL => {
                let more = self.cursor.estimate_remaining(values.size(), SMALL);
                let fits = budget.has(values.size().saturating_add(more) as u64);
                values.reserve_within(if fits { more } else { SMALL }, budget)
            }
            _ => Ok(()), // without a budget, it grows while it is filled
        }
    }

    /// Skips an unknown field, but records its key.
    pub fn unknown_field(&mut self, keys: &mut SeenKeys, key: &[u8]) -> Result<()> {
        let key = self.cursor.utf8(key)?;
        self.cursor.skip()?;
        keys.push_unknown(&self.cursor, key, |tape| tape.add(Value::NULL))
    }

    /// Stores a text in the manifest's arena.
    #[inline]
    pub fn push_text(&mut self, text: &str) -> Result<TextId> {
        self.push_utf8(text.as_bytes())
    }

    /// Stores bytes that are known to be UTF-8.
    #[inline(always)]
    pub fn push_utf8(&mut self, text: &[u8]) -> Result<TextId> {
        add_text(&self.cursor, &mut self.manifest, text)
    }

    /// Stores the rare texts of a component, if it has any.
    #[inline(always)]
    pub fn push_rare_names(&mut self, rare: RareNames) -> Result<Option<Position>> {
        let table = &mut self.manifest.rare_names;
        let (filled, capacity) = (table.len(), table.capacity());
        if filled == capacity && !rare.is_empty() {
            let reserve = |more| table.try_reserve_exact(more);
            grow::<RareNames>(&self.cursor, "components", (filled, capacity), 1, reserve)?;
        }
        self.manifest.add_rare_names(rare)
    }

    /// Ends the manifest. Nothing may follow its single item.
    pub fn end(mut self) -> Result<Manifest> {
        self.manifest.values.trim(self.cursor.budget)?;
        match self.cursor.remaining() {
            0 => Ok(self.manifest),
            left => Err(broken!(
                Rule::CborTrailing,
                "{left} bytes follow the manifest's one item, from offset {}",
                self.cursor.file_offset()
            )),
        }
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Sets the type of the data of an object made of blocks: the format names it.
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

/// The positions of the shapes that were read last, in slots chosen by [`ShapeInterner::slot`]. Many objects
/// have the same shape.
struct ShapeInterner([(u32, u32); 64]);

impl Default for ShapeInterner {
    fn default() -> Self {
        ShapeInterner([(0, 0); 64]) // position 0 is the shape without dimensions
    }
}

impl ShapeInterner {
    #[inline(always)]
    fn slot(shape: &[u64]) -> usize {
        let mixed = shape.iter().fold(0, |sum: u64, d| (sum ^ d).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        usize::try_from(mixed >> 58).unwrap_or(0) // six bits, for 64 slots
    }

    /// Stores a shape in the manifest, or finds an equal one. Returns the position of its first dimension and
    /// its rank.
    #[inline(always)]
    fn intern(&mut self, cursor: &Cursor<'_>, manifest: &mut Manifest, shape: &[u64]) -> Result<(u32, u32)> {
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

const MAX_MAPS: usize = 4;

/// The last attribute maps in encoded form, and the positions of their values. All objects of a quantized
/// model have the same map. It would take memory for each value, and most of the time of reading such an
/// object.
struct MapInterner<'a> {
    input: &'a [u8],
    known: [Option<(&'a [u8], Position)>; MAX_MAPS],
    last: usize,
}

impl<'a> MapInterner<'a> {
    fn new(input: &'a [u8]) -> Self {
        MapInterner { input, known: [None; MAX_MAPS], last: 0 }
    }

    /// If the next map has the same bytes as a remembered one, consumes it and returns the position.
    /// Otherwise consumes nothing.
    fn read(&self, cursor: &mut Cursor<'_>) -> Option<Position> {
        // If the input begins with all bytes of an item, the next item is that one.
        let mut known = self.known.iter().flatten();
        known.find(|(encoded, _)| cursor.take_if(encoded)).map(|(_, position)| *position)
    }

    /// Remembers a map that was read from `start` to the cursor and is stored at `position`.
    fn remember(&mut self, start: usize, cursor: &Cursor<'_>, position: Position) {
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
