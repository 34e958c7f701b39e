//! Writes the GGUF files that the GGUF peers read.

use crate::data::Spec;
use crate::zt;
use std::ffi::CStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

pub const F32: u32 = 0;
pub const BF16: u32 = 30;
const ALIGN: usize = 32;

/// The arrays of a vocabulary.
pub const STRINGS: [&CStr; 2] = [c"tokenizer.ggml.tokens", c"tokenizer.ggml.merges"];
/// Each with its dtype.
pub const NUMBERS: [(&CStr, i32); 2] =
    [(c"tokenizer.ggml.scores", zt::F32), (c"tokenizer.ggml.token_type", zt::I32)];

/// Keys and values of a file, encoded.
#[derive(Default)]
pub struct Keys {
    count: u64,
    bytes: Vec<u8>,
}

impl Keys {
    fn string(&mut self, text: &str) {
        self.bytes.extend((text.len() as u64).to_le_bytes());
        self.bytes.extend(text.as_bytes());
    }

    fn array(&mut self, key: &str, element: u32, count: usize) {
        self.count += 1;
        self.string(key);
        self.bytes.extend(9u32.to_le_bytes());
        self.bytes.extend(element.to_le_bytes());
        self.bytes.extend((count as u64).to_le_bytes());
    }

    pub fn strings(&mut self, key: &str, texts: &[String]) {
        self.array(key, 8, texts.len());
        texts.iter().for_each(|text| self.string(text));
    }

    pub fn f32s(&mut self, key: &str, numbers: impl ExactSizeIterator<Item = f32>) {
        self.array(key, 6, numbers.len());
        numbers.for_each(|n| self.bytes.extend(n.to_le_bytes()));
    }

    pub fn i32s(&mut self, key: &str, numbers: impl ExactSizeIterator<Item = i32>) {
        self.array(key, 5, numbers.len());
        numbers.for_each(|n| self.bytes.extend(n.to_le_bytes()));
    }
}

pub fn write(path: &Path, specs: &[Spec], data: &[u8], kind: u32) {
    write_with(path, &Keys::default(), specs, data, kind);
}

/// Writes a file. Returns the size before the data.
pub fn write_with(path: &Path, keys: &Keys, specs: &[Spec], data: &[u8], kind: u32) -> usize {
    let mut h = b"GGUF".to_vec();
    h.extend(3u32.to_le_bytes());
    h.extend((specs.len() as u64).to_le_bytes());
    h.extend(keys.count.to_le_bytes());
    h.extend(&keys.bytes);
    let mut at = 0usize;
    for s in specs {
        h.extend((s.name.len() as u64).to_le_bytes());
        h.extend(s.name.as_bytes());
        h.extend((s.shape.len() as u32).to_le_bytes());
        for d in s.shape.iter().rev() {
            h.extend(d.to_le_bytes());
        }
        h.extend(kind.to_le_bytes());
        h.extend((at as u64).to_le_bytes());
        at += s.len.next_multiple_of(ALIGN);
    }
    h.resize(h.len().next_multiple_of(ALIGN), 0);
    let mut w = BufWriter::new(File::create(path).unwrap());
    w.write_all(&h).unwrap();
    for s in specs {
        w.write_all(&data[s.at..s.at + s.len]).unwrap();
        w.write_all(&[0; ALIGN][..s.len.next_multiple_of(ALIGN) - s.len]).unwrap();
    }
    w.flush().unwrap();
    h.len()
}
