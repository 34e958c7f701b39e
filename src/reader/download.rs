//! Downloads that are not complete: by their names, and by zeros at their ends.

use crate::container::is_zero;
use crate::error::{Cause, Error};
use crate::source::{with_range, ByteSource};

/// The extensions of downloads that are not complete.
const UNFINISHED: [&str; 7] = ["incomplete", "part", "partial", "crdownload", "download", "aria2", "tmp"];
/// Whether a file of that name is an unfinished download.
pub fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, end)| UNFINISHED.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// The failure of a file that looks like a download that is not complete, with a word on that.
#[cold]
pub fn unfinished_download(source: &dyn ByteSource, label: &str, error: Error) -> Error {
    const LOOKED_AT: u64 = 4096;
    if !matches!(error.cause(), Cause::Broken(_) | Cause::NotZtensor) {
        return error;
    }
    if is_unfinished(label) {
        return error.within(format_args!("its name is that of a download that is not complete"));
    }
    let size = source.size();
    let start = size.saturating_sub(LOOKED_AT.min(size / 2)); // a small file has its header in front
    let ends_in_zeros = with_range(source, start..size, |end| Ok(is_zero(end)));
    match ends_in_zeros {
        Ok(true) => error.within(format_args!("it ends in zeros, as a download does that is not complete")),
        _ => error,
    }
}
