//! Texts for users: sizes, shapes, and names and messages that are safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Characters that move the cursor, change colours, ring the bell, or change the writing direction.
fn is_harmful(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, escape: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !escape(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c => write!(out, "\\u{{{:x}}}", u32::from(c)).unwrap_or(()),
        }
    }
    Cow::Owned(out)
}

/// A name from a file. Harmful characters are escaped, and so is the backslash, so that different names never
/// look the same. An empty name becomes `""`.
pub fn name(text: &str) -> Cow<'_, str> {
    match text {
        "" => Cow::Borrowed("\"\""),
        text => escaped(text, |c| c == '\\' || is_harmful(c)),
    }
}

/// A text with its middle left out if it has more columns than this. The end often tells names apart.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let space = width.saturating_sub(1);
    let begin = fitting(text.chars(), space / 2);
    let end: String = fitting(text.chars().rev(), space - begin.width()).chars().rev().collect();
    Cow::Owned(format!("{begin}…{end}"))
}

/// As many characters as fit into these columns.
fn fitting(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut out = String::new();
    for c in characters {
        out.push(c);
        if out.width() > width {
            out.pop();
            break;
        }
    }
    out
}

/// A line as lines of at most this many columns, broken at spaces. All but the first are indented. Only a
/// word that is longer than a line is cut.
pub fn wrap(line: &str, width: usize) -> Cow<'_, str> {
    const INDENT: &str = "  ";
    if line.width() <= width {
        return Cow::Borrowed(line);
    }
    let (mut out, mut column) = (String::new(), 0);
    for (at, word) in line.split(' ').enumerate() {
        let word = cut(word, width.saturating_sub(INDENT.len()));
        if at > 0 && column + 1 + word.width() > width {
            out.push('\n');
            out.push_str(INDENT);
            column = INDENT.len();
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += word.width();
    }
    Cow::Owned(out)
}

/// A message as one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_harmful)
}

/// JSON with harmful characters escaped as in JSON strings. Line breaks stay.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c != '\n' && is_harmful(c);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_harmful(c) {
            true => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or(()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A text of several lines for a terminal.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !matches!(c, '\n' | '\t') && is_harmful(c))
}

/// A text as a word of a command in a shell.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// Bytes with a binary unit: `512 B`, `1.5 KiB`, `86.7 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A number with about six digits: `0.25`, `-1.5e-7`, `inf`.
pub fn number(number: f64) -> String {
    let size = number.abs();
    let text = match size {
        _ if !number.is_finite() || number == 0.0 => return format!("{number}"),
        1e-4..1e7 => {
            let digits = 5 - (size.log10().floor() as i32).clamp(-4, 5);
            format!("{number:.*}", usize::try_from(digits).unwrap_or(0))
        }
        _ => format!("{number:.5e}"),
    };
    let (digits, exponent) = text.split_once('e').map_or((text.as_str(), None), |(d, e)| (d, Some(e)));
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    exponent.map_or(digits.to_owned(), |exponent| format!("{digits}e{exponent}"))
}

/// `1 object`, `2 objects`.
pub fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// Dimensions, outermost first: `[2, 3]`, `[]` for a scalar.
pub fn shape(dimensions: &[u64]) -> String {
    format!("{dimensions:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_upset_a_terminal() {
        assert_eq!(name("layer.0.weight"), "layer.0.weight");
        assert_eq!(name("a\nb\t\u{1b}[31m\\\u{202e}\0"), "a\\nb\\t\\u{1b}[31m\\\\\\u{202e}\\u{0}");
        assert_eq!(name("größe 張"), "größe 張");
        assert_eq!(name(""), "\"\"");
        assert_eq!(one_line("C:\\x: bad\n"), "C:\\x: bad\\n");
    }

    #[test]
    fn json_cannot_upset_a_terminal_and_means_the_same() {
        let text = serde_json::json!({"a\u{9b}31m": "\u{7f}\u{202e}\u{1b}\n ö 張"}).to_string();
        let shown = json(&text);
        assert_eq!(shown, r#"{"a\u009b31m":"\u007f\u202e\u001b\n ö 張"}"#);
        let same = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(same(&shown), same(&text));
        assert_eq!(json("{\n \"a\": 1\n}"), "{\n \"a\": 1\n}");
        assert_eq!(lines("{% if %}\n\tx\u{1b}[2J\r"), "{% if %}\n\tx\\u{1b}[2J\\r");
    }

    #[test]
    fn a_long_name_keeps_its_begin_and_its_end() {
        assert_eq!(cut("model-00001-of-00012", 20), "model-00001-of-00012");
        assert_eq!(cut("a-model-of-somebody-00001-of-00012", 20), "a-model-o…1-of-00012");
        assert_eq!(cut("張張張張張張", 8), "張…張張"); // each has two columns
        assert_eq!((cut("abc", 1), cut("abc", 0)), ("…".into(), "…".into()));
    }

    #[test]
    fn a_long_line_is_broken_at_spaces() {
        assert_eq!(wrap("one two three", 13), "one two three");
        assert_eq!(wrap("one two three four", 9), "one two\n  three\n  four");
        assert_eq!(wrap("averyveryverylongname: 1234567", 12), "aver…name:\n  1234567");
    }

    #[test]
    fn numbers_have_six_digits() {
        let shown =
            [0.0, 0.25, -3.5, 1234567.0, 12345678.0, 0.000_123_456_7, 1e-9, f64::INFINITY, 100.0].map(number);
        assert_eq!(shown, ["0", "0.25", "-3.5", "1234567", "1.23457e7", "0.000123457", "1e-9", "inf", "100"]);
    }

    #[test]
    fn sizes_have_the_nearest_unit() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size(90_868_376), "86.7 MiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
