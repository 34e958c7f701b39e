//! W1: open a file of many tiny objects, find every name, list, close; and memory of the open file.

use crate::data::{gauss_buf, shuffled, small_specs, total};
use crate::harness::{case, Case, Group, Metric, Role, Sample, Unit};
use crate::outcome::{attempt, count_failure, group};
use crate::peers::{ggml, gguf_candle, gguf_file, limits, safetensors, zt1, Lap};
use crate::{sys, targets, zt, Cfg};
use serde_json::{json, Value};
use std::ffi::{c_char, CString};
use std::hint::black_box;
use std::path::{Path, PathBuf};

/// The exit status of a child for a reader that this build does not have.
const NOT_BUILT: i32 = 3;

struct Files {
    zt: PathBuf,
    st: PathBuf,
    gguf: PathBuf,
}

fn files(dir: &Path, n: usize) -> Files {
    let f = |ext: &str| dir.join(format!("w1-{n}.{ext}"));
    Files { zt: f("zt"), st: f("safetensors"), gguf: f("gguf") }
}

/// The file of `workloads::vocabulary`.
pub fn vocabulary_path(dir: &Path) -> PathBuf {
    dir.join("w1-vocabulary.gguf")
}

fn generate(f: &Files, n: usize) {
    let specs = small_specs(n, 16);
    let data = gauss_buf(total(&specs), 1);
    let data = &data.slice()[..total(&specs)];
    zt::write(&f.zt, &specs, &zt::cnames(&specs), data, zt::F32, &zt::writer_options());
    safetensors::write(&f.st, &specs, data, ::safetensors::Dtype::F32);
    gguf_file::write(&f.gguf, &specs, data, gguf_file::F32);
    for p in [&f.zt, &f.st, &f.gguf] {
        sys::evict(p);
        sys::warm(p);
    }
}

/// Repeats a short measurement so that each sample takes a few milliseconds.
pub fn mean(k: usize, mut f: impl FnMut() -> Sample) -> Sample {
    let mut acc = f();
    for _ in 1..k {
        for (a, b) in acc.iter_mut().zip(f()) {
            *a = a.zip(b).map(|(a, b)| a + b);
        }
    }
    acc.iter().map(|a| a.map(|a| a / k as f64)).collect()
}

/// Open, find, list and close, each with calls of the C interface.
pub fn libztensor(path: &Path, names: &[CString], mode: i32) -> Sample {
    let mut t = Lap::start();
    let f = zt::Zt::open_with(path, mode, 0);
    let open = t.lap();
    let found = names.iter().filter(|n| unsafe { !zt::zt_object_find(f.0, n.as_ptr()).is_null() });
    assert_eq!(found.count(), names.len());
    let find = t.lap();
    list(f.0);
    let listed = t.lap();
    drop(f);
    vec![open, find, listed, t.lap()]
}

/// Find and list with other calls: names with their lengths, and a call for each number.
fn other_calls(path: &Path, names: &[CString]) -> Sample {
    let f = zt::Zt::open(path);
    let mut t = Lap::start();
    let found = names
        .iter()
        .filter(|n| unsafe { !zt::zt_object_find_n(f.0, n.as_ptr(), n.as_bytes().len()).is_null() });
    assert_eq!(found.count(), names.len());
    let find = t.lap();
    list_one_by_one(f.0);
    vec![None, find, t.lap(), None]
}

fn list(f: *const zt::File) {
    let mut infos = zt::object_infos::<64>();
    let (mut sum, mut first, mut filled) = (0u64, 0, 1);
    while filled > 0 {
        zt::ok(unsafe { zt::zt_object_list(f, first, infos.as_mut_ptr(), infos.len(), &mut filled) });
        for o in &infos[..filled] {
            sum = sum.wrapping_add(o.name as u64 + o.name_length as u64 + unsafe { *o.shape });
            sum += o.dtype as u64 + o.offset + o.decoded_size;
        }
        first += filled;
    }
    black_box(sum);
}

