//! Measures libztensor, through its C interface, beside its peers and the limits of the machine.
//! docs/benchmarks.md describes how to read the results.

mod anon;
mod args;
mod balloon;
mod big;
mod clock;
mod data;
mod harness;
mod markdown;
mod outcome;
mod peers;
mod sys;
mod targets;
mod workloads;
mod zt;

use args::{Command, Run};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub struct Cfg {
    pub dir: PathBuf,
    reps: Option<usize>,
    /// Smaller files and fewer rounds.
    pub quick: bool,
    /// Llama layers in the big file: 22 layers are 2.05 GiB.
    pub layers: usize,
    pub mib: usize,
    /// The path for the plot of W11.
    pub svg: Option<PathBuf>,
}

impl Cfg {
    pub fn reps(&self, usual: usize) -> usize {
        self.reps.unwrap_or(if self.quick { usual.min(2) } else { usual })
    }
}

/// Removes the files of a run, also if it panics.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Its number (see args::WORKLOADS) and its function.
type Workload = (&'static str, fn(&Cfg) -> Vec<Value>);

const TABLE: [Workload; 21] = [
    ("w1", workloads::open::run),
    ("w1", workloads::open_kinds::run),
    ("w1", workloads::vocabulary::run),
    ("w2", workloads::load::run),
    ("w3", workloads::cold_load::run),
    ("w4", workloads::write::run),
    ("w5", workloads::small_tensors::run),
    ("w6", workloads::compress::run),
    ("w7", workloads::digests::run),
    ("w8", workloads::convert::run),
    ("w9", workloads::slices::run),
    ("w10", workloads::startup::run),
    ("w11", workloads::scale::run),
    ("w12", workloads::append::run),
    ("w13", workloads::threads::run),
    ("w14", workloads::convert_file::run),
    ("w15", workloads::stream::run),
    ("w16", workloads::cache::run),
    ("w17", workloads::ztensor_2::run),
    ("w17", workloads::write_ztensor_2::run),
    ("w18", workloads::numbers::run),
];

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Ok(Command::MemoryProbe { reader, dir, objects }) => {
            workloads::open::mem_probe(&reader, &dir, objects);
            ExitCode::SUCCESS
        }
        Ok(Command::Markdown(path)) => ended(markdown::print(&path)),
        Ok(Command::Run(run)) => ended(measure(run)),
        Err(line) => {
            eprintln!("ztensor-bench: {line}");
            ExitCode::from(2)
        }
    }
}

fn ended(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            eprintln!("ztensor-bench: {line}");
            ExitCode::FAILURE
        }
    }
}

/// Empties the folder after a workload that did not finish.
fn fresh(dir: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
}

/// An error ends the run: a folder or file that cannot be written.
fn measure(mut run: Run) -> Result<(), String> {
    outcome::keep_reasons();
    let cfg = &mut run.cfg;
    cfg.dir.push("ztensor-bench-data"); // a separate folder, because it is removed at the end
    fresh(&cfg.dir)?;
    let _cleanup = Cleanup(cfg.dir.clone());
    // Checked at the start, not after an hour.
    for file in [&run.json, &cfg.svg].into_iter().flatten() {
        std::fs::write(file, "").map_err(|e| format!("{}: {e}", file.display()))?;
    }
    if run.by_processors {
        clock::by_processors();
    }
    if let Some(text) = run.only {
        let _ = harness::ONLY.set(text);
    }
    let (model, flags) = sys::cpu();
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    println!("libztensor {}; cpu: {model}, {cores} cores; flags: {}", zt::version(), flags.join(" "));
    if cfg!(not(ggml)) {
        println!("ggml: left out: its source could not be downloaded");
    }
    let started = std::time::Instant::now();
    if run.use_balloon {
        let (t, ()) = harness::secs(balloon::start);
        println!("touched and kept the free memory in {t:.0} s");
    }
    let mut all = Vec::new();
    for (number, workload) in TABLE {
        if run.workloads.is_empty() || run.workloads.iter().any(|w| w == number) {
            let (t, v) = harness::secs(|| outcome::attempt(|| workload(cfg)));
            all.extend(v.or_else(|why| {
                fresh(&cfg.dir)?;
                Ok::<_, String>(vec![outcome::stand_in(&number.to_uppercase(), &why)])
            })?);
            balloon::refill();
            println!("\n({number} took {t:.0} s)");
        }
    }
    targets::summary();
    if let Some(path) = run.json {
        let doc = json!({
            "machine": {"cpu": model, "cores": cores, "flags": flags}, "quick": cfg.quick,
            "version": zt::version(), "by_processors": clock::is_by_processors(),
            "wall_s": started.elapsed().as_secs_f64(), "workloads": all, "targets": targets::judgements(),
        });
        let text = serde_json::to_string_pretty(&doc).map_err(|e| e.to_string())?;
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    match outcome::failures() {
        0 => Ok(()),
        n => Err(format!("{n} failed: see the lines with \"failed:\"")),
    }
}
