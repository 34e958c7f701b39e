//! The command line.

use crate::Cfg;
use std::path::PathBuf;

pub const HELP: &str = "\
Usage: ztensor-bench [OPTION]... [WORKLOAD]...
Measures libztensor, through its C interface, beside other libraries and what this machine allows.
docs/benchmarks.md says how it measures and how to read the rows.

WORKLOAD is one of these, by name or number; without one all run:
  w1  open           open, find, list, close        w8  convert   bf16 and f16 to f32
  w2  load           load from the page cache       w9  slices    slices of a rank; experts under a budget
  w3  cold_load      load from the disk             w10 startup   loading the library, the first call
  w4  write          write a big model              w11 scale     objects, size of the file
  w5  small_tensors  write and load small tensors   w12 append    append one object
  w6  compress       zstd                           w13 threads   other numbers of threads
  w7  digests                                       w14 convert_file  safetensors to .zt
  w15 stream         loads: rings, shards, slices   w16 cache     a cache of experts
  w17 ztensor_2      zTensor 2: open, load, write  w18 numbers   blocks of ggml to floats and back

Options:
  --quick      small files and few rounds: shows that everything works, not how fast
  --reps N     rounds of every group, instead of a number for each
  --only TEXT  only the rows whose name contains TEXT, and the limits
  --dir DIR    where files of up to 6 GiB are written, and removed at the end; default: the system's folder for
               temporary files, which must not be in memory for w3, w4, w9 and w13
  --json FILE  writes every sample
  --svg FILE   writes the plot of w11
  --hold       holds the free memory of a virtual machine between timed sections (benches/src/balloon.rs)
  --cpu        times of the processors, of all threads, instead of the clock's: for rows that no disk bounds, on a
               machine that does something else, too
  --markdown FILE  prints the tables of results.md from what --json wrote, and measures nothing
  --help       prints this

Example: ztensor-bench --dir target/bench --json target/bench/results.json load cold_load

What cannot be measured on this machine is printed as \"not measured: WHY\", and the rest goes on. Exit status: 0;
1 if a check failed or a file could not be written; 2 if an argument is not one of these.
";

/// Number and name of each workload, in the order of the runs.
pub const WORKLOADS: [(&str, &str); 18] = [
    ("w1", "open"),
    ("w2", "load"),
    ("w3", "cold_load"),
    ("w4", "write"),
    ("w5", "small_tensors"),
    ("w6", "compress"),
    ("w7", "digests"),
    ("w8", "convert"),
    ("w9", "slices"),
    ("w10", "startup"),
    ("w11", "scale"),
    ("w12", "append"),
    ("w13", "threads"),
    ("w14", "convert_file"),
    ("w15", "stream"),
    ("w16", "cache"),
    ("w17", "ztensor_2"),
    ("w18", "numbers"),
];

pub enum Command {
    Help,
    Run(Run),
    /// Prints the tables of a saved run.
    Markdown(PathBuf),
    /// Runs in a child process: prints the memory of a reader after opening (w1).
    MemoryProbe {
        reader: String,
        dir: PathBuf,
        objects: usize,
    },
}

pub struct Run {
    pub cfg: Cfg,
    pub json: Option<PathBuf>,
    /// The numbers of the selected workloads; empty: all.
    pub workloads: Vec<String>,
    pub use_balloon: bool,
    /// See `clock`.
    pub by_processors: bool,
    pub only: Option<String>,
}

fn number(option: &str, text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("{option} needs a number of at least 1, not \"{text}\"")),
    }
}

/// The error is one line.
pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let cfg = Cfg { dir: std::env::temp_dir(), reps: None, quick: false, layers: 22, mib: 1024, svg: None };
    let mut run =
        Run { cfg, json: None, workloads: Vec::new(), use_balloon: false, by_processors: false, only: None };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--dir" => run.cfg.dir = value()?.into(),
            "--json" => run.json = Some(value()?.into()),
            "--svg" => run.cfg.svg = Some(value()?.into()),
            "--reps" => run.cfg.reps = Some(number("--reps", &value()?)?),
            "--only" => run.only = Some(value()?),
            "--hold" => run.use_balloon = true,
            "--cpu" => run.by_processors = true,
            "--markdown" => return Ok(Command::Markdown(value()?.into())),
            "--quick" => (run.cfg.quick, run.cfg.layers, run.cfg.mib) = (true, 1, 64),
            "--mem-probe" => {
                let (reader, dir, objects) = (value()?, value()?.into(), number("--mem-probe", &value()?)?);
                return Ok(Command::MemoryProbe { reader, dir, objects });
            }
            other => match WORKLOADS.iter().find(|(number, name)| other == *number || other == *name) {
                Some((number, _)) => run.workloads.push((*number).to_owned()),
                None => return Err(format!("unknown argument \"{other}\"; --help lists the arguments")),
            },
        }
    }
    Ok(Command::Run(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> Result<Command, String> {
        parse(args.iter().map(|a| (*a).to_owned()))
    }

    #[test]
    fn options_and_workloads_are_taken_in_any_order() {
        let Ok(Command::Run(run)) = of(&["cold_load", "--reps", "5", "w13", "--dir", "d", "--quick"]) else {
            panic!()
        };
        assert_eq!(run.workloads, ["w3", "w13"]);
        assert_eq!((run.cfg.reps(2), run.cfg.dir, run.cfg.quick), (5, PathBuf::from("d"), true));
        assert!(matches!(of(&["w3", "--help"]), Ok(Command::Help)));
    }

    #[test]
    fn invalid_arguments_are_an_error_of_one_line() {
        for args in
            [&["--fast"][..], &["w19"], &["w0"], &["--dir"], &["--reps", "many"], &["--reps", "0"], &["x"]]
        {
            let Err(line) = of(args) else { panic!("{args:?}") };
            assert!(line.contains(args.last().unwrap()) && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn the_help_names_every_workload() {
        let is_named = |(number, name): &(&str, &str)| HELP.contains(&format!("  {number:<4}{name}"));
        assert!(WORKLOADS.iter().all(is_named));
    }
}
