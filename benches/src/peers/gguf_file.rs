//! Writes the GGUF files that the GGUF peers read.

use crate::data::Spec;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

pub const F32: u32 = 0;
pub const BF16: u32 = 30;
const ALIGN: usize = 32;

pub fn write(path: &Path, specs: &[Spec], data: &[u8], kind: u32) {
    let mut h = b"GGUF".to_vec();
    h.extend(3u32.to_le_bytes());
    h.extend((specs.len() as u64).to_le_bytes());
    h.extend(0u64.to_le_bytes());
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
}
