//! W2: load the big model while it is in the page cache.

use crate::anon::Anon;
use crate::balloon::borrow;
use crate::big::{check, loaders, Big};
use crate::harness::{secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::{safetensors, zt1};
use crate::sys::{self, blocks, Buf, Shared};
use crate::{zt, Cfg};
use memmap2::{Mmap, MmapOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};

const TOUCH: &str = "limit: mmap, touch, munmap (1 thread)";
const COPY: &str = "limit: pread into the buffer, 1 thread, 8 MiB";
const FRESH: &str = "limit: touch as much fresh memory, 4 KiB pages";

fn map(path: &Path, populate: bool) -> Mmap {
    let f = sys::open_read(path, false);
    let mut o = MmapOptions::new();
    if populate {
        o.populate();
    }
    unsafe { o.map(&f).unwrap() }
}

fn copy_mapped(path: &Path, dst: &mut [u8], len: usize, threads: usize, populate: bool) {
    let m = map(path, populate);
    let out = Shared::new(dst);
    blocks(len, 8 << 20, threads, |at, n| unsafe { out.range(at, n) }.copy_from_slice(&m[at..at + n]));
}

fn touch_views(b: &Big, file: &Path, advice: u32) -> u64 {
    let f = zt::Zt::open_model_with(file, advice);
    b.cnames.iter().map(|n| sys::touch(f.view(n))).sum()
}

/// The cost depends on the sizes of the page cache's blocks for a file, so each file has its own limit.
fn touch_all<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> u64 {
    files.into_iter().map(|file| sys::touch(&map(file, false))).sum()
}

/// Reads files into `dst`, one after the other.
fn read_all<'a>(files: impl IntoIterator<Item = &'a PathBuf>, dst: &mut [u8]) {
    let mut left = dst;
    for file in files {
        let size = std::fs::metadata(file).unwrap().len() as usize;
        let (own, rest) = left.split_at_mut(size.min(left.len()));
        sys::read_parallel(file, own, own.len(), 1, 8 << 20, false);
        left = rest;
    }
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    let mut dst = Buf::new(b.len + (16 << 20), false);
    {
        let data = b.data();
        b.prepare(data.slice());
        check(&b, data.slice(), dst.slice_mut());
    }
    for f in b.files() {
        sys::evict(f);
        sys::warm(f);
    }
    let warm = |p: &Path| {
        let (r, n) = sys::resident(p);
        format!("{} resident {:.1}%", p.extension().unwrap().to_string_lossy(), r as f64 * 100.0 / n as f64)
    };
    let there = b.files().into_iter().map(|p| warm(p)).collect::<Vec<_>>();
    let notes = vec![b.note(), there.join(", ")];
    vec![
        group("W2a", || touch(cfg, &b, notes.clone())),
        group("W2b", || copy(cfg, &b, &mut dst, notes.clone())),
        group("W2c", || own(cfg, &b, &mut dst, notes)),
    ]
}

fn touch(cfg: &Cfg, b: &Big, notes: Vec<String>) -> Value {
    let t = |f: &dyn Fn() -> u64| secs(|| std::hint::black_box(f())).0;
    #[allow(unused_mut)]
    let mut cases: Vec<Case> = vec![
        timed(Role::Limit, TOUCH, || t(&|| sys::touch(&map(&b.zt, false)))),
        timed(Role::Limit, "limit: mmap(MAP_POPULATE), touch (1 thread)", || {
            t(&|| sys::touch(&map(&b.zt, true)))
        }),
        timed(Role::Limit, "limit of safetensors: mmap, touch, munmap", || t(&|| touch_all([&b.st]))),
        timed(Role::Limit, "limit of GGUF: mmap, touch, munmap", || t(&|| touch_all([&b.gguf]))),
        timed(Role::Limit, "limit of 8 shards: mmap, touch, munmap", || t(&|| touch_all(&b.shards))),
        timed(Role::Limit, "limit: mmap, touch from 2 threads", || {
            let f = || {
                let m = map(&b.zt, false);
                blocks(m.len(), 8 << 20, 2, |at, n| {
                    std::hint::black_box(sys::touch(&m[at..at + n]));
                });
                0
            };
            t(&f)
        }),
        timed(Role::Libztensor, "libztensor view", || t(&|| touch_views(b, &b.zt, 0))),
        timed(Role::Libztensor, "libztensor populate", || t(&|| touch_views(b, &b.zt, zt::POPULATE))),
        timed(Role::Libztensor, "libztensor populate, safetensors", || {
            t(&|| touch_views(b, &b.st, zt::POPULATE))
        }),
        timed(Role::Libztensor, "libztensor populate, GGUF", || t(&|| touch_views(b, &b.gguf, zt::POPULATE))),
        timed(Role::Libztensor, "libztensor populate, 8 shards", || {
            t(&|| touch_views(b, &b.index, zt::POPULATE))
        }),
        timed(Role::Peer, "ztensor 1.2.3 open_mmap_shared + view", || t(&|| zt1::touch_all(&b.zt, &b.specs))),
        timed(Role::Peer, "safetensors mmap + tensor", || t(&|| safetensors::touch_all(&b.st, &b.specs))),
    ];
    #[cfg(ggml)]
    {
        use crate::peers::ggml;
        cases.push(timed(Role::Peer, "ggml C + mmap", || {
            t(&|| ggml::touch_all(&b.gguf, &b.specs, &b.cnames, false))
        }));
        cases.push(timed(Role::Peer, "ggml C + mmap(MAP_POPULATE), as llama.cpp", || {
            t(&|| ggml::touch_all(&b.gguf, &b.specs, &b.cnames, true))
        }));
    }
    let g = Group {
        id: "W2a".into(),
        title: "warm: open, touch a byte of every page of every tensor, close".into(),
        metrics: vec![Metric { name: "touch", unit: Unit::Bytes(b.len as f64), limit: TOUCH }],
        cases,
        notes,
    };
    crate::harness::run_group(g, cfg.reps(7), 1)
}

