//! Whole items: made into values, or stepped over.

use super::cursor::{Cursor, Head, FALSE, NULL, TRUE};
use super::open_item::{OpenItem, Step};
use crate::error::Result;
use crate::memory::bytes_of;
use crate::model::value::{Value, MAX_DEPTH};

impl Cursor<'_> {
    /// The next item whole. It is checked to be well-formed, valid UTF-8, at most `MAX_DEPTH`
    /// deep, and without duplicate keys.
    pub fn value(&mut self) -> Result<Value> {
        self.counted_value().map(|(value, _)| value)
    }

    /// The same, and the bytes of memory that were charged for it.
    fn counted_value(&mut self) -> Result<(Value, u64)> {
        let mut need = self.measure()?;
        let counts = std::mem::take(&mut need.counts);
        let passing = need.passing.saturating_add(bytes_of::<u32>(counts.capacity()));
        self.charge(need.held.saturating_add(need.passing), "attributes")?;
        let value = self.made(&counts)?;
        drop(counts);
        self.give_back(passing);
        Ok((value, need.held))
    }

    /// The next item, which was found to be well-formed and to have containers with `counts` items.
    fn made(&mut self, counts: &[u32]) -> Result<Value> {
        let mut counts = counts.iter().copied();
        let mut open: Vec<OpenItem> = Vec::new();
        loop {
            let head = self.head()?;
            let mut complete = match head {
                Head::Unsigned(v) => Value::Unsigned(v),
                Head::Negative(v) => Value::Negative(v),
                Head::Float(v) => Value::Float(v),
                Head::Simple(FALSE) => Value::Bool(false),
                Head::Simple(TRUE) => Value::Bool(true),
                Head::Simple(NULL) => Value::Null,
                Head::Simple(v) => Value::Simple(v),
                Head::Text(length) => Value::text(&self.text_body(length)?)?,
                Head::Bytes(length) => self.bytes_body(length)?,
                Head::Array(_) | Head::Map(_) | Head::Tag(_) => {
                    if open.len() > MAX_DEPTH {
                        return Err(self.too_deep());
                    }
                    match OpenItem::open(head, &mut counts, self)? {
                        Step::Finished(value) => value,
                        Step::Open(item) => {
                            open.try_reserve(1)?;
                            open.push(item);
                            continue;
                        }
                    }
                }
                Head::Break => match open.pop() {
                    Some(item) => item.at_break(self)?,
                    None => return Err(self.malformed("a break outside of an indefinite length")),
                },
            };
            // Hand the finished value to the container around it, as long as that finishes too.
            loop {
                let Some(item) = open.pop() else { return Ok(complete) };
                match item.put(complete, self)? {
                    Step::Finished(value) => complete = value,
                    Step::Open(item) => {
                        open.push(item); // in the place that it was popped from
                        break;
                    }
                }
            }
        }
    }

    /// Steps over the next item; checks the same as [`Cursor::value`].
    pub fn skip(&mut self) -> Result<()> {
        match self.peek()? {
            Head::Array(_) | Head::Map(_) | Head::Tag(_) | Head::Bytes(None) => {
                let (value, held) = self.counted_value()?;
                drop(value);
                self.give_back(held);
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

    /// Steps over the next item, which is found to be well-formed; texts and keys are not looked at.
    pub fn pass_over(&mut self) -> Result<()> {
        let need = self.pass()?;
        self.give_back(bytes_of::<u32>(need.counts.capacity()));
        Ok(())
    }
}
