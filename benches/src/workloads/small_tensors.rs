//! W5: write 51,000 tensors of 4 KiB each, and load them.

use crate::balloon::{self, borrow};
use crate::data::{gauss_buf, small_specs, total, Spec};
use crate::harness::{case, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::{safetensors, zt1};
use crate::sys::{self, Buf, Shared};
use crate::{zt, Cfg};
use ::zt1::Checksum;
use serde_json::Value;
use std::fs::File;
use std::io::{IoSlice, Write};
use std::path::Path;

const LIMIT: &str = "limit: write() of the concatenation, 4 MiB chunks";
const N: usize = 51_000;

fn plain(out: &Path, data: &[u8], chunk: usize) {
    let mut f = sys::create(out, false);
    for c in data.chunks(chunk) {
        f.write_all(c).unwrap();
    }
}

/// Collects `batch` tensors for a writev, as separate buffers of a caller.
fn gather(out: &Path, specs: &[Spec], data: &[u8], batch: usize) {
    let mut f = sys::create(out, false);
    for group in specs.chunks(batch) {
        let iov: Vec<IoSlice> = group.iter().map(|s| IoSlice::new(&data[s.at..s.at + s.len])).collect();
        let want: usize = group.iter().map(|s| s.len).sum();
        assert_eq!(f.write_vectored(&iov).unwrap(), want);
    }
}

/// Copies into one buffer and flushes it when full, with 64-byte padding. Appends a manifest entry to a byte
/// vector for each tensor.
fn coalesce(out: &Path, specs: &[Spec], data: &[u8], buffer: usize, digest: bool) {
    let mut f = sys::create(out, false);
    let mut buf = Vec::with_capacity(buffer + 64);
    let mut manifest: Vec<u8> = Vec::with_capacity(specs.len() * 128);
    let mut at = 0u64;
    for s in specs {
        let b = &data[s.at..s.at + s.len];
        if buf.len() + b.len() > buffer {
            f.write_all(&buf).unwrap();
            buf.clear();
        }
        buf.extend_from_slice(b);
        buf.resize(buf.len().next_multiple_of(64), 0);
        entry(&mut manifest, s, at);
        if digest {
            let mut c = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
            c.update(b);
            write!(manifest, "fdigestqcrc32c:0x{:08X}", c.finalize()).unwrap();
        }
        at += s.len.next_multiple_of(64) as u64;
    }
    f.write_all(&buf).unwrap();
    f.write_all(&manifest).unwrap();
}

/// One object of a `.zt` manifest, encoded directly into the output.
fn entry(m: &mut Vec<u8>, s: &Spec, at: u64) {
    m.extend([0x78, s.name.len() as u8]);
    m.extend(s.name.as_bytes());
    m.extend(b"\xa3\x65shape\x81\x1a");
    m.extend((s.shape[0] as u32).to_be_bytes());
    m.extend(b"\x66format\x65dense\x6acomponents\xa1\x64data\xa3\x65dtype\x63f32\x66offset\x1b");
    m.extend(at.to_be_bytes());
    m.extend(b"\x66length\x1a");
    m.extend((s.len as u32).to_be_bytes());
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let specs = small_specs(N, 1024);
    let len = total(&specs);
    let buf = gauss_buf(len, 7);
    let data = &buf.slice()[..len];
    let out = cfg.dir.join("w5.out");
    let _limits = balloon::DirtyLimits::raise();
    let s = &specs;
    let names = &zt::cnames(s);

    type Write<'a> = Box<dyn Fn(&Path) + 'a>;
    let mut list: Vec<(Role, &str, bool, Write)> = Vec::new();
    let mut add = |role, name, syncs_itself, w| list.push((role, name, syncs_itself, w));
    add(Role::Limit, LIMIT, false, Box::new(|p| plain(p, data, 4 << 20)));
    add(
        Role::Limit,
        "limit: 256 KiB chunks of the concatenation",
        false,
        Box::new(|p| plain(p, data, 256 << 10)),
    );
    add(
        Role::Limit,
        "limit: writev of 1024 tensors at a time",
        false,
        Box::new(|p| gather(p, s, data, 1024)),
    );
    add(Role::Limit, "limit: writev of 64 tensors at a time", false, Box::new(|p| gather(p, s, data, 64)));
    add(Role::Limit, "limit: write() per tensor", false, Box::new(|p| gather(p, s, data, 1)));
    add(
        Role::Idea,
        "idea: 256 KiB buffer + flat manifest",
        false,
        Box::new(|p| coalesce(p, s, data, 256 << 10, false)),
    );
    add(
        Role::Idea,
        "idea: 1 MiB buffer + flat manifest",
        false,
        Box::new(|p| coalesce(p, s, data, 1 << 20, false)),
    );
    add(
        Role::Idea,
        "idea: 256 KiB buffer + flat manifest + crc32c",
        false,
        Box::new(|p| coalesce(p, s, data, 256 << 10, true)),
    );
    let base = zt::writer_options();
    for (name, o) in [
        ("libztensor no digest", base),
        ("libztensor crc32c", zt::WriterOptions { digest: zt::CRC32C, ..base }),
        ("libztensor sha256", zt::WriterOptions { digest: zt::SHA256, ..base }),
    ] {
        add(Role::Libztensor, name, false, Box::new(move |p| zt::write(p, s, names, data, zt::F32, &o)));
    }
    for (name, o) in [
        ("libztensor batch no digest", base),
        ("libztensor batch crc32c", zt::WriterOptions { digest: zt::CRC32C, ..base }),
        ("libztensor batch sha256", zt::WriterOptions { digest: zt::SHA256, ..base }),
    ] {
        add(
            Role::Libztensor,
            name,
            false,
            Box::new(move |p| zt::write_batch(p, s, names, data, zt::F32, &o)),
        );
    }
    for (name, sum) in [
        ("ztensor 1.2.3 no checksum", Checksum::None),
        ("ztensor 1.2.3 crc32c", Checksum::Crc32c),
        ("ztensor 1.2.3 sha256", Checksum::Sha256),
    ] {
        add(Role::Peer, name, false, Box::new(move |p| zt1::write(p, s, data, ::zt1::DType::F32, sum)));
    }
    add(
        Role::Peer,
        "safetensors serialize_to_file",
        false,
        Box::new(|p| safetensors::write(p, s, data, ::safetensors::Dtype::F32)),
    );
    let one = |syncs_itself: bool, w: &dyn Fn(&Path)| {
        let _ = std::fs::remove_file(&out);
        let timed = || {
            let (t, ()) = secs(|| w(&out));
            let (s, ()) = secs(|| File::open(&out).unwrap().sync_all().unwrap());
            vec![(!syncs_itself).then_some(t), Some(t + s)]
        };
        borrow(4 * len, timed, || drop(std::fs::remove_file(&out)))
    };
    let one = &one;
    let cases: Vec<Case> =
        list.into_iter().map(|(role, name, syncs, w)| case(role, name, move || one(syncs, &w))).collect();

    let _ = std::fs::remove_file(&out);
    let metric = |name| Metric { name, unit: Unit::Bytes(len as f64), limit: LIMIT };
    let g = Group {
        id: "W5".into(),
        title: format!("write {N} tensors of 4 KiB ({len} B)"),
        metrics: vec![metric("write"), metric("durable")],
        cases,
        notes: vec![],
    };
    vec![crate::harness::run_group(g, cfg.reps(5), 1), group("W5b", || load(cfg, s, data))]
}

/// Loads them from the page cache into the caller's buffer.
fn load(cfg: &Cfg, s: &[Spec], data: &[u8]) -> Value {
    const LIMIT: &str = "limit: pread into the buffer, 1 thread, 4 MiB";
    let names = &zt::cnames(s);
    let path = |extension: &str| cfg.dir.join(format!("w5.{extension}"));
    let (libztensor, st) = (&path("zt"), &path("safetensors"));
    let options = zt::WriterOptions { digest: zt::CRC32C, ..zt::writer_options() };
    zt::write_batch(libztensor, s, names, data, zt::F32, &options);
    safetensors::write(st, s, data, ::safetensors::Dtype::F32);
    let mut dst = Buf::new(data.len(), true);
    let out = Shared::new(dst.slice_mut());
    let d = move || unsafe { out.range(0, data.len()) };
    let batch = move |threads, verify| {
        let f = zt::Zt::open(libztensor);
        let o = zt::ReadOptions { verify, ..zt::read_options(threads, zt::DIRECT_AUTO) };
        assert_eq!(f.batch(&f.whole(s, names, out), &o).requests, s.len() as u64);
    };
    let each = move || {
        let f = zt::Zt::open(libztensor);
        for (s, n) in s.iter().zip(names) {
            let to = unsafe { out.range(s.at, s.len) };
            zt::ok(unsafe { zt::zt_component_read(f.component(n), to.as_mut_ptr().cast(), s.len) });
        }
    };
    d().fill(0);
    batch(2, 1);
    assert!(d() == data, "W5: libztensor loaded wrong bytes");
    let cases = vec![
        timed(Role::Limit, LIMIT, move || {
            secs(|| sys::read_parallel(libztensor, d(), data.len(), 1, 4 << 20, false)).0
        }),
        timed(Role::Libztensor, "libztensor batch, 1 thread", move || secs(|| batch(1, 0)).0),
        timed(Role::Libztensor, "libztensor batch, 2 threads", move || secs(|| batch(2, 0)).0),
        timed(Role::Libztensor, "libztensor batch, crc32c, 2 threads", move || secs(|| batch(2, 1)).0),
        timed(Role::Libztensor, "libztensor zt_component_read", move || secs(each).0),
        timed(Role::Peer, "ztensor 1.2.3 mmap view() + memcpy", move || {
            secs(|| zt1::copy_view(libztensor, s, d())).0
        }),
        timed(Role::Peer, "ztensor 1.2.3 open() + read() + memcpy", move || {
            secs(|| zt1::copy_read(libztensor, s, d(), false)).0
        }),
        timed(Role::Peer, "safetensors mmap + memcpy", move || secs(|| safetensors::copy_mmap(st, s, d())).0),
    ];
    let g = Group {
        id: "W5b".into(),
        title: format!("warm: open, copy {N} tensors of 4 KiB into a touched buffer, close"),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(data.len() as f64), limit: LIMIT }],
        cases,
        notes: vec![],
    };
    let v = crate::harness::run_group(g, cfg.reps(7), 1);
    for p in [libztensor, st] {
        let _ = std::fs::remove_file(p);
    }
    v
}
