//! A cache of how objects are encoded: nearly all objects of a file have the bytes of one before them
//! but for their numbers and digests. Such an object is matched against that template by comparing bytes, and only those fields are read.

use super::cursor::Cursor;
use crate::model::manifest::{Component, Manifest, Object, RareNames};
use std::ops::Range;

/// A field in which objects of one template differ.
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
struct FieldSpan {
    what: Field,
    /// Of which of the object's components.
    component: usize,
    /// Where it stands in the input.
    start: usize,
    end: usize,
}

/// Most fields of such an object.
const MAX_FIELDS: usize = 14;

/// A bit for each of them.
type TextMask = u16;
const _: () = assert!(MAX_FIELDS <= TextMask::BITS as usize);

/// Most components: a quantized tensor has three.
const MAX_COMPONENTS: usize = 3;

/// Templates that are remembered: those of vectors and of matrices, say.
const MAX_TEMPLATES: usize = 4;

/// How an object was encoded, and what it is.
struct Template<'a> {
    /// What stands in front of each field.
    prefixes: [&'a [u8]; MAX_FIELDS],
    fields: usize,
    /// A bit for each field that is a text.
    texts: TextMask,
    /// What stands behind the last one.
    suffix: &'a [u8],
    /// Which of the fields are the shape.
    shape: Range<usize>,
    /// Which is the name.
    name: Option<usize>,
    object: Object,
    components: [Option<TemplateComponent>; MAX_COMPONENTS],
}

/// A component of such an object, and which fields are its own.
#[derive(Clone, Copy)]
struct TemplateComponent {
    component: Component,
    offset: usize,
    length: usize,
    size: Option<usize>,
    digest: Option<usize>,
}

/// The templates that were met, and the fields of the object that is being read.
pub struct TemplateCache<'a> {
    input: &'a [u8],
    /// At most [`MAX_TEMPLATES`]; on the heap, as they would take kilobytes of a caller's stack.
    templates: Vec<Template<'a>>,
    /// Which was met last.
    last: usize,
    fields_read: [FieldSpan; MAX_FIELDS],
    /// More than fit are counted, too.
    count: usize,
    /// Components of the object that were read whole.
    components: usize,
    values: FieldValues,
}

/// The fields of the object that was read last as another one: a number, or where a text begins and, in the lowest
/// byte, how long it is.
type FieldValues = [u64; MAX_FIELDS];

impl<'a> TemplateCache<'a> {
    /// Nothing was met in `input` yet.
    pub fn new(input: &'a [u8]) -> Self {
        let fields_read = [FieldSpan { what: Field::Size, component: 0, start: 0, end: 0 }; MAX_FIELDS];
        TemplateCache {
            input,
            templates: Vec::new(),
            last: 0,
            fields_read,
            count: 0,
            components: 0,
            values: [0; MAX_FIELDS],
        }
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
    pub fn record(&mut self, what: Field, start: usize, cursor: &Cursor<'_>) {
        if let Some(place) = self.fields_read.get_mut(self.count) {
            *place = FieldSpan { what, component: self.components, start, end: cursor.position() };
        }
        self.count = self.count.saturating_add(1);
    }

    /// The object was read into the manifest, from `start` on up to where the cursor is.
    #[inline(never)] // one on the stack is enough
    pub fn remember(&mut self, start: usize, cursor: &Cursor<'_>, manifest: &Manifest, object: &Object) {
        if let Some(template) = self.template(start, cursor, manifest, object) {
            let known = self.templates.len();
            if known < MAX_TEMPLATES {
                // Without memory the next one is read field by field, too.
                if self.templates.try_reserve_exact(MAX_TEMPLATES.saturating_sub(known)).is_ok() {
                    self.templates.push(template);
                    self.last = known;
                }
                return;
            }
            // In the place of one that was not met last.
            self.last = self.last.saturating_add(1) % MAX_TEMPLATES;
            if let Some(place) = self.templates.get_mut(self.last) {
                *place = template;
            }
        }
    }

    /// The template of the object, unless more of it may differ than the fields here.
    fn template(
        &self,
        start: usize,
        cursor: &Cursor<'_>,
        manifest: &Manifest,
        object: &Object,
    ) -> Option<Template<'a>> {
        let fields_read = self.fields_read.get(..self.count)?;
        let components = manifest.components(object);
        if components.is_empty() || components.len() != self.components {
            return None;
        }
        let mut entry = [None; MAX_COMPONENTS];
        for (at, component) in components.iter().enumerate() {
            let place_of = |what| fields_read.iter().position(|n| n.component == at && n.what == what);
            let digest = place_of(Field::Digest);
            let rare = manifest.rare(component);
            if (RareNames { digest: None, ..rare }) != RareNames::default()
                || rare.digest.is_some() != digest.is_some()
            {
                return None;
            }
            *entry.get_mut(at)? = Some(TemplateComponent {
                component: *component,
                offset: place_of(Field::Offset)?,
                length: place_of(Field::Length)?,
                size: place_of(Field::Size),
                digest,
            });
        }
        let first_dimension = fields_read.iter().position(|n| n.what == Field::Dimension).unwrap_or(0);
        let mut at = start;
        let (mut prefixes, mut texts, mut bit): ([&[u8]; MAX_FIELDS], _, _) = ([&[]; MAX_FIELDS], 0, 1);
        for (place, field) in prefixes.iter_mut().zip(fields_read) {
            *place = self.input.get(at..field.start)?;
            texts |= if field.what.is_text() { bit } else { 0 };
            (at, bit) = (field.end, bit << 1);
        }
        Some(Template {
            prefixes,
            texts,
            fields: self.count,
            suffix: self.input.get(at..cursor.position())?,
            shape: first_dimension..first_dimension.checked_add(object.rank as usize)?, // all in one array
            name: fields_read.iter().position(|n| n.what == Field::Name),
            object: *object,
            components: entry,
        })
    }

