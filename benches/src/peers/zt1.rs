//! ztensor 1.2.3, the released Rust library for these files.

use super::Lap;
use crate::data::Spec;
use crate::harness::Sample;
use crate::sys;
use std::hint::black_box;
use std::io::{Seek, Write};
use std::path::Path;
use zt1::writer::Compression;
use zt1::{Checksum, DType, Reader, Writer};

pub fn write(path: &Path, specs: &[Spec], data: &[u8], dtype: DType, sum: Checksum) {
    fill(Writer::create(path).unwrap(), specs, data, dtype, Compression::Raw, sum);
}

pub fn write_to(sink: impl Write + Seek, specs: &[Spec], data: &[u8], dtype: DType, c: Compression) {
    fill(Writer::new(sink).unwrap(), specs, data, dtype, c, Checksum::None);
}

fn fill<W: Write + Seek>(
    mut w: Writer<W>,
    specs: &[Spec],
    data: &[u8],
    dtype: DType,
    c: Compression,
    sum: Checksum,
) {
    for s in specs {
        w.add_bytes(&s.name, s.shape.clone(), dtype, c, &data[s.at..s.at + s.len], sum).unwrap();
    }
    w.finish().unwrap();
}

pub fn open(path: &Path) -> Sample {
    let mut t = Lap::start();
    let r = Reader::open_mmap_shared(path).unwrap();
    let opened = t.lap();
    drop(r);
    vec![opened]
}

pub fn index(path: &Path, names: &[&str]) -> Sample {
    let mut t = Lap::start();
    let r = Reader::open_mmap_shared(path).unwrap();
    let open = t.lap();
    let mut sum = 0;
    for n in names {
        sum += r.get(n).unwrap().shape.len();
    }
    assert_eq!(black_box(sum), names.len());
    let find = t.lap();
    let mut sum = 0;
    for (name, o) in r.tensors() {
        let c = &o.components["data"];
        sum += name.len() as u64 + o.shape[0] + c.dtype as u64 + c.offset + c.length;
    }
    black_box(sum);
    let list = t.lap();
    drop(r);
    vec![open, find, list, t.lap()]
}

pub fn touch_all(path: &Path, specs: &[Spec]) -> u64 {
    let r = Reader::open_mmap_shared(path).unwrap();
    specs.iter().map(|s| sys::touch(r.view(&s.name).unwrap())).sum()
}

pub fn copy_view(path: &Path, specs: &[Spec], dst: &mut [u8]) {
    let r = Reader::open_mmap_shared(path).unwrap();
    for s in specs {
        dst[s.at..s.at + s.len].copy_from_slice(r.view(&s.name).unwrap());
    }
}

pub fn copy_read(path: &Path, specs: &[Spec], dst: &mut [u8], verify: bool) {
    let r = Reader::open(path).unwrap();
    for s in specs {
        dst[s.at..s.at + s.len].copy_from_slice(&r.read(&s.name, verify).unwrap());
    }
}

pub fn read_own(path: &Path, specs: &[Spec], verify: bool) {
    let r = Reader::open_mmap_shared(path).unwrap();
    black_box(specs.iter().map(|s| r.read(&s.name, verify).unwrap()).collect::<Vec<_>>());
}
