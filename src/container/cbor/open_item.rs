//! Arrays, maps and tags whose content is still being read: what a recursive reader has on its stack.

use super::cursor::{Cursor, Head};
use crate::error::{broken, Result, Rule};
use crate::model::value::{self, Value};

/// An array, map or tag whose content is still being read.
pub(super) struct OpenItem {
    left: Option<u64>,
    content: Content,
}

enum Content {
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>, Option<Value>),
    Tag(u64),
}

pub(super) enum Step {
    Finished(Value),
    Open(OpenItem),
}

impl OpenItem {
    /// Memory for all items is asked for at once: that they are there was found out before, and how many the next of
    /// `counts` says where the head does not.
    pub(super) fn open(
        head: Head,
        counts: &mut impl Iterator<Item = u32>,
        cursor: &Cursor<'_>,
    ) -> Result<Step> {
        let mut capacity = |left: Option<u64>| {
            let count = left.unwrap_or_else(|| u64::from(counts.next().unwrap_or_default()));
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        match head {
            Head::Array(left) => {
                let mut items = Vec::new();
                items.try_reserve_exact(capacity(left))?;
                OpenItem { left, content: Content::Array(items) }.unless_full(cursor)
            }
            Head::Map(left) => {
                let mut pairs = Vec::new();
                pairs.try_reserve_exact(capacity(left))?;
                OpenItem { left, content: Content::Map(pairs, None) }.unless_full(cursor)
            }
            Head::Tag(tag) => Ok(Step::Open(OpenItem { left: Some(1), content: Content::Tag(tag) })),
            _ => Err(cursor.malformed("not a container")),
        }
    }

    pub(super) fn put(mut self, value: Value, cursor: &Cursor<'_>) -> Result<Step> {
        match &mut self.content {
            Content::Tag(tag) => return Ok(Step::Finished(Value::tagged(*tag, value)?)),
            Content::Array(items) => {
                items.try_reserve(1)?;
                items.push(value);
            }
            Content::Map(pairs, key) => match key.take() {
                Some(key) => {
                    pairs.try_reserve(1)?;
                    pairs.push((key, value));
                }
                None => {
                    *key = Some(value);
                    return Ok(Step::Open(self)); // half a pair
                }
            },
        }
        self.left = self.left.map(|n| n.saturating_sub(1));
        self.unless_full(cursor)
    }

    fn unless_full(self, cursor: &Cursor<'_>) -> Result<Step> {
        match self.left {
            Some(0) => self.close(cursor).map(Step::Finished),
            _ => Ok(Step::Open(self)),
        }
    }

    pub(super) fn at_break(self, cursor: &Cursor<'_>) -> Result<Value> {
        match self.left {
            None => self.close(cursor),
            Some(_) => Err(cursor.malformed("a break within an item of definite length")),
        }
    }

    fn close(self, cursor: &Cursor<'_>) -> Result<Value> {
        match self.content {
            Content::Array(items) => Ok(Value::Array(items)),
            Content::Map(_, Some(_)) => Err(cursor.malformed("a map ends after a key without its value")),
            Content::Map(pairs, None) => {
                if value::keys_are_unique(&pairs)? {
                    return Ok(Value::Map(pairs));
                }
                let end = cursor.file_offset();
                Err(broken!(Rule::CborDuplicateKey, "the map that ends at offset {end} has a key twice"))
            }
            Content::Tag(_) => Err(cursor.malformed("a tag without its item")),
        }
    }
}
