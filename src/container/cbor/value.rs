//! Whole items: made into values, or stepped over.

use super::cursor::{Cursor, Head, FALSE, NULL, TRUE};
use crate::error::{broken, Result, Rule};
use crate::model::manifest::Position;
use crate::model::value::{self, Element, Kind, OwnedValue, Tape, ValueBuilder, MAX_DEPTH};

impl Cursor<'_> {
    /// The next item whole. It is checked to be well-formed, valid UTF-8, at most `MAX_DEPTH`
    /// deep, and without duplicate keys.
    pub fn value(&mut self) -> Result<OwnedValue> {
        OwnedValue::build(|to| self.put_value(to))
    }

    /// The next item, appended to `tape`, whose memory is charged.
    pub fn value_to(&mut self, tape: &mut Tape) -> Result<Position> {
        let mut builder = ValueBuilder::new(tape).within(self.budget);
        self.put_value(&mut builder)?;
        builder.finish()
    }

    fn put_value(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        loop {
            match self.try_text() {
                Some(text) if to.text_if_utf8(text)? => {}
                Some(text) => return self.utf8(text).map(drop), // which says where it is not
                None => self.put_head(to)?,
            }
            while to.left() == Some(0) {
                self.end_container(to)?;
            }
            if to.depth() == 0 {
                return Ok(());
            }
        }
    }

    /// The next item, or where an array, a map or a tagged item begins or ends.
    #[inline(always)]
    fn put_head(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match self.head()? {
            Head::Unsigned(v) => to.unsigned(v),
            Head::Negative(v) => to.negative(v),
            Head::Float(v) => to.float(v),
            Head::Simple(FALSE) => to.boolean(false),
            Head::Simple(TRUE) => to.boolean(true),
            Head::Simple(NULL) => to.null(),
            Head::Simple(v) => to.simple(v),
            Head::Text(length) => to.text(&self.text_body(length)?),
            Head::Bytes(length) => to.bytes(&self.bytes_body(length)?),
            Head::Break => self.end_at_break(to),
            _ if to.depth() > MAX_DEPTH => Err(self.too_deep()),
            Head::Array(length) => to.begin_array(Element::Any, length),
            Head::Map(length) => to.begin_map(length),
            Head::Tag(number) => to.begin_tag(number),
        }
    }

    fn end_at_break(&self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match (to.depth(), to.left()) {
            (0, _) => Err(self.malformed("a break outside of an indefinite length")),
            (_, Some(_)) => Err(self.malformed("a break within an item of definite length")),
            (_, None) if to.is_at_value() => Err(self.malformed("a map ends after a key without its value")),
            (_, None) => self.end_container(to),
        }
    }

    fn end_container(&self, to: &mut ValueBuilder<'_>) -> Result<()> {
        let Kind::Map(map) = to.end()?.kind() else { return Ok(()) };
        let temporary = value::bytes_to_compare(map.len());
        self.charge(temporary, "keys that are compared")?;
        if !value::keys_are_unique(map.iter())? {
            let end = self.file_offset();
            return Err(broken!(Rule::CborDuplicateKey, "the map that ends at offset {end} has a key twice"));
        }
        self.give_back(temporary);
        Ok(())
    }

    /// Steps over the next item; checks the same as [`Cursor::value`].
    pub fn skip(&mut self) -> Result<()> {
        match self.peek()? {
            Head::Array(_) | Head::Map(_) | Head::Tag(_) | Head::Bytes(None) => {
                let mut tape = Tape::default();
                self.value_to(&mut tape)?;
                self.give_back(tape.charged());
                Ok(())
            }
            Head::Text(length) => {
                self.head()?;
                self.text_body(length).map(drop)
            }
            Head::Bytes(Some(length)) => {
                self.head()?;
                self.take(length).map(drop)
            }
            Head::Break => Err(self.malformed("a break outside of an indefinite length")),
            _ => self.head().map(drop),
        }
    }

    #[cold]
    pub(super) fn too_deep(&self) -> crate::error::Error {
        broken!(Rule::CborDepth, "CBOR at offset {} nests deeper than {MAX_DEPTH} levels", self.file_offset())
    }
}
