//! Builds a value at the end of a tape, front to back. Also a value that owns its tape.

use super::layout::{self, Element, MAX_DEPTH};
use super::record::{Value, ValueKind};
use super::tape::{Open, Tape};
use crate::error::{fail, Result};
use crate::memory::{push, Budget};
use crate::model::dtype::Dtype;
use crate::model::text::Position;
use crate::model::unicode::is_utf8;

/// Appends one value to a tape: a scalar, or `begin_...`, items, `end`; then `finish`. If it is dropped
/// before `finish`, the tape stays unchanged.
///
/// The items of a map are key, value, key, value. The caller checks that its keys are different, using the
/// map that [`ValueBuilder::end`] returns.
pub struct ValueBuilder<'t> {
    tape: &'t mut Tape,
    budget: Option<&'t Budget>,
    start: usize,
    is_finished: bool,
}

impl<'t> ValueBuilder<'t> {
    /// A builder at the end of `tape`.
    pub fn new(tape: &'t mut Tape) -> Self {
        tape.open.clear();
        ValueBuilder { start: tape.size(), tape, budget: None, is_finished: false }
    }

    /// Charges memory to `budget` before it is allocated.
    pub fn within(mut self, budget: Option<&'t Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// `null`.
    pub fn null(&mut self) -> Result<()> {
        self.put(&[layout::NULL], &[])
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, truth: bool) -> Result<()> {
        self.put(&[if truth { layout::TRUE } else { layout::FALSE }], &[])
    }

    /// A simple value without a defined meaning; 23 is `undefined`.
    pub fn simple(&mut self, number: u8) -> Result<()> {
        self.put(&[layout::SIMPLE, number], &[])
    }

    /// An integer without a stated width.
    pub fn unsigned(&mut self, number: u64) -> Result<()> {
        self.put(&[layout::UNSIGNED], &number.to_ne_bytes())
    }

    /// The integer -1 - n, without a stated width.
    pub fn negative(&mut self, n: u64) -> Result<()> {
        self.put(&[layout::NEGATIVE], &n.to_ne_bytes())
    }

    /// An integer without a stated width.
    pub fn integer(&mut self, number: i64) -> Result<()> {
        match u64::try_from(number) {
            Ok(number) => self.unsigned(number),
            // It is negative, so `!value` is -1 - value.
            Err(_) => self.negative(u64::try_from(!number).unwrap_or_default()),
        }
    }

    /// A float without a stated width.
    pub fn float(&mut self, number: f64) -> Result<()> {
        self.put(&[layout::FLOAT], &number.to_bits().to_ne_bytes())
    }

    /// A number or bool of a stated dtype: one element, in the host's byte order.
    pub fn number(&mut self, dtype: Dtype, element: &[u8]) -> Result<()> {
        if element.len() != dtype.size() {
            return Err(misused());
        }
        self.put(&[layout::number_tag(dtype)], element)
    }

    /// A whole array of numbers of a stated dtype: a whole number of elements, in the host's byte order.
    pub fn numbers(&mut self, dtype: Dtype, elements: &[u8]) -> Result<()> {
        let count = elements.len().checked_div(dtype.size()).unwrap_or_default();
        self.begin_array(Element::Number(dtype), Some(count as u64))?;
        self.elements(dtype, elements)?;
        self.end().map(drop)
    }

    /// Items of a stated dtype for an array that was begun: a whole number of elements, in the host's byte
    /// order.
    pub fn elements(&mut self, dtype: Dtype, elements: &[u8]) -> Result<()> {
        let size = dtype.size();
        let count = elements.len().checked_div(size).unwrap_or_default();
        let items = u32::try_from(count).map_err(|_| too_many())?;
        self.count_items(items)?;
        let tag = layout::number_tag(dtype);
        self.tape.count_elements(tag, items);
        let places = self.fill(count.saturating_mul(size.saturating_add(1)))?;
        match size {
            1 => tag_each::<1>(tag, elements, places),
            2 => tag_each::<2>(tag, elements, places),
            4 => tag_each::<4>(tag, elements, places),
            8 => tag_each::<8>(tag, elements, places),
            _ => return Err(misused()),
        }
        Ok(())
    }

    /// UTF-8 text.
    pub fn text(&mut self, text: &str) -> Result<()> {
        self.put_string(layout::SHORT_TEXT, layout::LONG_TEXT, text.as_bytes())
    }

    /// A byte string.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.put_string(layout::SHORT_BYTES, layout::LONG_BYTES, bytes)
    }

