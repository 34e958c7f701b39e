//! The input of a conversion: a file, a model, or standard input.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::models;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use ztensor::error::Error;
use ztensor::reader::{File, Object, OpenOptions};

/// An open file and its name in messages.
pub struct Input {
    pub file: File,
    path: PathBuf,
    combined: OnceCell<Option<File>>,
}

impl Input {
    /// Opens an input. It is mapped: compressed components need no memory for their stored bytes.
    pub fn open(path: &Path, options: &OpenOptions, interrupt: &Interrupt) -> Outcome<Input> {
        let opened = models::open_or_stop(path, options, interrupt);
        interrupt.check()?; // if a signal stopped it, that is the cause
        let file = opened.map_err(|e| Failure::at(path, e))?;
        Ok(Input { file, path: path.to_owned(), combined: OnceCell::new() })
    }

    /// How many weights a tool quantized to several tensors that are separate objects here.
    pub fn separate_weights(&self) -> usize {
        self.combined().map_or(0, |file| file.objects().filter(|object| object.scheme().is_some()).count())
    }

    /// Whether an object is one of several tensors of a quantized weight.
    pub fn is_part_of_weight(&self, object: &Object<'_>) -> bool {
        let is_weight = |file: &File| file.find(object.name_bytes()).is_none_or(|o| o.scheme().is_some());
        self.combined().is_some_and(is_weight)
    }

    fn combined(&self) -> Option<&File> {
        self.combined.get_or_init(|| models::combined(&self.path, &self.file)).as_ref()
    }

    /// Whether `config.json` is beside it.
    pub fn has_settings(&self) -> bool {
        let folder = if self.path.is_dir() { Some(self.path.as_path()) } else { self.path.parent() };
        folder.is_some_and(|folder| folder.join("config.json").is_file())
    }

    /// A failure that names the input.
    pub fn failure(&self, error: Error) -> Failure {
        Failure::at(&self.path, error)
    }
}
