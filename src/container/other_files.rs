//! Files that are not models, or that the library does not read: what they are, and what helps. One row each.

use std::fmt;

/// A file by its first bytes.
struct Other {
    /// Where the magic begins.
    at: usize,
    magic: &'static [u8],
    /// What the file is.
    what: &'static str,
    /// What helps.
    help: &'static str,
}

const fn row(magic: &'static [u8], what: &'static str, help: &'static str) -> Other {
    Other { at: 0, magic, what, help }
}

const OLD_GGML: &str = "a file of ggml before GGUF";
const MAKE_GGUF: &str = "llama.cpp's convert_llama_ggml_to_gguf.py makes a GGUF file of it";
const COMPAT: &str = "zt convert reads it, if zt is built with the cargo feature \"compat\"";

const OTHERS: [Other; 28] = [
    row(
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS",
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
    row(b"ustar", "a tar archive", "tar -xf unpacks it").at(257),
    row(b"TFL3", "a TensorFlow Lite model", "it is not converted here").at(4),
    row(b"<?xml", "an XML document", "the server may have sent a message instead of the file"),
    row(b"<html", "an HTML page", "the server may have sent a page to log in instead of the file"),
];

impl Other {
    const fn at(self, at: usize) -> Other {
        Other { at, ..self }
    }
}

/// What a file is, and what helps.
pub struct Known {
    what: &'static str,
    help: &'static str,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is {}, which is not read; {}", self.what, self.help)
    }
}

/// What a file with these first and last bytes is, as far as that is known.
pub fn find(head: &[u8], tail: &[u8]) -> Option<Known> {
    let known = |other: &Other| Known { what: other.what, help: other.help };
    let begins = |other: &&Other| head.get(other.at..).is_some_and(|rest| rest.starts_with(other.magic));
    if let Some(other) = OTHERS.iter().find(begins) {
        return Some(known(other));
    }
    if is_zero(head) && is_zero(tail) {
        let help = "a download that is not complete may look so: fetch it again";
        return Some(Known { what: "a file that begins and ends in zeros", help });
    }
    if is_onnx(head) {
        return Some(Known { what: "an ONNX model", help: COMPAT });
    }
    text(head)
}

/// Whether all bytes are zero, and there are any.
pub fn is_zero(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
}

/// Whether it begins as ONNX models do: with the version of its form, then another field of the model.
fn is_onnx(head: &[u8]) -> bool {
    const VERSION: u8 = 1 << 3;
    const TEXTS: [u8; 7] = [0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x42];
    matches!(head, [VERSION, 1..=32, tag, ..] if TEXTS.contains(tag))
}

fn text(head: &[u8]) -> Option<Known> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let named = |magic: &[u8]| {
        let row = OTHERS.iter().find(|other| other.magic == magic);
        row.map(|other| Known { what: other.what, help: other.help })
    };
    if begins(b"<!doctype html") || begins(b"<html") {
        return named(b"<html");
    }
    let is_object = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    match text {
        [b'<', b'?' | b'!' | b'a'..=b'z' | b'A'..=b'Z', ..] => named(b"<?xml"),
        _ if is_object.is_some_and(|rest| matches!(rest, [] | [b'"' | b'}', ..])) => Some(Known {
            what: "a JSON text",
            help: "an index of a model has a \"weight_map\", and a server may have sent a message instead of the file",
        }),
        [b'[', ..] => Some(Known { what: "a JSON text", help: "it holds no tensors" }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_magic_and_says_what_helps() {
        for other in &OTHERS {
            let head = [vec![1; other.at], other.magic.to_vec(), vec![1; 8]].concat();
            let found = find(&head, &[1]).unwrap().to_string();
            assert!(found.contains(other.what) && found.contains(other.help), "{found}");
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
