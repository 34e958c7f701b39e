//! JSON text to a value: bounded in depth, fallible in memory.

use super::write::UNDEFINED;
use crate::error::{fail, Result};
use crate::model::value::{Value, MAX_DEPTH};

/// The value of JSON text, with the forms of [`super::write`] understood.
pub fn parse(text: &str) -> Result<Value> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.value()?;
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

    #[inline(never)] // as all that the recursion calls: a level of it shall take little of the caller's stack
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let there = self.rest().starts_with(token);
        if there {
            self.at = self.at.saturating_add(token.len());
        }
        there
    }

    fn value(&mut self) -> Result<Value> {
        match self.next() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            _ => self.scalar(),
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<u8> {
        self.space();
        self.rest().as_bytes().first().copied()
    }

    #[inline(never)]
    fn scalar(&mut self) -> Result<Value> {
        Ok(match self.next() {
            Some(b'"') => Value::text(&self.string()?)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ if self.take("null") => Value::Null,
            _ if self.take("true") => Value::Bool(true),
            _ if self.take("false") => Value::Bool(false),
            _ => return Err(self.wrong("a value is due")),
        })
    }

    /// A level down; back up at the end of what is there.
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
    fn list(&mut self) -> Result<Value> {
        self.enter("[")?;
        let mut items = Vec::new();
        if self.take("]") {
            self.leave();
            return Ok(Value::Array(items));
        }
        loop {
            items.try_reserve(1)?;
            items.push(self.value()?);
            if self.take("]") {
                self.leave();
                return Ok(Value::Array(items));
            }
            if !self.take(",") {
                return Err(self.wrong("\",\" or \"]\" is due"));
            }
        }
    }

    /// A key, whose value stays to be put in its place.
    #[inline(never)]
    fn key(&mut self, pairs: &mut Vec<(Value, Value)>) -> Result<()> {
        self.space();
        let key = self.string()?;
        if !self.take(":") {
            return Err(self.wrong("\":\" is due"));
        }
        pairs.try_reserve(1)?;
        pairs.push((Value::text(&key)?, Value::Null));
        Ok(())
    }

    #[inline(never)]
    fn object(&mut self) -> Result<Value> {
        self.enter("{")?;
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        if self.take("}") {
            self.leave();
            return Ok(Value::Map(pairs));
        }
        loop {
            self.key(&mut pairs)?;
            let value = self.value()?;
            if let Some((_, place)) = pairs.last_mut() {
                *place = value;
            }
            if self.take("}") {
                self.leave();
                return self.finished(pairs);
            }
            if !self.take(",") {
                return Err(self.wrong("\",\" or \"}\" is due"));
            }
        }
    }

    #[inline(never)]
    fn finished(&self, pairs: Vec<(Value, Value)>) -> Result<Value> {
        if !crate::model::value::keys_are_unique(&pairs)? {
            return Err(self.wrong("the object before has a key twice"));
        }
        self.special(pairs)
    }

    /// One of the forms for what JSON lacks, or the map as it is.
    fn special(&self, mut pairs: Vec<(Value, Value)>) -> Result<Value> {
        let [(key, value)] = pairs.as_mut_slice() else { return Ok(Value::Map(pairs)) };
        let Some(key) = key.as_text().filter(|k| k.starts_with('$')) else { return Ok(Value::Map(pairs)) };
        let wrong = || Err(self.wrong("a \"$\" key without the value that it takes"));
        match (key, std::mem::replace(value, Value::Null)) {
            ("$bytes", Value::Text(hex)) => match from_hex(hex.as_str())? {
                Some(bytes) => Ok(Value::Bytes(bytes.into_boxed_slice())),
                None => wrong(),
            },
            ("$float", Value::Text(name)) => match name.as_str() {
                "nan" => Ok(Value::Float(f64::NAN)),
                "inf" => Ok(Value::Float(f64::INFINITY)),
                "-inf" => Ok(Value::Float(f64::NEG_INFINITY)),
                _ => wrong(),
            },
            ("$undefined", Value::Bool(true)) => Ok(Value::Simple(UNDEFINED)),
            ("$simple", Value::Unsigned(v)) => match u8::try_from(v) {
                Ok(v) if !(20..32).contains(&v) => Ok(Value::Simple(v)),
                _ => wrong(),
            },
            ("$tag", Value::Array(mut parts)) => match (parts.pop(), parts.pop(), parts.is_empty()) {
                (Some(inner), Some(Value::Unsigned(tag)), true) => Value::tagged(tag, inner),
                _ => wrong(),
            },
            ("$map", Value::Array(items)) => self.map_of_pairs(items),
            _ => wrong(),
        }
    }

    fn map_of_pairs(&self, items: Vec<Value>) -> Result<Value> {
        let mut pairs = Vec::new();
        pairs.try_reserve_exact(items.len())?;
        for item in items {
            let Value::Array(mut pair) = item else {
                return Err(self.wrong("a pair of \"$map\" is no array"));
            };
            match (pair.pop(), pair.pop(), pair.is_empty()) {
                (Some(value), Some(key), true) => pairs.push((key, value)),
                _ => return Err(self.wrong("a pair of \"$map\" is not two values")),
            }
        }
        match crate::model::value::keys_are_unique(&pairs)? {
            true => Ok(Value::Map(pairs)),
            false => Err(self.wrong("the \"$map\" before has a key twice")),
        }
    }

    fn number(&mut self) -> Result<Value> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let digits = rest.get(..end).unwrap_or_default();
        let parsed = parse_number(digits);
        self.at = self.at.saturating_add(end);
        parsed.ok_or_else(|| self.wrong("not a number that fits"))
    }

    fn string(&mut self) -> Result<String> {
        if !self.take("\"") {
            return Err(self.wrong("a string is due"));
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
        let code = code.ok_or_else(|| self.wrong("four hexadecimal digits are due"))?;
        self.at = self.at.saturating_add(4);
        Ok(code)
    }
}

/// An integer from -2^64 to 2^64-1, or a float where there is a fraction or an exponent.
fn parse_number(digits: &str) -> Option<Value> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let leading_zero = unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned.starts_with("0.");
    let starts_well = unsigned.as_bytes().first().is_some_and(u8::is_ascii_digit);
    if !starts_well || (leading_zero && !unsigned.starts_with("0e") && !unsigned.starts_with("0E")) {
        return None;
    }
    if digits.contains(['.', 'e', 'E']) {
        let complete = !unsigned.ends_with('.') && !unsigned.contains(".e") && !unsigned.contains(".E");
        return digits.parse().ok().filter(|v: &f64| complete && v.is_finite()).map(Value::Float);
    }
    let value: i128 = digits.parse().ok()?;
    match u64::try_from(value) {
        Ok(v) => Some(Value::Unsigned(v)),
        Err(_) => u64::try_from(!value).ok().map(Value::Negative),
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