fn list_one_by_one(f: *const zt::File) {
    let mut sum = 0u64;
    for i in 0..unsafe { zt::zt_object_count(f) } {
        unsafe {
            let o = zt::zt_object_at(f, i);
            let c = zt::zt_component_at(o, 0);
            let name: *const c_char = zt::zt_object_name(o);
            sum = sum.wrapping_add(name as u64 + *zt::zt_object_shape(o));
            sum += zt::zt_component_dtype(c) as u64 + zt::zt_component_size(c);
        }
    }
    black_box(sum);
}

pub const LIMIT: &str = "limit: walk every CBOR head of the manifest once";
const PROTO: &str = "idea: index (pull parser, arena, hash; no checks)";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    [1_000, 100_000].into_iter().map(|n| group(&format!("W1/{n}"), || run_n(cfg, n))).collect()
}

fn run_n(cfg: &Cfg, n: usize) -> Value {
    let f = files(&cfg.dir, n);
    generate(&f, n);
    let names = crate::data::names(n);
    let order = shuffled(n, 3);
    let shuf: Vec<&str> = order.iter().map(|&i| names[i].as_str()).collect();
    let shuf_c: Vec<CString> = shuf.iter().map(|s| CString::new(*s).unwrap()).collect();
    let (shuf, shuf_c) = (&shuf[..], &shuf_c[..]);
    let k = (20_000 / n).clamp(1, 20);
    // ggml scans all names for each lookup, so their number is limited
    let slow = (2_000_000 / n).clamp(200, n);
    let cases: Vec<Case> = vec![
        case(Role::Limit, LIMIT, || mean(k, || limits::walk(&f.zt))),
        case(Role::Idea, PROTO, || mean(k, || limits::index(&f.zt, shuf))),
        case(Role::Libztensor, "libztensor zt_open", || mean(k, || libztensor(&f.zt, shuf_c, 0))),
        case(Role::Libztensor, "libztensor, ZT_MODE_READ", || {
            mean(k, || libztensor(&f.zt, shuf_c, zt::MODE_READ))
        }),
        case(Role::Libztensor, "libztensor of safetensors", || mean(k, || libztensor(&f.st, shuf_c, 0))),
        case(Role::Libztensor, "libztensor of GGUF", || mean(k, || libztensor(&f.gguf, shuf_c, 0))),
        case(Role::Libztensor, "libztensor, zt_object_find_n, single getters", || {
            mean(k, || other_calls(&f.zt, shuf_c))
        }),
        case(Role::Peer, "ztensor 1.2.3 open_mmap_shared", || mean(k, || zt1::index(&f.zt, shuf))),
        case(Role::Peer, "safetensors 0.8.0 mmap + deserialize", || {
            mean(k, || safetensors::index(&f.st, shuf))
        }),
        case(Role::Peer, "candle-core 0.11.1 gguf Content::read", || {
            mean(k, || gguf_candle::index(&f.gguf, shuf))
        }),
        case(Role::Peer, "ggml C gguf_init_from_file", || {
            mean(k.min(3), || ggml::index(&f.gguf, shuf_c, slow))
        }),
    ];

    let unit = Unit::Items(n as f64);
    let metric = |name, limit| Metric { name, unit, limit };
    let g = Group {
        id: format!("W1/{n}"),
        title: format!("open, find every name in random order, list, close; {n} objects, page cache warm"),
        metrics: vec![
            metric("open", LIMIT),
            metric("find", PROTO),
            metric("list", PROTO),
            metric("close", PROTO),
        ],
        cases,
        notes: vec![format!(
            "manifest {} B, {:.0} B an object",
            limits::manifest_len(&f.zt),
            limits::manifest_len(&f.zt) as f64 / n as f64
        )],
    };
    let mut v = crate::harness::run_group(g, cfg.reps(7), 1);
    v["memory"] = attempt(|| memory(cfg, n)).unwrap_or_else(|why| {
        println!("[memory] not measured: {why}");
        json!({"not_measured": why})
    });
    for p in [&f.zt, &f.st, &f.gguf] {
        let _ = std::fs::remove_file(p);
    }
    v
}

