//! The page around the data. Its policy allows only its own script and style: no other script, whatever names
//! are in a file, and no requests.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::new_files::NewFile;
use crate::text;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: [&str; 4] =
    [include_str!("model.js"), include_str!("treemap.js"), include_str!("table.js"), include_str!("page.js")];

/// How many bytes are collected before they are written.
const GATHERED: usize = 1 << 20;

pub struct Page {
    /// `None` for standard output.
    file: Option<NewFile>,
    gathered: String,
    size: u64,
    /// The text after the data.
    end: String,
}

impl Page {
    /// Writes the text before the data.
    pub fn create(path: &Path, force: bool) -> Outcome<Page> {
        let file = match path.as_os_str() == "-" {
            true => None,
            false => Some(NewFile::create(path, force, false)?),
        };
        let (start, end) = frame();
        let mut page = Page { file, gathered: String::new(), size: 0, end };
        page.put(&start)?;
        Ok(page)
    }

    /// Writes JSON. It cannot begin a tag, because `<` only occurs in strings, where it is escaped.
    pub fn put_json(&mut self, json: &str) -> Outcome<()> {
        let json = text::json(json);
        match json.contains(['<', '>', '&']) {
            false => self.put(&json),
            true => self.put(&json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")),
        }
    }

    fn put(&mut self, text: &str) -> Outcome<()> {
        self.gathered.push_str(text);
        match self.gathered.len() < GATHERED {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Outcome<()> {
        match &self.file {
            Some(file) => file.write(self.gathered.as_bytes())?,
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(self.gathered.as_bytes())
                    .and_then(|()| out.flush())
                    .map_err(Failure::output)?;
            }
        }
        self.size += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    /// Writes the text after the data, and gives the file its name. Returns its size.
    pub fn publish(mut self, interrupt: &Interrupt) -> Outcome<u64> {
        let end = std::mem::take(&mut self.end);
        self.put(&end)?;
        self.flush()?;
        interrupt.check()?;
        if let Some(file) = self.file.take() {
            file.close()?;
            file.publish()?;
        }
        Ok(self.size)
    }
}

/// The text before the data, and the text after it.
fn frame() -> (String, String) {
    let script = SCRIPT.concat();
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash_of(&script),
        hash_of(STYLE)
    );
    let whole =
        FRAME.replace("{{policy}}", &policy).replace("{{style}}", STYLE).replace("{{script}}", &script);
    let (start, end) = whole.split_once("{{data}}").unwrap_or((&whole, ""));
    (start.to_owned(), end.to_owned())
}

/// The hash by which a policy names a script or style.
fn hash_of(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(texts.map(|text| base64(text.as_bytes())), expected);
    }

    #[test]
    fn the_page_names_nothing_outside() {
        let (start, end) = frame();
        for text in [&start, &end] {
            assert!(!text.contains("{{"), "a place that is not filled");
            for outside in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "innerHTML"] {
                assert!(!text.contains(outside), "{outside}");
            }
        }
        assert!(start.ends_with("<script type=\"application/json\" id=\"data\">"), "{start}");
        assert!(end.starts_with("</script>") && !SCRIPT.concat().contains("</"), "{end}");
    }
}
