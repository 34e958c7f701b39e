//! How a command ends when it does not end well: one line on standard error and an exit status.

use crate::{remote, text};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// `zt: message`, exit status 1.
    Message(String),
    /// The words of the command do not fit together; exit status 2.
    Usage(&'static str),
    /// It was reported already; exit status 1.
    Reported,
    /// The reader of standard output has gone: the program ends without a message.
    Pipe,
    /// What was to be found out cannot be: exit status 2, after whatever is inside was reported.
    Trouble(Box<Failure>),
    /// A signal asked to stop; a file that was being written is as it was.
    Interrupted(usize),
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// `path: message`; the path only once, where the message begins with it already.
    pub fn at(path: &Path, message: impl Display) -> Failure {
        let message = message.to_string();
        match begins_with(&message, path) {
            true => Failure::Message(message),
            false => Failure::Message(format!("{}: {message}", remote::shown(path))),
        }
    }

    /// A failure of a copy. The message is unchanged if it begins with either path, else it begins with the
    /// path of the output.
    pub fn at_either(input: &Path, output: &Path, message: impl Display) -> Failure {
        let message = message.to_string();
        let path = if begins_with(&message, input) { input } else { output };
        Failure::at(path, message)
    }

    /// Standard output could not be written.
    pub fn output(error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Pipe,
            _ => Failure::Message(format!("standard output: {error}")),
        }
    }

    /// A file on standard output could not be written: also where nobody reads it any more.
    pub fn cut_short(error: std::io::Error) -> Failure {
        Failure::Message(format!("standard output: {error}"))
    }

    /// Its message, without a line of its own.
    pub fn text(&self) -> String {
        match self {
            Failure::Message(message) => message.clone(),
            Failure::Usage(message) => (*message).to_owned(),
            _ => String::new(),
        }
    }

    /// Says what there is to say, and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Message(message) => report(message),
            Failure::Usage(message) => {
                report(message);
                return ExitCode::from(2);
            }
            Failure::Interrupted(signal) => {
                report("interrupted; nothing is left half written");
                return ExitCode::from(u8::try_from(128 + signal).unwrap_or(1));
            }
            Failure::Trouble(why) => {
                return match why.as_ref() {
                    Failure::Interrupted(_) | Failure::Pipe => why.report(),
                    _ => {
                        why.report();
                        ExitCode::from(2)
                    }
                };
            }
            Failure::Pipe => return ExitCode::SUCCESS,
            Failure::Reported => {}
        }
        ExitCode::from(1)
    }
}

fn begins_with(message: &str, path: &Path) -> bool {
    let shown = remote::shown(path);
    let names: &[&str] =
        if shown == "-" { &["standard output", "standard input", "-"] } else { &[shown.as_str()] };
    names.iter().any(|name| message.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")))
}

/// One line on standard error. Where even that fails there is nowhere to report it.
pub fn report(message: &str) {
    let _ = writeln!(std::io::stderr(), "zt: {}", text::one_line(message));
}

/// A panic is a bug of this program; its user gets a line to report, not a backtrace.
pub fn report_panics_in_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        report(&format!("internal error, please report it: {what}{place}"));
    }));
}