    /// A text if the bytes are UTF-8, else a byte string.
    #[inline]
    pub fn text_or_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self.text_if_utf8(bytes)? {
            true => Ok(()),
            false => self.bytes(bytes),
        }
    }

    /// A text if the bytes are UTF-8. Returns whether they are.
    #[inline(always)]
    pub fn text_if_utf8(&mut self, bytes: &[u8]) -> Result<bool> {
        match is_utf8(bytes) {
            true => self.put_string(layout::SHORT_TEXT, layout::LONG_TEXT, bytes).map(|()| true),
            false => Ok(false),
        }
    }

    /// A copy of a value.
    pub fn copy(&mut self, value: Value<'_>) -> Result<()> {
        self.put(&[], value.record())
    }

    /// Begins an array. Its items follow, then [`ValueBuilder::end`]. `items` is their number, if it is
    /// known.
    pub fn begin_array(&mut self, element: Element, items: Option<u64>) -> Result<()> {
        self.begin(layout::ARRAY, &[element.to_byte()], items)
    }

    /// Begins a map. Its keys and values follow, then [`ValueBuilder::end`].
    pub fn begin_map(&mut self, pairs: Option<u64>) -> Result<()> {
        self.begin(layout::MAP, &[0], pairs.map(|pairs| pairs.saturating_mul(2)))
    }

    /// Begins a tagged value. One item follows, then [`ValueBuilder::end`].
    pub fn begin_tag(&mut self, number: u64) -> Result<()> {
        self.begin(layout::TAGGED, &number.to_ne_bytes(), Some(1))
    }

    /// How many arrays, maps and tagged values are open. At most `MAX_DEPTH + 1`.
    pub fn depth(&self) -> usize {
        self.tape.open.len()
    }

    /// How many items the innermost open value still needs, if that is known. A key and a value are two
    /// items.
    pub fn left(&self) -> Option<u64> {
        self.tape.open.last().and_then(|open| open.left)
    }

    /// Whether the innermost open value is a map with a key that has no value yet.
    pub fn is_at_value(&self) -> bool {
        let open = self.tape.open.last();
        open.is_some_and(|open| {
            open.count % 2 != 0 && self.tape.records.get(open.start) == Some(&layout::MAP)
        })
    }

    /// Ends the innermost array, map or tagged value, and returns it.
    pub fn end(&mut self) -> Result<Value<'_>> {
        let open = self.tape.open.pop().ok_or_else(misused)?;
        let start = open.start;
        let tag = self.tape.records.get(start).copied().unwrap_or_default();
        let records_per_item = if tag == layout::MAP { 2 } else { 1 };
        if open.left.is_some_and(|left| left > 0) || open.count.checked_rem(records_per_item) != Some(0) {
            return Err(misused());
        }
        let count = open.count.checked_div(records_per_item).unwrap_or_default();
        let is_even = open.elements == count || self.are_even(start, count, records_per_item);
        if tag != layout::TAGGED && !is_even {
            self.index(start, count, records_per_item)?;
            if let Some(place) = self.tape.records.get_mut(start) {
                *place = if tag == layout::MAP { layout::INDEXED_MAP } else { layout::INDEXED_ARRAY };
            }
        }
        let size = u32::try_from(self.tape.size().saturating_sub(start)).map_err(|_| too_many())?;
        let record = self.tape.records.get_mut(start..).unwrap_or_default();
        layout::put_word(record, layout::SIZE_AT, size);
        layout::put_word(record, layout::COUNT_AT, count);
        Ok(Value::first_of(record))
    }

    /// The position of the complete value.
    pub fn finish(mut self) -> Result<Position> {
        let position = Position::after(self.start)?;
        if self.depth() > 0 || self.tape.end_of(self.start) != self.tape.size() {
            return Err(misused());
        }
        self.is_finished = true;
        Ok(position)
    }

    fn begin(&mut self, tag: u8, argument: &[u8], left: Option<u64>) -> Result<()> {
        if self.depth() > MAX_DEPTH {
            return Err(fail!(InvalidArgument, "an attribute nests deeper than {MAX_DEPTH} levels"));
        }
        let start = self.tape.size();
        self.put(&[tag, 0, 0, 0, 0, 0, 0, 0, 0], argument)?;
        push(&mut self.tape.open, Open { start, count: 0, left, elements: 0 })
    }

    #[inline(always)]
    fn put(&mut self, head: &[u8], rest: &[u8]) -> Result<()> {
        self.count_item()?;
        self.tape.try_reserve(head.len().saturating_add(rest.len()), self.budget)?;
        self.tape.records.extend_joined([head, rest])
    }

    fn put_string(&mut self, short: u8, long: u8, content: &[u8]) -> Result<()> {
        self.count_item()?;
        let size = content.len();
        self.tape.try_reserve(size.saturating_add(6), self.budget)?;
        match u8::try_from(size) {
            Ok(size) => self.tape.records.extend_joined([&[short, size], content, &[0]]),
            Err(_) => {
                let [a, b, c, d] = u32::try_from(size).map_err(|_| too_many())?.to_ne_bytes();
                self.tape.records.extend_joined([&[long, a, b, c, d], content, &[0]])
            }
        }
    }

    /// Counts an item of the innermost open value. Fails if it has all its items.
    #[inline(always)]
    fn count_item(&mut self) -> Result<()> {
        match self.tape.open.is_empty() {
            true if self.tape.size() == self.start => Ok(()),
            true => Err(misused()),
            false => self.count_items(1),
        }
    }

    /// Counts items of the innermost open value. Fails if they are too many.
    #[inline(always)]
    fn count_items(&mut self, count: u32) -> Result<()> {
        let open = self.tape.open.last_mut().ok_or_else(misused)?;
        if let Some(left) = &mut open.left {
            *left = left.checked_sub(count.into()).ok_or_else(misused)?;
        }
        open.count = open.count.checked_add(count).ok_or_else(too_many)?;
        Ok(())
    }

    /// Appends `bytes` bytes for the caller to fill.
    fn fill(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let start = self.tape.size();
        self.tape.try_reserve(bytes, self.budget)?;
        self.tape.records.extend_filled(bytes, 0)?;
        Ok(self.tape.records.get_mut(start..).unwrap_or_default())
    }

    /// Whether all items or pairs of the record at `start` have the same size.
    fn are_even(&self, start: usize, count: u32, records_per_item: u32) -> bool {
        let items = self.tape.records.get(start.saturating_add(layout::ITEMS_AT)..).unwrap_or_default();
        let (mut at, mut first) = (0, None);
        (0..count).all(|_| {
            let end = layout::end_of_records(items, at, records_per_item);
            let size = end.saturating_sub(at);
            at = end;
            *first.get_or_insert(size) == size
        })
    }

    /// Appends an index with the offset of each item or pair.
    fn index(&mut self, start: usize, count: u32, records_per_item: u32) -> Result<()> {
        let end = self.tape.size();
        u32::try_from(end.saturating_sub(start)).map_err(|_| too_many())?; // so every offset in it fits, too
        self.fill((count as usize).saturating_mul(layout::INDEX_ENTRY))?;
        let (records, index) = self.tape.records.split_at_mut_checked(end).unwrap_or_default();
        let record = records.get(start..).unwrap_or_default();
        let mut at = layout::ITEMS_AT;
        for place in index.chunks_exact_mut(layout::INDEX_ENTRY) {
            place.copy_from_slice(&u32::try_from(at).unwrap_or(u32::MAX).to_ne_bytes());
            at = layout::end_of_records(record, at, records_per_item);
        }
        Ok(())
    }
}

