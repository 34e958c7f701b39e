//! Tells whether some bytes of a file are one CBOR map, without decoding it: it looks at the heads of items
//! only, and stops reading at the first one that shows that they are not.

use crate::error::Result;
use crate::memory::zeroed;
use crate::source::ByteSource;
use std::ops::Range;

/// Bytes that may still be read. The file's content decides how much there is to read, so it is counted.
pub(super) struct ByteBudget(pub u64);

impl ByteBudget {
    /// Takes `bytes` from the budget; false if they are more than is left.
    pub fn spend(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// The deepest nesting of arrays and maps; attributes may have 64 levels.
const MAX_DEPTH: usize = 128;

/// Whether `range` is exactly one well-formed map; none if the budget ran out.
pub(super) fn is_one_map(
    source: &dyn ByteSource,
    range: Range<u64>,
    budget: &mut ByteBudget,
) -> Result<Option<bool>> {
    let mut heads =
        Heads { source, position: range.start, end: range.end, window: Vec::new(), window_start: 0, budget };
    let mut open: Vec<Option<u64>> = Vec::new(); // items left in each open array or map; none: until a break
    open.try_reserve_exact(MAX_DEPTH)?;
    loop {
        let head = match heads.next()? {
            Next::Head(head) => head,
            Next::Malformed => return Ok(Some(false)),
            Next::OverBudget => return Ok(None),
        };
        if open.is_empty() && head.major != MAP {
            return Ok(Some(false));
        }
        let items = match (head.major, head.argument) {
            (BYTES | TEXT, Some(length)) => {
                if !heads.skip(length) {
                    return Ok(Some(false));
                }
                Some(0)
            }
            (MAP, Some(pairs)) => Some(pairs.saturating_mul(2)),
            (ARRAY, count) => count,
            (BYTES | TEXT | MAP, None) => None,
            (TAG, Some(_)) => continue, // the tagged item follows
            (SIMPLE, None) => match open.pop() {
                Some(None) => Some(0), // a break ends an array or a map, which is an item of the outer one
                _ => return Ok(Some(false)),
            },
            (_, Some(_)) => Some(0),
            (_, None) => return Ok(Some(false)),
        };
        if items != Some(0) {
            if open.len() == MAX_DEPTH {
                return Ok(Some(false));
            }
            open.push(items); // within what was reserved
            continue;
        }
        // An item is complete, and perhaps the arrays and maps that end with it.
        while let Some(Some(left)) = open.last_mut() {
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return Ok(Some(heads.position == heads.end));
        }
    }
}

const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

struct Head {
    major: u8,
    /// None for an indefinite length, or the break that ends one.
    argument: Option<u64>,
}

enum Next {
    Head(Head),
    Malformed,
    OverBudget,
}

/// Heads, read through a window that grows from little: most of what looks like a map is none.
struct Heads<'a> {
    source: &'a dyn ByteSource,
    position: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
    budget: &'a mut ByteBudget,
}

impl Heads<'_> {
    const FIRST_READ: usize = 256;
    const MAX_READ: usize = 64 << 10;

    fn skip(&mut self, length: u64) -> bool {
        match self.position.checked_add(length).filter(|to| *to <= self.end) {
            Some(to) => {
                self.position = to;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Result<Next> {
        /// The largest head, in bytes.
        const MAX_HEAD_SIZE: u64 = 9;
        let left = self.end.saturating_sub(self.position);
        let in_window = self.position.checked_sub(self.window_start);
        let in_window = in_window.and_then(|from| self.window.get(usize::try_from(from).ok()?..));
        if in_window.is_none_or(|w| (w.len() as u64) < left.min(MAX_HEAD_SIZE)) {
            let size = self.window.len().saturating_mul(4).clamp(Self::FIRST_READ, Self::MAX_READ);
            let size = usize::try_from(left).unwrap_or(size).min(size);
            if !self.budget.spend(Self::FIRST_READ.max(size) as u64) {
                return Ok(Next::OverBudget);
            }
            if self.window.len() != size {
                self.window = zeroed(size)?;
            }
            self.source.read_at(self.position, &mut self.window)?;
            self.window_start = self.position;
        }
        let from = usize::try_from(self.position.saturating_sub(self.window_start)).unwrap_or(usize::MAX);
        let Some((first, rest)) = self.window.get(from..).and_then(<[u8]>::split_first) else {
            return Ok(Next::Malformed);
        };
        let (major, info) = (first >> 5, first & 31);
        let size = match info {
            0..=23 => 0,
            24..=27 => 1_usize << (info & 3),
            31 => {
                self.position = self.position.saturating_add(1);
                return Ok(Next::Head(Head { major, argument: None }));
            }
            _ => return Ok(Next::Malformed),
        };
        let Some(bytes) = rest.get(..size).filter(|_| left > size as u64) else { return Ok(Next::Malformed) };
        let argument = match size {
            0 => u64::from(info),
            _ => bytes.iter().fold(0, |value, b| value << 8 | u64::from(*b)),
        };
        self.position = self.position.saturating_add(1).saturating_add(size as u64);
        Ok(Next::Head(Head { major, argument: Some(argument) }))
    }
}
