//! Objects that are spelled as one before them was, but for their numbers: what a writer writes, nearly always. Such
//! an object is told by comparing bytes, and only its numbers are read; it means what the other meant, with those.
//! Shapes that were met before are not kept again.

use super::cbor::Cursor;
use super::fields::{push, table_position};
use crate::error::Result;
use crate::model::manifest::{Component, Manifest, Object};
use std::ops::Range;

/// What a number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// The next dimension of the shape.
    Dimension,
    /// Where the component begins.
    Offset,
    /// Its stored bytes.
    Length,
    /// Its decoded bytes.
    Size,
}

/// Most numbers of such an object.
const NUMBERS: usize = 12;

/// Spellings that are remembered: those of vectors and of matrices, say.
const SPELLINGS: usize = 4;

/// How an object was spelled, and what it is.
struct Spelling<'a> {
    /// What stands in front of each number.
    before: [&'a [u8]; NUMBERS],
    numbers: usize,
    /// What stands behind the last one.
    behind: &'a [u8],
    /// Which of the numbers are the shape.
    shape: Range<usize>,
    /// Which is the component's offset, its length, its decoded size.
    offset: usize,
    length: usize,
    size: Option<usize>,
    object: Object,
    component: Component,
}

/// The spellings that were met, and the numbers of the object that is being read.
pub struct Alike<'a> {
    input: &'a [u8],
    spellings: [Option<Spelling<'a>>; SPELLINGS],
    /// Which was met last.
    last: usize,
    /// Where each number stands in the input, and what it says.
    noted: [(usize, usize, Number); NUMBERS],
    /// More than fit are counted, too.
    count: usize,
    /// The numbers of the object that was read last as another one.
    found: [u64; NUMBERS],
}

impl<'a> Alike<'a> {
    /// Nothing was met in `input` yet.
    pub fn new(input: &'a [u8]) -> Self {
        let noted = [(0, 0, Number::Size); NUMBERS];
        let spellings = [const { None }; SPELLINGS];
        Alike { input, spellings, last: 0, noted, count: 0, found: [0; NUMBERS] }
    }

    /// An object is about to be read number by number.
    #[inline]
    pub fn begin(&mut self) {
        self.count = 0;
    }

    /// A number was read, from `start` on up to where the cursor is.
    #[inline(always)]
    pub fn note(&mut self, what: Number, start: usize, cursor: &Cursor<'_>) {
        if let Some(place) = self.noted.get_mut(self.count) {
            *place = (start, cursor.position(), what);
        }
        self.count = self.count.saturating_add(1);
    }

    /// The object was read, from `start` on up to where the cursor is, and has this one component.
    pub fn learn(&mut self, start: usize, cursor: &Cursor<'_>, object: &Object, component: &Component) {
        let plain = object.component_count == 1 && object.attributes.is_none() && component.extra.is_none();
        if let Some(spelling) = self.spelling(start, cursor, object, component).filter(|_| plain) {
            // In the place of one that was not met last.
            self.last = self.last.saturating_add(1) % SPELLINGS;
            if let Some(place) = self.spellings.get_mut(self.last) {
                *place = Some(spelling);
            }
        }
    }

    fn spelling(
        &self,
        start: usize,
        cursor: &Cursor<'_>,
        object: &Object,
        component: &Component,
    ) -> Option<Spelling<'a>> {
        let noted = self.noted.get(..self.count)?;
        let place_of = |wanted| noted.iter().position(|(_, _, what)| *what == wanted);
        let first_dimension = place_of(Number::Dimension).unwrap_or(0);
        let mut at = start;
        let mut before: [&[u8]; NUMBERS] = [&[]; NUMBERS];
        for (place, (number, end, _)) in before.iter_mut().zip(noted) {
            *place = self.input.get(at..*number)?;
            at = *end;
        }
        Some(Spelling {
            before,
            numbers: self.count,
            behind: self.input.get(at..cursor.position())?,
            shape: first_dimension..first_dimension.checked_add(object.rank as usize)?, // all in one array
            offset: place_of(Number::Offset)?,
            length: place_of(Number::Length)?,
            size: place_of(Number::Size),
            object: *object,
            component: *component,
        })
    }

    /// The next object, if it is spelled as one before it; else nothing is consumed.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor<'a>) -> Option<Like<'_>> {
        let last = self.spellings.get(self.last)?.as_ref()?;
        if !last.read(cursor, &mut self.found) {
            self.last = self.read_others(cursor)?;
        }
        Some(Like { spelling: self.spellings.get(self.last)?.as_ref()?, numbers: &self.found })
    }

    #[inline(never)]
    fn read_others(&mut self, cursor: &mut Cursor<'a>) -> Option<usize> {
        let mut others = self.spellings.iter().enumerate().filter(|(at, _)| *at != self.last);
        let found = &mut self.found;
        others.find(|(_, s)| s.as_ref().is_some_and(|s| s.read(cursor, found))).map(|(at, _)| at)
    }
}

