//! Tensor bytes that look like the end of a file, or like the record of an append.
#![allow(dead_code)] // each program uses a part of it

use crate::common::{manifest_bytes, Random};
use ciborium::Value;
use ztensor::container::AppendRecord;

pub const MAGIC: &[u8; 8] = b"ZTEN1000";

/// A manifest and footer at `start` that describe the file that contains them. All of it is one tensor, so
/// there is no gap before them.
pub fn coherent_tail(start: u64) -> Vec<u8> {
    let text = |t: &str| Value::Text(t.into());
    let number = |n: u64| Value::Integer(n.into());
    let map = |pairs: Vec<(&str, Value)>| Value::Map(pairs.into_iter().map(|(k, v)| (text(k), v)).collect());
    let length = start - 64;
    let data = map(vec![("dtype", text("u8")), ("offset", number(64)), ("length", number(length))]);
    let object = map(vec![
        ("shape", Value::Array(vec![number(length)])),
        ("format", text("dense")),
        ("components", map(vec![("data", data)])),
    ]);
    let root = map(vec![("version", text("1.2.0")), ("objects", map(vec![("all of it", object)]))]);
    let mut bytes = Vec::new();
    ciborium::into_writer(&root, &mut bytes).unwrap();
    let footer = footer(bytes.len() as u64);
    [bytes, footer].concat()
}

/// A footer that declares a manifest of that size.
pub fn footer(manifest_size: u64) -> Vec<u8> {
    [&manifest_size.to_le_bytes()[..], MAGIC].concat()
}

/// The append record of a file.
pub fn record_of(file: &[u8]) -> [u8; 32] {
    let start = file.len() - 16 - manifest_bytes(file).len();
    let tail_crc = crc32c::crc32c(&file[start..]);
    AppendRecord { tail: start as u64..file.len() as u64, tail_crc }.to_bytes()
}

/// A file with the record of an append to it, and the appended bytes.
pub fn appending(before: &[u8], appended: &[u8]) -> Vec<u8> {
    let mut image = [before, appended].concat();
    image[8..40].copy_from_slice(&record_of(before));
    image
}

/// `size` bytes for offset `base` of a file: complete files, ends of that file, footers, records, and random
/// bytes.
pub fn hostile(base: u64, size: usize, inner: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let at = base + bytes.len() as u64;
        let count = random.below(700) as usize;
        match random.below(8) {
            0 => bytes.extend_from_slice(inner),
            1 => bytes.extend(coherent_tail(at)),
            2 => bytes.extend(footer(random.below(at))),
            3 => {
                let end = random.below(2 * at);
                let record = AppendRecord { tail: random.below(end + 1)..end, tail_crc: 0 };
                bytes.extend_from_slice(MAGIC);
                bytes.extend(record.to_bytes());
            }
            4 => bytes.extend((0..count).map(|_| random.next() as u8)),
            5 => bytes.resize(bytes.len() + count, 0),
            6 => bytes.extend_from_slice(MAGIC),
            _ => {
                bytes.push(0xa0);
                bytes.extend(footer(1));
            }
        }
    }
    bytes.truncate(size);
    bytes
}
