//! Scans JSON text front to back, without a tree and without recursion. It allocates only for texts with
//! escapes, and for the keys of skipped objects: these are ignored, but duplicates are an error.

use crate::container::tables::{extend, push};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, with_capacity, Budget};
use crate::model::sort::find_duplicate;

/// The deepest nesting of an ignored value.
const MAX_DEPTH: usize = 127;

/// A position in the text.
pub struct Scan<'a> {
    bytes: &'a [u8],
    /// The name of the text in messages; empty if it is an argument of a call.
    what: &'static str,
    at: usize,
    budget: &'a Budget,
}

/// A string in the text, with its escapes decoded.
pub type Text<'s> = &'s [u8];

impl<'a> Scan<'a> {
    /// Begins at the front of a text, which must be UTF-8. Messages call it `what`; if that is empty, it is
    /// an argument of a call.
    pub fn new(bytes: &'a [u8], what: &'static str, budget: &'a Budget) -> Result<Scan<'a>> {
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(Scan { bytes, what, at: 0, budget }),
            Err(e) => Err(broken!(Rule::JsonUtf8, "{what} is not UTF-8 at byte {} of it", e.valid_up_to())),
        }
    }

    /// A syntax error at the current position.
    #[cold]
    pub fn wrong(&self, what: &str) -> Error {
        match self.what {
            "" => fail!(InvalidArgument, "JSON, byte {}: {what}", self.at),
            text => broken!(Rule::JsonSyntax, "byte {} of {text}: {what}", self.at),
        }
    }

    /// Skips white space and returns the next byte.
    pub fn next_byte(&mut self) -> Option<u8> {
        self.space();
        self.peek()
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    #[inline(always)]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.step();
        }
    }

    /// Skips white space and consumes this byte if it comes next. Returns whether it did.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) -> bool {
        if self.peek() != Some(byte) {
            self.space();
            if self.peek() != Some(byte) {
                return false;
            }
        }
        self.step();
        true
    }

    /// Consumes `byte`, or fails with `message`.
    #[inline(always)]
    pub fn expect(&mut self, byte: u8, message: &str) -> Result<()> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.wrong(message)),
        }
    }

    /// Whether an object or array has another item. If not, consumes its end.
    #[inline(always)]
    pub fn another(&mut self, is_first: bool, end: u8) -> Result<bool> {
        if is_first {
            return Ok(!self.take(end));
        }
        if self.take(b',') {
            return Ok(true);
        }
        match self.take(end) {
            true => Ok(false),
            false => Err(self.wrong("expected \",\" or the end of the object or array")),
        }
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("text follows the value")),
        }
    }

    /// Reads a string. If it has escapes, it is decoded to `scratch`.
    #[inline(always)]
    pub fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<Text<'s>>
    where
        'a: 's,
    {
        self.expect(b'"', "expected a string")?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (plain, behind) = rest.split_at_checked(plain_size(rest)).unwrap_or_default();
        if let Some(b'"') = behind.first() {
            self.at = self.at.saturating_add(plain.len()).saturating_add(1);
            return Ok(plain);
        }
        scratch.clear();
        self.escaped(scratch)?;
        Ok(scratch)
    }

    /// Reads a string that has escapes or no end.
    #[cold]
    fn escaped(&mut self, out: &mut Vec<u8>) -> Result<()> {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let size = plain_size(rest);
            if size == rest.len() {
                return Err(self.wrong("the string does not end"));
            }
            extend(self.budget, out, rest.get(..size).unwrap_or_default())?;
            self.at = self.at.saturating_add(size);
            match self.peek() {
                None => return Err(self.wrong("the string does not end")),
                Some(b'"') => {
                    self.step();
                    return Ok(());
                }
                Some(b'\\') => {
                    self.step();
                    let c = self.escape()?;
                    extend(self.budget, out, c.encode_utf8(&mut [0; 4]).as_bytes())?;
                }
                _ => return Err(self.wrong("a control character within a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let letter = self.peek();
        self.step();
        Ok(match letter {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'u') => {
                let first = self.hex4()?;
                let second = match self.bytes.get(self.at..) {
                    Some([b'\\', b'u', ..]) if (0xd800..0xdc00).contains(&first) => {
                        self.at = self.at.saturating_add(2);
                        Some(self.hex4()?)
                    }
                    _ => None,
                };
                let character = char::decode_utf16([first].into_iter().chain(second)).next();
                let half = || self.wrong("half of a surrogate pair");
                return character.and_then(std::result::Result::ok).ok_or_else(half);
            }
            _ => return Err(self.wrong("an unknown escape")),
        })
    }

    fn hex4(&mut self) -> Result<u16> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| u16::try_from(char::from(b).to_digit(16)?).ok());
            code = code << 4 | digit.ok_or_else(|| self.wrong("expected four hexadecimal digits"))?;
            self.step();
        }
        Ok(code)
    }

    /// Reads an integer from 0 to 2^64 - 1 without fraction or exponent.
    #[inline(always)]
    pub fn unsigned(&mut self, rule: Rule, what: &str) -> Result<u64> {
        self.space();
        let start = self.at;
        let mut small = 0u64; // correct as long as there are fewer digits than in the largest number
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            small = small.wrapping_mul(10).wrapping_add(u64::from(digit & 15));
            self.step();
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        let number = if digits.len() < 20 { Some(small) } else { large_number(digits) };
        match (digits, number, self.peek()) {
            ([b'0', _, ..] | [], ..) | (_, None, _) | (.., Some(b'.' | b'e' | b'E')) => {
                let text = self.what;
                Err(broken!(rule, "{what} at byte {start} of {text} is not an integer from 0 to 2^64-1"))
            }
            (_, Some(number), _) => Ok(number),
        }
    }

    /// Skips a value of any kind, but records the keys in it.
    #[cold]
    #[inline(never)] // so that the array of open objects and arrays is on no other function's stack
    pub fn skip(&mut self, scratch: &mut Vec<u8>, keys: &mut PassedKeys) -> Result<()> {
        // The open objects and arrays, outermost first: the number of an object, `None` for an array.
        let mut open = [None; MAX_DEPTH];
        let mut depth = 0usize;
        let mut first;
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let Some(place) = open.get_mut(depth) else {
                        return Err(broken!(
                            Rule::JsonDepth,
                            "byte {} of {} nests deeper than {MAX_DEPTH} levels",
                            self.at,
                            self.what
                        ));
                    };
                    *place = (bracket == b'{').then(|| keys.add_object());
                    self.step();
                    (depth, first) = (depth.saturating_add(1), true);
                }
                Some(b'"') => {
                    self.string(scratch)?;
                    first = false;
                }
                _ => {
                    self.scalar()?;
                    first = false;
                }
            }
            // A value is complete. Close the objects and arrays that end here, then continue with the next
            // value.
            loop {
                let Some(around) = depth.checked_sub(1) else { return Ok(()) };
                let object = open.get(around).copied().flatten();
                if self.another(first, if object.is_some() { b'}' } else { b']' })? {
                    if let Some(object) = object {
                        keys.push(self.budget, object, self.string(scratch)?)?;
                        self.expect(b':', "expected \":\"")?;
                    }
                    break;
                }
                (depth, first) = (around, false);
            }
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    pub fn scalar(&mut self) -> Result<Text<'a>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end =
            rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.'));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        match matches!(word, b"true" | b"false" | b"null") || is_number(word) {
            true => {
                self.at = self.at.saturating_add(word.len());
                Ok(word)
            }
            false => Err(self.wrong(match word.first() {
                Some(b'0'..=b'9' | b'-') => "expected a value, found a malformed number",
                _ => "expected a value",
            })),
        }
    }
}

