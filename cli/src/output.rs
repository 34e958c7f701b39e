//! Standard output: gathered, and every failure noticed.

use crate::failure::{Failure, Outcome};
use std::fmt::Arguments;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

/// Standard output.
pub struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    coloured: bool,
}

/// What a text means, for those who see colours.
#[derive(Clone, Copy)]
pub enum Tone {
    Heading,
    Good,
    Bad,
}

impl Output {
    pub fn new() -> Output {
        let stdout = std::io::stdout();
        let set = |variable: &str| std::env::var_os(variable).filter(|v| !v.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        let coloured = stdout.is_terminal() && !plain;
        Output { writer: BufWriter::with_capacity(64 << 10, stdout.lock()), coloured }
    }

    /// Text as it is.
    pub fn put(&mut self, text: &str) -> Outcome<()> {
        self.writer.write_all(text.as_bytes()).map_err(Failure::output)
    }

    /// One line.
    pub fn line(&mut self, line: Arguments<'_>) -> Outcome<()> {
        writeln!(self.writer, "{line}").map_err(Failure::output)
    }

    /// The text in its tone, where there are colours.
    pub fn toned(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Heading => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
        };
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Everything out.
    pub fn flush(&mut self) -> Outcome<()> {
        self.writer.flush().map_err(Failure::output)
    }
}
