//! How messages are put together: bounded, in memory that is asked for fallibly.

use std::fmt;

/// Longest message that is kept, in bytes. Names in a file may be huge; a line of text is not.
pub(crate) const MESSAGE_LIMIT: usize = 2048;
/// Longest detail: the file and the object have room beside it.
pub(super) const DETAIL_LIMIT: usize = MESSAGE_LIMIT / 4 * 3;

/// A text of more bytes is shown without its middle: by its first and its last ones.
const MAX_SHOWN: usize = 384;
const SHOWN_FRONT: usize = 256;
const SHOWN_BACK: usize = 96;

/// What a message shows of a text, and whether its middle is left out between the two.
fn shown(text: &str) -> (&str, Option<&str>) {
    if text.len() <= MAX_SHOWN {
        return (text, None);
    }
    let front = text.get(..boundary(text, SHOWN_FRONT)).unwrap_or_default();
    let back = boundary(text, text.len().saturating_sub(SHOWN_BACK));
    (front, text.get(back..))
}

/// The end of the last character that ends at `at` or before.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Appends what fits of a text into `limit` bytes; whether memory for that could be had.
pub(super) fn push_bounded(to: &mut String, text: &str, limit: usize) -> bool {
    /// Most messages are shorter: they have memory at once or not at all, and are not cut after a word.
    const USUAL: usize = 160;
    let fits = boundary(text, limit.saturating_sub(to.len()));
    let text = text.get(..fits).unwrap_or_default();
    let has_memory = to.try_reserve(text.len().max(USUAL.saturating_sub(to.len()))).is_ok();
    if has_memory {
        to.push_str(text);
    }
    has_memory
}

/// Formats into memory that is asked for fallibly, at most `limit` bytes; as far as it came where memory is
/// short. Long texts are shown without their middle, so that what is said of them is there.
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
    let _ = fmt::Write::write_fmt(&mut bounded, arguments); // a cut message is still a message
    match bounded.is_refused {
        false => Ok(bounded.text),
        true => Err(bounded.text),
    }
}

/// Bytes of a file that ought to be text, as a message shows them: escaped, bytes that are no UTF-8 as
/// `\xff`, and long ones without their middle.
pub(crate) struct Quoted<'b>(pub &'b [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A byte may take six in the message: two names have room in one.
        const FRONT: usize = 96;
        const BACK: usize = 48;
        f.write_str("\"")?;
        match (self.0.get(..FRONT), self.0.len().checked_sub(BACK)) {
            (Some(front), Some(back)) if back > FRONT => {
                // A character that is cut is left out whole.
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

/// Without the first bytes of a character at the end.
fn up_to_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => bytes.get(..e.valid_up_to()).unwrap_or_default(),
        _ => bytes,
    }
}

/// Without the last bytes of a character at the beginning.
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
