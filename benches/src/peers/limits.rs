//! The least cost to parse a manifest: a walk over its CBOR heads, and a prototype of an index (arena and
//! hash table, without checks and messages). Only definite lengths, as writers make them.

use super::Lap;
use crate::harness::Sample;
use crate::sys;
use foldhash::fast::FixedState;
use memmap2::Mmap;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::path::Path;

fn map(path: &Path) -> Mmap {
    unsafe { Mmap::map(&sys::open_read(path, false)).unwrap() }
}

fn manifest(file: &[u8]) -> &[u8] {
    if file.ends_with(b"\x89ZT2\r\n\x1a\n") {
        let footer = &file[file.len() - 40..];
        let [start, size] =
            [0, 8].map(|at| u64::from_le_bytes(footer[at..at + 8].try_into().unwrap()) as usize);
        return &file[start..start + size];
    }
    let end = file.len() - 16;
    let n = u64::from_le_bytes(file[end..end + 8].try_into().unwrap()) as usize;
    &file[end - n..end]
}

pub fn manifest_len(path: &Path) -> usize {
    manifest(&map(path)).len()
}

struct Cbor<'a> {
    b: &'a [u8],
    at: usize,
}

impl<'a> Cbor<'a> {
    /// Major type and argument.
    #[inline(always)]
    fn head(&mut self) -> (u8, u64) {
        let first = self.b[self.at];
        let b = &self.b[self.at + 1..];
        let (n, v) = match first & 31 {
            24 => (1, u64::from(b[0])),
            25 => (2, u64::from(u16::from_be_bytes(b[..2].try_into().unwrap()))),
            26 => (4, u64::from(u32::from_be_bytes(b[..4].try_into().unwrap()))),
            27 => (8, u64::from_be_bytes(b[..8].try_into().unwrap())),
            v if v < 24 => (0, u64::from(v)),
            _ => panic!("indefinite length"),
        };
        self.at += 1 + n;
        (first >> 5, v)
    }

    #[inline(always)]
    fn text(&mut self) -> &'a [u8] {
        let (_, n) = self.head();
        let s = &self.b[self.at..self.at + n as usize];
        self.at += n as usize;
        s
    }

    #[inline(always)]
    fn skip(&mut self) {
        let mut open = 1u64;
        while open > 0 {
            let (major, n) = self.head();
            open -= 1;
            match major {
                2 | 3 => self.at += n as usize,
                4 => open += n,
                5 => open += 2 * n,
                6 => open += 1,
                _ => {}
            }
        }
    }

    /// Calls `f` for each key. `f` reads the value.
    #[inline(always)]
    fn each(&mut self, mut f: impl FnMut(&mut Self, &'a [u8])) {
        let (_, n) = self.head();
        for _ in 0..n {
            let k = self.text();
            f(self, k);
        }
    }
}

/// Seconds for one walk, including opening.
pub fn walk(path: &Path) -> Sample {
    let mut t = Lap::start();
    let m = map(path);
    let mut c = Cbor { b: manifest(&m), at: 0 };
    c.skip();
    assert_eq!(c.at, c.b.len());
    vec![t.lap(), None, None, None]
}

struct Entry {
    name: (u32, u32),
    shape: (u32, u32),
    dtype: [u8; 4],
    offset: u64,
    length: u64,
}

struct Index {
    map: Mmap,
    entries: Vec<Entry>,
    dims: Vec<u64>,
    table: Vec<u32>,
    hash: FixedState,
}

impl Index {
    fn open(path: &Path) -> Index {
        let map = map(path);
        let m = manifest(&map);
        let (mut entries, mut dims) = (Vec::new(), Vec::new());
        Cbor { b: m, at: 0 }.each(|c, key| match key {
            b"objects" => c.each(|c, name| {
                let at = name.as_ptr() as usize - m.as_ptr() as usize;
                let (first, mut e) = (dims.len() as u32, Entry::new(at, name.len()));
                c.each(|c, k| match k {
                    b"shape" => {
                        let (_, n) = c.head();
                        dims.extend((0..n).map(|_| c.head().1));
                        e.shape = (first, n as u32);
                    }
                    b"components" => c.each(|c, _| e.component(c)),
                    _ => c.skip(),
                });
                entries.push(e);
            }),
            _ => c.skip(),
        });
        let mut table = vec![u32::MAX; (entries.len() * 2).next_power_of_two()];
        let hash = FixedState::with_seed(7);
        let mask = table.len() - 1;
        for (i, e) in entries.iter().enumerate() {
            let name = &m[e.name.0 as usize..][..e.name.1 as usize];
            let mut slot = hash.hash_one(name) as usize & mask;
            while table[slot] != u32::MAX {
                slot = (slot + 1) & mask;
            }
            table[slot] = i as u32;
        }
        Index { map, entries, dims, table, hash }
    }

    fn find(&self, m: &[u8], name: &[u8]) -> &Entry {
        let mask = self.table.len() - 1;
        let mut slot = self.hash.hash_one(name) as usize & mask;
        loop {
            let e = &self.entries[self.table[slot] as usize];
            if &m[e.name.0 as usize..][..e.name.1 as usize] == name {
                return e;
            }
            slot = (slot + 1) & mask;
        }
    }
}

impl Entry {
    fn new(at: usize, len: usize) -> Entry {
        Entry { name: (at as u32, len as u32), shape: (0, 0), dtype: [0; 4], offset: 0, length: 0 }
    }

    fn component(&mut self, c: &mut Cbor<'_>) {
        c.each(|c, k| match k {
            b"dtype" => {
                let t = c.text();
                let n = t.len().min(4);
                self.dtype[..n].copy_from_slice(&t[..n]);
            }
            b"offset" => self.offset = c.head().1,
            b"length" => self.length = c.head().1,
            _ => c.skip(),
        });
    }
}

pub fn index(path: &Path, names: &[&str]) -> Sample {
    let mut t = Lap::start();
    let x = Index::open(path);
    let open = t.lap();
    let m = manifest(&x.map);
    let mut sum = 0;
    for n in names {
        sum += x.find(m, n.as_bytes()).shape.1 as usize;
    }
    assert_eq!(black_box(sum), names.len());
    let find = t.lap();
    let mut sum = 0;
    for e in &x.entries {
        sum += u64::from(e.name.1) + x.dims[e.shape.0 as usize] + u64::from(e.dtype[0]) + e.offset + e.length;
    }
    black_box(sum);
    let list = t.lap();
    drop(x);
    vec![open, find, list, t.lap()]
}
