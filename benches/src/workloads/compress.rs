//! W6: zstd at level 3 on gaussian bf16 weights and on regular integers, in memory; and a range of a
//! component.

use crate::balloon::{self, borrow};
use crate::data::{fill_index, gauss_buf, Spec};
use crate::harness::{run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::{attempt, group, stand_in};
use crate::peers::zt1;
use crate::sys::{threads, Buf, Next, Shared};
use crate::{zt, Cfg};
use ::zt1::writer::Compression;
use ::zt1::{DType, Reader};
use serde_json::Value;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::sync::Mutex;

const LEVEL: i32 = 3;
const FRAME: usize = 1 << 20;
const LIMIT: &str = "limit: libzstd, 1 MiB frames, 2 threads";

/// Counts the written bytes and discards them.
struct Null(u64);

impl Write for Null {
    fn write(&mut self, b: &[u8]) -> std::io::Result<usize> {
        self.0 += b.len() as u64;
        Ok(b.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Null {
    fn seek(&mut self, _: SeekFrom) -> std::io::Result<u64> {
        Ok(self.0)
    }
}

type Frames = Vec<Vec<u8>>;

/// A frame for each MiB, with one context and output buffer for each thread. Keeps the frames if asked to.
pub fn compress(data: &[u8], n: usize, keep: bool) -> Frames {
    let out = Mutex::new(Vec::new());
    let next = Next::new(data.len(), FRAME);
    threads(n, || {
        let mut c = zstd::bulk::Compressor::new(LEVEL).unwrap();
        let mut buf = vec![0u8; zstd::zstd_safe::compress_bound(FRAME)];
        while let Some(at) = next.take() {
            let n = c.compress_to_buffer(&data[at..data.len().min(at + FRAME)], &mut buf[..]).unwrap();
            if keep {
                out.lock().unwrap().push((at, buf[..n].to_vec()));
            }
        }
    });
    let mut v = out.into_inner().unwrap();
    v.sort();
    v.into_iter().map(|f| f.1).collect()
}

pub fn decompress(frames: &Frames, dst: &mut [u8], n: usize) {
    let (len, out) = (dst.len(), Shared::new(dst));
    let next = Next::new(frames.len(), 1);
    threads(n, || {
        let mut d = zstd::bulk::Decompressor::new().unwrap();
        while let Some(i) = next.take() {
            let to = unsafe { out.range(i * FRAME, FRAME.min(len - i * FRAME)) };
            assert_eq!(d.decompress_to_buffer(&frames[i], to).unwrap(), to.len());
        }
    });
}

pub fn options(threads: u32) -> zt::WriterOptions {
    zt::WriterOptions { encoding: zt::ZSTD, zstd_level: LEVEL, threads, ..zt::writer_options() }
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let len = cfg.mib << 20;
    balloon::make_free(6 * len); // buffers, and the compressed copies below
    let tensor = (64 << 20).min(len / 2);
    let spec =
        |i| Spec { name: format!("t{i:02}"), shape: vec![tensor as u64 / 2], at: i * tensor, len: tensor };
    let specs: Vec<Spec> = (0..len / tensor).map(spec).collect();
    let mut ints = Buf::new(len, true);
    fill_index(ints.slice_mut(), 11);
    let gauss = gauss_buf(len, 11);
    let mut out = Vec::new();
    for (id, what, data) in [("W6a", "gaussian bf16 weights", &gauss), ("W6b", "regular i32 indices", &ints)]
    {
        let of = || dataset(cfg, id, what, &specs, &data.slice()[..len]);
        out.extend(attempt(of).unwrap_or_else(|why| vec![stand_in(id, &why)]));
    }
    out.push(group("W6c", || range(cfg, &gauss.slice()[..len.min(256 << 20)])));
    out
}

fn dataset(cfg: &Cfg, id: &str, what: &str, specs: &[Spec], data: &[u8]) -> Vec<Value> {
    let len = data.len();
    let names = &zt::cnames(specs);
    let frames = &compress(data, 2, true);
    let (size, file) = zt::write_sink(specs, names, data, zt::BF16, &options(2), true);
    let mut cases: Vec<Case> = vec![
        timed(Role::Limit, LIMIT, || secs(|| compress(data, 2, false)).0),
        timed(Role::Limit, "limit: libzstd, 1 MiB frames, 1 thread", || secs(|| compress(data, 1, false)).0),
    ];
    for (name, n) in [("libztensor, 2 threads", 2), ("libztensor, 1 thread", 1)] {
        let libztensor = move || zt::write_sink(specs, names, data, zt::BF16, &options(n), false).0;
        cases.push(timed(Role::Libztensor, name, move || secs(libztensor).0));
    }
    let c = Compression::Zstd(LEVEL);
    cases.push(timed(Role::Peer, "ztensor 1.2.3 add_bytes Zstd(3)", || {
        secs(|| zt1::write_to(Null(0), specs, data, DType::BF16, c)).0
    }));
    let unit = Unit::Bytes(len as f64);
    let ratio = |n: usize| len as f64 / n as f64;
    let notes = vec![format!(
        "{len} B of {what} in {} tensors; ratio {:.3} by 1 MiB frames, {:.3} by libztensor, manifest included",
        specs.len(),
        ratio(frames.iter().map(Vec::len).sum()),
        ratio(size as usize)
    )];
    let g = Group {
        id: id.into(),
        title: format!("zstd level 3, compress {what} to a sink that keeps nothing"),
        metrics: vec![Metric { name: "compress", unit, limit: LIMIT }],
        cases,
        notes,
    };
    let packed = run_group(g, cfg.reps(3), 0);

    let mut dst = Buf::new(len, false);
    let out = Shared::new(dst.slice_mut());
    let d = move || unsafe { out.range(0, len) };
    let opened = &zt::Zt::memory(&file);
    let path = cfg.dir.join("w6.zt");
    std::fs::write(&path, &file).unwrap();
    let unmapped = &zt::Zt::open_with(&path, zt::MODE_READ, 0);
    let libztensor = move |f: &zt::Zt, n: u32| {
        let s = f.batch(&f.whole(specs, names, out), &zt::read_options(n, 0));
        assert_eq!(s.bytes, len as u64);
    };
    for f in [opened, unmapped] {
        d().fill(0);
        libztensor(f, 2);
        assert!(d() == data, "{id}: libztensor decoded wrong bytes");
    }
    let mut peer_file = Cursor::new(Vec::new());
    zt1::write_to(&mut peer_file, specs, data, DType::BF16, c);
    let peer_file = peer_file.into_inner();
    let reader = Reader::new(Cursor::new(&peer_file[..])).unwrap();
    let peer = || {
        for s in specs {
            d()[s.at..s.at + s.len].copy_from_slice(&reader.read(&s.name, false).unwrap());
        }
    };
    let cases = vec![
        timed(Role::Limit, LIMIT, || secs(|| decompress(frames, d(), 2)).0),
        timed(Role::Limit, "limit: libzstd, 1 MiB frames, 1 thread", || {
            secs(|| decompress(frames, d(), 1)).0
        }),
        timed(Role::Libztensor, "libztensor batch, 2 threads", || secs(|| libztensor(opened, 2)).0),
        timed(Role::Libztensor, "libztensor batch, 1 thread", || secs(|| libztensor(opened, 1)).0),
        timed(Role::Libztensor, "libztensor batch, 2 threads, a file in ZT_MODE_READ", || {
            secs(|| libztensor(unmapped, 2)).0
        }),
        timed(Role::Peer, "ztensor 1.2.3 read() + memcpy (its own file)", || {
            borrow(256 << 20, || secs(peer).0, || ())
        }),
    ];
    let g = Group {
        id: id.into(),
        title: format!("zstd level 3, decompress {what} into a preallocated buffer"),
        metrics: vec![Metric { name: "decompress", unit, limit: LIMIT }],
        cases,
        notes: vec![],
    };
    vec![packed, run_group(g, cfg.reps(3), 0)]
}

/// 1 MiB from the middle of one large component, at offsets that are not the start of a frame.
fn range(cfg: &Cfg, data: &[u8]) -> Value {
    const DECODE: &str = "limit: decode the two frames that a range touches";
    let spec = [Spec { name: "t".into(), shape: vec![data.len() as u64 / 2], at: 0, len: data.len() }];
    let file = zt::write_sink(&spec, &zt::cnames(&spec), data, zt::BF16, &options(2), true).1;
    let opened = zt::Zt::memory(&file);
    let c = opened.component(c"t");
    let path = cfg.dir.join("w6c.zt");
    std::fs::write(&path, &file).unwrap();
    let unmapped = zt::Zt::open_with(&path, zt::MODE_READ, 0);
    let of_file = unmapped.component(c"t");
    let frames = compress(data, 2, true);
    let places: Vec<usize> = (0..20).map(|i| (i * 37 % (frames.len() - 2)) * FRAME + 12_345).collect();
    let mut dst = vec![0u8; FRAME];
    let mut two = vec![0u8; 2 * FRAME];
    let limit = || {
        let mut d = zstd::bulk::Decompressor::new().unwrap();
        for at in &places {
            let i = at / FRAME;
            for k in 0..2 {
                d.decompress_to_buffer(&frames[i + k], &mut two[k * FRAME..(k + 1) * FRAME]).unwrap();
            }
            dst.copy_from_slice(&two[at - i * FRAME..][..FRAME]);
        }
    };
    let libztensor = |c| {
        let mut out = vec![0u8; FRAME];
        let places = &places;
        move || {
            for at in places {
                zt::ok(unsafe { zt::zt_component_read_range(c, *at as u64, out.as_mut_ptr().cast(), FRAME) });
                assert_eq!(out[..64], data[*at..at + 64]);
            }
        }
    };
    let (mut limit, mut borrowed, mut read) = (limit, libztensor(c), libztensor(of_file));
    let g = Group {
        id: "W6c".into(),
        title: format!("20 ranges of 1 MiB out of a zstd component of {} MiB", data.len() >> 20),
        metrics: vec![Metric { name: "range", unit: Unit::Items(20.0), limit: DECODE }],
        cases: vec![
            timed(Role::Limit, DECODE, move || secs(&mut limit).0),
            timed(Role::Libztensor, "libztensor zt_component_read_range", move || secs(&mut borrowed).0),
            timed(Role::Libztensor, "libztensor, a file in ZT_MODE_READ", move || secs(&mut read).0),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(5), 1)
}
