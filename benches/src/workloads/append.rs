//! W12: append one object to a file of 100,000. The cost depends on the manifest and the object,
//! not on the file.

use crate::data::{gauss_buf, small_specs, total, Spec};
use crate::harness::{run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::peers::limits;
use crate::{sys, zt, Cfg};
use serde_json::Value;
use std::io::Write;
use std::path::Path;

const LIMIT: &str = "limit: write() of as many bytes as the manifest, and fsync";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let n = if cfg.quick { 10_000 } else { 100_000 };
    let make = |elems: u64, path: &Path| {
        let specs = small_specs(n, elems);
        let data = gauss_buf(total(&specs), 2);
        zt::write(
            path,
            &specs,
            &zt::cnames(&specs),
            &data.slice()[..total(&specs)],
            zt::F32,
            &zt::writer_options(),
        );
        sys::open_read(path, false).sync_all().unwrap();
        std::fs::metadata(path).unwrap().len()
    };
    let path = |k: &str| cfg.dir.join(format!("w12-{k}.zt"));
    let (small, large, peer, raw) = (&path("small"), &path("large"), &path("peer"), &path("raw"));
    let (a, b) = (make(16, small), make(1024, large));
    std::fs::copy(small, peer).unwrap();
    let manifest = vec![0x60u8; limits::manifest_len(small)];
    let mut serial = 0;
    let mut fresh = move || {
        serial += 1;
        format!("appended.{serial}")
    };
    let data = [7u8; 4096];
    let append = |path: &Path, name: String| {
        let s = [Spec { name, shape: vec![1024], at: 0, len: 4096 }];
        secs(|| zt::append(path, &s, &zt::cnames(&s), &data, zt::F32)).0
    };
    let names: Vec<String> = (0..200).map(|_| fresh()).collect();
    let (mut x, mut y, mut z) = (names.iter().cloned(), names.iter().cloned(), names.iter().cloned());
    let cases: Vec<Case> = vec![
        timed(Role::Limit, LIMIT, || {
            let mut f = sys::create(raw, false);
            secs(|| {
                f.write_all(&manifest).unwrap();
                f.sync_all().unwrap();
            })
            .0
        }),
        timed(Role::Libztensor, format!("libztensor append to {} MB", a / 1_000_000), || {
            append(small, x.next().unwrap())
        }),
        timed(Role::Libztensor, format!("libztensor append to {} MB", b / 1_000_000), || {
            append(large, y.next().unwrap())
        }),
        timed(Role::Peer, format!("ztensor 1.2.3 append to {} MB", a / 1_000_000), || {
            let name = z.next().unwrap();
            secs(|| {
                let mut w = ::zt1::Writer::append(peer).unwrap();
                let raw = ::zt1::writer::Compression::Raw;
                w.add_bytes(&name, vec![1024], ::zt1::DType::F32, raw, &data, ::zt1::Checksum::None).unwrap();
                w.finish().unwrap();
            })
            .0
        }),
    ];
    let g = Group {
        id: "W12".into(),
        title: format!("append one object of 4 KiB to a file of {n}"),
        metrics: vec![Metric { name: "append", unit: Unit::Items(1.0), limit: LIMIT }],
        cases,
        notes: vec![format!("manifest {} B", manifest.len())],
    };
    let v = run_group(g, cfg.reps(5), 0);
    let appended = zt::Zt::open(large);
    assert!(appended.view(c"appended.1") == data, "W12: the appended object");
    for p in [small, large, peer, raw] {
        let _ = std::fs::remove_file(p);
    }
    vec![v]
}