impl Drop for ValueBuilder<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.tape.truncate(self.start);
        }
    }
}

/// Inserts a tag before each element of `SIZE` bytes.
fn tag_each<const SIZE: usize>(tag: u8, elements: &[u8], places: &mut [u8]) {
    for (element, place) in elements.chunks_exact(SIZE).zip(places.chunks_exact_mut(SIZE.saturating_add(1))) {
        if let Some((first, rest)) = place.split_first_mut() {
            *first = tag;
            rest.copy_from_slice(element);
        }
    }
}

#[cold]
fn misused() -> crate::error::Error {
    fail!(Internal, "a value is put together in another order than begin, items, end")
}

#[cold]
fn too_many() -> crate::error::Error {
    fail!(Limit, "an attribute passes 2^32 bytes or items")
}

/// A value that owns its tape.
pub struct OwnedValue {
    tape: Tape,
    position: Position,
}

impl OwnedValue {
    /// The value that `build` makes.
    pub fn build(build: impl FnOnce(&mut ValueBuilder<'_>) -> Result<()>) -> Result<OwnedValue> {
        let mut tape = Tape::default();
        let mut builder = ValueBuilder::new(&mut tape);
        build(&mut builder)?;
        let position = builder.finish()?;
        Ok(OwnedValue { tape, position })
    }

    /// A text.
    pub fn text(text: &str) -> Result<OwnedValue> {
        OwnedValue::build(|builder| builder.text(text))
    }

    /// A value without items.
    pub fn scalar(kind: ValueKind<'_>) -> Result<OwnedValue> {
        OwnedValue::build(|builder| match kind {
            ValueKind::Null => builder.null(),
            ValueKind::Bool(truth) => builder.boolean(truth),
            ValueKind::Unsigned(number) => builder.unsigned(number),
            ValueKind::Negative(n) => builder.negative(n),
            ValueKind::Float(number) => builder.float(number),
            ValueKind::Text(text) => builder.text(text.as_str()),
            ValueKind::Bytes(bytes) => builder.bytes(bytes),
            ValueKind::Simple(number) => builder.simple(number),
            ValueKind::Array(_) | ValueKind::Map(_) | ValueKind::Tag(..) => Err(fail!(Internal, "no scalar")),
        })
    }

    /// The value.
    pub fn get(&self) -> Value<'_> {
        self.tape.get(self.position)
    }
}

