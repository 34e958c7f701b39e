//! Roots and shards of zTensor 2, made byte by byte.

pub use super::ztensor_2::PAGE;
use super::ztensor_2::{blobs, map, with_footer, with_manifest, Cbor};
use std::path::Path;

/// A shard's entry in the table of shards.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    pub size: u64,
    pub digest: String,
}

/// The entry of an existing file.
pub fn entry(name: &str, bytes: &[u8]) -> Entry {
    Entry { name: name.into(), size: bytes.len() as u64, digest: xxh3(bytes) }
}

pub fn xxh3(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(bytes))
}

/// A dense tensor of u8: the position and the values of its bytes.
#[derive(Clone)]
pub struct Tensor<'a> {
    pub name: &'a str,
    pub shard: Option<&'a str>,
    pub offset: usize,
    pub bytes: &'a [u8],
}

fn manifest(tensors: &[Tensor<'_>], shards: &[Entry]) -> Vec<u8> {
    let digests: Vec<_> = tensors.iter().map(|tensor| xxh3(tensor.bytes)).collect();
    let objects = tensors.iter().zip(&digests).map(|(tensor, digest)| {
        let size = tensor.bytes.len() as u64;
        let blob = Cbor::Array(vec![(tensor.offset as u64).into(), size.into()]);
        let mut part = vec![("blob", blob), ("dtype", "u8".into()), ("digest", digest.as_str().into())];
        part.extend(tensor.shard.map(|shard| ("shard", shard.into())));
        let shape = Cbor::Array(vec![size.into()]);
        let parts = map([("data", Cbor::Map(part))]);
        (tensor.name, map([("shape", shape), ("layout", "dense".into()), ("parts", parts)]))
    });
    let mut root = vec![("objects", Cbor::Map(objects.collect()))];
    if !shards.is_empty() {
        let entries = shards.iter().map(|shard| {
            let entry = map([("size", shard.size.into()), ("digest", shard.digest.as_str().into())]);
            (shard.name.as_str(), entry)
        });
        root.push(("shards", Cbor::Map(entries.collect())));
    }
    let mut out = Vec::new();
    Cbor::Map(root).write(&mut out);
    out
}

/// A file with these tensors. Tensors without a shard have their bytes in it.
pub fn file(tensors: &[Tensor<'_>], shards: &[Entry]) -> Vec<u8> {
    let own = tensors.iter().filter(|tensor| tensor.shard.is_none());
    with_manifest(blobs(own.map(|tensor| (tensor.offset, tensor.bytes))), &manifest(tensors, shards))
}

/// A shard without a manifest.
pub fn data_shard(places: &[(usize, &[u8])]) -> Vec<u8> {
    with_footer(blobs(places.iter().copied()), 0, &[])
}

/// A model of a root with three tensors: `own` in the root, `one` and `two` in the shards `a` and `b`.
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

    /// Writes its files to a folder: `m.zt`, `m-a.zt`, `m-b.zt`.
    pub fn write(&self, folder: &Path) {
        for (name, bytes) in [("m.zt", &self.root), ("m-a.zt", &self.a), ("m-b.zt", &self.b)] {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}
