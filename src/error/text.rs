//! Builds messages of limited length, in memory whose allocation may fail without aborting.

use std::fmt;

/// The longest message in bytes. Names in a file may be huge, but a message is one line.
pub(crate) const MESSAGE_LIMIT: usize = 2048;
/// The longest detail, so that the file and the object fit, too.
pub(super) const DETAIL_LIMIT: usize = MESSAGE_LIMIT / 4 * 3;

/// A longer text is shown without its middle.
const MAX_SHOWN: usize = 384;
const SHOWN_FRONT: usize = 256;
const SHOWN_BACK: usize = 96;

/// The parts of a text that a message shows: all of it, or its first and last bytes.
fn shown(text: &str) -> (&str, Option<&str>) {
    if text.len() <= MAX_SHOWN {
        return (text, None);
    }
    let front = text.get(..boundary(text, SHOWN_FRONT)).unwrap_or_default();
    let back = boundary(text, text.len().saturating_sub(SHOWN_BACK));
    (front, text.get(back..))
}

/// The last character boundary at or before `at`.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Appends as much of a text as fits into `limit` bytes. Returns whether memory could be allocated.
pub(super) fn push_bounded(to: &mut String, text: &str, limit: usize) -> bool {
    /// Most messages are shorter. They allocate once, so they are not cut in the middle by a later failure.
    const USUAL: usize = 160;
    let fits = boundary(text, limit.saturating_sub(to.len()));
    let text = text.get(..fits).unwrap_or_default();
    let has_memory = to.try_reserve(text.len().max(USUAL.saturating_sub(to.len()))).is_ok();
    if has_memory {
        to.push_str(text);
    }
    has_memory
}

/// Formats at most `limit` bytes to memory whose allocation may fail without aborting; without memory, the
/// text is cut. Long texts are shown without their middle, so that the words after them fit.
pub(super) fn bounded_text(
    arguments: fmt::Arguments<'_>,
    limit: usize,
) -> std::result::Result<String, String> {
    struct Bounded {
        text: String,
        limit: usize,
        is_refused: bool,
    }
    impl Bounded {
        fn push(&mut self, s: &str) -> fmt::Result {
            let whole = self.text.len().saturating_add(s.len());
            self.is_refused = !push_bounded(&mut self.text, s, self.limit);
            match self.text.len() == whole {
                true => Ok(()),
                false => Err(fmt::Error),
            }
        }
    }
    impl fmt::Write for Bounded {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            let (front, back) = shown(s);
            self.push(front)?;
            match back {
                Some(back) => self.push("...").and_then(|()| self.push(back)),
                None => Ok(()),
            }
        }
    }
    let mut bounded = Bounded { text: String::new(), limit, is_refused: false };
    let _ = fmt::Write::write_fmt(&mut bounded, arguments); // a cut message is better than none
    match bounded.is_refused {
        false => Ok(bounded.text),
        true => Err(bounded.text),
    }
}

/// Bytes of a file that should be text, in a message: escaped, invalid UTF-8 as `\xff`, and long ones without
/// their middle.
pub(crate) struct Quoted<'b>(pub &'b [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A byte may take six bytes in the message. Two names fit in one message.
        const FRONT: usize = 96;
        const BACK: usize = 48;
        f.write_str("\"")?;
        match (self.0.get(..FRONT), self.0.len().checked_sub(BACK)) {
            (Some(front), Some(back)) if back > FRONT => {
                // A character that would be cut is left out.
                let (front, back) = (up_to_character(front), self.0.get(back..).unwrap_or_default());
                escape(front, f)?;
                f.write_str("...")?;
                escape(from_character(back), f)?;
            }
            _ => escape(self.0, f)?,
        }
        f.write_str("\"")
    }
}

fn escape(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' => f.write_str("'")?,
                _ => write!(f, "{}", c.escape_debug())?,
            }
        }
        write!(f, "{}", chunk.invalid().escape_ascii())?;
    }
    Ok(())
}

/// The bytes without an incomplete character at the end.
fn up_to_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => bytes.get(..e.valid_up_to()).unwrap_or_default(),
        _ => bytes,
    }
}

/// The bytes without an incomplete character at the start.
fn from_character(bytes: &[u8]) -> &[u8] {
    let inside = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    bytes.get(inside..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_quoted_as_text_is() {
        for text in ["", "layer's \"weight\"", "tab\t, \u{7f}, \u{1F600}, \\"] {
            assert_eq!(Quoted(text.as_bytes()).to_string(), format!("{text:?}"));
        }
        assert_eq!(Quoted(b"a\xffb\xe2\x82").to_string(), r#""a\xffb\xe2\x82""#);
    }
}
