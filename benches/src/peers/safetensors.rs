//! safetensors 0.8.0.

use super::Lap;
use crate::data::Spec;
use crate::harness::Sample;
use crate::sys;
use memmap2::Mmap;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use std::borrow::Borrow;
use std::hint::black_box;
use std::path::Path;

pub fn write<S: Borrow<Spec>>(path: &Path, specs: &[S], data: &[u8], dtype: Dtype) {
    let views = specs.iter().map(|s| {
        let s: &Spec = s.borrow();
        let shape = s.shape.iter().map(|&d| d as usize).collect();
        (s.name.as_str(), TensorView::new(dtype, shape, &data[s.at..s.at + s.len]).unwrap())
    });
    safetensors::serialize_to_file(views, None, path).unwrap();
}

pub fn map(path: &Path) -> Mmap {
    unsafe { Mmap::map(&sys::open_read(path, false)).unwrap() }
}

pub fn index(path: &Path, names: &[&str]) -> Sample {
    let mut t = Lap::start();
    let m = map(path);
    let st = SafeTensors::deserialize(&m).unwrap();
    let open = t.lap();
    let mut sum = 0;
    for n in names {
        sum += st.tensor(n).unwrap().shape().len();
    }
    assert_eq!(black_box(sum), names.len());
    let find = t.lap();
    let mut sum = 0;
    for (name, v) in st.iter() {
        sum += name.len()
            + v.shape()[0]
            + v.dtype() as usize
            + v.data().as_ptr() as usize % 4096
            + v.data().len();
    }
    black_box(sum);
    let list = t.lap();
    drop(st);
    drop(m);
    vec![open, find, list, t.lap()]
}

pub fn touch_all(path: &Path, specs: &[Spec]) -> u64 {
    let m = map(path);
    let st = SafeTensors::deserialize(&m).unwrap();
    specs.iter().map(|s| sys::touch(st.tensor(&s.name).unwrap().data())).sum()
}

fn copy(bytes: &[u8], specs: &[Spec], dst: &mut [u8]) {
    let st = SafeTensors::deserialize(bytes).unwrap();
    for s in specs {
        dst[s.at..s.at + s.len].copy_from_slice(st.tensor(&s.name).unwrap().data());
    }
}

pub fn copy_mmap(path: &Path, specs: &[Spec], dst: &mut [u8]) {
    copy(&map(path), specs, dst);
}

pub fn copy_whole(path: &Path, specs: &[Spec], dst: &mut [u8]) {
    copy(&std::fs::read(path).unwrap(), specs, dst);
}
