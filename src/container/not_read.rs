//! Files that no container recognises: the error says what they are, as far as that is known, and what the
//! user can do.

use super::frame::Ends;
use super::interface::Row;
use super::{ztensor_1, ztensor_2};
use crate::error::{broken, fail, Error, Rule};
use std::fmt;

/// The error for a file that no row recognises.
#[cold]
pub(super) fn error(table: &[&Row], ends: Ends<'_>) -> Error {
    let head = ends.head;
    let is_short = ends.file_size < ztensor_2::footer::MIN_SIZE;
    match head.first_chunk::<8>() {
        Some([b'Z', b'T', b'E', b'N', digits @ ..]) if digits.iter().all(u8::is_ascii_digit) => fail!(
            Unsupported,
            "the file begins with {}: another major version; the library reads 0.1 (ZTEN0001) and 1.x \
             (ZTEN1000)",
            EscapedBytes(head)
        ),
        _ if ends.tail.ends_with(ztensor_1::footer::MAGIC) => broken!(
            Rule::HeaderMagic,
            "the file ends in ZTEN1000 but begins with {} instead of ZTEN1000",
            EscapedBytes(head)
        ),
        _ if ends.tail.ends_with(ztensor_2::footer::MAGIC) && is_short => broken!(
            Rule::Zt2FileTooSmall,
            "the file ends like zTensor 2, but has {} bytes; the smallest has {}",
            ends.file_size,
            ztensor_2::footer::MIN_SIZE
        ),
        _ if ends.tail.ends_with(ztensor_2::footer::MAGIC) => broken!(
            Rule::Zt2HeaderMagic,
            "the file ends like zTensor 2 but begins with {} instead of {}",
            EscapedBytes(head),
            EscapedBytes(ztensor_2::footer::MAGIC)
        ),
        _ if ends.file_size == 0 => fail!(NotZtensor, "the file is empty"),
        _ if is_short && ztensor_2::footer::MAGIC.starts_with(head) => broken!(
            Rule::Zt2FileTooSmall,
            "the file has only the first {} bytes of a zTensor 2 file",
            ends.file_size
        ),
        _ => match find(head, ends.tail) {
            Some(known) => fail!(NotZtensor, "{known}"),
            None => fail!(
                NotZtensor,
                "not a format that the library reads: it begins with {}; the library reads {}",
                EscapedBytes(head),
                Read(table)
            ),
        },
    }
}

/// The names of the readable containers, for a message.
struct Read<'a>(&'a [&'a Row]);

impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = || self.0.iter().filter(|row| row.decode.is_some());
        let count = read().count();
        for (at, row) in read().enumerate() {
            let between = match count.saturating_sub(at) {
                _ if at == 0 => "",
                1 => " and ",
                _ => ", ",
            };
            write!(f, "{between}{}", row.capabilities.container.name())?;
        }
        Ok(())
    }
}

/// The first bytes of a file, for a message.
struct EscapedBytes<'a>(&'a [u8]);

impl std::fmt::Display for EscapedBytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.get(..8).unwrap_or(self.0);
        write!(f, "\"{}\"", shown.escape_ascii())
    }
}

/// A kind of file that the library does not read, and what the user can do.
#[derive(Clone, Copy)]
pub struct Known {
    /// The first bytes of its magic, and their offset. Empty if other bytes show the kind.
    magic: (usize, &'static [u8]),
    what: &'static str,
    help: &'static str,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is {}, which the library does not read; {}", self.what, self.help)
    }
}

const fn row(magic: &'static [u8], what: &'static str, help: &'static str) -> Known {
    Known { magic: (0, magic), what, help }
}

const OLD_GGML: &str = "a file of ggml before GGUF";
const MAKE_GGUF: &str = "llama.cpp's convert_llama_ggml_to_gguf.py makes a GGUF file of it";
const COMPAT: &str = "zt convert reads it, if zt is built with the cargo feature \"compat\"";