/// How many bytes come before a quote, a backslash, a control character, or the end. Checks eight at a time,
/// because names have about fifty.
#[inline(always)]
fn plain_size(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = ONES << 7;
    // The high bit of the first zero byte is set, if there is one. The bits of later bytes may be wrong.
    let zero_in = |eight: u64| eight.wrapping_sub(ONES) & !eight & HIGH_BITS;
    let special = |eight: u64| {
        let is_control = eight.wrapping_sub(ONES.wrapping_mul(0x20)) & !eight & HIGH_BITS;
        is_control | zero_in(eight ^ ONES.wrapping_mul(0x22)) | zero_in(eight ^ ONES.wrapping_mul(0x5c))
    };
    let mut size = 0usize;
    let mut rest = text;
    while let Some((eight, behind)) = rest.split_first_chunk() {
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return size.saturating_add((found.trailing_zeros() / 8) as usize);
        }
        (rest, size) = (behind, size.saturating_add(8));
    }
    let is_special = |b: &u8| *b < b' ' || *b == b'"' || *b == b'\\';
    size.saturating_add(rest.iter().position(is_special).unwrap_or(rest.len()))
}

/// A number with 20 digits or more; `None` if it does not fit in 64 bits.
#[cold]
fn large_number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether it is a valid JSON number.
fn is_number(word: &[u8]) -> bool {
    fn digits(word: &[u8]) -> Option<&[u8]> {
        let count = word.iter().take_while(|b| b.is_ascii_digit()).count();
        word.get(count..).filter(|_| count > 0)
    }
    let whole = |word: &[u8]| -> Option<()> {
        let word = word.strip_prefix(b"-").unwrap_or(word);
        let mut rest = match word {
            [b'0', rest @ ..] => rest,
            _ => digits(word)?,
        };
        if let Some(fraction) = rest.strip_prefix(b".") {
            rest = digits(fraction)?;
        }
        if let [b'e' | b'E', exponent @ ..] = rest {
            let exponent = match exponent {
                [b'+' | b'-', unsigned @ ..] => unsigned,
                unsigned => unsigned,
            };
            rest = digits(exponent)?;
        }
        rest.is_empty().then_some(())
    };
    whole(word).is_some()
}

/// The keys of all objects so far. Object 0 is one whose known keys the caller handles.
#[derive(Default)]
pub struct PassedKeys {
    texts: Vec<u8>,
    keys: Vec<Key>,
    /// The number of objects, not counting object 0.
    objects: u32,
}

