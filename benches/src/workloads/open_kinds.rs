//! W1 for manifests with more data for each object: digests, attributes, several components.

use crate::harness::{case, Group, Metric, Role, Sample, Unit};
use crate::outcome::group;
use crate::peers::{limits, zt1, Lap};
use crate::workloads::open::LIMIT;
use crate::{sys, zt, Cfg};
use serde_json::Value;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

const DATA: [u64; 8] = [7; 8];

fn dense(writer: *mut zt::Writer, name: &CString) {
    let (shape, data) = ([4, 4], DATA.as_ptr().cast());
    zt::ok(unsafe { zt::zt_write_dense(writer, name.as_ptr(), 0, zt::F32, 0, shape.as_ptr(), 2, data, 64) });
}

fn quantized(writer: *mut zt::Writer, name: &CString) {
    let (shape, data) = ([4, 32], DATA.as_ptr().cast());
    let desc = zt::QuantizedDesc {
        bits: 4,
        group_size: 32,
        packing: c"int32_low_nibble".as_ptr(),
        packed_weight: data,
        packed_weight_size: 64,
        scales: data,
        scales_size: 16,
        packed_weight_dtype: zt::I32,
        scales_dtype: zt::F32,
        ..zt::QuantizedDesc::new()
    };
    zt::ok(unsafe { zt::zt_write_quantized(writer, name.as_ptr(), 0, shape.as_ptr(), 2, &desc) });
}

fn generate(path: &Path, n: usize, digest: i32, put: fn(*mut zt::Writer, &CString)) {
    let options = zt::WriterOptions { digest, ..zt::writer_options() };
    let mut writer = null_mut();
    zt::ok(unsafe { zt::zt_write_create(zt::cpath(path).as_ptr(), &options, &mut writer) });
    for name in crate::data::names(n) {
        put(writer, &CString::new(name).unwrap());
    }
    zt::ok(unsafe { zt::zt_write_finish(writer, null_mut()) });
    sys::evict(path);
    sys::warm(path);
}

fn open(path: &Path) -> Sample {
    let mut t = Lap::start();
    let f = zt::Zt::open(path);
    let opened = t.lap();
    drop(f);
    vec![opened]
}

fn first(sample: Sample) -> Sample {
    sample.into_iter().take(1).collect()
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let kinds: [(&str, i32, fn(*mut zt::Writer, &CString)); 3] =
        [("crc32c", zt::CRC32C, dense), ("sha256", zt::SHA256, dense), ("quantized", 0, quantized)];
    kinds.map(|(kind, digest, put)| group(&format!("W1/{kind}"), || one(cfg, kind, digest, put))).into()
}

fn one(cfg: &Cfg, kind: &str, digest: i32, put: fn(*mut zt::Writer, &CString)) -> Value {
    let n = 100_000;
    let path = cfg.dir.join(format!("w1-{kind}.zt"));
    generate(&path, n, digest, put);
    let cases = vec![
        case(Role::Limit, LIMIT, || first(limits::walk(&path))),
        case(Role::Libztensor, "libztensor zt_open", || open(&path)),
        case(Role::Peer, "ztensor 1.2.3 open_mmap_shared", || first(zt1::open(&path))),
    ];
    let g = Group {
        id: format!("W1/{kind}"),
        title: format!("open; {n} objects, {kind}, page cache warm"),
        metrics: vec![Metric { name: "open", unit: Unit::Items(n as f64), limit: LIMIT }],
        cases,
        notes: vec![format!("{:.0} B of manifest an object", limits::manifest_len(&path) as f64 / n as f64)],
    };
    let listed = crate::harness::run_group(g, cfg.reps(7), 1);
    let _ = std::fs::remove_file(&path);
    listed
}
