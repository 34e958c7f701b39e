//! Whole items that are stepped over by their heads.

use super::cursor::{Cursor, Head};
use crate::error::Result;
use crate::model::value::MAX_DEPTH;

/// A container whose items are still to come.
#[derive(Clone, Copy, Default)]
struct Open {
    /// How many; none until a break.
    left: Option<u64>,
    /// Whether it is a map that has a key without its value.
    is_at_value: bool,
    is_map: bool,
}

impl Cursor<'_> {
    /// Steps over the next item, which is found to be well-formed; texts and keys are not looked at.
    pub fn skip_well_formed(&mut self) -> Result<()> {
        // Most are short, and then need none of the places below, which are cleared first.
        if self.try_text().is_some() {
            return Ok(());
        }
        let mut open = [Open::default(); MAX_DEPTH + 1];
        let mut depth = 0usize;
        loop {
            let head = self.head()?;
            let container = match head {
                Head::Array(left) => Some(Open { left, ..Open::default() }),
                Head::Map(left) => {
                    let left = left.map(|pairs| pairs.saturating_mul(2));
                    Some(Open { left, is_map: true, ..Open::default() })
                }
                Head::Tag(_) => Some(Open { left: Some(1), ..Open::default() }),
                _ => None,
            };
            if let Some(container) = container {
                let Some(place) = open.get_mut(depth) else { return Err(self.too_deep()) };
                *place = container;
                if container.left != Some(0) {
                    depth = depth.saturating_add(1);
                    continue;
                }
            }
            match head {
                Head::Text(Some(size)) | Head::Bytes(Some(size)) => drop(self.take(size)?),
                Head::Text(None) | Head::Bytes(None) => self.skip_chunks(head)?,
                Head::Break => {
                    let ended = depth.checked_sub(1).and_then(|at| open.get(at));
                    let Some(ended) = ended else {
                        return Err(self.malformed("a break outside of an indefinite length"));
                    };
                    if ended.left.is_some() {
                        return Err(self.malformed("a break within an item of definite length"));
                    }
                    if ended.is_at_value {
                        return Err(self.malformed("a map ends after a key without its value"));
                    }
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            // The item counts for the array or map around it, which may be complete by that.
            loop {
                let Some(around) = depth.checked_sub(1) else { return Ok(()) };
                let Some(place) = open.get_mut(around) else { return Err(self.too_deep()) };
                place.is_at_value = place.is_map && !place.is_at_value;
                place.left = place.left.map(|n| n.saturating_sub(1));
                if place.left != Some(0) {
                    break;
                }
                depth = around;
            }
        }
    }

    /// The chunks of a text or a byte string of indefinite length.
    fn skip_chunks(&mut self, string: Head) -> Result<()> {
        loop {
            let chunk = match (self.head()?, string) {
                (Head::Break, _) => return Ok(()),
                (Head::Text(Some(length)), Head::Text(_)) => length,
                (Head::Bytes(Some(length)), Head::Bytes(_)) => length,
                (_, Head::Text(_)) => {
                    return Err(self.malformed("a chunk of a text string is not a definite text string"))
                }
                _ => return Err(self.malformed("a chunk of a byte string is not a definite byte string")),
            };
            self.take(chunk)?;
        }
    }
}
