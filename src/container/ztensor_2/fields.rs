//! Keys and texts of a manifest that was checked to be deterministic CBOR.

use crate::container::cbor::fields::Decoder;
use crate::container::cbor::{packed, Head};
use crate::error::{broken, Result, Rule};

/// Reads the key of a map's pair: [`packed`], and its bytes. None if it is no text, and so not a known key.
#[inline(always)]
pub fn key<'a>(d: &mut Decoder<'a>) -> Result<Option<(u64, &'a [u8])>> {
    if let Some((text, packed)) = d.cursor.short_text() {
        return Ok(Some((packed, text)));
    }
    if !d.cursor.is_at_text() {
        d.cursor.skip_well_formed()?;
        return Ok(None);
    }
    let text = text(d, Rule::Zt2Schema, "a key")?;
    Ok(Some((packed(text), text)))
}

/// Reads a text.
pub fn text<'a>(d: &mut Decoder<'a>, rule: Rule, what: &str) -> Result<&'a [u8]> {
    if let Some(text) = d.cursor.try_text() {
        return Ok(text);
    }
    match d.cursor.head()? {
        Head::Text(Some(length)) => d.cursor.take(length),
        other => Err(broken!(rule, "{what} is {}, not a text string", other.kind())),
    }
}
