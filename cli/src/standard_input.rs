//! Reads a file from standard input.

use crate::interrupt::Interrupt;
use crate::temporary::without_name;
use std::io::{stdin, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{File, OpenOptions};

/// Whether a path means standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Most bytes that are copied from a pipe.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Takes the option `--stdin-limit`.
pub fn limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Opens a redirected file in place. Data from a pipe is copied to a file without a name, because most
/// formats have an index at their end.
pub fn open(options: &OpenOptions, interrupt: &Interrupt) -> Result<File> {
    let at = |e: std::io::Error| Error::new(Cause::Io, format_args!("standard input: {e}"));
    let options = OpenOptions { name: Some(String::from("standard input")), ..options.clone() };
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let given = stdin().as_fd().try_clone_to_owned().map(std::fs::File::from).map_err(at)?;
        if given.metadata().map_err(at)?.is_file() {
            return File::open_file(given, 0, u64::MAX, &options);
        }
    }
    let temporary = |e: std::io::Error| {
        let folder = std::env::temp_dir().display().to_string();
        Error::new(
            Cause::Io,
            format_args!(
                "standard input: it cannot be copied to {folder}: {e}; TMPDIR chooses another folder"
            ),
        )
    };
    let (mut file, limit) = (without_name().map_err(temporary)?, LIMIT.load(Ordering::Relaxed));
    let (mut given, mut chunk, mut copied) = (stdin().lock(), vec![0; 1 << 20], 0u64);
    loop {
        if interrupt.check().is_err() {
            return Err(Error::new(Cause::Cancelled, format_args!("standard input: interrupted")));
        }
        match given.read(&mut chunk) {
            Ok(0) => break,
            Ok(size) => {
                copied = copied.saturating_add(size as u64);
                if copied > limit {
                    return Err(Error::new(
                        Cause::Limit,
                        format_args!(
                            "standard input: it has more than {limit} bytes; --stdin-limit allows more"
                        ),
                    ));
                }
                file.write_all(&chunk[..size]).map_err(temporary)?;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(at(e)),
        }
    }
    File::open_file(file, 0, u64::MAX, &options)
}
