//! candle-core 0.11.1's GGUF reader.

use super::Lap;
use crate::data::Spec;
use crate::harness::Sample;
use candle_core::quantized::gguf_file::Content;
use candle_core::Device;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;

pub fn open(path: &Path) -> Content {
    Content::read(&mut BufReader::new(File::open(path).unwrap())).unwrap()
}

pub fn index(path: &Path, names: &[&str]) -> Sample {
    let mut t = Lap::start();
    let c = open(path);
    let opened = t.lap();
    let mut sum = 0;
    for n in names {
        sum += c.tensor_infos[*n].shape.rank();
    }
    assert_eq!(black_box(sum), names.len());
    let find = t.lap();
    let mut sum = 0;
    for (name, i) in &c.tensor_infos {
        sum += name.len() + i.shape.dims()[0] + i.ggml_dtype as usize + i.offset as usize;
    }
    black_box(sum);
    let list = t.lap();
    drop(c);
    vec![opened, find, list, t.lap()]
}

pub fn load_all(path: &Path, specs: &[Spec]) {
    let mut f = BufReader::new(File::open(path).unwrap());
    let c = Content::read(&mut f).unwrap();
    let all: Vec<_> = specs.iter().map(|s| c.tensor(&mut f, &s.name, &Device::Cpu).unwrap()).collect();
    black_box(all);
}
