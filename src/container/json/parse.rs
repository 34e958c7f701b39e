//! Parses JSON text to a value. The depth is limited, and allocations may fail without aborting.

use super::scan::Scan;
use super::write::UNDEFINED;
use crate::error::{Error, Result};
use crate::memory::{with_capacity, Budget};
use crate::model::value::{
    keys_are_unique, Array, Element, OwnedValue, Value, ValueBuilder, ValueKind, MAX_DEPTH,
};

/// Parses JSON text, including the forms that [`super::write`] writes.
pub fn parse(text: &str) -> Result<OwnedValue> {
    let budget = Budget::new(u64::MAX); // no limit, because the text is the caller's
    let mut parser = Parser { scan: Scan::new(text.as_bytes(), "", &budget)?, depth: 0 };
    let value = OwnedValue::build(|to| parser.value(to))?;
    parser.scan.end()?;
    Ok(value)
}

struct Parser<'a> {
    scan: Scan<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    #[cold]
    #[inline(never)]
    fn wrong(&self, what: &str) -> Error {
        self.scan.wrong(what)
    }

    // Like all that the recursion calls, so that each level takes little of the caller's stack.
    #[inline(never)]
    fn take(&mut self, byte: u8) -> bool {
        self.scan.take(byte)
    }

    fn value(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        let bracket = match self.next() {
            Some(bracket @ (b'{' | b'[')) => bracket,
            _ => return self.scalar(to),
        };
        if self.depth >= MAX_DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        self.depth = self.depth.saturating_add(1);
        self.take(bracket);
        match bracket {
            b'{' => self.object(to)?,
            _ => self.list(to)?,
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    #[inline(never)]
    fn next(&mut self) -> Option<u8> {
        self.scan.next_byte()
    }

    #[inline(never)]
    fn scalar(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        if self.next() == Some(b'"') {
            return to.text(self.string(&mut Vec::new())?);
        }
        match self.scan.scalar()? {
            b"null" => to.null(),
            b"true" => to.boolean(true),
            b"false" => to.boolean(false),
            digits => match parse_number(digits).ok_or_else(|| self.wrong("not a number that fits"))? {
                Number::Unsigned(v) => to.unsigned(v),
                Number::Negative(n) => to.negative(n),
                Number::Float(v) => to.float(v),
            },
        }
    }

    #[inline(never)]
    fn another(&mut self, is_first: bool, end: u8) -> Result<bool> {
        self.scan.another(is_first, end)
    }

    /// The rest of an array, behind its bracket.
    #[inline(never)]
    fn list(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        to.begin_array(Element::Any, None)?;
        let mut is_first = true;
        while self.another(is_first, b']')? {
            self.value(to)?;
            is_first = false;
        }
        to.end().map(drop)
    }

    #[inline(never)]
    fn key<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<&'s str>
    where
        'a: 's,
    {
        let key = self.string(scratch)?;
        self.scan.expect(b':', "expected \":\"").map(|()| key)
    }

    /// The rest of an object, behind its bracket.
    #[inline(never)]
    fn object(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        if self.take(b'}') {
            to.begin_map(Some(0))?;
            return to.end().map(drop);
        }
        let mut scratch = Vec::new();
        let key = self.key(&mut scratch)?;
        if key.starts_with('$') {
            return self.special(key, to);
        }
        to.begin_map(None)?;
        to.text(key)?;
        drop(scratch);
        self.pairs(to)
    }

    /// The rest of an object, from the value of its first key on.
    fn pairs(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        loop {
            self.value(to)?;
            if self.end_or_key(to)? {
                return Ok(());
            }
        }
    }

    /// After a value of an object: reads its end or the next key.
    #[inline(never)]
    fn end_or_key(&mut self, to: &mut ValueBuilder<'_>) -> Result<bool> {
        if self.another(false, b'}')? {
            to.text(self.key(&mut Vec::new())?)?;
            return Ok(false);
        }
        match keys_are_unique(to.end()?.pairs())? {
            true => Ok(true),
            false => Err(self.wrong("the object before has a key twice")),
        }
    }

    /// An object whose first key begins with `$`. If it has no other key, it is one of the forms for what
    /// JSON lacks.
    #[inline(never)]
    fn special(&mut self, key: &str, to: &mut ValueBuilder<'_>) -> Result<()> {
        let value = OwnedValue::build(|inner| self.value(inner))?;
        if self.take(b'}') {
            return self.put_special(key, value.get(), to);
        }
        to.begin_map(None)?;
        to.text(key)?;
        to.copy(value.get())?;
        drop(value);
        match self.end_or_key(to)? {
            true => Ok(()),
            false => self.pairs(to),
        }
    }

    fn put_special(&self, key: &str, value: Value<'_>, to: &mut ValueBuilder<'_>) -> Result<()> {
        let wrong = || Err(self.wrong("a \"$\" key without the value that it takes"));
        match (key, value.kind()) {
            ("$bytes", ValueKind::Text(hex)) => match from_hex(hex.as_str())? {
                Some(bytes) => to.bytes(&bytes),
                None => wrong(),
            },
            ("$float", ValueKind::Text(name)) => match name.as_str() {
                "nan" => to.float(f64::NAN),
                "inf" => to.float(f64::INFINITY),
                "-inf" => to.float(f64::NEG_INFINITY),
                _ => wrong(),
            },
            ("$undefined", ValueKind::Bool(true)) => to.simple(UNDEFINED),
            ("$simple", ValueKind::Unsigned(v)) => match u8::try_from(v) {
                Ok(v) if !(20..32).contains(&v) => to.simple(v),
                _ => wrong(),
            },
            ("$tag", ValueKind::Array(parts)) => match (pair(parts), parts.get(0).and_then(Value::as_u64)) {
                (Some((_, inner)), Some(tag)) => {
                    to.begin_tag(tag)?;
                    to.copy(inner)?;
                    to.end().map(drop)
                }
                _ => wrong(),
            },
            ("$map", ValueKind::Array(items)) => self.map_of_pairs(items, to),
            _ => wrong(),
        }
    }

    fn map_of_pairs(&self, items: Array<'_>, to: &mut ValueBuilder<'_>) -> Result<()> {
        to.begin_map(Some(items.len() as u64))?;
        for item in items.iter() {
            let ValueKind::Array(parts) = item.kind() else {
                return Err(self.wrong("a pair of \"$map\" is not an array"));
            };
            let Some((key, value)) = pair(parts) else {
                return Err(self.wrong("a pair of \"$map\" is not two values"));
            };
            to.copy(key).and_then(|()| to.copy(value))?;
        }
        match keys_are_unique(to.end()?.pairs())? {
            true => Ok(()),
            false => Err(self.wrong("the \"$map\" before has a key twice")),
        }
    }

    fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<&'s str>
    where
        'a: 's,
    {
        // It is valid, because the whole text is.
        Ok(std::str::from_utf8(self.scan.string(scratch)?).unwrap_or_default())
    }
}

/// The two values of a pair.
fn pair(parts: Array<'_>) -> Option<(Value<'_>, Value<'_>)> {
    Some((parts.get(0)?, parts.get(1)?)).filter(|_| parts.len() == 2)
}

enum Number {
    Unsigned(u64),
    Negative(u64),
    Float(f64),
}

/// An integer from -2^64 to 2^64-1, or a float if there is a fraction or exponent. `None` if it does not fit.
fn parse_number(digits: &[u8]) -> Option<Number> {
    let digits = std::str::from_utf8(digits).ok()?;
    if digits.contains(['.', 'e', 'E']) {
        return digits.parse().ok().filter(|v: &f64| v.is_finite()).map(Number::Float);
    }
    let value: i128 = digits.parse().ok()?;
    match u64::try_from(value) {
        Ok(v) => Some(Number::Unsigned(v)),
        Err(_) => u64::try_from(!value).ok().map(Number::Negative),
    }
}

fn from_hex(text: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = with_capacity(text.len() / 2)?;
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    for pair in text.as_bytes().chunks(2) {
        match pair {
            [high, low] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => bytes.push(high << 4 | low),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(Some(bytes))
}
