//! W18: decodes ggml's block types, and encodes them.

use crate::anon::Anon;
use crate::data::{gauss_buf, Rng, Spec};
use crate::harness::{case, run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::{group, not_measured};
use crate::peers::{ggml, gguf_file, gguf_py};
use crate::sys::{self, Buf, Shared};
use crate::{zt, Cfg};
use half::{bf16, f16};
use serde_json::Value;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

const GGML: &str = "ggml to_float, 1 thread";
const MEMSET: &str = "limit: memset of the result, and reading the blocks";
const F16_AND_REFERENCE: &str = "ggml_fp16_to_fp32_row and ggml's reference";
const PREAD: &str = "limit: pread of the file, then first touch of the result, 2 threads";

/// A block type: its number in GGUF, elements and bytes of a block, and the positions of its f16 scales.
struct Kind(&'static str, u32, usize, usize, &'static [usize]);

/// Types with a target in memory come first.
const KINDS: [Kind; 25] = [
    Kind("q4_0", 2, 32, 18, &[0]),
    Kind("q8_0", 8, 32, 34, &[0]),
    Kind("q4_k", 12, 256, 144, &[0, 2]),
    Kind("q5_k", 13, 256, 176, &[0, 2]),
    Kind("q6_k", 14, 256, 210, &[208]),
    Kind("iq4_xs", 23, 256, 136, &[0]),
    Kind("mxfp4", 39, 32, 17, &[]),
    Kind("q4_1", 3, 32, 20, &[0, 2]),
    Kind("q5_0", 6, 32, 22, &[0]),
    Kind("q5_1", 7, 32, 24, &[0, 2]),
    Kind("q1_0", 41, 128, 18, &[0]),
    Kind("q2_0", 42, 64, 18, &[0]),
    Kind("q2_k", 10, 256, 84, &[80, 82]),
    Kind("q3_k", 11, 256, 110, &[108]),
    Kind("iq1_s", 19, 256, 50, &[0]),
    Kind("iq1_m", 29, 256, 56, &[]),
    Kind("iq2_xxs", 16, 256, 66, &[0]),
    Kind("iq2_xs", 17, 256, 74, &[0]),
    Kind("iq2_s", 22, 256, 82, &[0]),
    Kind("iq3_xxs", 18, 256, 98, &[0]),
    Kind("iq3_s", 21, 256, 110, &[0]),
    Kind("iq4_nl", 20, 32, 18, &[0]),
    Kind("nvfp4", 40, 64, 36, &[]),
    Kind("tq1_0", 34, 256, 54, &[52]),
    Kind("tq2_0", 35, 256, 66, &[64]),
];
const IN_MEMORY: usize = 7;

/// Random blocks with scales of a normal size.
fn blocks(kind: &Kind, elements: usize) -> Vec<u8> {
    let mut random = Rng(18);
    let mut bytes = vec![0u8; elements / kind.2 * kind.3];
    bytes.chunks_mut(8).for_each(|b| b.copy_from_slice(&random.next().to_le_bytes()[..b.len()]));
    for block in bytes.chunks_exact_mut(kind.3) {
        for at in kind.4 {
            block[at + 1] = 0x20 | block[at + 1] & 3; // 2^-7 and more
        }
        match kind.0 {
            "mxfp4" => block[0] = 110 + block[0] % 16,
            "iq1_m" => block[55] = 0x20 | block[55] & 15, // the upper 4 bits of a scale in pieces
            "nvfp4" => block[..4].iter_mut().for_each(|scale| *scale = 0x30 | *scale & 15),
            _ => {}
        }
    }
    bytes
}

/// A type's blocks in a mapped file.
struct Made {
    kind: &'static Kind,
    blocks: Vec<u8>,
    path: PathBuf,
    file: zt::Zt,
    count: usize,
}

impl Made {
    fn new(dir: &Path, kind: &'static Kind, count: usize) -> Made {
        let path = dir.join(format!("{}.gguf", kind.0));
        let blocks = blocks(kind, count);
        let spec = Spec { name: "t".into(), shape: vec![count as u64 / 256, 256], at: 0, len: blocks.len() };
        gguf_file::write(&path, &[spec], &blocks, kind.1);
        let file = zt::Zt::open(&path);
        Made { kind, blocks, path, file, count }
    }

    fn read_as(&self, to: i32, out: &mut [u8], threads: u32) {
        let object = self.file.object(c"t");
        let size = self.count * if to == zt::F32 { 4 } else { 2 };
        if threads == 1 {
            let dst = out.as_mut_ptr().cast();
            return zt::ok(unsafe { zt::zt_object_read_as(object, to, dst, size, null_mut()) });
        }
        let request = zt::request_as(object, to, &mut out[..size]);
        self.file.batch(&[request], &zt::read_options(threads, zt::DIRECT_AUTO));
    }

    /// Reads all blocks.
    fn sum(&self) -> u64 {
        let words = self.file.view(c"t").chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().unwrap()));
        words.fold(0, u64::wrapping_add)
    }

    fn ggml(&self, out: &mut [u8]) -> bool {
        // SAFETY: the memory starts at a page.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<f32>(), self.count) };
        ggml::to_f32(self.kind.1, &self.blocks, out)
    }

    /// Compares with ggml, up to a rounding: its compiler may have fused operations.
    fn check(&self, out: &mut [u8]) {
        let floats = |b: &[u8]| -> Vec<f32> {
            b.chunks_exact(4).take(self.count).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        for threads in [1, 2] {
            out.fill(0xA5);
            self.read_as(zt::F32, out, threads);
            let own = floats(out);
            out.fill(0x5A);
            assert!(self.ggml(out), "ggml does not support {}", self.kind.0);
            let reference = floats(out);
            let most = reference.iter().fold(0f32, |most, x| most.max(x.abs()));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= most * 1e-6;
            assert!(most > 0.0 && own.iter().zip(&reference).all(near), "{}", self.kind.0);
        }
    }
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let passes = if cfg.quick { 10 } else { 1000 };
    vec![
        group("W18/cache", || in_cache(cfg, passes)),
        group("W18/memory", || from_memory(cfg)),
        group("W18/groups", || groups(cfg)),
        group("W18/quantize", || quantize(cfg)),
        group("W18/model", || model(cfg)),
    ]
}

