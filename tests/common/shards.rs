//! Files of zTensor 2 made by hand: roots that name shards, and shards.
#![allow(dead_code)] // each program uses a part of it

use std::path::Path;

/// Blobs are at multiples of this.
pub const PAGE: usize = 4096;
const MAGIC: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

fn head(out: &mut Vec<u8>, major: u8, value: u64) {
    let major = major << 5;
    match value {
        0..=23 => out.push(major | value as u8),
        24..=0xff => out.extend([major | 24, value as u8]),
        0x100..=0xffff => {
            out.push(major | 25);
            out.extend((value as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major | 26);
            out.extend((value as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend(value.to_be_bytes());
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    head(out, 3, text.len() as u64);
    out.extend(text.as_bytes());
}

/// A map whose pairs are put into the order that the format wants.
fn map(out: &mut Vec<u8>, pairs: Vec<(&str, Vec<u8>)>) {
    let mut pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (made(|o| text(o, key)), value)).collect();
    pairs.sort();
    head(out, 5, pairs.len() as u64);
    pairs.iter().for_each(|(key, value)| out.extend(key.iter().chain(value)));
}

fn made(body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    body(&mut out);
    out
}

/// What a table of shards says of one.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    pub size: u64,
    pub digest: String,
}

/// That of a file that is there.
pub fn entry(name: &str, bytes: &[u8]) -> Entry {
    Entry { name: name.into(), size: bytes.len() as u64, digest: xxh3(bytes) }
}

pub fn xxh3(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(bytes))
}

/// A dense tensor of u8: where its bytes are, and of what they are.
#[derive(Clone)]
pub struct Tensor<'a> {
    pub name: &'a str,
    pub shard: Option<&'a str>,
    pub offset: usize,
    pub bytes: &'a [u8],
}

fn manifest(tensors: &[Tensor<'_>], shards: &[Entry]) -> Vec<u8> {
    let objects = tensors.iter().map(|tensor| {
        let blob = made(|o| {
            head(o, 4, 2);
            head(o, 0, tensor.offset as u64);
            head(o, 0, tensor.bytes.len() as u64);
        });
        let mut part = vec![("blob", blob), ("dtype", made(|o| text(o, "u8")))];
        part.push(("digest", made(|o| text(o, &xxh3(tensor.bytes)))));
        part.extend(tensor.shard.map(|shard| ("shard", made(|o| text(o, shard)))));
        let shape = made(|o| {
            head(o, 4, 1);
            head(o, 0, tensor.bytes.len() as u64);
        });
        let parts = made(|o| map(o, vec![("data", made(|o| map(o, part)))]));
        let object = vec![("shape", shape), ("layout", made(|o| text(o, "dense"))), ("parts", parts)];
        (tensor.name, made(|o| map(o, object)))
    });
    let mut root = vec![("objects", made(|o| map(o, objects.collect())))];
    if !shards.is_empty() {
        let entries = shards.iter().map(|shard| {
            let size = made(|o| head(o, 0, shard.size));
            let entry = vec![("size", size), ("digest", made(|o| text(o, &shard.digest)))];
            (shard.name.as_str(), made(|o| map(o, entry)))
        });
        root.push(("shards", made(|o| map(o, entries.collect()))));
    }
    made(|o| map(o, root))
}

/// A file with these tensors, of which those in no shard have their bytes in it.
pub fn file(tensors: &[Tensor<'_>], shards: &[Entry]) -> Vec<u8> {
    let own = tensors.iter().filter(|tensor| tensor.shard.is_none());
    let mut out = blobs(own.map(|tensor| (tensor.offset, tensor.bytes)));
    let (offset, manifest) = (out.len(), manifest(tensors, shards));
    out.extend(&manifest);
    footer(&mut out, offset as u64, &manifest);
    out
}

/// A shard without a manifest.
pub fn data_shard(places: &[(usize, &[u8])]) -> Vec<u8> {
    let mut out = blobs(places.iter().copied());
    footer(&mut out, 0, &[]);
    out
}

fn blobs<'a>(places: impl Iterator<Item = (usize, &'a [u8])>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.resize(PAGE, 0);
    for (offset, bytes) in places {
        let end = (offset + bytes.len()).next_multiple_of(PAGE);
        out.resize(out.len().max(end), 0);
        out[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    out
}

fn footer(out: &mut Vec<u8>, offset: u64, manifest: &[u8]) {
    let hash = if manifest.is_empty() { 0 } else { xxhash_rust::xxh3::xxh3_64(manifest) };
    [offset, manifest.len() as u64, hash].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(MAGIC);
}

/// A model of a root with three tensors, `own` in it and `one` and `two` in two shards, `a` and `b`.
pub struct Sharded {
    pub root: Vec<u8>,
    pub a: Vec<u8>,
    pub b: Vec<u8>,
    pub tensors: [(&'static str, Vec<u8>); 3],
}

impl Sharded {
    pub fn new() -> Sharded {
        let bytes = |seed: u8| (0..5000).map(|i: usize| (i % 251) as u8 ^ seed).collect::<Vec<u8>>();
        let tensors = [("own", bytes(0)), ("one", bytes(1)), ("two", bytes(2))];
        let [own, one, two] = [0, 1, 2].map(|at| tensors[at].1.as_slice());
        let a = data_shard(&[(PAGE, one)]);
        let b = file(&[Tensor { name: "two of b", shard: None, offset: 2 * PAGE, bytes: two }], &[]);
        let all = [
            Tensor { name: "own", shard: None, offset: PAGE, bytes: own },
            Tensor { name: "one", shard: Some("a"), offset: PAGE, bytes: one },
            Tensor { name: "two", shard: Some("b"), offset: 2 * PAGE, bytes: two },
        ];
        let root = file(&all, &[entry("a", &a), entry("b", &b)]);
        Sharded { root, a, b, tensors }
    }

    /// Its files in a folder: `m.zt`, `m-a.zt`, `m-b.zt`.
    pub fn write(&self, folder: &Path) {
        for (name, bytes) in [("m.zt", &self.root), ("m-a.zt", &self.a), ("m-b.zt", &self.b)] {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}