const OTHERS: [Known; 28] = [
    row(
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "git lfs pull fetches the file itself",
    ),
    row(b"lmgg", OLD_GGML, MAKE_GGUF),
    row(b"fmgg", OLD_GGML, MAKE_GGUF),
    row(b"tjgg", OLD_GGML, MAKE_GGUF),
    row(
        b"algg",
        "a LoRA file of ggml before GGUF",
        "llama.cpp's convert_lora_to_gguf.py makes GGUF of the original adapter",
    ),
    row(b"ggml", OLD_GGML, MAKE_GGUF),
    row(b"ggmf", OLD_GGML, MAKE_GGUF),
    row(b"ggjt", OLD_GGML, MAKE_GGUF),
    row(b"ggla", OLD_GGML, MAKE_GGUF),
    row(b"\x1f\x8b", "a gzip file", "gunzip decompresses it"),
    row(b"\xfd7zXZ\0", "an xz file", "unxz decompresses it"),
    row(b"\x28\xb5\x2f\xfd", "a zstd file", "unzstd decompresses it"),
    row(b"BZh", "a bzip2 file", "bunzip2 decompresses it"),
    row(b"\x04\x22\x4d\x18", "an lz4 file", "unlz4 decompresses it"),
    row(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x unpacks it"),
    row(b"Rar!\x1a\x07", "a RAR archive", "unrar x unpacks it"),
    row(b"\x89HDF\r\n\x1a\n", "an HDF5 file", COMPAT),
    row(b"PAR1", "a Parquet file", "it holds tables and not tensors"),
    row(b"ARROW1", "an Arrow file", "it holds tables and not tensors"),
    row(b"MATLAB ", "a MATLAB file", "scipy.io.loadmat reads it, and numpy.savez writes the arrays as npz"),
    row(b"%PDF-", "a PDF document", "it holds no tensors"),
    row(b"\x7fELF", "a program", "it holds no tensors"),
    row(b"\x89PNG", "an image", "it holds no tensors"),
    row(b"PK\x07\x08", "a part of a zip archive of several parts", "zip -s 0 joins the parts"),
    Known { magic: (257, b"ustar"), what: "a tar archive", help: "tar -xf unpacks it" },
    Known { magic: (4, b"TFL3"), what: "a TensorFlow Lite model", help: "zt cannot convert it" },
    row(b"<?xml", "an XML document", "the server may have sent a message instead of the file"),
    row(b"<html", "an HTML page", "the server may have sent a page to log in instead of the file"),
];

/// What a file with these first and last bytes is, if that is known.
pub fn find(head: &[u8], tail: &[u8]) -> Option<Known> {
    let begins = |Known { magic: (at, magic), .. }: &Known| {
        head.get(*at..).is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some(known) = OTHERS.into_iter().find(begins) {
        return Some(known);
    }
    if is_zero(head) && is_zero(tail) {
        let help = "an incomplete download may look like this: fetch it again";
        return Some(row(b"", "a file that begins and ends with zeros", help));
    }
    if is_onnx(head) {
        return Some(row(b"", "an ONNX model", COMPAT));
    }
    text(head)
}

/// Whether all bytes are zero. False for no bytes.
pub fn is_zero(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
}

/// Whether it begins like an ONNX model: with the version of the format, then another field of the model.
fn is_onnx(head: &[u8]) -> bool {
    const VERSION: u8 = 1 << 3;
    const TEXTS: [u8; 7] = [0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x42];
    matches!(head, [VERSION, 1..=32, tag, ..] if TEXTS.contains(tag))
}

fn text(head: &[u8]) -> Option<Known> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let named = |magic: &[u8]| OTHERS.into_iter().find(|known| known.magic.1 == magic);
    if begins(b"<!doctype html") || begins(b"<html") {
        return named(b"<html");
    }
    let is_object = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    match text {
        [b'<', b'?' | b'!' | b'a'..=b'z' | b'A'..=b'Z', ..] => named(b"<?xml"),
        _ if is_object.is_some_and(|rest| matches!(rest, [] | [b'"' | b'}', ..])) => {
            let help = "an index of a model has a \"weight_map\", and a server may have sent a message \
                        instead of the file";
            Some(row(b"", "a JSON text", help))
        }
        [b'[', ..] => Some(row(b"", "a JSON text", "it holds no tensors")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_magic_and_says_what_helps() {
        for Known { magic: (at, magic), what, help } in OTHERS {
            let head = [vec![1; at], magic.to_vec(), vec![1; 8]].concat();
            let found = find(&head, &[1]).unwrap().to_string();
            assert!(found.contains(what) && found.contains(help), "{found}");
        }
    }

    #[test]
    fn texts_and_zeros_are_known() {
        for (head, what) in [
            (&b"\xef\xbb\xbf \n<!DOCTYPE html><html>"[..], "HTML"),
            (b"<HTML>", "HTML"),
            (b"<Error><Code>AccessDenied", "XML"),
            (b"{ \"error\": 1}", "JSON"),
            (b"[1]", "JSON"),
            (b"\x08\x07\x12\x07pytorch", "ONNX"),
            (&[0; 64], "zeros"),
        ] {
            let tail: &[u8] = if what == "zeros" { &[0; 40] } else { b"}" };
            let found = find(head, tail).map(|known| known.to_string()).unwrap_or_default();
            assert!(found.contains(what), "{head:?} {found}");
        }
        for head in [&b""[..], b"abc", b"<", b"{x", &[0, 1], b"8"] {
            assert!(find(head, b"x").is_none(), "{head:?}");
        }
    }
}
