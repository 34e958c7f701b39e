//! A progress bar on standard error; nothing if that is not a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;

/// A bar for `total` bytes of a file. It is drawn about ten times a second.
pub fn bar(total: u64, path: &Path) -> ProgressBar {
    const TEMPLATE: &str =
        "{msg} [{bar:32}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta}";
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    bar.set_message(crate::text::one_line(&name).into_owned());
    bar
}
