//! `zt bench`: measures how fast each mode reads a file, compared with plain reads of the same bytes.

mod cold;
mod plain;
mod reads;

use crate::arguments::Bench;
use crate::failure::{report, with_errors, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{models, notes, progress, remote, text};
use reads::Mode;
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::time::Duration;
use ztensor::reader::File;

/// A mode with a number of threads.
struct Row {
    mode: Mode,
    threads: usize,
    /// The time of the fastest round.
    time: Duration,
    direct: bool,
    /// The largest share of the bytes that was in the page cache at the start of a cold run; `None` if that
    /// is unknown.
    cached: Option<f64>,
    reasons: BTreeSet<String>,
}

pub fn run(arguments: &Bench) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen();
    let opened = File::open_model(path, &models::with_choice(&Mode::Read.open_options()))
        .map_err(|e| Failure::at(path, e))?;
    notes::remember(path, &opened);
    let plan = reads::plan(&opened);
    if plan.batches.is_empty() {
        return Err(Failure::at(path, "has no readable tensor"));
    }
    let mut memory = reads::memory(&plan).map_err(|e| Failure::at(path, e))?;
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads: BTreeSet<usize> = match arguments.threads.is_empty() {
        true => [1, processors].into(),
        false => arguments.threads.iter().map(|n| usize::from(*n)).collect(),
    };
    let mut rows: Vec<Row> = threads
        .iter()
        .flat_map(|threads| Mode::ALL.map(|mode| (mode, *threads)))
        .map(|(mode, threads)| Row {
            mode,
            threads,
            time: Duration::MAX,
            direct: false,
            cached: None,
            reasons: BTreeSet::new(),
        })
        .collect();
    let rounds = u64::from(arguments.rounds);
    let bar = progress::bar(plan.decoded.saturating_mul(rounds).saturating_mul(rows.len() as u64), path);
    for _ in 0..rounds {
        for row in &mut rows {
            if arguments.cold {
                let left = cold::evict(&opened, &plan).map_err(|e| Failure::at(path, e))?;
                row.cached = left.map(|left| left.max(row.cached.unwrap_or(0.0)));
            }
            let plain = plain::Parts::open(&opened)?;
            let file = match row.mode {
                Mode::Plain => None,
                mode => Some(
                    File::open_model(path, &models::with_choice(&mode.open_options()))
                        .map_err(|e| Failure::at(path, e))?,
                ),
            };
            let mut time = Duration::ZERO;
            for batch in &plan.batches {
                interrupt.check()?;
                let took = match &file {
                    None => plain.read(batch, row.threads, &mut memory)?,
                    Some(file) => {
                        let read = reads::read(file, batch, row.mode, row.threads, &mut memory);
                        let (took, stats) = read.map_err(|e| Failure::at(path, e))?;
                        row.direct |= stats.direct;
                        row.reasons.insert(stats.reason.to_string_lossy().into_owned());
                        took
                    }
                };
                time += took;
                bar.inc(batch.decoded());
            }
            row.time = row.time.min(time);
        }
    }
    bar.finish_and_clear();
    let mut out = Output::new();
    match arguments.json {
        true => {
            let rows: Vec<_> = rows.iter().map(|row| row.as_json(&rows, &plan)).collect();
            let found = json!({
                "file": remote::shown(path),
                "bytes": plan.decoded,
                "stored_bytes": plan.stored,
                "left_out": plan.left_out,
                "cold": arguments.cold,
                "rounds": rounds,
                "processors": processors,
                "runs": rows,
                "notes": notes::left_out(path),
            });
            out.json(&format!("{:#}\n", with_errors(found)))?;
        }
        false => write(&mut out, &rows, &plan)?,
    }
    out.flush()?;
    if let Some(why) = arguments.cold.then(|| not_cold(&rows)).flatten() {
        report(&format!("{}: {why}", remote::shown(path)));
    }
    Ok(())
}

/// Why the runs did not read from the disk, if they did not.
fn not_cold(rows: &[Row]) -> Option<String> {
    let unknown =
        "the system does not report whether the file left the page cache: the runs may be from memory";
    let most = rows.iter().map(|row| row.cached).try_fold(0.0, |most, cached| Some(f64::max(most, cached?)));
    match most {
        None => Some(String::from(unknown)),
        Some(most) if most > cold::MAX_WARM_SHARE => Some(format!(
            "{:.0} % of it stays in the page cache, so that the runs are not from the disk: another program has it mapped, \
             or its file system keeps it in memory",
            most * 100.0
        )),
        Some(_) => None,
    }
}

impl Row {
    fn rate(&self, bytes: u64) -> f64 {
        bytes as f64 / self.time.as_secs_f64().max(1e-9) / 1e9
    }

    fn bytes(&self, plan: &reads::Plan) -> u64 {
        if self.mode == Mode::Plain {
            plan.stored
        } else {
            plan.decoded
        }
    }

    /// The speed as a multiple of plain reads with the same number of threads.
    fn of_plain(&self, rows: &[Row]) -> f64 {
        let plain = rows.iter().find(|row| row.mode == Mode::Plain && row.threads == self.threads);
        plain.map_or(1.0, |plain| plain.time.as_secs_f64() / self.time.as_secs_f64().max(1e-9))
    }

    fn reason(&self) -> String {
        match self.mode {
            Mode::Plain => String::from("read() of the system"),
            _ => Vec::from_iter(self.reasons.iter().map(String::as_str)).join("; "),
        }
    }

    fn as_json(&self, rows: &[Row], plan: &reads::Plan) -> Value {
        json!({
            "mode": self.mode.name(),
            "threads": self.threads,
            "seconds": self.time.as_secs_f64(),
            "gb_per_second": self.rate(self.bytes(plan)),
            "of_plain": self.of_plain(rows),
            "direct": self.direct,
            "cached": self.cached,
            "reason": self.reason(),
        })
    }
}

fn write(out: &mut Output, rows: &[Row], plan: &reads::Plan) -> Outcome<()> {
    let right = |heading| (heading, Align::Right);
    let mut table = Table::new(&[
        ("MODE", Align::Left),
        right("THREADS"),
        right("GB/S"),
        right("OF PLAIN"),
        ("WHY", Align::Left),
    ]);
    for row in rows {
        table.row(vec![
            row.mode.name().to_owned(),
            row.threads.to_string(),
            format!("{:.2}", row.rate(row.bytes(plan))),
            format!("{:.2}", row.of_plain(rows)),
            text::one_line(&row.reason()).into_owned(),
        ]);
    }
    table.write(out)?;
    let (stored, decoded) = (text::size(plan.stored), text::size(plan.decoded));
    out.line(format_args!(
        "{stored} stored, {decoded} decoded; {} left out",
        text::count(plan.left_out, "component")
    ))
}
