//! Names of objects, which may not be UTF-8, in the form that users read and write.

use crate::text;
use std::borrow::Cow;
use std::fmt::Write;
use ztensor::error::Result;
use ztensor::reader::{File, Object};

/// The name as text: itself, or with `\xNN` for each byte that is not UTF-8 and then `\\` for a backslash.
pub fn text<'f>(object: &Object<'f>) -> Cow<'f, str> {
    of_bytes(object.name_bytes())
}

/// Like [`text()`], for bytes.
pub fn of_bytes(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(name) => Cow::Borrowed(name),
        Err(_) => Cow::Owned(with_escapes(name, |valid| Cow::Owned(valid.replace('\\', "\\\\")))),
    }
}

/// A name in JSON: a backslash becomes `\\`, and a byte that is not UTF-8 becomes `\xNN`, so that different
/// names give different texts. Characters that JSON escapes are not changed.
pub fn in_json(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(name) if name.contains('\\') => Cow::Owned(name.replace('\\', "\\\\")),
        _ => of_bytes(bytes),
    }
}

/// The name for a terminal, as [`text::name`] shows it, with `\xNN` for each byte that is not UTF-8.
pub fn shown<'f>(object: &Object<'f>) -> Cow<'f, str> {
    let name = object.name_bytes();
    match std::str::from_utf8(name) {
        Ok(name) => text::name(name),
        Err(_) => Cow::Owned(with_escapes(name, text::name)),
    }
}

fn with_escapes(name: &[u8], of_text: impl Fn(&str) -> Cow<'_, str>) -> String {
    let mut out = String::new();
    for chunk in name.utf8_chunks() {
        if !chunk.valid().is_empty() {
            out.push_str(&of_text(chunk.valid()));
        }
        chunk.invalid().iter().for_each(|byte| write!(out, "\\x{byte:02x}").unwrap_or(()));
    }
    out
}

/// The bytes of a name in the form of [`shown`]. `None` if it has no backslash, or one that does not fit the
/// form.
pub fn unescaped(shown: &str) -> Option<Vec<u8>> {
    if !shown.contains('\\') {
        return None;
    }
    let mut out = Vec::new();
    let mut rest = shown;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        let mut letters = behind.chars();
        match letters.next()? {
            '\\' => out.push(b'\\'),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'x' => {
                let digits =
                    behind.get(1..3).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
                letters = behind[3..].chars();
            }
            'u' => {
                let (digits, behind) = letters.as_str().strip_prefix('{')?.split_once('}')?;
                let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                letters = behind.chars();
            }
            _ => return None,
        }
        rest = letters.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

/// The name that an argument means in these files: in the form of [`shown`] or, if no object has that name,
/// unchanged.
pub fn named(argument: &str, files: &[&File]) -> Vec<u8> {
    let has = |name: &Vec<u8>| files.iter().any(|file| file.find(name.as_slice()).is_some());
    unescaped(argument).filter(has).unwrap_or_else(|| argument.as_bytes().to_vec())
}

/// The object that an argument names.
pub fn find<'f>(file: &'f File, argument: &str) -> Result<Object<'f>> {
    let found = unescaped(argument).and_then(|name| file.find(name)).or_else(|| file.find(argument));
    found.map_or_else(|| file.required(argument), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_by_what_is_shown_of_it() {
        let mut seen = std::collections::BTreeSet::new();
        let parts: [&[u8]; 9] =
            [b"a", b"\\", b"\xff", b"xff", b"\n", "\u{202e}".as_bytes(), b"{", b"\xe2\x82", b"\0"];
        for sequence in 0..parts.len().pow(4) {
            let of = |at: u32| parts[sequence / parts.len().pow(at) % parts.len()];
            let name = [of(0), of(1), of(2), of(3)].concat();
            let valid = std::str::from_utf8(&name);
            let shown = match valid {
                Ok(name) => text::name(name).into_owned(),
                Err(_) => with_escapes(&name, text::name),
            };
            let read = |text: &str| unescaped(text).unwrap_or_else(|| text.as_bytes().to_vec());
            assert!(read(&shown) == name, "{name:?} {shown:?}");
            assert!(valid.is_ok() || read(&of_bytes(&name)) == name, "{name:?}");
            // Different names must look different.
            assert!(seen.insert((shown.clone(), name.clone())) || seen.contains(&(shown, name)));
        }
        let shown: std::collections::BTreeSet<_> = seen.iter().map(|(shown, _)| shown).collect();
        let names: std::collections::BTreeSet<_> = seen.iter().map(|(_, name)| name).collect();
        assert_eq!(shown.len(), names.len());
    }

    #[test]
    fn what_is_not_of_the_form_is_only_itself() {
        for text in ["plain", "a\\", "\\xf", "\\xg0", "\\x+f", "\\q", "\\u{}", "\\u{d800}", "\\u41"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
        assert_eq!(unescaped("a\\xff\\\\\\n\\u{e9}").unwrap(), b"a\xff\\\n\xc3\xa9");
        assert_eq!(of_bytes(b"a\\\xff"), "a\\\\\\xff");
    }
}