/// The memory of a process after opening; each reader in a new process.
fn memory(cfg: &Cfg, n: usize) -> Value {
    memory_head();
    let mut out = Vec::new();
    for p in
        ["libztensor", "libztensor-safetensors", "libztensor-gguf", "zt1", "safetensors", "candle", "ggml"]
    {
        let v = probe(cfg, p, n);
        let col = |k: &str| v["after_open"][k].as_i64().unwrap_or(-1);
        if p == "libztensor" && n == 100_000 {
            let mib = |k| col(k) as f64 / 1024.0;
            targets::judge(
                "W1 memory, live after open",
                mib("rss_anon_kib").max(mib("malloc_kib")),
                " MiB",
                16.0,
            );
            targets::judge("W1 memory, peak of open", mib("peak_kib"), " MiB", 20.0);
        }
        out.push(v);
    }
    Value::Array(out)
}

pub fn memory_head() {
    println!(
        "\n{:<24} {:>12} {:>14} {:>14}   (growth by open)",
        "[memory]", "RssAnon KiB", "malloc KiB", "peak KiB"
    );
}

/// The memory of a child process after opening, printed as a row.
pub fn probe(cfg: &Cfg, reader: &str, n: usize) -> Value {
    let exe = std::env::current_exe().unwrap();
    let args = ["--mem-probe", reader, cfg.dir.to_str().unwrap(), &n.to_string()];
    let r = std::process::Command::new(exe).args(args).output().unwrap();
    let Ok(v) = serde_json::from_slice::<Value>(&r.stdout) else {
        let why = match r.status.code() {
            Some(NOT_BUILT) => "not in this build".into(),
            _ => {
                count_failure();
                let said = String::from_utf8_lossy(&r.stderr);
                let last = said.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no message");
                format!("failed: its process ended by {}: {last}", r.status)
            }
        };
        println!("{reader:<24} not measured: {why}");
        return json!({"reader": reader, "not_measured": why});
    };
    let col = |k: &str| v[k].as_i64().unwrap_or(-1);
    println!("{reader:<24} {:>12} {:>14} {:>14}", col("rss_anon_kib"), col("malloc_kib"), col("peak_kib"));
    json!({"reader": reader, "after_open": v})
}

/// Runs in the child: opens once, reports the growth, and keeps the handle.
pub fn mem_probe(reader: &str, dir: &Path, n: usize) {
    let f = files(dir, n);
    let anon = || sys::status_kib("RssAnon") as i64;
    // The peak of anonymous memory, from a thread that polls. File pages that the mapping touches do not
    // count.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let before = (anon(), sys::malloc_kib());
    let (after, peak) = std::thread::scope(|s| {
        let poll = s.spawn(|| {
            let mut most = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                most = most.max(anon());
            }
            most
        });
        match reader {
            "libztensor" => std::mem::forget(zt::Zt::open(&f.zt)),
            "libztensor-safetensors" => std::mem::forget(zt::Zt::open(&f.st)),
            "libztensor-gguf" => std::mem::forget(zt::Zt::open(&f.gguf)),
            "libztensor-vocabulary" => std::mem::forget(zt::Zt::open(&vocabulary_path(dir))),
            #[cfg(ggml)]
            "ggml-vocabulary" => std::mem::forget(ggml::open(&vocabulary_path(dir))),
            "zt1" => std::mem::forget(::zt1::Reader::open_mmap_shared(&f.zt).unwrap()),
            "safetensors" => {
                let m = Box::leak(Box::new(safetensors::map(&f.st)));
                std::mem::forget(::safetensors::SafeTensors::deserialize(m).unwrap());
            }
            "candle" => std::mem::forget(gguf_candle::open(&f.gguf)),
            #[cfg(ggml)]
            "ggml" => std::mem::forget(ggml::open(&f.gguf)),
            _ => std::process::exit(NOT_BUILT),
        }
        let after = (anon(), sys::malloc_kib());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (after, poll.join().unwrap().max(after.0))
    });
    let v = json!({
        "rss_anon_kib": after.0 - before.0, "malloc_kib": after.1 - before.1, "peak_kib": peak - before.0,
    });
    println!("{v}");
}
