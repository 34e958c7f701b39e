//! A progress bar on standard error, if that is a terminal and the command takes long.

use crate::text::{cut, one_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Commands that end before this show no bar.
const DELAY: Duration = Duration::from_millis(500);

static QUIET: AtomicBool = AtomicBool::new(false);

/// Takes the option `--quiet`.
pub fn silence() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether neither progress nor notes are shown.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether the user wants neither colours nor lines that are drawn again.
pub fn is_plain() -> bool {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb")
}

/// The progress of a command.
pub struct Bar {
    bar: ProgressBar,
    /// Whether it will be drawn when it is due.
    waits: AtomicBool,
}

/// The most columns of a name, so that the bar fits into 80.
const NAME: usize = 20;

/// A bar for `total` bytes of a file. It is drawn about ten times a second.
pub fn bar(total: u64, path: &Path) -> Bar {
    const TEMPLATE: &str =
        "{msg} [{bar:16}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta}";
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    let shown = crate::remote::shown(path); // no secret of a URL
    let name = Path::new(&shown).file_stem().unwrap_or_default().to_string_lossy();
    bar.set_message(cut(&one_line(&name), NAME).into_owned());
    let is_wanted = std::io::stderr().is_terminal() && !is_quiet() && !is_plain();
    Bar { bar, waits: AtomicBool::new(is_wanted) }
}

impl Bar {
    /// A bar that is never drawn.
    #[cfg(test)]
    pub fn hidden() -> Bar {
        Bar { bar: ProgressBar::hidden(), waits: AtomicBool::new(false) }
    }

    pub fn inc(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.show_if_due();
    }

    pub fn set_position(&self, bytes: u64) {
        self.bar.set_position(bytes);
        self.show_if_due();
    }

    /// Runs `body`, which prints lines, while it is not on the terminal.
    pub fn suspend(&self, body: impl FnOnce()) {
        self.bar.suspend(body);
    }

    /// Removes it from the terminal.
    pub fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    fn show_if_due(&self) {
        let is_due = || self.bar.elapsed() >= DELAY;
        if self.waits.load(Ordering::Relaxed) && is_due() && self.waits.swap(false, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }
}
