//! How a command ends after a failure: one line on standard error, and an exit status.

use crate::{remote, text};
use serde_json::{json, Value as Json};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether the command writes files, which an interrupt leaves as they were.
static WRITES: AtomicBool = AtomicBool::new(false);

/// Says that the command writes files.
pub fn keep_files() {
    WRITES.store(true, Ordering::Relaxed);
}

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// `zt: message`, exit status 1.
    Message(String),
    /// The arguments do not fit together; exit status 2.
    Usage(&'static str),
    /// It was reported already; exit status 1.
    Reported,
    /// A file is damaged, which was reported already; exit status 1, whatever else failed.
    Damaged,
    /// The reader of standard output is gone: the program ends without a message.
    Pipe,
    /// The answer cannot be determined: exit status 2, after the inner failure was reported.
    Trouble(Box<Failure>),
    /// A signal asked to stop. A file that was to be replaced or changed is as before.
    Interrupted(usize),
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// `path: message`. If the message already begins with the path, it is not repeated.
    pub fn at(path: &Path, message: impl Display) -> Failure {
        let message = message.to_string();
        match begins_with(&message, path) {
            true => Failure::Message(message),
            false => Failure::Message(format!("{}: {message}", remote::shown(path))),
        }
    }

    /// A failure of a copy. If the message begins with neither path, adds the path of the output.
    pub fn at_either(input: &Path, output: &Path, message: impl Display) -> Failure {
        let message = message.to_string();
        let path = if begins_with(&message, input) { input } else { output };
        Failure::at(path, message)
    }

    /// The failure to write standard output.
    pub fn output(error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Pipe,
            _ => Failure::Message(format!("standard output: {error}")),
        }
    }

    /// The failure to write a file to standard output. It is reported even if nobody reads it any more.
    pub fn cut_short(error: std::io::Error) -> Failure {
        Failure::Message(format!("standard output: {error}"))
    }

    /// Its message as a text.
    pub fn text(&self) -> String {
        match self {
            Failure::Message(message) => message.clone(),
            Failure::Usage(message) => (*message).to_owned(),
            _ => String::new(),
        }
    }

    /// Prints the message. Returns the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Message(message) => error(message),
            Failure::Usage(message) => {
                error(message);
                return ExitCode::from(2);
            }
            Failure::Interrupted(signal) => {
                error(match WRITES.load(Ordering::Relaxed) {
                    true => "interrupted; nothing is left half written",
                    false => "interrupted",
                });
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
            Failure::Reported | Failure::Damaged => {}
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

/// The errors that are not in the output yet; `None` unless the output is JSON.
static ERRORS: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on the output is JSON, so errors are in it, too.
pub fn collect_errors() {
    *ERRORS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// Prints an error on standard error. The output has it after [`take_errors`].
pub fn error(message: &str) {
    if let Some(errors) = ERRORS.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        errors.push(message.to_owned());
    }
    report(message);
}

/// The errors since the last call.
pub fn take_errors() -> Vec<String> {
    ERRORS.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
}

/// A document in JSON with `errors`, if there are any. In an array, each entry has its own errors already.
pub fn with_errors(mut document: Json) -> Json {
    let errors = take_errors();
    if !errors.is_empty() && document.is_object() {
        document["errors"] = json!(errors);
    }
    document
}

/// Prints a line on standard error. If that fails, the failure cannot be reported anywhere.
pub fn report(message: &str) {
    let _ = writeln!(std::io::stderr(), "zt: {}", text::one_line(message));
}

/// A panic is a bug of this program. Users get a line that they can report, not a backtrace.
pub fn report_panics_in_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        error(&format!("internal error, please report it: {what}{place}"));
    }));
}
