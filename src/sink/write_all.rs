//! One write, in pieces that the page cache likes.

use super::signals::WithoutFileSizeSignal;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;

/// Bytes of one write to the page cache: small ones are buffered, large ones split. The kernel makes pages as large
/// as what comes at once; from megabytes on that was measured to take up to four times as long, and another time
/// in each run.
pub(crate) const BUFFER_SIZE: usize = 256 << 10;

/// All of `bytes`; interruptions and short counts are taken up again.
pub(super) fn write_all(mut file: &File, bytes: &[u8]) -> Result<()> {
    let _quiet = WithoutFileSizeSignal::new();
    bytes
        .chunks(BUFFER_SIZE)
        .try_for_each(|part| file.write_all(part))
        .map_err(|e| Error::io("", &e).within(format_args!("could not write {} bytes", bytes.len())))
}