/// A key and the number of its object. Its text begins where the text of the key before ends.
struct Key {
    object: u32,
    end: usize,
}

impl PassedKeys {
    /// The number for a new object. There are fewer objects than bytes, and a text has at most 2^32 bytes.
    pub(super) fn add_object(&mut self) -> u32 {
        self.objects = self.objects.saturating_add(1);
        self.objects
    }

    /// Adds a key of an object.
    #[cold]
    pub fn push(&mut self, budget: &Budget, object: u32, key: &[u8]) -> Result<()> {
        extend(budget, &mut self.texts, key)?;
        push(budget, &mut self.keys, Key { object, end: self.texts.len() })
    }

    /// Fails if an object has a key twice. Otherwise forgets all keys.
    #[inline(always)]
    pub fn check(&mut self, budget: &Budget) -> Result<()> {
        match self.keys.is_empty() {
            true => Ok(()),
            false => self.check_some(budget),
        }
    }

    #[cold]
    fn check_some(&mut self, budget: &Budget) -> Result<()> {
        // The list, and the memory for sorting it.
        let temporary = bytes_of::<(u32, &[u8])>(self.keys.len()).saturating_mul(2);
        budget.charge(temporary, "keys that are compared")?;
        let mut keys: Vec<(u32, &[u8])> = with_capacity(self.keys.len())?;
        let mut start = 0;
        for key in &self.keys {
            keys.push((key.object, self.texts.get(start..key.end).unwrap_or_default()));
            start = key.end;
        }
        if let Some((_, twice)) = find_duplicate(&keys, |a, b| a.cmp(b))? {
            return Err(broken!(Rule::JsonDuplicateKey, "it has two fields {}", Quoted(twice)));
        }
        drop(keys);
        budget.give_back(temporary);
        self.texts.clear();
        self.keys.clear();
        self.objects = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_the_first_byte_that_is_special_wherever_that_is() {
        for size in 0..40 {
            let mut text = vec![b'a'; size];
            assert_eq!(plain_size(&text), size);
            for at in 0..size {
                for byte in 0..=255u8 {
                    let is_special = byte < b' ' || byte == b'"' || byte == b'\\';
                    text[at] = byte;
                    assert_eq!(
                        plain_size(&text),
                        if is_special { at } else { size },
                        "{byte} at {at} of {size}"
                    );
                    if at + 1 < size {
                        text[at + 1] = b'"';
                        assert_eq!(plain_size(&text), if is_special { at } else { at + 1 });
                        text[at + 1] = b'a';
                    }
                }
                text[at] = b'a';
            }
        }
    }

    #[test]
    fn integers_of_up_to_64_bits_are_read() {
        let budget = Budget::new(u64::MAX);
        let read = |text: &str| {
            let mut scan = Scan::new(text.as_bytes(), "the text", &budget).unwrap();
            scan.unsigned(Rule::ShapeType, "it").ok()
        };
        for number in [0, 9, 10, 9_999_999_999_999_999_999, 10_000_000_000_000_000_000, u64::MAX] {
            assert_eq!(read(&number.to_string()), Some(number));
        }
        for text in ["", "-1", "1.0", "1e3", "01", "00", "18446744073709551616", "100000000000000000000000"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

#[cfg(test)]
mod tests_of_passed_keys {
    use super::*;
    use crate::container::json::Scan;

    #[test]
    fn no_key_is_twice_in_an_object_that_is_passed_over() {
        let budget = Budget::new(u64::MAX);
        let skip = |text: &str| {
            let mut scan = Scan::new(text.as_bytes(), "the text", &budget).unwrap();
            let mut keys = PassedKeys::default();
            scan.skip(&mut Vec::new(), &mut keys)?;
            scan.end()?;
            keys.check(&budget)
        };
        let many: Vec<String> = (0..300).map(|at| format!(r#""{at}":{{"0":[]}}"#)).collect();
        let many = many.join(",");
        for (text, rule) in [
            (r#"{"a":1,"b":{"a":1,"b":"a"},"c":[{"a":1},{"a":{"a":null}}],"A":{}}"#.to_owned(), None),
            (r#"{"a":1,"a":1}"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (r#"{"x":{"b":{},"a":[{"b":1}],"b":2}}"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (r#"[[{"a":1},{"b":1,"\u0062":2}]]"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (format!("{{{many}}}"), None),
            (format!(r#"{{{many},"7":0}}"#), Some(Rule::JsonDuplicateKey)),
            ("[".repeat(127) + &"]".repeat(127), None),
            (r#"{"":"#.repeat(126) + "{}" + &"}".repeat(126), None),
            ("[".repeat(128) + &"]".repeat(128), Some(Rule::JsonDepth)),
            (r#"{"a":[}"#.to_owned(), Some(Rule::JsonSyntax)),
        ] {
            assert_eq!(skip(&text).err().and_then(|e| e.rule()), rule, "{text}");
        }
    }
}
