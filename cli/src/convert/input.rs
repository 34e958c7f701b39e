//! The input of a conversion: a file, a model, or standard input.

use super::other_formats;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::models;
use crate::standard_input::{self, is_standard};
use std::path::{Path, PathBuf};
use ztensor::error::Error;
use ztensor::reader::{File, OpenOptions};

/// An open file and its name in messages.
pub struct Input {
    pub file: File,
    path: PathBuf,
}

impl Input {
    /// Opens what is at a path.
    pub fn open(path: &Path, options: &OpenOptions, interrupt: &Interrupt) -> Outcome<Input> {
        let file = match is_standard(path) {
            true => {
                let opened = standard_input::open(&models::with_choice(options), interrupt);
                interrupt.check()?;
                opened.map_err(|e| Failure::Message(e.to_string()))?
            }
            false => {
                let is_special = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
                if std::fs::metadata(path).is_ok_and(is_special) {
                    return Err(Failure::at(path, "neither a regular file nor a folder"));
                }
                // Mapped: compressed components need no memory for their stored bytes.
                match models::open_with(path, options).map_err(|e| Failure::at(path, e)) {
                    Ok(file) => file,
                    Err(why) => other_formats::open(path, interrupt)?.ok_or(why)?,
                }
            }
        };
        Ok(Input { file, path: path.to_owned() })
    }

    /// A failure that names the input.
    pub fn failure(&self, error: Error) -> Failure {
        Failure::at(&self.path, error)
    }
}
