//! A progress bar on standard error; none where that is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `total` bytes, drawn at most ten times a second.
pub fn bar(total: u64, what: &str) -> ProgressBar {
    const TEMPLATE: &str =
        "{msg} [{bar:32}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta}";
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(crate::text::one_line(what).into_owned());
    bar
}
