//! How much memory a value will take, found out before any of it is asked for.

use super::cursor::{Cursor, Head};
use crate::error::{broken, Result, Rule};
use crate::memory::{block, bytes_of, Budget};
use crate::model::value::{Value, MAX_DEPTH};

/// What making a value takes.
#[derive(Default)]
pub(super) struct Need {
    /// Bytes of memory that the value has, with what the allocator adds.
    pub held: u64,
    /// Bytes that are given back when it is made.
    pub passing: u64,
    /// Items of each array and pairs of each map of indefinite length, in the order in which they begin.
    pub counts: Vec<u32>,
}

/// A container whose items are still being counted.
#[derive(Clone, Copy, Default)]
struct Open {
    /// How many items are still to come; none until a break.
    left: Option<u64>,
    items: u64,
    kind: Kind,
    /// Where its count goes, if it is of indefinite length.
    slot: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Kind {
    #[default]
    Array,
    Map,
    Tag,
}

impl Need {
    fn keep_size(&mut self, bytes: u64) {
        self.held = self.held.saturating_add(block(bytes));
    }

    /// A container is complete.
    fn close(&mut self, open: &Open) {
        // Pairs are sorted by reference where there are more than a few.
        let pairs = open.items / 2;
        match open.kind {
            Kind::Array => self.keep_size(open.items.saturating_mul(bytes_of::<Value>(1))),
            Kind::Map => self.keep_size(pairs.saturating_mul(bytes_of::<(Value, Value)>(1))),
            Kind::Tag => self.keep_size(bytes_of::<Value>(1)),
        }
        if open.kind == Kind::Map {
            self.passing = self.passing.max(block(pairs.saturating_mul(bytes_of::<&Value>(1))));
        }
        if open.left.is_none() {
            let count = if open.kind == Kind::Map { pairs } else { open.items };
            if let Some(slot) = self.counts.get_mut(open.slot) {
                *slot = u32::try_from(count).unwrap_or(u32::MAX);
            }
        }
    }
}

impl Cursor<'_> {
    /// What making the next item takes. It is found to be well-formed and at most `MAX_DEPTH` deep.
    pub(super) fn measure(&self) -> Result<Need> {
        let mut ahead = self.clone();
        ahead.pass()
    }

    /// Steps over the next item; neither its texts nor the keys of its maps are looked at.
    pub(super) fn pass(&mut self) -> Result<Need> {
        const FEW: usize = 4; // of which nearly all values have less; places for all levels take time to clear
        let held = self.budget.map_or(0, Budget::held);
        let mut ahead = self.clone();
        if let Ok(need) = ahead.pass_within::<FEW>() {
            *self = ahead;
            return Ok(need);
        }
        self.give_back(self.budget.map_or(0, Budget::held).saturating_sub(held));
        self.pass_within::<{ MAX_DEPTH + 1 }>()
    }

    /// The same for an item of no more than so many levels.
    fn pass_within<const LEVELS: usize>(&mut self) -> Result<Need> {
        let mut need = Need::default();
        let mut open = [Open::default(); LEVELS];
        let mut depth = 0usize;
        loop {
            let head = self.head()?;
            let container = match head {
                Head::Array(left) => Some((Kind::Array, left)),
                Head::Map(left) => Some((Kind::Map, left.map(|n| n.saturating_mul(2)))),
                Head::Tag(_) => Some((Kind::Tag, Some(1))),
                _ => None,
            };
            if let Some((kind, left)) = container {
                let slot = need.counts.len();
                let Some(place) = open.get_mut(depth) else { return Err(self.too_deep()) };
                *place = Open { left, items: 0, kind, slot };
                depth = depth.saturating_add(1);
                if left.is_none() {
                    self.note_indefinite(&mut need.counts)?;
                }
                if left != Some(0) {
                    continue;
                }
                depth = depth.saturating_sub(1); // it is empty, and so complete
            } else {
                match head {
                    Head::Text(Some(size)) => {
                        self.take(size)?;
                        need.keep_size(size.saturating_add(1)); // with its NUL
                    }
                    Head::Bytes(Some(size)) => {
                        self.take(size)?;
                        need.keep_size(size);
                    }
                    Head::Text(None) => {
                        let size = self.pass_chunks(head)?;
                        need.keep_size(size.saturating_add(1));
                    }
                    Head::Bytes(None) => {
                        let size = self.pass_chunks(head)?;
                        need.keep_size(size);
                    }
                    Head::Break => {
                        depth = match depth.checked_sub(1) {
                            Some(depth) => depth,
                            None => return Err(self.malformed("a break outside of an indefinite length")),
                        };
                        let Some(ended) = open.get(depth) else { return Err(self.too_deep()) };
                        if ended.left.is_some() {
                            return Err(self.malformed("a break within an item of definite length"));
                        }
                        if ended.kind == Kind::Map && ended.items % 2 != 0 {
                            return Err(self.malformed("a map ends after a key without its value"));
                        }
                        need.close(ended);
                    }
                    _ => {}
                }
            }
            // One more item for the container around it, as long as that is complete, too.
            loop {
                let Some(around) = depth.checked_sub(1) else { return Ok(need) };
                let Some(place) = open.get_mut(around) else { return Err(self.too_deep()) };
                place.items = place.items.saturating_add(1);
                place.left = place.left.map(|n| n.saturating_sub(1));
                if place.left != Some(0) {
                    break;
                }
                need.close(place);
                depth = around;
            }
        }
    }

    /// The chunks of a text or a byte string of indefinite length: how many bytes they have.
    fn pass_chunks(&mut self, string: Head) -> Result<u64> {
        let mut size = 0u64;
        loop {
            let chunk = match (self.head()?, string) {
                (Head::Break, _) => return Ok(size),
                (Head::Text(Some(length)), Head::Text(_)) => length,
                (Head::Bytes(Some(length)), Head::Bytes(_)) => length,
                (_, Head::Text(_)) => {
                    return Err(self.malformed("a chunk of a text string is not a definite text string"))
                }
                _ => return Err(self.malformed("a chunk of a byte string is not a definite byte string")),
            };
            self.take(chunk)?;
            size = size.saturating_add(chunk);
        }
    }

    /// A place for one more count.
    fn note_indefinite(&self, counts: &mut Vec<u32>) -> Result<()> {
        if counts.len() == counts.capacity() {
            let (before, more) = (counts.capacity(), counts.len().max(16));
            self.charge(bytes_of::<u32>(before.saturating_add(more)), "attributes")?;
            counts.try_reserve_exact(more)?;
            self.give_back(bytes_of::<u32>(before));
        }
        counts.push(0);
        Ok(())
    }

    #[cold]
    pub(super) fn too_deep(&self) -> crate::error::Error {
        broken!(Rule::CborDepth, "CBOR at offset {} nests deeper than {MAX_DEPTH} levels", self.file_offset())
    }
}
