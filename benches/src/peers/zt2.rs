//! ztensor 2.1.1, the released Rust library for zTensor 2.

use super::Lap;
use crate::data::Spec;
use crate::harness::Sample;
use std::hint::black_box;
use std::path::Path;
use zt2::{DType, Source, Writer};

/// Every tensor with its xxh3, aligned to `align`.
pub fn write(path: &Path, specs: &[Spec], data: &[u8], dtype: DType, align: u64) {
    let mut w = Writer::options().canonical(false).align(align).create(path).unwrap();
    for s in specs {
        w.add(&s.name, s.shape.clone(), dtype, &data[s.at..s.at + s.len]).unwrap();
    }
    w.finish().unwrap();
}

pub fn index(path: &Path, names: &[&str]) -> Sample {
    let mut t = Lap::start();
    let r = Source::open(path).unwrap();
    let open = t.lap();
    let mut sum = 0;
    for n in names {
        sum += r.tensor(n).unwrap().shape().len();
    }
    assert_eq!(black_box(sum), names.len());
    let find = t.lap();
    let mut sum = 0;
    for tensor in r.tensors() {
        let part = tensor.data().unwrap();
        sum += tensor.name().len() as u64 + tensor.shape()[0] + part.dtype().width() + part.nbytes();
    }
    black_box(sum);
    let list = t.lap();
    drop(r);
    vec![open, find, list, t.lap()]
}

pub fn copy(path: &Path, specs: &[Spec], dst: &mut [u8], verify: bool) {
    let r = Source::open(path).unwrap();
    for s in specs {
        let tensor = r.tensor(&s.name).unwrap();
        let part = tensor.data().unwrap();
        if verify {
            assert!(part.verify().unwrap().is_checked());
        }
        dst[s.at..s.at + s.len].copy_from_slice(part.map().unwrap());
    }
}
