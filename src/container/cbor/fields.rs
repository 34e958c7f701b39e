//! Reads typed fields of CBOR maps into the tables of a manifest. All `.zt` containers use it.

use super::cursor::{Cursor, Head};
use super::fast_path::packed;
use super::tables::{reserve_value, MapInterner, ShapeInterner};
use crate::container::frame::{Frame, Limits};
use crate::container::tables::{add_text, push, reserve_text, Growth};
use crate::error::{broken, fail, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{table_position, Format, LogicalType, Manifest, Object, Position, TextId};
use crate::model::value::{self, Attributes, Tape, Value};
use std::borrow::Cow;

/// Reads a manifest.
pub struct Decoder<'a> {
    /// The current position.
    pub cursor: Cursor<'a>,
    /// What was read so far.
    pub manifest: Manifest,
    /// Short roles that were read, by their [`packed`].
    roles: Vec<(u64, TextId)>,
    /// Shapes that were read.
    shapes: ShapeInterner,
    /// Attribute maps of objects that were read.
    maps: MapInterner<'a>,
}

/// The key of a map's pair.
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

    /// Whether the known key was there.
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

impl<'a> Decoder<'a> {
    /// A decoder at the start of the manifest.
    pub fn new(frame: &Frame, bytes: &'a [u8], budget: &'a Budget) -> Self {
        Decoder {
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

    /// Reads a map key, which the specification defines as text. Known keys are compared by their bytes;
    /// [`Decoder::checked`] has to check that an unknown one is UTF-8.
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

    /// The key as text.
    pub fn checked<'b>(&self, key: &'b [u8]) -> Result<&'b str> {
        self.cursor.utf8(key)
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

    /// Reads a text.
    #[inline]
    pub fn text(&mut self, rule: Rule, what: &str) -> Result<Cow<'a, str>> {
        if let Some(text) = self.cursor.try_text() {
            return self.cursor.utf8(text).map(Cow::Borrowed);
        }
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
                reserve_value(&self.cursor, &mut self.manifest)?;
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
        reserve_value(&self.cursor, &mut self.manifest)?;
        let position = attributes.put(&mut self.manifest.values, self.cursor.budget)?;
        self.cursor.give_back(attributes.charged());
        Ok(position)
    }

    /// Skips an unknown field, but records its key.
    pub fn unknown_field(&mut self, keys: &mut SeenKeys, key: &[u8]) -> Result<()> {
        let key = self.checked(key)?;
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

    /// Checks that the limits allow one more object.
    pub fn count_object(&self, limits: &Limits) -> Result<()> {
        if self.manifest.objects.len() as u64 >= limits.objects {
            return Err(fail!(Limit, "the file has more than {} objects", limits.objects));
        }
        Ok(())
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
