//! Plain values of a checkpoint as attributes of the file.

use super::globals::{Bare, Global};
use super::values::{wrong, Heap, Kind, Span, Value};
use crate::container::clashes;
use crate::container::tables::{extend, push};
use crate::error::{try_format, Result};
use crate::memory::{bytes_of, Budget};
use crate::model::sort::sort;
use crate::model::text::Position;
use crate::model::value::{Element, Tape, ValueBuilder};

/// Values and their paths, before they become a map. Two may have one path: then the second key gets a mark.
pub struct Attributes<'b> {
    budget: &'b Budget,
    paths: Vec<u8>,
    /// Where the path of each ends, and the value.
    values: Vec<(usize, Value)>,
}

impl<'b> Attributes<'b> {
    /// None yet.
    pub fn new(budget: &'b Budget) -> Attributes<'b> {
        Attributes { budget, paths: Vec::new(), values: Vec::new() }
    }

    /// A plain value, a list or tuple of them, or one of a foreign class.
    pub fn add(&mut self, path: &[u8], value: Value) -> Result<()> {
        extend(self.budget, &mut self.paths, path)?;
        push(self.budget, &mut self.values, (self.paths.len(), value))
    }

    fn path(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.values.get(at).map_or(0, |(end, _)| *end);
        let start = at.checked_sub(1).map_or(0, end);
        self.paths.get(start..end(at)).unwrap_or_default()
    }

    /// The map, at the end of `tape`; none if it is empty.
    pub fn write(self, heap: &Heap<'_>, tape: &mut Tape) -> Result<Option<Position>> {
        let budget = self.budget;
        let held =
            (self.paths.capacity() as u64).saturating_add(bytes_of::<(usize, Value)>(self.values.capacity()));
        if self.values.is_empty() {
            return Ok(None);
        }
        let mut marks = clashes::find(self.values.len(), &|at| self.path(at), budget)?;
        let marks_held = bytes_of::<(usize, u32)>(marks.capacity());
        sort(&mut marks);
        let mut marks = marks.into_iter().peekable();
        let mut to = ValueBuilder::new(tape).within(Some(budget));
        to.begin_map(None)?;
        let mut writer = Writer { to, budget, scratch: Vec::new() };
        for (at, (_, value)) in self.values.iter().enumerate() {
            match marks.next_if(|(marked, _)| *marked == at) {
                None => writer.to.text_or_bytes(self.path(at))?,
                Some((_, number)) => {
                    writer.scratch.clear();
                    extend(budget, &mut writer.scratch, self.path(at))?;
                    extend(budget, &mut writer.scratch, clashes::mark(number)?.as_bytes())?;
                    writer.to.text_or_bytes(&writer.scratch)?;
                }
            }
            writer.value(heap, *value)?;
        }
        writer.to.end()?;
        budget.give_back(held.saturating_add(marks_held).saturating_add(writer.scratch.capacity() as u64));
        writer.to.finish().map(Some)
    }
}

/// Writes values to a tape.
struct Writer<'t> {
    to: ValueBuilder<'t>,
    budget: &'t Budget,
    scratch: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, heap: &Heap<'_>, value: Value) -> Result<()> {
        if let Value::Foreign(_) | Value::Items(Kind::Foreign, _) = value {
            let (module, name) = heap.foreign_name(value).unwrap_or((b"torch", b"unknown"));
            let shown = try_format(format_args!("<{}.{}>", Bare(module), Bare(name)))?;
            return self.to.text(&shown);
        }
        let Value::Items(_, id) = value else { return self.scalar(heap, value) };
        self.to.begin_array(Element::Any, Some(heap.count(id).into()))?;
        heap.items(id).try_for_each(|item| self.scalar(heap, item))?;
        self.to.end().map(drop)
    }

    fn scalar(&mut self, heap: &Heap<'_>, value: Value) -> Result<()> {
        match value {
            Value::Bool(truth) => self.to.boolean(truth),
            Value::Int(number) => self.to.integer(number),
            Value::BigInt(span) => self.big_integer(heap, span),
            Value::Float(number) => self.to.float(number),
            Value::Text(span) => self.to.text_or_bytes(heap.bytes(span)),
            Value::Bytes(span) => self.to.bytes(heap.bytes(span)),
            Value::Latin1(span) => {
                self.scratch.clear();
                let other = || wrong(format_args!("a text that is encoded as latin1 has other characters"));
                let text = std::str::from_utf8(heap.bytes(span)).map_err(|_| other())?;
                for character in text.chars() {
                    let byte = u8::try_from(u32::from(character)).map_err(|_| other())?;
                    push(self.budget, &mut self.scratch, byte)?;
                }
                self.to.bytes(&self.scratch)
            }
            Value::Global(Global::Dtype(element)) => {
                self.scratch.clear();
                extend(self.budget, &mut self.scratch, b"torch.")?;
                extend(self.budget, &mut self.scratch, element.name().as_bytes())?;
                self.to.text_or_bytes(&self.scratch)
            }
            _ => self.to.null(),
        }
    }

    /// Adds an integer that an `i64` does not hold. One of more than 64 bits becomes a bignum of CBOR: the
    /// bytes of n, or of -1 - n if n is negative.
    fn big_integer(&mut self, heap: &Heap<'_>, span: Span) -> Result<()> {
        let bytes = heap.bytes(span);
        let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
        let flip = if is_negative { 0xff } else { 0 };
        self.scratch.clear();
        let mut magnitude = bytes.iter().rev().map(|byte| byte ^ flip).skip_while(|byte| *byte == 0);
        magnitude.try_for_each(|byte| push(self.budget, &mut self.scratch, byte))?;
        if self.scratch.len() <= 8 {
            let number = self.scratch.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            return if is_negative { self.to.negative(number) } else { self.to.unsigned(number) };
        }
        self.to.begin_tag(if is_negative { 3 } else { 2 })?;
        self.to.bytes(&self.scratch)?;
        self.to.end().map(drop)
    }
}
