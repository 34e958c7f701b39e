//! `zt`: inspects, compares, verifies, converts, edits and repairs files of tensors.
//!
//! Results go to standard output, everything else to standard error. `zt --help` has the table of exit
//! statuses.

mod arguments;
mod attr;
mod attributes;
mod bench;
mod combine;
#[cfg(feature = "compat")]
mod compat;
mod completions;
mod convert;
mod diff;
mod edit;
mod elements;
mod extract;
mod failure;
mod fold;
mod head;
mod hub;
mod id;
mod info;
mod interrupt;
mod json;
mod ls;
mod memory;
mod models;
mod names;
mod new_files;
mod notes;
mod npy;
mod number;
mod other_formats;
mod output;
mod parallel;
mod progress;
mod remote;
mod repair;
mod report;
mod split;
mod standard_input;
mod stats;
mod table;
mod temporary;
mod text;
mod tree;
mod usage;
mod verify;

use arguments::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report_panics_in_one_line();
    interrupt::outlive_the_limit_on_files();
    let arguments = match usage::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let run = || {
        if let Some(file) = &arguments.root_certificates {
            remote::trust(file).map_err(|why| failure::Failure::at(file, why))?;
        }
        if arguments.quiet {
            progress::silence();
        }
        standard_input::limit(arguments.stdin_limit);
        models::choose(arguments.part, arguments.include_unlisted, arguments.combine);
        let outcome = run(&arguments.command);
        notes::report_left_out();
        outcome
    };
    if arguments.command.prints_json() {
        failure::collect_errors();
    }
    let status = match std::panic::catch_unwind(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            let is_known = matches!(failure, failure::Failure::Interrupted(_) | failure::Failure::Damaged);
            match (failure.report(), remote::is_missing() && !is_known) {
                (_, true) => ExitCode::from(3),
                (status, false) => status,
            }
        }
        Err(_) => ExitCode::from(1), // the panic hook has reported it
    };
    output::print_errors();
    status
}

fn version() -> failure::Outcome<()> {
    let mut out = output::Output::new();
    out.line(format_args!("zt {}", env!("CARGO_PKG_VERSION")))?;
    out.flush()
}

fn run(command: &Command) -> failure::Outcome<()> {
    match command {
        Command::Ls(arguments) => ls::run(arguments),
        Command::Tree(arguments) => tree::run(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Head(arguments) => head::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Cat(arguments) => extract::cat(arguments),
        Command::Extract(arguments) => extract::extract(arguments),
        Command::Attr(arguments) => attr::run(&arguments.action),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Id(arguments) => id::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Edit(arguments) => edit::run(arguments),
        Command::Rm(arguments) => edit::run(&arguments.into()),
        Command::Mv(arguments) => edit::run(&arguments.into()),
        Command::Add(arguments) => combine::add(arguments),
        Command::Merge(arguments) => combine::merge(arguments),
        Command::Split(arguments) => split::split(arguments),
        Command::Compact(arguments) => combine::compact(arguments),
        Command::Repair(arguments) => repair::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Version => version(),
        #[cfg(feature = "compat")]
        Command::ReadWithCompat(arguments) => compat::read(arguments),
    }
}
