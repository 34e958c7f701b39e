//! Files of other writers: frames without a size, indices of any width before 1.2, types that repeat the
//! dtype, tied components.

use crate::common::{self, Random};
use ciborium::Value;

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn map(pairs: Vec<(&str, Value)>) -> Value {
    Value::Map(pairs.into_iter().map(|(key, value)| (text(key), value)).collect())
}

/// One frame that does not declare its size.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
    let mut compressed = vec![0; zstd_safe::compress_bound(bytes.len())];
    let size = context.compress2(&mut compressed[..], bytes).unwrap();
    compressed.truncate(size);
    compressed
}

struct Foreign {
    file: Vec<u8>,
    later: bool,
    random: Random,
}

impl Foreign {
    fn component(&mut self, dtype: &str, bytes: &[u8]) -> Value {
        let zstd = self.random.below(3) > 0;
        let stored = if zstd { frame(bytes) } else { bytes.to_vec() };
        self.file.resize(self.file.len().next_multiple_of(64), 0);
        let offset = self.file.len();
        self.file.extend_from_slice(&stored);
        let mut fields = vec![
            ("dtype", text(dtype)),
            ("offset", Value::from(offset as u64)),
            ("length", Value::from(stored.len() as u64)),
        ];
        if zstd {
            fields.push(("encoding", text("zstd")));
            if self.later {
                fields.push(("uncompressed_length", Value::from(bytes.len() as u64)));
            }
        }
        if self.later && self.random.below(4) == 0 {
            fields.push(("type", text(dtype)));
        }
        map(fields)
    }

    fn index(&mut self, numbers: &[u64]) -> Value {
        let widths = [("u64", 8), ("i32", 4), ("u8", 1), ("i64", 8), ("u16", 2)];
        let (dtype, width) = widths[if self.later { 0 } else { self.random.below(5) as usize }];
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(width)).collect();
        self.component(dtype, &bytes)
    }
}

/// A file of 1.1 or 1.2.
pub fn file(seed: u64) -> Vec<u8> {
    let later = seed % 2 == 0;
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    let mut f = Foreign { file, later, random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) };
    let values = common::compressible(5 * 4);
    let csr = vec![
        ("values", f.component("f32", &values)),
        ("indices", f.index(&[0, 5, 2, 1, 3])),
        ("indptr", f.index(&[0, 2, 2, 3, 5])),
    ];
    let coo = vec![("coords", f.index(&[0, 1, 2, 3, 0, 1])), ("values", f.component("u8", &[1, 0, 1]))];
    let dense = f.component("bool", &[1, 0, 1, 1]);
    let size = f.random.below(3000) as usize;
    let long = f.component("i16", &common::compressible(2 * size));
    let complex = match later {
        true => vec![f.component("u8", &[1, 2])],
        false => vec![f.component("complex64", &[1; 16])],
    };
    let object = |shape: &[u64], format: &str, components| {
        let shape = Value::Array(shape.iter().map(|d| Value::from(*d)).collect());
        map(vec![("shape", shape), ("format", text(format)), ("components", map(components))])
    };
    let mut objects = vec![
        ("rows", object(&[4, 6], "sparse_csr", csr)),
        ("places", object(&[3, 4], "sparse_coo", coo)),
        ("dense", object(&[4], "dense", vec![("data", dense.clone())])),
        ("tied", object(&[2, 2], "dense", vec![("data", dense)])),
        ("long", object(&[size as u64], "dense", vec![("data", long)])),
    ];
    let single = complex.into_iter().next().unwrap();
    objects.push(("single", object(&[2], "dense", vec![("data", single)])));
    let version = text(if later { "1.2.0" } else { "1.1.0" });
    let mut manifest = Vec::new();
    let root = map(vec![("version", version), ("objects", map(objects))]);
    ciborium::into_writer(&root, &mut manifest).unwrap();
    let mut file = f.file;
    file.extend_from_slice(&manifest);
    file.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    file.extend_from_slice(b"ZTEN1000");
    file
}
