//! Objects that are spelled as one before them was, but for their numbers and digests: what a writer writes, nearly
//! always. They are told by comparing bytes, and only those fields are read; all else means what it meant before.

use super::cbor::Cursor;
use crate::model::manifest::{Component, Extra, Manifest, Object};
use std::ops::Range;

/// A field in which objects differ that are spelled alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The next dimension of the shape.
    Dimension,
    /// Where the component that is being read begins.
    Offset,
    /// Its stored bytes.
    Length,
    /// Its decoded bytes.
    Size,
    /// Its digest, a text.
    Digest,
    /// The object's name, a text, where that is a field of it; all others are numbers.
    Name,
}

impl Field {
    fn is_text(self) -> bool {
        matches!(self, Field::Digest | Field::Name)
    }
}

/// A field that was read.
#[derive(Clone, Copy)]
struct Noted {
    what: Field,
    /// Of which of the object's components.
    component: usize,
    /// Where it stands in the input.
    start: usize,
    end: usize,
}

/// Most fields of such an object.
const FIELDS: usize = 14;

/// A bit for each of them.
type Texts = u16;
const _: () = assert!(FIELDS <= Texts::BITS as usize);

/// Most components: a quantized tensor has three.
const COMPONENTS: usize = 3;

/// Spellings that are remembered: those of vectors and of matrices, say.
const SPELLINGS: usize = 4;

/// How an object was spelled, and what it is.
struct Spelling<'a> {
    /// What stands in front of each field.
    before: [&'a [u8]; FIELDS],
    fields: usize,
    /// A bit for each field that is a text.
    texts: Texts,
    /// What stands behind the last one.
    behind: &'a [u8],
    /// Which of the fields are the shape.
    shape: Range<usize>,
    /// Which is the name.
    name: Option<usize>,
    object: Object,
    components: [Option<SpelledComponent>; COMPONENTS],
}

/// A component of such an object, and which fields are its own.
#[derive(Clone, Copy)]
struct SpelledComponent {
    component: Component,
    offset: usize,
    length: usize,
    size: Option<usize>,
    digest: Option<usize>,
}

/// The spellings that were met, and the fields of the object that is being read.
pub struct Alike<'a> {
    input: &'a [u8],
    /// At most [`SPELLINGS`]; on the heap, as they would take kilobytes of a caller's stack.
    spellings: Vec<Spelling<'a>>,
    /// Which was met last.
    last: usize,
    noted: [Noted; FIELDS],
    /// More than fit are counted, too.
    count: usize,
    /// Components of the object that were read whole.
    components: usize,
    found: Found,
}

/// The fields of the object that was read last as another one: a number, or where a text begins and, in the lowest
/// byte, how long it is.
type Found = [u64; FIELDS];

impl<'a> Alike<'a> {
    /// Nothing was met in `input` yet.
    pub fn new(input: &'a [u8]) -> Self {
        let noted = [Noted { what: Field::Size, component: 0, start: 0, end: 0 }; FIELDS];
        Alike { input, spellings: Vec::new(), last: 0, noted, count: 0, components: 0, found: [0; FIELDS] }
    }

    /// An object is about to be read field by field.
    #[inline]
    pub fn begin(&mut self) {
        (self.count, self.components) = (0, 0);
    }

    /// One of its components was read: fields that come are not of it.
    #[inline]
    pub fn end_component(&mut self) {
        self.components = self.components.saturating_add(1);
    }

    /// A field was read, from `start` on up to where the cursor is.
    #[inline(always)]
    pub fn note(&mut self, what: Field, start: usize, cursor: &Cursor<'_>) {
        if let Some(place) = self.noted.get_mut(self.count) {
            *place = Noted { what, component: self.components, start, end: cursor.position() };
        }
        self.count = self.count.saturating_add(1);
    }

    /// The object was read into the manifest, from `start` on up to where the cursor is.
    #[inline(never)] // one on the stack is enough
    pub fn learn(&mut self, start: usize, cursor: &Cursor<'_>, manifest: &Manifest, object: &Object) {
        if let Some(spelling) = self.spelling(start, cursor, manifest, object) {
            let known = self.spellings.len();
            if known < SPELLINGS {
                // Without memory the next one is read field by field, too.
                if self.spellings.try_reserve_exact(SPELLINGS.saturating_sub(known)).is_ok() {
                    self.spellings.push(spelling);
                    self.last = known;
                }
                return;
            }
            // In the place of one that was not met last.
            self.last = self.last.saturating_add(1) % SPELLINGS;
            if let Some(place) = self.spellings.get_mut(self.last) {
                *place = spelling;
            }
        }
    }

