//! W7: digests on one core, from memory; then loads that check every tensor.

use crate::balloon::borrow;
use crate::data::{gauss_buf, llama_specs, total, Spec};
use crate::harness::{run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::zt1;
use crate::sys::{self, blocks, Buf, Shared};
use crate::{zt, Cfg};
use serde_json::Value;
use sha2::Digest;
use std::hint::black_box;

const FAST: &str = "crc-fast 1: crc32c";
const PLAIN: &str = "limit: pread into the buffer, no check, 1 thread";

fn crc(b: &[u8]) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, b)
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    vec![group("W7", || from_memory(cfg)), group("W7b", || verified(cfg))]
}

fn from_memory(cfg: &Cfg) -> Value {
    let len = (cfg.mib / 4) << 20;
    let data = gauss_buf(len, 3);
    let data = &data.slice()[..len];
    let spec = [Spec { name: "t".into(), shape: vec![len as u64 / 2], at: 0, len }];
    let file = |digest| {
        let o = zt::WriterOptions { digest, ..zt::writer_options() };
        zt::write_sink(&spec, &zt::cnames(&spec), data, zt::BF16, &o, true).1
    };
    let (crc_file, sha_file) = (file(zt::CRC32C), file(zt::SHA256));
    let (crc_open, sha_open) = (zt::Zt::memory(&crc_file), zt::Zt::memory(&sha_file));
    // the same memory for all, because small pages are slower than the huge ones of `data`
    let data = crc_open.view(c"t");
    let verify = |z: &zt::Zt| z.verify(c"t");
    let cases = vec![
        timed(Role::Limit, FAST, || secs(|| black_box(crc(black_box(data)))).0),
        timed(Role::Limit, "sha2 0.11: sha256", || {
            secs(|| black_box(sha2::Sha256::digest(black_box(data)))).0
        }),
        timed(Role::Libztensor, "libztensor zt_verify, crc32c", || secs(|| verify(&crc_open)).0),
        timed(Role::Libztensor, "libztensor zt_verify, sha256", || secs(|| verify(&sha_open)).0),
        timed(Role::Peer, "crc32c 0.6 (as ztensor 1.2.3)", || secs(|| black_box(crc32c::crc32c(data))).0),
    ];
    let g = Group {
        id: "W7".into(),
        title: format!("digests of {len} B in memory"),
        metrics: vec![Metric { name: "digest", unit: Unit::Bytes(len as f64), limit: FAST }],
        cases,
        notes: vec![],
    };
    run_group(g, cfg.reps(7), 1)
}

/// A warm load with a digest check of each tensor.
fn verified(cfg: &Cfg) -> Value {
    let specs = llama_specs(cfg.layers.min(4));
    let len = total(&specs);
    let data = gauss_buf(len, 5);
    let data = &data.slice()[..len];
    let (s, names) = (&specs, &zt::cnames(&specs));
    let path = |k: &str| cfg.dir.join(format!("w7-{k}.zt"));
    let (crc_path, sha_path) = (&path("crc"), &path("sha"));
    for (p, digest) in [(crc_path, zt::CRC32C), (sha_path, zt::SHA256)] {
        zt::write(p, s, names, data, zt::BF16, &zt::WriterOptions { digest, ..zt::writer_options() });
        sys::evict(p);
        sys::warm(p);
    }
    let mut dst = Buf::new(len + (16 << 20), false);
    let out = Shared::new(dst.slice_mut());
    let d = move || unsafe { out.range(0, len) };
    let libztensor = move |p, threads| {
        let f = zt::Zt::open(p);
        let o = zt::ReadOptions { verify: 1, ..zt::read_options(threads, 0) };
        assert_eq!(f.batch(&f.whole(s, names, out), &o).digests_verified, s.len() as u64);
    };
    d().fill(0);
    libztensor(crc_path, 2);
    assert!(d() == data, "W7b: libztensor loaded wrong bytes");
    // Only the digest, over the mapping, for callers that do not need a copy.
    let over_map = move |threads| {
        let f = zt::Zt::open(crc_path);
        blocks(s.len(), 1, threads, |i, _| f.verify(&names[i]));
    };
    let base = 64usize; // the first component; the prototype reads the components as one range
    let fused = move || {
        use std::os::unix::fs::FileExt;
        let file = sys::open_read(crc_path, false);
        blocks(s.len(), 1, 2, |i, _| {
            let mut c = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
            for at in (s[i].at..s[i].at + s[i].len).step_by(256 << 10) {
                let to = unsafe { out.range(at, (256 << 10).min(s[i].at + s[i].len - at)) };
                file.read_exact_at(to, (base + at) as u64).unwrap();
                c.update(to);
            }
            black_box(c.finalize());
        });
    };
    let plain = move |n| sys::read_parallel(crc_path, d(), len, n, 8 << 20, false);
    let peer = move |p| borrow(512 << 20, || secs(|| zt1::copy_read(p, s, d(), true)).0, || ());
    let mut cases: Vec<Case> = vec![
        timed(Role::Limit, PLAIN, move || secs(|| plain(1)).0),
        timed(Role::Limit, "limit: 2 threads, pread into the buffer, no check", move || secs(|| plain(2)).0),
        timed(Role::Idea, "idea: crc32c fused, 256 KiB blocks, 2 threads", move || secs(fused).0),
        timed(Role::Libztensor, "libztensor zt_verify over the map, 2 threads", move || {
            secs(|| over_map(2)).0
        }),
        timed(Role::Peer, "ztensor 1.2.3 open() read(verify) + memcpy, crc32c", move || peer(crc_path)),
        timed(Role::Peer, "ztensor 1.2.3 mmap read(verify), crc32c (own Vecs)", move || {
            borrow(len + (512 << 20), || secs(|| zt1::read_own(crc_path, s, true)).0, || ())
        }),
    ];
    for (name, p, n) in [
        ("libztensor batch, crc32c, 2 threads", crc_path, 2),
        ("libztensor batch, crc32c, 1 thread", crc_path, 1),
        ("libztensor batch, sha256, 2 threads", sha_path, 2),
    ] {
        cases.push(timed(Role::Libztensor, name, move || secs(|| libztensor(p, n)).0));
    }
    let g = Group {
        id: "W7b".into(),
        title: format!("warm load with a digest check of each tensor ({len} B, {} tensors)", s.len()),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(len as f64), limit: PLAIN }],
        cases,
        notes: vec![],
    };
    let v = run_group(g, cfg.reps(5), 1);
    for p in [crc_path, sha_path] {
        let _ = std::fs::remove_file(p);
    }
    v
}