    /// The next object, if it matches a template; else nothing is consumed.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor<'a>) -> Option<Match<'_, 'a>> {
        let last = self.templates.get(self.last)?;
        if !last.read(cursor, &mut self.values) {
            self.last = self.match_others(cursor)?;
        }
        let template = self.templates.get(self.last)?;
        Some(Match { input: self.input, template, values: &self.values })
    }

    #[inline(never)]
    fn match_others(&mut self, cursor: &mut Cursor<'a>) -> Option<usize> {
        let mut others = self.templates.iter().enumerate().filter(|(at, _)| *at != self.last);
        let values = &mut self.values;
        others.find(|(_, s)| s.read(cursor, values)).map(|(at, _)| at)
    }
}

impl<'a> Template<'a> {
    /// Whether the next object matches; then it is consumed, and its fields are read.
    #[inline(always)]
    fn read(&self, cursor: &mut Cursor<'a>, values: &mut FieldValues) -> bool {
        match self.texts {
            0 => self.read_fields::<false>(cursor, values).is_some(),
            _ => self.read_fields::<true>(cursor, values).is_some(),
        }
    }

    #[inline(always)]
    fn read_fields<const TEXTS: bool>(
        &self,
        cursor: &mut Cursor<'a>,
        values: &mut FieldValues,
    ) -> Option<()> {
        let mut lookahead = cursor.clone();
        let mut texts = self.texts;
        for (prefix, place) in self.prefixes.get(..self.fields)?.iter().zip(values) {
            lookahead.skip_literal(prefix)?;
            let is_text = TEXTS && texts & 1 != 0;
            *place = if is_text { short_text(&mut lookahead)? } else { lookahead.try_unsigned()? };
            texts >>= 1;
        }
        lookahead.skip_literal(self.suffix)?;
        *cursor = lookahead;
        Some(())
    }
}

/// Where the text begins that comes next, and in the lowest byte how long it is.
fn short_text(cursor: &mut Cursor<'_>) -> Option<u64> {
    let length = cursor.try_ascii()?.len(); // below 256
    let start = cursor.position().checked_sub(length)? as u64;
    start.checked_mul(1 << 8)?.checked_add(length as u64)
}

/// A text that [`short_text`] found.
fn text<'a>(input: &'a [u8], values: &FieldValues, at: usize) -> Option<&'a [u8]> {
    let values = *values.get(at)?;
    let start = usize::try_from(values >> 8).ok()?;
    input.get(start..)?.get(..usize::try_from(values & 0xff).ok()?)
}

/// An object that matches a template.
pub struct Match<'s, 'a> {
    input: &'a [u8],
    template: &'s Template<'s>,
    values: &'s FieldValues,
}

impl<'s, 'a> Match<'s, 'a> {
    /// All of it but its name, its shape, and where its components stand in the table.
    #[inline(always)]
    pub fn object(&self) -> Object {
        self.template.object
    }

    /// Its shape.
    #[inline(always)]
    pub fn shape(&self) -> &'s [u64] {
        self.values.get(self.template.shape.clone()).unwrap_or_default()
    }

    /// Its name, which is ASCII, where that is a field of it.
    pub fn name(&self) -> Option<&'a [u8]> {
        self.template.name.and_then(|at| text(self.input, self.values, at))
    }

    /// Its components, each with its digest, which is ASCII.
    #[inline(always)]
    pub fn components(&self) -> impl Iterator<Item = (Component, Option<&'a [u8]>)> + use<'s, 'a> {
        let Match { input, template, values } = *self;
        let field = |at: usize| values.get(at).copied().unwrap_or(0);
        template.components.iter().map_while(move |entry| {
            let entry = entry.as_ref()?;
            let mut component = entry.component;
            component.offset = field(entry.offset);
            component.stored_size = field(entry.length);
            if let Some(size) = entry.size {
                component.set_size(Some(field(size)));
            }
            Some((component, entry.digest.and_then(|at| text(input, values, at))))
        })
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