    /// How the object is spelled, unless more of it may differ than the fields here.
    fn spelling(
        &self,
        start: usize,
        cursor: &Cursor<'_>,
        manifest: &Manifest,
        object: &Object,
    ) -> Option<Spelling<'a>> {
        let noted = self.noted.get(..self.count)?;
        let components = manifest.components(object);
        if components.is_empty() || components.len() != self.components {
            return None;
        }
        let mut spelled = [None; COMPONENTS];
        for (at, component) in components.iter().enumerate() {
            let place_of = |what| noted.iter().position(|n| n.component == at && n.what == what);
            let digest = place_of(Field::Digest);
            let extra = manifest.extra(component);
            if (Extra { digest: None, ..extra }) != Extra::default()
                || extra.digest.is_some() != digest.is_some()
            {
                return None;
            }
            *spelled.get_mut(at)? = Some(SpelledComponent {
                component: *component,
                offset: place_of(Field::Offset)?,
                length: place_of(Field::Length)?,
                size: place_of(Field::Size),
                digest,
            });
        }
        let first_dimension = noted.iter().position(|n| n.what == Field::Dimension).unwrap_or(0);
        let mut at = start;
        let (mut before, mut texts, mut bit): ([&[u8]; FIELDS], _, _) = ([&[]; FIELDS], 0, 1);
        for (place, field) in before.iter_mut().zip(noted) {
            *place = self.input.get(at..field.start)?;
            texts |= if field.what.is_text() { bit } else { 0 };
            (at, bit) = (field.end, bit << 1);
        }
        Some(Spelling {
            before,
            texts,
            fields: self.count,
            behind: self.input.get(at..cursor.position())?,
            shape: first_dimension..first_dimension.checked_add(object.rank as usize)?, // all in one array
            name: noted.iter().position(|n| n.what == Field::Name),
            object: *object,
            components: spelled,
        })
    }

    /// The next object, if it is spelled as one before it; else nothing is consumed.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor<'a>) -> Option<Like<'_, 'a>> {
        let last = self.spellings.get(self.last)?;
        if !last.read(cursor, &mut self.found) {
            self.last = self.read_others(cursor)?;
        }
        let spelling = self.spellings.get(self.last)?;
        Some(Like { input: self.input, spelling, found: &self.found })
    }

    #[inline(never)]
    fn read_others(&mut self, cursor: &mut Cursor<'a>) -> Option<usize> {
        let mut others = self.spellings.iter().enumerate().filter(|(at, _)| *at != self.last);
        let found = &mut self.found;
        others.find(|(_, s)| s.read(cursor, found)).map(|(at, _)| at)
    }
}

impl<'a> Spelling<'a> {
    /// Whether the next object is spelled so; then it is consumed, and its fields are found.
    #[inline(always)]
    fn read(&self, cursor: &mut Cursor<'a>, found: &mut Found) -> bool {
        match self.texts {
            0 => self.read_fields::<false>(cursor, found).is_some(),
            _ => self.read_fields::<true>(cursor, found).is_some(),
        }
    }

    #[inline(always)]
    fn read_fields<const TEXTS: bool>(&self, cursor: &mut Cursor<'a>, found: &mut Found) -> Option<()> {
        let mut ahead = cursor.clone();
        let mut texts = self.texts;
        for (before, place) in self.before.get(..self.fields)?.iter().zip(found) {
            ahead.skip_literal(before)?;
            let is_text = TEXTS && texts & 1 != 0;
            *place = if is_text { short_text(&mut ahead)? } else { ahead.quick_unsigned()? };
            texts >>= 1;
        }
        ahead.skip_literal(self.behind)?;
        *cursor = ahead;
        Some(())
    }
}

/// Where the text begins that comes next, and in the lowest byte how long it is.
fn short_text(cursor: &mut Cursor<'_>) -> Option<u64> {
    let length = cursor.quick_ascii()?.len(); // below 256
    let start = cursor.position().checked_sub(length)? as u64;
    start.checked_mul(1 << 8)?.checked_add(length as u64)
}

/// A text that [`short_text`] found.
fn text<'a>(input: &'a [u8], found: &Found, at: usize) -> Option<&'a [u8]> {
    let found = *found.get(at)?;
    let start = usize::try_from(found >> 8).ok()?;
    input.get(start..)?.get(..usize::try_from(found & 0xff).ok()?)
}

/// An object that is spelled as another.
pub struct Like<'s, 'a> {
    input: &'a [u8],
    spelling: &'s Spelling<'s>,
    found: &'s Found,
}

impl<'s, 'a> Like<'s, 'a> {
    /// All of it but its name, its shape, and where its components stand in the table.
    #[inline(always)]
    pub fn object(&self) -> Object {
        self.spelling.object
    }

    /// Its shape.
    #[inline(always)]
    pub fn shape(&self) -> &'s [u64] {
        self.found.get(self.spelling.shape.clone()).unwrap_or_default()
    }

    /// Its name, which is ASCII, where that is a field of it.
    pub fn name(&self) -> Option<&'a [u8]> {
        self.spelling.name.and_then(|at| text(self.input, self.found, at))
    }

    /// Its components, each with its digest, which is ASCII.
    #[inline(always)]
    pub fn components(&self) -> impl Iterator<Item = (Component, Option<&'a [u8]>)> + use<'s, 'a> {
        let Like { input, spelling, found } = *self;
        let field = |at: usize| found.get(at).copied().unwrap_or(0);
        spelling.components.iter().map_while(move |spelled| {
            let spelled = spelled.as_ref()?;
            let mut component = spelled.component;
            component.offset = field(spelled.offset);
            component.stored_size = field(spelled.length);
            if let Some(size) = spelled.size {
                component.set_size(Some(field(size)));
            }
            Some((component, spelled.digest.and_then(|at| text(input, found, at))))
        })
    }
}

#[cfg(test)]
#[path = "alike_tests.rs"]
mod tests;