fn copy(cfg: &Cfg, b: &Big, dst: &mut Buf, notes: Vec<String>) -> Value {
    let out = Shared::new(dst.slice_mut());
    let buffer = dst.slice().len();
    let d = move || unsafe { out.range(0, buffer) };
    let len = b.len;
    let src = Buf::new(len, false); // replaces file pages in the memory-only limit
    let huge = Buf::new(len + (16 << 20), true);
    let hout = Shared::new(unsafe {
        std::slice::from_raw_parts_mut(huge.slice().as_ptr() as *mut u8, huge.slice().len())
    });
    let h = move || unsafe { hout.range(0, buffer) };

    fn limit<'f>(name: &'static str, f: Box<dyn Fn() + 'f>) -> Case<'f> {
        timed(Role::Limit, name, move || secs(&f).0)
    }
    let zt = b.zt.clone();
    let read = |threads, block| {
        let zt = zt.clone();
        Box::new(move || sys::read_parallel(&zt, d(), len, threads, block, false)) as Box<dyn Fn()>
    };
    let mapped = |threads, populate| {
        let zt = zt.clone();
        Box::new(move || copy_mapped(&zt, d(), len, threads, populate)) as Box<dyn Fn()>
    };
    let mem = |threads: usize| {
        let src = unsafe { std::slice::from_raw_parts(src.slice().as_ptr(), len) };
        Box::new(move || {
            let out = Shared::new(d());
            blocks(len, 8 << 20, threads, |at, n| {
                unsafe { out.range(at, n) }.copy_from_slice(&src[at..at + n])
            })
        }) as Box<dyn Fn()>
    };
    let read_huge = |threads| {
        let zt = zt.clone();
        Box::new(move || sys::read_parallel(&zt, h(), len, threads, 8 << 20, false)) as Box<dyn Fn()>
    };
    let mut cases: Vec<Case> = vec![
        limit(COPY, read(1, 8 << 20)),
        limit("limit of safetensors: pread, 1 thread, 8 MiB", Box::new(|| read_all([&b.st], d()))),
        limit("limit of GGUF: pread, 1 thread, 8 MiB", Box::new(|| read_all([&b.gguf], d()))),
        limit("limit of 8 shards: pread, 1 thread, 8 MiB", Box::new(|| read_all(&b.shards, d()))),
        limit("limit: pread, 1 thread, 128 KiB", read(1, 128 << 10)),
        limit("limit: pread, 2 threads, 1 MiB", read(2, 1 << 20)),
        limit("limit: pread, 2 threads, 8 MiB", read(2, 8 << 20)),
        limit("limit: pread, 1 thread, 8 MiB, 2 MiB-page buffer", read_huge(1)),
        limit("limit: pread, 2 threads, 8 MiB, 2 MiB-page buffer", read_huge(2)),
        limit("limit: memcpy from a fresh mmap, 1 thread", mapped(1, false)),
        limit("limit: memcpy from a fresh mmap, 2 threads", mapped(2, false)),
        limit("limit: memcpy from mmap(MAP_POPULATE), 1 thread", mapped(1, true)),
        limit("limit: memcpy memory to memory, 1 thread", mem(1)),
        limit("limit: memcpy memory to memory, 2 threads", mem(2)),
    ];
    for l in loaders(b).into_iter().filter(|l| !l.owns()) {
        // Memory for the copies of single tensors that some peers allocate.
        cases.push(timed(l.role, l.name, move || borrow(256 << 20, || secs(|| (l.load)(d())).0, || ())));
    }
    let g = Group {
        id: "W2b".into(),
        title: "warm: open, copy every tensor into a preallocated, touched buffer, close".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(len as f64), limit: COPY }],
        cases,
        notes,
    };
    crate::harness::run_group(g, cfg.reps(7), 1)
}

fn own(cfg: &Cfg, b: &Big, dst: &mut Buf, notes: Vec<String>) -> Value {
    let out = Shared::new(dst.slice_mut());
    let buffer = dst.slice().len();
    let spare = b.len + (256 << 20);
    let mut cases =
        vec![timed(Role::Limit, FRESH, || borrow(spare, || secs(|| Anon::new(b.len, false)).0, || ()))];
    // The remaining cost: the kernel clears huge pages, and no work is done twice.
    let fresh = |threads| {
        let mut to = Anon::untouched(b.len, true);
        sys::read_parallel(&b.zt, to.slice_mut(), b.len, threads, 4 << 20, false);
    };
    for (name, threads) in [
        ("limit: pread into fresh memory, 2 MiB pages, 2 threads", 2),
        ("limit: pread into fresh memory, 2 MiB pages, 1 thread", 1),
    ] {
        cases.push(timed(Role::Limit, name, move || borrow(spare, || secs(|| fresh(threads)).0, || ())));
    }
    for l in loaders(b).into_iter().filter(|l| l.owns()) {
        cases.push(timed(l.role, l.name, move || {
            borrow(spare, || secs(|| (l.load)(unsafe { out.range(0, buffer) })).0, || ())
        }));
    }
    let g = Group {
        id: "W2c".into(),
        title: "warm: load into memory that the peer allocates for itself".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(b.len as f64), limit: FRESH }],
        cases,
        notes,
    };
    crate::harness::run_group(g, cfg.reps(3), 0)
}