/// A case that reads each type.
fn each<'a>(role: Role, name: &str, made: &'a [Made], passes: usize, f: impl Fn(&Made) + 'a) -> Case<'a> {
    case(role, name, move || made.iter().map(|m| Some(secs(|| (0..passes).for_each(|_| f(m))).0)).collect())
}

fn in_cache(cfg: &Cfg, passes: usize) -> Value {
    let n = 64 << 10;
    let made: Vec<Made> = KINDS.iter().map(|kind| Made::new(&cfg.dir, kind, n)).collect();
    let mut dst = Buf::new(4 * n, false);
    let out = Shared::new(dst.slice_mut());
    let d = move || black_box(unsafe { out.range(0, 4 * n) });
    made.iter().for_each(|m| m.check(d()));
    let metric = |m: &Made| Metric { name: m.kind.0, unit: Unit::Items((n * passes) as f64), limit: GGML };
    let limit = |m: &Made| {
        d().fill(black_box(0));
        black_box(m.sum());
    };
    let g = Group {
        id: "W18/cache".into(),
        title: format!("blocks to floats, {n} elements (256 KiB of f32); ns an element"),
        metrics: made.iter().map(metric).collect(),
        cases: vec![
            each(Role::Limit, MEMSET, &made, passes, limit),
            each(Role::Peer, GGML, &made, passes, |m| assert!(m.ggml(d()))),
            each(Role::Libztensor, "libztensor to f32", &made, passes, |m| m.read_as(zt::F32, d(), 1)),
            each(Role::Libztensor, "libztensor to f16", &made, passes, |m| m.read_as(zt::F16, d(), 1)),
            each(Role::Libztensor, "libztensor to bf16", &made, passes, |m| m.read_as(zt::BF16, d(), 1)),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(11), 1)
}

fn from_memory(cfg: &Cfg) -> Value {
    let n = cfg.mib << 14;
    let made: Vec<Made> = KINDS[..IN_MEMORY].iter().map(|kind| Made::new(&cfg.dir, kind, n)).collect();
    let paths: Vec<PathBuf> = made.iter().map(|m| m.path.clone()).collect();
    let mut dst = Buf::new(4 * n, false);
    let out = Shared::new(dst.slice_mut());
    let d = move || black_box(unsafe { out.range(0, 4 * n) });
    made.iter().for_each(|m| m.check(d()));
    let limit = |m: &Made| {
        d().fill(black_box(7));
        black_box(m.sum());
    };
    let own = |name: &str, to: i32, threads: u32| {
        each(Role::Libztensor, name, &made, 1, move |m| m.read_as(to, d(), threads))
    };
    let metric = |m: &Made| Metric { name: m.kind.0, unit: Unit::Items(n as f64), limit: GGML };
    let g = Group {
        id: "W18/memory".into(),
        title: format!("blocks of a mapped file to floats, {n} elements; ns an element"),
        metrics: made.iter().map(metric).collect(),
        cases: vec![
            each(Role::Limit, MEMSET, &made, 1, limit),
            each(Role::Peer, GGML, &made, 1, |m| assert!(m.ggml(d()))),
            own("libztensor, 1 thread", zt::F32, 1),
            own("libztensor, 2 threads", zt::F32, 2),
            own("libztensor to f16, 1 thread", zt::F16, 1),
            own("libztensor to bf16, 1 thread", zt::BF16, 1),
            case(Role::Peer, "gguf-py dequantize", || gguf_py::to_f32(&paths)),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(11), 1)
}

/// zt.quant_group/1, compared with as many elements of ggml.
fn groups(cfg: &Cfg) -> Value {
    const Q4_0: &str = "ggml to_float of q4_0, as many";
    let n = cfg.mib << 12;
    let shape = [n as u64 / 4096, 4096];
    let made = Made::new(&cfg.dir, &KINDS[0], n);
    let codes: Vec<u8> = (0..n).map(|i| (i * i >> 3) as u8).collect();
    let scales = vec![f16::from_f32(0.01).to_bits(); n / 128];
    let files = [(4, 1), (4, 0), (8, 1)]
        .map(|(bits, axis)| zt::write_groups(shape, bits, axis, &codes[..n * bits as usize / 8], &scales));
    let files = files.each_ref().map(|bytes| zt::Zt::memory(bytes));
    let mut dst = Buf::new(4 * n, false);
    let out = Shared::new(dst.slice_mut());
    let d = move || black_box(unsafe { out.range(0, 4 * n) });
    let read = |file: &zt::Zt| {
        let dst = d().as_mut_ptr().cast();
        zt::ok(unsafe { zt::zt_object_read_as(file.object(c"t"), zt::F32, dst, 4 * n, null_mut()) });
    };
    for (file, bits) in files.iter().zip([4, 4, 8]) {
        read(file);
        for (at, number) in d().chunks_exact(4).enumerate() {
            let code = if bits == 8 { codes[at] } else { codes[at / 2] >> (4 * (at % 2)) & 15 };
            let wanted = (f32::from(code) - 8.0) * f16::from_f32(0.01).to_f32();
            assert!(number == wanted.to_le_bytes(), "{bits} bits, element {at}");
        }
    }
    let metric = |name| Metric { name, unit: Unit::Items(n as f64), limit: Q4_0 };
    let g = Group {
        id: "W18/groups".into(),
        title: format!("zt.quant_group/1 to f32, groups of 128, {n} elements; ns an element"),
        metrics: ["4 bits along rows", "4 bits along columns", "8 bits along rows"].map(metric).into(),
        cases: vec![
            case(Role::Peer, Q4_0, || {
                let s = secs(|| assert!(made.ggml(d()))).0;
                vec![Some(s); 3]
            }),
            case(Role::Libztensor, "libztensor zt_object_read_as", || {
                files.iter().map(|file| Some(secs(|| read(file)).0)).collect()
            }),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(11), 1)
}

fn quantize(cfg: &Cfg) -> Value {
    let n = cfg.mib << 14;
    let brain = gauss_buf(2 * n, 18);
    let bits = |b: &[u8]| bf16::from_bits(u16::from_le_bytes([b[0], b[1]]));
    let halves: Vec<u16> =
        brain.slice()[..2 * n].chunks(2).map(|b| f16::from_f32(bits(b).to_f32()).to_bits()).collect();
    let spec = [Spec { name: "t".into(), shape: vec![n as u64 / 4096, 4096], at: 0, len: 2 * n }];
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let names = zt::cnames(&spec);
    let data = zt::write_sink(&spec, &names, &bytes, zt::F16, &zt::writer_options(), true).1;
    let file = zt::Zt::memory(&data);
    let mut out = Buf::new(2 * n, false);
    let out = Shared::new(out.slice_mut());
    let kinds = [("f16 to q8_0", 8, zt::TYPE_Q8_0), ("f16 to q4_0", 2, zt::TYPE_Q4_0)];
    let reference = || {
        let all = kinds.iter().map(|(_, kind, _)| {
            Some(secs(|| ggml::from_f16(*kind, &halves, black_box(unsafe { out.range(0, 2 * n) }))).0)
        });
        all.collect()
    };
    let own = || {
        let all = kinds.iter().map(|(_, _, kind)| Some(secs(|| zt::quantize(file.object(c"t"), *kind)).0));
        all.collect()
    };
    let metric = |name| Metric { name, unit: Unit::Items(n as f64), limit: F16_AND_REFERENCE };
    let g = Group {
        id: "W18/quantize".into(),
        title: format!("f16 to blocks, {n} elements; ns an element"),
        metrics: kinds.map(|(name, ..)| metric(name)).into(),
        cases: vec![
            case(Role::Peer, F16_AND_REFERENCE, reference),
            case(Role::Libztensor, "libztensor zt_write_copy, 1 thread", own),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(11), 1)
}

/// A real model, if it was downloaded.
fn model(cfg: &Cfg) -> Value {
    let usual = || Path::new(env!("ZT_LIB_DIR")).join("../llama/gemma-3-270m-q4_k_m.gguf");
    let path = std::env::var_os("ZT_MODEL").map_or_else(usual, PathBuf::from);
    if !path.exists() {
        not_measured(format!("{} is missing (examples/gguf/fetch_gemma.sh)", path.display()));
    }
    let size = std::fs::metadata(&path).unwrap().len() as usize;
    let file = zt::Zt::open(&path);
    let objects: Vec<_> =
        (0..unsafe { zt::zt_object_count(file.0) }).map(|i| unsafe { zt::zt_object_at(file.0, i) }).collect();
    let sizes: Vec<usize> = objects
        .iter()
        .map(|o| {
            let info = zt::info(*o);
            let shape = unsafe { std::slice::from_raw_parts(info.shape, info.rank) };
            2 * shape.iter().product::<u64>() as usize
        })
        .collect();
    let total: usize = sizes.iter().sum();
    drop(file);
    let mut read = Buf::new(size + (1 << 20), false);
    let read = Shared::new(read.slice_mut());
    let cold = |f: &dyn Fn(&mut [u8])| {
        sys::evict_whole(&path);
        let mut memory = Anon::untouched(total, false);
        secs(|| f(&mut memory.slice_mut()[..total])).0
    };
    let limit = || {
        cold(&|out: &mut [u8]| {
            sys::read_parallel(&path, unsafe { read.range(0, size) }, size, 2, 4 << 20, false);
            let out = Shared::new(out);
            sys::blocks(total, 4 << 20, 2, |at, n| unsafe { out.range(at, n) }.fill(1));
        })
    };
    let own = || {
        cold(&|out: &mut [u8]| {
            let file = zt::Zt::open(&path);
            let (out, mut at) = (Shared::new(out), 0);
            let one = |(i, size): (usize, &usize)| {
                let object = unsafe { zt::zt_object_at(file.0, i) };
                at += size;
                zt::request_as(object, zt::F16, unsafe { out.range(at - size, *size) })
            };
            let requests: Vec<zt::Request> = sizes.iter().enumerate().map(one).collect();
            file.batch(&requests, &zt::read_options(2, zt::DIRECT_AUTO));
        })
    };
    let g = Group {
        id: "W18/model".into(),
        title: format!(
            "a model of {} MB, cold, to {} MB of f16 in new memory",
            size / 1_000_000,
            total / 1_000_000
        ),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(total as f64), limit: PREAD }],
        cases: vec![
            timed(Role::Limit, PREAD, limit),
            timed(Role::Libztensor, "libztensor batch, 2 threads", own),
        ],
        notes: vec![],
    };
    run_group(g, cfg.reps(11), 1)
}
