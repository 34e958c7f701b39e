//! `zt verify`: a line for each file, a summary, an exit status.

use crate::arguments::Verify;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone};
use crate::{progress, text};
use std::path::Path;
use std::time::Instant;
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};

pub fn run(arguments: &Verify) -> Outcome<()> {
    let started = Instant::now();
    let mut listener = Listener { out: Output::new(), gone: false };
    let (mut good, mut bad, mut bytes) = (0u64, 0u64, 0u64);
    for path in &arguments.files {
        let shown = path.display().to_string();
        let shown = text::one_line(&shown);
        match verify(path, arguments) {
            Ok(report) => {
                good += 1;
                bytes = bytes.saturating_add(report.bytes);
                let ok = listener.out.toned(Tone::Good, "ok");
                listener.say(format_args!("{shown}: {ok}, {}", details(&report)))?;
            }
            Err(error) => {
                bad += 1;
                let failed = listener.out.toned(Tone::Bad, "FAILED");
                listener.say(format_args!("{shown}: {failed}"))?;
                Failure::at(path, error).report();
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let files = text::count(good + bad, "file");
    listener
        .say(format_args!("{files}: {good} ok, {bad} failed; {} in {seconds:.2} s", text::size(bytes)))?;
    if bad > 0 {
        Err(Failure::Reported)
    } else {
        Ok(())
    }
}

/// Standard output, until nobody reads it any more: the exit status has to be right even then.
struct Listener {
    out: Output,
    gone: bool,
}

impl Listener {
    fn say(&mut self, line: std::fmt::Arguments<'_>) -> Outcome<()> {
        if self.gone {
            return Ok(());
        }
        match self.out.line(line).and_then(|()| self.out.flush()) {
            Err(Failure::Pipe) => {
                self.gone = true;
                Ok(())
            }
            outcome => outcome,
        }
    }
}

fn verify(path: &Path, arguments: &Verify) -> Result<VerifyReport> {
    let file = File::open_model(path, &OpenOptions { strict: arguments.strict, ..OpenOptions::default() })?;
    let stored = file.objects().flat_map(|o| o.components()).map(|c| c.stored_size());
    let bar = progress::bar(stored.fold(0, u64::saturating_add), path);
    let options = VerifyOptions { threads: arguments.threads, ..VerifyOptions::default() };
    let mut report = VerifyReport::default();
    let outcome = file.verify(
        &options,
        &|done, _| {
            bar.set_position(done);
            true
        },
        &mut report,
    );
    bar.finish_and_clear();
    outcome.map(|()| report)
}

fn details(report: &VerifyReport) -> String {
    let mut details = format!("{}, {}", text::count(report.objects, "object"), text::size(report.bytes));
    match (report.digests_verified, report.digests_absent) {
        (0, _) => details += ", no digest verified",
        (verified, absent) => {
            details += &format!(", {} verified", text::count(verified, "digest"));
            if absent > 0 {
                details += &format!(", {} without one", text::count(absent, "component"));
            }
        }
    }
    if report.digests_unknown > 0 {
        details += &format!(", {} of an unknown algorithm", text::count(report.digests_unknown, "digest"));
    }
    if report.padding_nonzero > 0 {
        details += &format!(", {} of padding not zero", text::count(report.padding_nonzero, "byte"));
    }
    details
}
