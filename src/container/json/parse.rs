//! JSON text to a value: bounded in depth, fallible in memory.

use super::write::UNDEFINED;
use crate::error::{fail, Result};
use crate::model::value::{
    keys_are_unique, Array, Element, Kind, OwnedValue, Value, ValueBuilder, MAX_DEPTH,
};

/// The value of JSON text, with the forms of [`super::write`] understood.
pub fn parse(text: &str) -> Result<OwnedValue> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = OwnedValue::build(|to| parser.value(to))?;
    parser.space();
    match parser.at == text.len() {
        true => Ok(value),
        false => Err(parser.wrong("text follows the value")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    #[cold]
    #[inline(never)]
    fn wrong(&self, what: &str) -> crate::error::Error {
        fail!(InvalidArgument, "JSON, byte {}: {what}", self.at)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        let skipped = rest.len().saturating_sub(rest.trim_start_matches([' ', '\t', '\n', '\r']).len());
        self.at = self.at.saturating_add(skipped);
    }

    #[inline(never)] // like all that the recursion calls, so that each level takes little of the caller's stack
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at = self.at.saturating_add(token.len());
        }
        is_next
    }

    fn value(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match self.next() {
            Some(b'{') => self.object(to),
            Some(b'[') => self.list(to),
            _ => self.scalar(to),
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<u8> {
        self.space();
        self.rest().as_bytes().first().copied()
    }

    #[inline(never)]
    fn scalar(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match self.next() {
            Some(b'"') => to.text(&self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number(to),
            _ if self.take("null") => to.null(),
            _ if self.take("true") => to.boolean(true),
            _ if self.take("false") => to.boolean(false),
            _ => Err(self.wrong("expected a value")),
        }
    }

    /// Begins an object or array, one level down; [`Parser::leave`] ends it.
    fn enter(&mut self, token: &str) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        self.depth = self.depth.saturating_add(1);
        self.take(token);
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline(never)]
    fn list(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        self.enter("[")?;
        to.begin_array(Element::Any, None)?;
        if self.take("]") {
            self.leave();
            return to.end().map(drop);
        }
        loop {
            self.value(to)?;
            if self.take("]") {
                self.leave();
                return to.end().map(drop);
            }
            if !self.take(",") {
                return Err(self.wrong("expected \",\" or \"]\""));
            }
        }
    }

    #[inline(never)]
    fn key(&mut self) -> Result<String> {
        self.space();
        let key = self.string()?;
        match self.take(":") {
            true => Ok(key),
            false => Err(self.wrong("expected \":\"")),
        }
    }

    #[inline(never)]
    fn object(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        self.enter("{")?;
        if self.take("}") {
            self.leave();
            to.begin_map(Some(0))?;
            return to.end().map(drop);
        }
        let key = self.key()?;
        if key.starts_with('$') {
            return self.special(&key, to);
        }
        to.begin_map(None)?;
        to.text(&key)?;
        drop(key);
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

    /// What follows a value of an object: its end, or another key.
    #[inline(never)]
    fn end_or_key(&mut self, to: &mut ValueBuilder<'_>) -> Result<bool> {
        if self.take("}") {
            self.leave();
            let map = to.end()?;
            return match keys_are_unique(map.pairs())? {
                true => Ok(true),
                false => Err(self.wrong("the object before has a key twice")),
            };
        }
        if !self.take(",") {
            return Err(self.wrong("expected \",\" or \"}\""));
        }
        to.text(&self.key()?)?;
        Ok(false)
    }

    /// An object whose first key begins with `$`: one of the forms for what JSON lacks if it has no other
    /// key.
    #[inline(never)]
    fn special(&mut self, key: &str, to: &mut ValueBuilder<'_>) -> Result<()> {
        let value = OwnedValue::build(|inner| self.value(inner))?;
        if self.take("}") {
            self.leave();
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
            ("$bytes", Kind::Text(hex)) => match from_hex(hex.as_str())? {
                Some(bytes) => to.bytes(&bytes),
                None => wrong(),
            },
            ("$float", Kind::Text(name)) => match name.as_str() {
                "nan" => to.float(f64::NAN),
                "inf" => to.float(f64::INFINITY),
                "-inf" => to.float(f64::NEG_INFINITY),
                _ => wrong(),
            },
            ("$undefined", Kind::Bool(true)) => to.simple(UNDEFINED),
            ("$simple", Kind::Unsigned(v)) => match u8::try_from(v) {
                Ok(v) if !(20..32).contains(&v) => to.simple(v),
                _ => wrong(),
            },
            ("$tag", Kind::Array(parts)) => match (pair(parts), parts.get(0).and_then(Value::as_u64)) {
                (Some((_, inner)), Some(tag)) => {
                    to.begin_tag(tag)?;
                    to.copy(inner)?;
                    to.end().map(drop)
                }
                _ => wrong(),
            },
            ("$map", Kind::Array(items)) => self.map_of_pairs(items, to),
            _ => wrong(),
        }
    }

    fn map_of_pairs(&self, items: Array<'_>, to: &mut ValueBuilder<'_>) -> Result<()> {
        to.begin_map(Some(items.len() as u64))?;
        for item in items.iter() {
            let Kind::Array(parts) = item.kind() else {
                return Err(self.wrong("a pair of \"$map\" is no array"));
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

    fn number(&mut self, to: &mut ValueBuilder<'_>) -> Result<()> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let digits = rest.get(..end).unwrap_or_default();
        let parsed = parse_number(digits);
        self.at = self.at.saturating_add(end);
        match parsed.ok_or_else(|| self.wrong("not a number that fits"))? {
            Number::Unsigned(v) => to.unsigned(v),
            Number::Negative(n) => to.negative(n),
            Number::Float(v) => to.float(v),
        }
    }

    fn string(&mut self) -> Result<String> {
        if !self.take("\"") {
            return Err(self.wrong("expected a string"));
        }
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\']).ok_or_else(|| self.wrong("the string does not end"))?;
            let (text, tail) = rest.split_at_checked(plain).unwrap_or_default();
            if text.bytes().any(|b| b < 0x20) {
                return Err(self.wrong("a control character within a string"));
            }
            out.try_reserve(text.len().saturating_add(4))?;
            out.push_str(text);
            let escaped = tail.starts_with('\\');
            self.at = self.at.saturating_add(plain).saturating_add(1);
            if !escaped {
                return Ok(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char> {
        let letter = self.rest().chars().next().ok_or_else(|| self.wrong("the string does not end"))?;
        self.at = self.at.saturating_add(letter.len_utf8());
        Ok(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' | '/' => letter,
            'u' => return self.unicode(),
            _ => return Err(self.wrong("an unknown escape")),
        })
    }

    fn unicode(&mut self) -> Result<char> {
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            let second = if self.rest().starts_with("\\u") {
                self.at = self.at.saturating_add(2);
                self.hex4()?
            } else {
                0
            };
            if !(0xdc00..0xe000).contains(&second) {
                return Err(self.wrong("half of a surrogate pair"));
            }
            0x10000_u32.saturating_add((first & 0x3ff) << 10).saturating_add(second & 0x3ff)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.wrong("half of a surrogate pair"))
    }

    fn hex4(&mut self) -> Result<u32> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or_else(|| self.wrong("expected four hexadecimal digits"))?;
        self.at = self.at.saturating_add(4);
        Ok(code)
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

/// An integer from -2^64 to 2^64-1, or a float if there is a fraction or an exponent.
fn parse_number(digits: &str) -> Option<Number> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let leading_zero = unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned.starts_with("0.");
    let starts_well = unsigned.as_bytes().first().is_some_and(u8::is_ascii_digit);
    if !starts_well || (leading_zero && !unsigned.starts_with("0e") && !unsigned.starts_with("0E")) {
        return None;
    }
    if digits.contains(['.', 'e', 'E']) {
        let complete = !unsigned.ends_with('.') && !unsigned.contains(".e") && !unsigned.contains(".E");
        return digits.parse().ok().filter(|v: &f64| complete && v.is_finite()).map(Number::Float);
    }
    let value: i128 = digits.parse().ok()?;
    match u64::try_from(value) {
        Ok(v) => Some(Number::Unsigned(v)),
        Err(_) => u64::try_from(!value).ok().map(Number::Negative),
    }
}

fn from_hex(text: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.len() / 2)?;
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
