//! The header of an array: a dictionary as Python writes it, of which nothing is evaluated.

use crate::error::{broken, Error, Result, Rule};

/// How deep brackets may nest; types of fields do.
const MAX_DEPTH: u32 = 64; // as the message says

/// A position in a header.
pub(super) struct Literal<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Literal<'a> {
    pub fn new(bytes: &'a [u8]) -> Literal<'a> {
        Literal { bytes, at: 0 }
    }

    #[cold]
    pub fn wrong(&self, what: &str) -> Error {
        broken!(Rule::NpyHeader, "byte {} of its header: {what}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') = self.peek() {
            self.step();
        }
    }

    /// Passes over a mark, if it comes next.
    pub fn take(&mut self, mark: u8) -> bool {
        self.space();
        let is_there = self.peek() == Some(mark);
        if is_there {
            self.step();
        }
        is_there
    }

    pub fn expect(&mut self, mark: u8, what: &str) -> Result<()> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    /// Nothing is left but white space.
    pub fn end(&mut self) -> Result<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("bytes follow the dictionary")),
        }
    }

    /// A text in quotes, without escapes; none where something else comes next.
    pub fn text(&mut self) -> Result<Option<&'a [u8]>> {
        self.quoted(false)
    }

    fn quoted(&mut self, may_escape: bool) -> Result<Option<&'a [u8]>> {
        self.space();
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Ok(None) };
        self.step();
        let start = self.at;
        loop {
            match self.peek() {
                Some(end) if end == quote => {
                    let text = self.bytes.get(start..self.at);
                    self.step();
                    return Ok(text);
                }
                Some(b'\\') if may_escape => {
                    self.step();
                    self.step();
                }
                None | Some(b'\\' | b'\n' | b'\r' | 0) => {
                    return Err(self.wrong("expected a text without escapes"));
                }
                Some(_) => self.step(),
            }
        }
    }

    /// True or False.
    pub fn boolean(&mut self) -> Result<bool> {
        self.space();
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            let after = rest.strip_prefix(word);
            let follows = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            if after.is_some_and(|after| !after.first().is_some_and(follows)) {
                self.at = self.at.saturating_add(word.len());
                return Ok(value);
            }
        }
        Err(self.wrong("expected True or False"))
    }

    /// A decimal integer from 0 to 2^63 - 1, as shapes have them; Python 2 wrote an L behind some.
    pub fn dimension(&mut self) -> Result<u64> {
        self.space();
        let start = self.at;
        let mut number = Some(0u64);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.and_then(|n| n.checked_mul(10)?.checked_add(u64::from(digit & 15)));
            self.step();
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(digits, [] | [b'0', _, ..]) {
            return Err(self.wrong("expected a dimension: an integer that is not negative"));
        }
        if self.peek() == Some(b'L') {
            self.step();
        }
        let number = number.filter(|n| *n <= i64::MAX as u64);
        let overflow =
            || broken!(Rule::ShapeOverflow, "byte {start} of its header: a dimension above 2^63-1");
        number.ok_or_else(overflow)
    }

    /// A value of texts, integers, lists and tuples: its bytes. Names of fields may have escapes.
    pub fn value(&mut self) -> Result<&'a [u8]> {
        self.space();
        let start = self.at;
        // A bit for each open bracket: 1 for a list's, 0 for a tuple's.
        let (mut lists, mut depth) = (0u64, 0u32);
        loop {
            // A value comes next, or the end of an empty list or tuple.
            self.space();
            match self.peek() {
                Some(open @ (b'(' | b'[')) => {
                    if depth == MAX_DEPTH {
                        return Err(self.wrong("it nests deeper than 64 levels"));
                    }
                    self.step();
                    (lists, depth) = (lists << 1 | u64::from(open == b'['), depth.saturating_add(1));
                    if !matches!(self.after_space(), Some(b')' | b']')) {
                        continue;
                    }
                }
                Some(b'\'' | b'"') => drop(self.quoted(true)?),
                Some(b'0'..=b'9') => drop(self.dimension()?),
                _ => return Err(self.wrong("expected a text, an integer, a list or a tuple")),
            }
            // A value is followed by the ends of the lists and tuples around it, or by a comma.
            loop {
                if depth == 0 {
                    return Ok(self.bytes.get(start..self.at).unwrap_or_default());
                }
                let comma = self.take(b',');
                let end = if lists & 1 == 1 { b']' } else { b')' };
                match self.take(end) {
                    true => (lists, depth) = (lists >> 1, depth.saturating_sub(1)),
                    false if comma => break,
                    false => return Err(self.wrong("expected a comma or the end of the list or tuple")),
                }
            }
        }
    }

    fn after_space(&mut self) -> Option<u8> {
        self.space();
        self.peek()
    }
}