impl<'a> Spelling<'a> {
    /// Whether the next object is spelled so; then it is consumed, and its numbers are found.
    #[inline(always)]
    fn read(&self, cursor: &mut Cursor<'a>, found: &mut [u64; NUMBERS]) -> bool {
        let mut ahead = cursor.clone();
        let read = || {
            for (before, number) in self.before.get(..self.numbers)?.iter().zip(found) {
                ahead.skip_literal(before)?;
                *number = ahead.quick_unsigned()?;
            }
            ahead.skip_literal(self.behind)
        };
        let is_so = read().is_some();
        if is_so {
            *cursor = ahead;
        }
        is_so
    }
}

/// An object that is spelled as another.
pub struct Like<'s> {
    spelling: &'s Spelling<'s>,
    numbers: &'s [u64; NUMBERS],
}

impl<'s> Like<'s> {
    /// All of it but its name, its shape, and where its component stands in the table.
    #[inline(always)]
    pub fn object(&self) -> Object {
        self.spelling.object
    }

    /// Its shape.
    #[inline(always)]
    pub fn shape(&self) -> &'s [u64] {
        self.numbers.get(self.spelling.shape.clone()).unwrap_or_default()
    }

    /// Its only component.
    #[inline(always)]
    pub fn component(&self) -> Component {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(0);
        let mut component = self.spelling.component;
        component.offset = number(self.spelling.offset);
        component.stored_size = number(self.spelling.length);
        if let Some(size) = self.spelling.size {
            component.set_size(Some(number(size)));
        }
        component
    }
}

/// Where the shapes that were met last stand, by what [`Shapes::slot`] says: many objects share one.
pub struct Shapes([(u32, u32); 64]);

impl Default for Shapes {
    fn default() -> Self {
        Shapes([(0, 0); 64]) // a shape without dimensions, of which there is but one
    }
}

impl Shapes {
    /// Which of the places a shape has.
    #[inline(always)]
    fn slot(shape: &[u64]) -> usize {
        let mixed = shape.iter().fold(0, |sum: u64, d| (sum ^ d).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        usize::try_from(mixed >> 58).unwrap_or(0) // six bits of 64
    }

    /// Keeps a shape in the manifest, or finds the copy that is there: where it begins, and its rank.
    #[inline(always)]
    pub fn keep(
        &mut self,
        cursor: &Cursor<'_>,
        manifest: &mut Manifest,
        shape: &[u64],
    ) -> Result<(u32, u32)> {
        let slot = Shapes::slot(shape);
        if let Some((start, rank)) = self.0.get(slot).copied() {
            let met = manifest.dimensions.get(start as usize..).unwrap_or_default();
            let met = met.get(..rank as usize).unwrap_or_default();
            if met.len() == shape.len() && met.iter().zip(shape).all(|(a, b)| a == b) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::{Format, Texts};

    /// Objects here: two letters, an offset, two letters, a length, two letters.
    fn by_hand<'a>(alike: &mut Alike<'a>, cursor: &mut Cursor<'a>, object: &Object, component: &Component) {
        alike.begin();
        let begin = cursor.position();
        for what in [Number::Offset, Number::Length] {
            cursor.take(2).unwrap();
            let start = cursor.position();
            cursor.quick_unsigned().unwrap();
            alike.note(what, start, cursor);
        }
        cursor.take(2).unwrap();
        alike.learn(begin, cursor, object, component);
    }

    #[test]
    fn an_object_of_a_known_spelling_is_told_without_its_keys() {
        let name = Texts::default().add("data").unwrap();
        let (shape_start, rank, component_start, component_count) = (0, 0, 0, 1);
        let format = Format::Dense;
        let object =
            Object { name, format, shape_start, rank, component_start, component_count, attributes: None };
        let component = Component::new(name, None);
        // Known; another spelling; the first again, with numbers of other widths; one that differs at its end.
        let input = b"xx\x05yy\x18\x40zzXX\x07YY\x06ZZxx\x18\x99yy\x02zzxx\x19\x01\x00yy\x02zQ........";
        let (mut alike, mut cursor) = (Alike::new(input), Cursor::new(input, 0));
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == 0, "nothing is known yet");
        by_hand(&mut alike, &mut cursor, &object, &component);
        let first = cursor.position();
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == first);
        by_hand(&mut alike, &mut cursor, &object, &component);
        let second = cursor.position();
        let like = alike.read(&mut cursor).map(|like| like.component());
        let like = like.expect("it was met before the last one");
        assert_eq!((like.offset, like.stored_size), (0x99, 2));
        assert_eq!(&input[second..cursor.position()], b"xx\x18\x99yy\x02zz");
        let third = cursor.position();
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == third);
        // Objects of several components or with attributes are not learned.
        let mut other = Alike::new(input);
        let mut again = Cursor::new(input, 0);
        by_hand(&mut other, &mut again, &Object { component_count: 2, ..object }, &component);
        assert!(other.read(&mut Cursor::new(input, 0)).is_none());
    }
}
