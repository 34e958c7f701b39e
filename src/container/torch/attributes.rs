//! Plain values of a checkpoint as attributes of the file.

use super::globals::Global;
use super::values::{wrong, Heap, Span, Value};
use crate::container::tables::{extend, push};
use crate::error::{broken, fail, Result, Rule};
use crate::memory::Budget;
use crate::model::text::Position;
use crate::model::value::{bytes_to_compare, keys_are_unique, Element, Kind, Tape, ValueBuilder};

/// A map that grows by a key and a value each.
pub struct Attributes<'t> {
    to: ValueBuilder<'t>,
    budget: &'t Budget,
    is_empty: bool,
    scratch: Vec<u8>,
}

impl<'t> Attributes<'t> {
    /// At the end of `tape`.
    pub fn new(tape: &'t mut Tape, budget: &'t Budget) -> Result<Attributes<'t>> {
        let mut to = ValueBuilder::new(tape).within(Some(budget));
        to.begin_map(None)?;
        Ok(Attributes { to, budget, is_empty: true, scratch: Vec::new() })
    }

    /// A plain value, or a list or tuple of them.
    pub fn add(&mut self, heap: &Heap<'_>, path: &[u8], value: Value) -> Result<()> {
        self.is_empty = false;
        self.to.text_or_bytes(path)?;
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
                let text = std::str::from_utf8(heap.bytes(span)).unwrap_or_default();
                for character in text.chars() {
                    let byte = u8::try_from(u32::from(character)).map_err(|_| {
                        wrong(format_args!("a text that is encoded as latin1 has other characters"))
                    })?;
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

    /// Adds an integer that an `i64` does not hold. One of more than 64 bits becomes a bignum of CBOR: the bytes of n, or
    /// of -1 - n if n is negative.
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

    /// Ends the map, whose keys have to differ. Returns its position, or none if it is empty.
    pub fn finish(mut self) -> Result<Option<Position>> {
        let Kind::Map(map) = self.to.end()?.kind() else {
            return Err(fail!(Internal, "a map is no map"));
        };
        let temporary = bytes_to_compare(map.len());
        self.budget.charge(temporary, "keys that are compared")?;
        if !keys_are_unique(map.iter())? {
            return Err(broken!(Rule::NameDuplicate, "two of its plain values have one key path"));
        }
        self.budget.give_back(temporary.saturating_add(self.scratch.capacity() as u64));
        match self.is_empty {
            true => Ok(None),
            false => self.to.finish().map(Some),
        }
    }
}