impl std::fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::ValueKind;
    use super::*;

    #[test]
    fn an_unfinished_value_leaves_the_tape_as_it_was() {
        let mut tape = Tape::default();
        let mut one = ValueBuilder::new(&mut tape);
        one.text("kept").unwrap();
        let kept = one.finish().unwrap();
        let size = tape.size();
        let mut other = ValueBuilder::new(&mut tape);
        other.begin_map(None).unwrap();
        other.text("key").unwrap();
        assert!(other.end().is_err(), "a key without a value");
        drop(other);
        assert_eq!((tape.size(), tape.get(kept).as_text()), (size, Some("kept")));
    }

    #[test]
    fn items_of_one_size_and_of_several_are_found_by_number() {
        for lengths in [[3, 3, 3], [3, 0, 300]] {
            let mut tape = Tape::default();
            let mut builder = ValueBuilder::new(&mut tape);
            builder.begin_map(Some(3)).unwrap();
            for (at, length) in lengths.into_iter().enumerate() {
                builder.text(&at.to_string().repeat(length)).unwrap();
                builder.begin_array(Element::Text, Some(2)).unwrap();
                builder.text("a").unwrap();
                builder.text(&"b".repeat(length)).unwrap();
                builder.end().unwrap();
            }
            builder.end().unwrap();
            let position = builder.finish().unwrap();
            let map = tape.get(position).as_map().unwrap();
            for (at, length) in lengths.into_iter().enumerate() {
                let (key, value) = map.get(at).unwrap();
                assert_eq!(key.as_text(), Some(&*at.to_string().repeat(length)));
                let ValueKind::Array(items) = value.kind() else { panic!("{value:?}") };
                assert_eq!(items.get(1).unwrap().as_text(), Some(&*"b".repeat(length)));
                assert!(items.len() == 2 && items.get(2).is_none() && items.element() == Element::Text);
            }
            assert!(map.get(3).is_none());
        }
    }

    #[test]
    fn numbers_keep_the_dtype_that_is_stated() {
        let mut tape = Tape::default();
        for dtype in Dtype::ALL {
            let elements: Vec<u8> = (0..8 * dtype.size()).map(|at| u8::from(at % 3 == 0)).collect();
            let mut builder = ValueBuilder::new(&mut tape);
            builder.numbers(dtype, &elements).unwrap();
            let position = builder.finish().unwrap();
            let value = tape.get(position);
            let ValueKind::Array(items) = value.kind() else { panic!("{value:?}") };
            assert_eq!((value.dtype(), items.len()), (Some(dtype), 8));
            assert!(items.iter().all(|item| item.dtype() == Some(dtype)));
        }
    }
}
