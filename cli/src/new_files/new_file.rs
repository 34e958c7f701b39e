//! A file under a temporary name.

use super::place::check_free;
use crate::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ztensor::error::Error;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::{ByteSink, WriteThreads};

/// A file with a temporary name. It is renamed when all files of the command are complete.
pub struct NewFile {
    /// Shared with a writer of .zt files.
    sink: Arc<Mutex<FileSink>>,
    pub path: PathBuf,
    pub force: bool,
}

impl NewFile {
    /// A file whose final path is `path`.
    pub fn create(path: &Path, force: bool, durable: bool) -> Outcome<NewFile> {
        check_free(path, force)?;
        let sink = FileSink::create(path, durable).map_err(|e| Failure::at(path, e))?;
        Ok(NewFile { sink: Arc::new(Mutex::new(sink)), path: path.to_owned(), force })
    }

    pub fn write(&self, bytes: &[u8]) -> Outcome<()> {
        self.with(|sink| sink.write(bytes))
    }

    /// Completes the file. It keeps its temporary name.
    pub fn close(&self) -> Outcome<()> {
        self.with(FileSink::complete)
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn temporary_path(&self) -> PathBuf {
        lock(&self.sink).temporary_path().to_owned()
    }

    /// A sink for a writer. When the writer publishes it, the file is complete but keeps its temporary name.
    pub fn sink(&self) -> Box<dyn ByteSink> {
        Box::new(Unnamed(Arc::clone(&self.sink)))
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut FileSink) -> Result<T, Error>) -> Outcome<T> {
        act(&mut lock(&self.sink)).map_err(|e| Failure::at(&self.path, e))
    }

    /// Opens the file alone, whatever its name.
    pub fn open(&self) -> Outcome<File> {
        let options = OpenOptions { name: Some(self.path.display().to_string()), ..OpenOptions::default() };
        File::open(self.temporary_path(), &options).map_err(|e| self.unreadable(&e))
    }

    /// Opens the file alone, and checks its digests.
    pub fn open_verified(&self) -> Outcome<File> {
        let digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
        let file = self.open()?;
        file.verify(&digests, &|_, _| true, &mut VerifyReport::default()).map_err(|e| self.unreadable(&e))?;
        Ok(file)
    }

    /// Renames it to its final name.
    pub fn publish(&self) -> Outcome<()> {
        self.publish_as(self.force)
    }

    /// Renames it to its final name. `replaces` allows replacing a file.
    pub fn publish_as(&self, replaces: bool) -> Outcome<()> {
        check_free(&self.path, replaces)?;
        self.with(if replaces { FileSink::publish } else { FileSink::publish_new })
    }

    /// Whether it has its final name.
    pub fn is_named(&self) -> bool {
        lock(&self.sink).is_published()
    }

    /// The failure of a file that was written but does not open.
    pub fn unreadable(&self, why: &Error) -> Failure {
        Failure::at(&self.path, format!("what was written would not open, so nothing is: {why}"))
    }
}

fn lock(sink: &Mutex<FileSink>) -> MutexGuard<'_, FileSink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sink whose file is renamed later by its [`NewFile`].
struct Unnamed(Arc<Mutex<FileSink>>);

impl ByteSink for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        lock(&self.0).write(bytes)
    }

    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<(), Error> {
        lock(&self.0).write_with_threads(bytes, threads)
    }

    fn publish(&mut self) -> Result<(), Error> {
        lock(&self.0).complete()
    }
}
