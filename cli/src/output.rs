//! Standard output: buffered, and with every failure reported.

use crate::failure::{take_errors, Failure, Outcome};
use crate::progress::is_plain;
use crate::text;
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use terminal_size::{terminal_size, Width};

/// Standard output.
pub struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
    coloured: bool,
    /// The columns of the terminal; `None` if they are not known, or if the output is not a terminal.
    width: Option<usize>,
}

/// The meaning of a text, which is shown as a colour.
#[derive(Clone, Copy)]
pub enum Tone {
    Heading,
    Good,
    Warning,
    Bad,
}

impl Output {
    pub fn new() -> Output {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let writer = BufWriter::with_capacity(64 << 10, stdout.lock());
        let coloured = is_terminal && !is_plain();
        Output { writer, is_terminal, coloured, width: columns().filter(|_| is_terminal) }
    }

    /// The columns that lines should have at most. `None` for any number.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The line, on a terminal broken into lines that fit.
    pub fn wrapped<'t>(&self, line: &'t str) -> Cow<'t, str> {
        self.width.map_or(Cow::Borrowed(line), |width| text::wrap(line, width))
    }

    /// Writes text without escaping.
    pub fn put(&mut self, text: &str) -> Outcome<()> {
        self.writer.write_all(text.as_bytes()).map_err(Failure::output)
    }

    /// Writes a line.
    pub fn line(&mut self, line: Arguments<'_>) -> Outcome<()> {
        writeln!(self.writer, "{line}").map_err(Failure::output)
    }

    /// Writes JSON, or a piece of it.
    pub fn json(&mut self, json: &str) -> Outcome<()> {
        self.put(&text::json(json))
    }

    /// Writes a text from a file without escaping; on a terminal, control characters are escaped.
    pub fn text(&mut self, text: &str) -> Outcome<()> {
        match self.is_terminal {
            true => self.put(&text::lines(text)),
            false => self.put(text),
        }
    }

    /// The text in the colour of its tone, if colours are used.
    pub fn toned(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Heading => "1",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
        };
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Writes everything that is buffered.
    pub fn flush(&mut self) -> Outcome<()> {
        self.writer.flush().map_err(Failure::output)
    }
}

/// The columns that the user states in COLUMNS, or else those of the terminal.
fn columns() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let found = || terminal_size().map(|(Width(columns), _)| columns.into());
    stated.or_else(found).filter(|columns| *columns > 0)
}

/// Prints the errors that are in no document as a document. Standard error has them, too, so a failure to
/// print them is ignored.
pub fn print_errors() {
    let errors = take_errors();
    if !errors.is_empty() {
        let mut out = Output::new();
        let _ = out.json(&format!("{}\n", json!({ "errors": errors }))).and_then(|()| out.flush());
    }
}

/// Refuses to write bytes of a file to a terminal.
pub fn refuse_terminal(what: &str) -> Outcome<()> {
    match std::io::stdout().is_terminal() {
        true => Err(Failure::Message(format!(
            "standard output: {what} would be for a terminal; > FILE or | PROGRAM takes it"
        ))),
        false => Ok(()),
    }
}
