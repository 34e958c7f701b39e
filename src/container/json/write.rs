//! Writes a value as JSON text.

use crate::error::{fail, FallibleText, Result};
use crate::model::value::{Map, Value, ValueKind};
use std::fmt::Write;

/// The simple value `undefined` has number 23 (RFC 7049 section 2.3).
pub(super) const UNDEFINED: u8 = 23;

/// The value as JSON text. Its depth is limited, so the recursion is, too.
pub fn write(value: Value<'_>) -> Result<String> {
    let mut out = FallibleText::default();
    put(&mut out, value).map_err(|_| fail!(OutOfMemory, "could not allocate the JSON text"))?;
    Ok(out.0)
}

fn put(out: &mut FallibleText, value: Value<'_>) -> std::fmt::Result {
    match value.kind() {
        ValueKind::Null => out.write_str("null"),
        ValueKind::Bool(v) => write!(out, "{v}"),
        ValueKind::Unsigned(v) => write!(out, "{v}"),
        ValueKind::Negative(n) => write!(out, "-{}", u128::from(n).saturating_add(1)),
        ValueKind::Float(v) if v.is_nan() => out.write_str("{\"$float\":\"nan\"}"),
        ValueKind::Float(v) if v.is_infinite() => {
            let sign = if v < 0.0 { "-" } else { "" };
            write!(out, "{{\"$float\":\"{sign}inf\"}}")
        }
        ValueKind::Float(v) => write!(out, "{v:?}"),
        ValueKind::Text(text) => put_text(out, text.as_str()),
        ValueKind::Bytes(bytes) => {
            out.write_str("{\"$bytes\":\"")?;
            bytes.iter().try_for_each(|b| write!(out, "{b:02x}"))?;
            out.write_str("\"}")
        }
        ValueKind::Array(items) => {
            out.write_char('[')?;
            put_list(out, items.iter(), put)?;
            out.write_char(']')
        }
        // A map that could be mistaken for one of the forms below is also written as pairs.
        ValueKind::Map(pairs) if is_plain(pairs) => {
            out.write_char('{')?;
            put_list(out, pairs.iter(), |out, (key, value)| {
                put(out, key)?;
                out.write_char(':')?;
                put(out, value)
            })?;
            out.write_char('}')
        }
        ValueKind::Map(pairs) => {
            out.write_str("{\"$map\":[")?;
            put_list(out, pairs.iter(), |out, (key, value)| {
                out.write_char('[')?;
                put(out, key)?;
                out.write_char(',')?;
                put(out, value)?;
                out.write_char(']')
            })?;
            out.write_str("]}")
        }
        ValueKind::Tag(tag, inner) => {
            write!(out, "{{\"$tag\":[{tag},")?;
            put(out, inner)?;
            out.write_str("]}")
        }
        ValueKind::Simple(UNDEFINED) => out.write_str("{\"$undefined\":true}"),
        ValueKind::Simple(v) => write!(out, "{{\"$simple\":{v}}}"),
    }
}

fn is_plain(pairs: Map<'_>) -> bool {
    let special = |key: &str| key.starts_with('$');
    pairs.iter().all(|(key, _)| key.as_text().is_some_and(|k| pairs.len() > 1 || !special(k)))
}

fn put_list<T>(
    out: &mut FallibleText,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(&mut FallibleText, T) -> std::fmt::Result,
) -> std::fmt::Result {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        each(out, item)?;
    }
    Ok(())
}

fn put_text(out: &mut FallibleText, text: &str) -> std::fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if u32::from(c) < 0x20 || c == '\u{7f}' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::model::value::{order, OwnedValue};

    /// Texts that a parse and a write return unchanged.
    const TEXTS: [&str; 14] = [
        "null",
        "[true,false]",
        "{\"a\":1,\"b\":[-1,18446744073709551615,-18446744073709551616]}",
        "{\"$bytes\":\"00ff10\"}",
        "[{\"$float\":\"nan\"},{\"$float\":\"inf\"},{\"$float\":\"-inf\"}]",
        "[1.5,-0.0,1e300,0.1]",
        "{\"$tag\":[32,\"x\"]}",
        "{\"$map\":[[1,\"a\"],[{\"$bytes\":\"6b\"},\"c\"]]}",
        "{\"$undefined\":true}",
        "{\"$simple\":99}",
        "\"quote \\\" backslash \\\\ newline \\n nul \\u0000 \u{e9}\u{1f600}\"",
        "{\"$a\":1,\"b\":2}",
        "{}",
        "[]",
    ];

    #[test]
    fn what_is_written_is_read_back() {
        for text in TEXTS {
            let value = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(write(value.get()).unwrap(), text);
        }
        assert_eq!(write(parse(" { \"k\" : [ 1 , 2 ] } ").unwrap().get()).unwrap(), "{\"k\":[1,2]}");
        assert_eq!(write(parse("\"\\ud83d\\ude00\"").unwrap().get()).unwrap(), "\"\u{1f600}\"");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(20_000);
        let wrong = [
            "",
            "nul",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "--1",
            "1e",
            "\"a",
            "\"\\x\"",
            "\"\\ud83d\"",
            "[1 2]",
            "1 2",
            "{\"a\":1,\"a\":2}",
            "18446744073709551616",
            "-18446744073709551617",
            "1e999",
            "{\"$bytes\":\"0\"}",
            "{\"$float\":\"x\"}",
            "{\"$simple\":24}",
            "{\"$tag\":[1]}",
            "\"\n\"",
            &deep,
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{}", text.get(..30).unwrap_or(text));
        }
    }

    #[test]
    fn a_map_that_looks_special_is_written_as_pairs() {
        let value = OwnedValue::build(|to| {
            to.begin_map(None)?;
            to.text("$bytes").and_then(|()| to.text("zz"))?;
            to.end().map(drop)
        });
        let value = value.unwrap();
        let text = write(value.get()).unwrap();
        assert_eq!(text, "{\"$map\":[[\"$bytes\",\"zz\"]]}");
        assert!(order(parse(&text).unwrap().get(), value.get()).is_eq());
    }
}
