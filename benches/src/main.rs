//! Measures libztensor, through its C interface, beside its peers and the limits of the machine; docs/benchmarks.md
//! says how to read it.

mod big;
mod data;
mod harness;
mod hold;
mod peers;
mod sys;
mod targets;
mod w10_start;
mod w11_scale;
mod w12_append;
mod w13_threads;
mod w1_kinds;
mod w1_open;
mod w2_load;
mod w3_cold;
mod w4_write;
mod w5_small;
mod w6_zstd;
mod w7_digest;
mod w8_convert;
mod w9_experts;
mod w9_slices;
mod zt;

use serde_json::json;
use std::path::PathBuf;

pub struct Cfg {
    pub dir: PathBuf,
    reps: Option<usize>,
    /// Smaller files and fewer rounds.
    pub quick: bool,
    /// Llama layers in the big file: 22 is 2.05 GiB.
    pub layers: usize,
    pub mib: usize,
    /// Where the plot of W11 goes.
    pub svg: Option<PathBuf>,
}

impl Cfg {
    pub fn reps(&self, usual: usize) -> usize {
        self.reps.unwrap_or(if self.quick { usual.min(2) } else { usual })
    }
}

/// The files of a run go with it, also when it panics.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const USAGE: &str =
    "ztensor-bench [--dir DIR] [--json FILE] [--svg FILE] [--reps N] [--quick] [--hold] [--only TEXT] [w1 .. w13]";

fn main() {
    let mut args = std::env::args().skip(1);
    let mut cfg =
        Cfg { dir: std::env::temp_dir(), reps: None, quick: false, layers: 22, mib: 1024, svg: None };
    let (mut out, mut want, mut hold) = (None, Vec::new(), false);
    while let Some(a) = args.next() {
        let mut val = || args.next().unwrap_or_else(|| panic!("{USAGE}"));
        match a.as_str() {
            "--dir" => cfg.dir = val().into(),
            "--json" => out = Some(PathBuf::from(val())),
            "--reps" => cfg.reps = val().parse().ok(),
            "--svg" => cfg.svg = Some(PathBuf::from(val())),
            "--only" => drop(harness::ONLY.set(val())),
            "--hold" => hold = true,
            "--quick" => (cfg.quick, cfg.layers, cfg.mib) = (true, 1, 64),
            "--mem-probe" => {
                let (reader, dir, n) = (val(), val(), val());
                return w1_open::mem_probe(&reader, dir.as_ref(), n.parse().unwrap());
            }
            w if w.starts_with('w') && w[1..].parse::<u32>().is_ok() => want.push(w.to_string()),
            _ => panic!("{USAGE}"),
        }
    }
    cfg.dir.push("ztensor-bench-data"); // a folder of its own: it is removed at the end
    std::fs::create_dir_all(&cfg.dir).expect("work directory");
    let _cleanup = Cleanup(cfg.dir.clone());
    let (model, flags) = sys::cpu();
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    println!("libztensor {}; cpu: {model}, {cores} cores; flags: {}", zt::version(), flags.join(" "));
    if cfg!(not(ggml)) {
        println!("ggml: left out: its source could not be fetched");
    }
    let started = std::time::Instant::now();
    if hold {
        let (t, ()) = harness::secs(hold::start);
        println!("held the free memory in {t:.0} s");
    }
    let mut all = Vec::new();
    type Run = fn(&Cfg) -> Vec<serde_json::Value>;
    let table: &[(&str, Run)] = &[
        ("w1", w1_open::run),
        ("w1", w1_kinds::run),
        ("w2", w2_load::run),
        ("w3", w3_cold::run),
        ("w4", w4_write::run),
        ("w5", w5_small::run),
        ("w6", w6_zstd::run),
        ("w7", w7_digest::run),
        ("w8", w8_convert::run),
        ("w9", w9_slices::run),
        ("w10", w10_start::run),
        ("w11", w11_scale::run),
        ("w12", w12_append::run),
        ("w13", w13_threads::run),
    ];
    for (name, run) in table {
        if want.is_empty() || want.iter().any(|w| w == name) {
            let (t, v) = harness::secs(|| run(&cfg));
            hold::settle();
            println!("\n({name} took {t:.0} s)");
            all.extend(v);
        }
    }
    targets::summary();
    if let Some(p) = out {
        let doc = json!({
            "machine": {"cpu": model, "cores": cores, "flags": flags}, "quick": cfg.quick,
            "wall_s": started.elapsed().as_secs_f64(), "workloads": all,
        });
        std::fs::write(&p, serde_json::to_string_pretty(&doc).unwrap()).expect("writing the JSON");
    }
}
