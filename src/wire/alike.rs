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
    /// Its digest, a text; all others are numbers.
    Digest,
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
    texts: u16,
    /// What stands behind the last one.
    behind: &'a [u8],
    /// Which of the fields are the shape.
    shape: Range<usize>,
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
    spellings: [Option<Spelling<'a>>; SPELLINGS],
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
        let spellings = [const { None }; SPELLINGS];
        Alike { input, spellings, last: 0, noted, count: 0, components: 0, found: [0; FIELDS] }
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
    pub fn learn(&mut self, start: usize, cursor: &Cursor<'_>, manifest: &Manifest, object: &Object) {
        if let Some(spelling) = self.spelling(start, cursor, manifest, object) {
            // In the place of one that was not met last.
            self.last = self.last.saturating_add(1) % SPELLINGS;
            if let Some(place) = self.spellings.get_mut(self.last) {
                *place = Some(spelling);
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
            texts |= if field.what == Field::Digest { bit } else { 0 };
            (at, bit) = (field.end, bit << 1);
        }
        Some(Spelling {
            before,
            texts,
            fields: self.count,
            behind: self.input.get(at..cursor.position())?,
            shape: first_dimension..first_dimension.checked_add(object.rank as usize)?, // all in one array
            object: *object,
            components: spelled,
        })
    }

    /// The next object, if it is spelled as one before it; else nothing is consumed.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor<'a>) -> Option<Like<'_, 'a>> {
        let last = self.spellings.get(self.last)?.as_ref()?;
        if !last.read(cursor, &mut self.found) {
            self.last = self.read_others(cursor)?;
        }
        let spelling = self.spellings.get(self.last)?.as_ref()?;
        Some(Like { input: self.input, spelling, found: &self.found })
    }

    #[inline(never)]
    fn read_others(&mut self, cursor: &mut Cursor<'a>) -> Option<usize> {
        let mut others = self.spellings.iter().enumerate().filter(|(at, _)| *at != self.last);
        let found = &mut self.found;
        others.find(|(_, s)| s.as_ref().is_some_and(|s| s.read(cursor, found))).map(|(at, _)| at)
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

    /// Its components, each with its digest, which is ASCII.
    #[inline(always)]
    pub fn components(&self) -> impl Iterator<Item = (Component, Option<&'a [u8]>)> + use<'s, 'a> {
        let Like { input, spelling, found } = *self;
        let field = |at: usize| found.get(at).copied().unwrap_or(0);
        let text = move |at: usize| {
            let start = usize::try_from(field(at) >> 8).ok()?;
            input.get(start..)?.get(..usize::try_from(field(at) & 0xff).ok()?)
        };
        spelling.components.iter().map_while(move |spelled| {
            let spelled = spelled.as_ref()?;
            let mut component = spelled.component;
            component.offset = field(spelled.offset);
            component.stored_size = field(spelled.length);
            if let Some(size) = spelled.size {
                component.set_size(Some(field(size)));
            }
            Some((component, spelled.digest.and_then(text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::Format;

    /// A manifest of an object with these components, which are named and keep nothing, or their digests.
    fn a_manifest(digests: &[Option<&str>]) -> (Manifest, Object) {
        let mut manifest = Manifest::default();
        let name = manifest.texts.add("data").unwrap();
        for digest in digests {
            let digest = digest.map(|digest| manifest.texts.add(digest).unwrap());
            let mut component = Component::new(name, None);
            component.extra = manifest.add_extra(Extra { digest, ..Extra::default() }).unwrap();
            manifest.components.push(component).unwrap();
        }
        let (shape_start, rank, component_start, format) = (0, 0, 0, Format::Dense);
        let component_count = digests.len() as u32;
        let object =
            Object { name, format, shape_start, rank, component_start, component_count, attributes: None };
        (manifest, object)
    }

    /// Reads an object whose components are spelled so here: two letters, an offset, two letters, a length, two
    /// letters and, if it has one, the digest.
    fn by_hand<'a>(alike: &mut Alike<'a>, cursor: &mut Cursor<'a>, (manifest, object): &(Manifest, Object)) {
        alike.begin();
        let begin = cursor.position();
        for component in manifest.components(object) {
            for what in [Field::Offset, Field::Length] {
                cursor.take(2).unwrap();
                let start = cursor.position();
                cursor.quick_unsigned().unwrap();
                alike.note(what, start, cursor);
            }
            cursor.take(2).unwrap();
            if manifest.digest(component).is_some() {
                let start = cursor.position();
                cursor.quick_text().unwrap();
                alike.note(Field::Digest, start, cursor);
            }
            alike.end_component();
        }
        alike.learn(begin, cursor, manifest, object);
    }

    type Told<'a> = Vec<(u64, u64, Option<&'a [u8]>)>;

    /// What the next object's components have, if it is known.
    fn told<'a>(alike: &mut Alike<'a>, cursor: &mut Cursor<'a>) -> Option<Told<'a>> {
        let like = alike.read(cursor)?;
        Some(like.components().map(|(c, digest)| (c.offset, c.stored_size, digest)).collect())
    }

    #[test]
    fn an_object_of_a_known_spelling_is_told_without_its_keys() {
        let known = a_manifest(&[None]);
        // Known; another spelling; the first again, with numbers of other widths; one that differs at its end.
        let input = b"xx\x05yy\x18\x40zzXX\x07YY\x06ZZxx\x18\x99yy\x02zzxx\x19\x01\x00yy\x02zQ........";
        let (mut alike, mut cursor) = (Alike::new(input), Cursor::new(input, 0));
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == 0, "nothing is known yet");
        by_hand(&mut alike, &mut cursor, &known);
        let first = cursor.position();
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == first);
        by_hand(&mut alike, &mut cursor, &known);
        let second = cursor.position();
        assert_eq!(told(&mut alike, &mut cursor).expect("it was met before the last one"), [(0x99, 2, None)]);
        assert_eq!(&input[second..cursor.position()], b"xx\x18\x99yy\x02zz");
        let third = cursor.position();
        assert!(alike.read(&mut cursor).is_none() && cursor.position() == third);
    }

    #[test]
    fn each_component_of_an_object_has_its_own_fields() {
        let input = b"aa\x01bb\x02cc\x63onedd\x03ee\x04ff\
            aa\x05bb\x06cc\x65threedd\x07ee\x18\x40ff\
            aa\x05bb\x06cc\x63oneDd\x07ee\x18\x40ff........";
        let (mut alike, mut cursor) = (Alike::new(input), Cursor::new(input, 0));
        by_hand(&mut alike, &mut cursor, &a_manifest(&[Some("one"), None]));
        let second = told(&mut alike, &mut cursor);
        assert_eq!(second, Some(vec![(5, 6, Some(&b"three"[..])), (7, 0x40, None)]));
        assert_eq!(told(&mut alike, &mut cursor), None, "a letter of the second component differs");
    }

    #[test]
    fn a_digest_that_is_no_short_ascii_text_is_not_told_here() {
        let long = [&[0x79, 1, 0][..], &[b'x'; 256]].concat();
        for digest in
            [b"\x62\xc3\xa9".to_vec(), b"\xf6".to_vec(), b"\x7f\x61x\xff".to_vec(), b"\x05".to_vec(), long]
        {
            let input = [b"aa\x01bb\x02cc\x63oneaa\x01bb\x02cc", &digest[..], &[0; 16]].concat();
            let (mut alike, mut cursor) = (Alike::new(&input), Cursor::new(&input, 0));
            by_hand(&mut alike, &mut cursor, &a_manifest(&[Some("one")]));
            assert_eq!(told(&mut alike, &mut cursor), None, "{digest:x?}");
        }
    }

    #[test]
    fn what_other_fields_tell_is_not_learned() {
        let input = [0; 200];
        let learned = |(manifest, object): (Manifest, Object), dimensions: usize, noted: &[Field]| {
            let (mut alike, mut cursor) = (Alike::new(&input), Cursor::new(&input, 0));
            let mut note = |alike: &mut Alike<'_>, what| {
                let start = cursor.position();
                cursor.take(1).unwrap();
                alike.note(what, start, &cursor);
            };
            (0..dimensions).for_each(|_| note(&mut alike, Field::Dimension));
            for _ in manifest.components(&object) {
                noted.iter().for_each(|what| note(&mut alike, *what));
                alike.end_component();
            }
            alike.learn(0, &cursor, &manifest, &object);
            alike.spellings.iter().any(Option::is_some)
        };
        const BOTH: &[Field] = &[Field::Offset, Field::Length];
        assert!(learned(a_manifest(&[None; COMPONENTS]), FIELDS - 2 * COMPONENTS, BOTH));
        assert!(!learned(a_manifest(&[None; COMPONENTS]), FIELDS - 2 * COMPONENTS + 1, BOTH), "more fields");
        assert!(!learned(a_manifest(&[None; COMPONENTS + 1]), 0, BOTH), "more components");
        assert!(!learned(a_manifest(&[]), 0, BOTH), "no component");
        assert!(!learned(a_manifest(&[None, Some("x")]), 0, BOTH), "a digest that was not noted");
        assert!(
            !learned(a_manifest(&[None]), 0, &[Field::Offset, Field::Length, Field::Digest]),
            "no digest"
        );
        assert!(!learned(a_manifest(&[None]), 0, &[Field::Offset]), "no length");
        let (mut manifest, object) = a_manifest(&[None]);
        let encoding = Some(object.name);
        manifest.components[0].extra = manifest.add_extra(Extra { encoding, ..Extra::default() }).unwrap();
        assert!(!learned((manifest, object), 0, BOTH), "an encoding of the file's own");
    }
}
