//! What is converted: a file, a model, or standard input.

use super::temporary::without_name;
use super::{is_standard, other_formats};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::remote;
use std::io::{stdin, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use ztensor::error::Error;
use ztensor::reader::{File, OpenOptions};

/// An open file, and what it is called.
pub struct Input {
    pub file: File,
    path: PathBuf,
}

impl Input {
    /// Opens what is at a path; bytes behind its content may be passed over.
    pub fn open(path: &Path, allow_trailing: bool, interrupt: &Interrupt) -> Outcome<Input> {
        let options = OpenOptions { allow_trailing, ..OpenOptions::default() };
        let file = match is_standard(path) {
            true => from_standard_input(options, interrupt)?,
            false => {
                let is_special = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
                if std::fs::metadata(path).is_ok_and(is_special) {
                    return Err(Failure::at(path, "neither a regular file nor a folder"));
                }
                // Mapped: compressed components need no memory for their stored bytes.
                match remote::open_with(path, &options).map_err(|e| Failure::at(path, e)) {
                    Ok(file) => file,
                    Err(why) => other_formats::open(path, interrupt)?.ok_or(why)?,
                }
            }
        };
        Ok(Input { file, path: path.to_owned() })
    }

    /// A failure of it.
    pub fn failure(&self, error: Error) -> Failure {
        Failure::at(&self.path, error)
    }
}

/// A file that is redirected is read where it is; what comes through a pipe goes to a file that has no name.
fn from_standard_input(options: OpenOptions, interrupt: &Interrupt) -> Outcome<File> {
    let at = |e: std::io::Error| Failure::Message(format!("standard input: {e}"));
    let options = OpenOptions { name: Some(String::from("standard input")), ..options };
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let given = stdin().as_fd().try_clone_to_owned().map(std::fs::File::from).map_err(at)?;
        if given.metadata().map_err(at)?.is_file() {
            return File::open_file(given, 0, u64::MAX, &options)
                .map_err(|e| Failure::Message(e.to_string()));
        }
    }
    let mut file = without_name().map_err(at)?;
    let (mut given, mut chunk) = (stdin().lock(), vec![0; 1 << 20]);
    loop {
        interrupt.check()?;
        match given.read(&mut chunk) {
            Ok(0) => break,
            Ok(size) => file.write_all(&chunk[..size]).map_err(at)?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(at(e)),
        }
    }
    File::open_file(file, 0, u64::MAX, &options).map_err(|e| Failure::Message(e.to_string()))
}
