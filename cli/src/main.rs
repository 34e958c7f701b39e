//! `zt`: lists, verifies, converts, edits and repairs zTensor `.zt` files.
//!
//! Results go to standard output, everything else to standard error. Exit status: 0 done, 1 a file
//! failed, 2 wrong usage.

mod arguments;
mod convert;
mod edit;
mod failure;
mod interrupt;
mod json;
mod ls;
mod output;
mod progress;
mod repair;
mod table;
mod text;
mod verify;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report_panics_in_one_line();
    let arguments = Arguments::parse();
    let run = || match &arguments.command {
        Command::Ls(arguments) => ls::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Edit(arguments) => edit::run(arguments),
        Command::Repair(arguments) => repair::run(arguments),
    };
    match std::panic::catch_unwind(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        Err(_) => ExitCode::from(1), // the hook has reported it
    }
}
