//! The output of conversions: files that are written under a temporary name, or standard output.

use super::{is_standard, Job};
use crate::failure::{Failure, Outcome};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ztensor::error::Error;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::{ByteSink, WriteThreads};

/// Refuses the path of an existing file, unless `force` is set.
pub fn check_free(path: &Path, force: bool) -> Outcome<()> {
    let exists = !is_standard(path) && path.symlink_metadata().is_ok();
    match exists && !force {
        true if path.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Err(Failure::at(path, "it is there already; --force replaces it")),
        false => Ok(()),
    }
}

/// A file under a temporary name; it gets its name when all files of the job are complete.
pub struct NewFile {
    /// Shared with a writer of .zt files.
    sink: Arc<Mutex<FileSink>>,
    path: PathBuf,
    force: bool,
}

impl NewFile {
    /// A file that will be at `path`.
    pub fn create(path: &Path, force: bool, durable: bool) -> Outcome<NewFile> {
        check_free(path, force)?;
        let sink = FileSink::create(path, durable).map_err(|e| Failure::at(path, e))?;
        Ok(NewFile { sink: Arc::new(Mutex::new(sink)), path: path.to_owned(), force })
    }

    pub fn write(&self, bytes: &[u8]) -> Outcome<()> {
        self.with(|sink| sink.write(bytes))
    }

    /// Ends the file; it keeps its temporary name.
    pub fn close(&self) -> Outcome<()> {
        self.with(FileSink::complete)
    }

    /// The path that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    pub fn temporary_path(&self) -> PathBuf {
        lock(&self.sink).temporary_path().to_owned()
    }

    /// A sink for a writer. When the writer publishes it, the file is complete, but still has its temporary name.
    pub fn sink(&self) -> Box<dyn ByteSink> {
        Box::new(Unnamed(Arc::clone(&self.sink)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut FileSink) -> Result<T, Error>) -> Outcome<T> {
        act(&mut lock(&self.sink)).map_err(|e| Failure::at(&self.path, e))
    }

    /// Opens it under its temporary name, and checks its digests.
    pub fn open(&self) -> Outcome<File> {
        let name = Some(self.path.display().to_string());
        let digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
        self.with(|sink| {
            let file = File::open(sink.temporary_path(), &OpenOptions { name, ..OpenOptions::default() })?;
            file.verify(&digests, &|_, _| true, &mut VerifyReport::default()).map(|()| file)
        })
    }

    /// Gives it its name.
    pub fn publish(&self) -> Outcome<()> {
        check_free(&self.path, self.force)?;
        self.with(FileSink::publish)
    }

    /// Gives all their names, in this order. Where one cannot have its own, those that have theirs go again; but for those
    /// that have taken the place of others.
    pub fn publish_all(files: impl IntoIterator<Item = NewFile>) -> Outcome<()> {
        let files: Vec<NewFile> = files.into_iter().collect();
        files.iter().try_for_each(|file| check_free(&file.path, file.force))?;
        let mut made = Vec::new();
        for file in &files {
            let is_new = file.path.symlink_metadata().is_err();
            if let Err(why) = file.publish() {
                made.into_iter().for_each(|path: &Path| drop(std::fs::remove_file(path)));
                return Err(why);
            }
            if is_new {
                made.push(&file.path);
            }
        }
        Ok(())
    }
}

fn lock(sink: &Mutex<FileSink>) -> MutexGuard<'_, FileSink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sink whose file is published by its [`NewFile`].
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

/// Bytes of a new file, front to back.
pub struct Sink<'j> {
    job: &'j Job<'j>,
    /// None for standard output.
    file: Option<NewFile>,
    buffer: Vec<u8>,
    /// Bytes that were written so far.
    pub position: u64,
}

/// The size of the buffer.
const BUFFER_SIZE: usize = 1 << 20;

impl<'j> Sink<'j> {
    /// The job's output.
    pub fn create(job: &'j Job<'j>) -> Outcome<Sink<'j>> {
        Sink::create_at(job, &job.arguments.output)
    }

    /// One of several files.
    pub fn create_at(job: &'j Job<'j>, path: &Path) -> Outcome<Sink<'j>> {
        let file = match is_standard(path) {
            true => None,
            false => Some(NewFile::create(path, job.arguments.force, job.arguments.durable)?),
        };
        Ok(Sink { job, file, buffer: Vec::new(), position: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.position += bytes.len() as u64;
        if self.buffer.len() + bytes.len() < BUFFER_SIZE {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    /// Writes so many zero bytes.
    pub fn zeros(&mut self, mut count: u64) -> Outcome<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while count > 0 {
            let now = count.min(ZEROS.len() as u64);
            self.write(&ZEROS[..now as usize])?;
            count -= now;
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.put(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.job.interrupt.check()?;
        match &self.file {
            Some(file) => file.write(bytes)?,
            None => std::io::stdout().lock().write_all(bytes).map_err(Failure::cut_short)?,
        }
        self.job.bar.inc(bytes.len() as u64);
        Ok(())
    }

    /// Ends the output; a file keeps its temporary name.
    pub fn close(mut self) -> Outcome<Option<NewFile>> {
        self.flush()?;
        self.job.interrupt.check()?;
        match &self.file {
            Some(file) => file.close()?,
            None => std::io::stdout().lock().flush().map_err(Failure::cut_short)?,
        }
        Ok(self.file.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_files_none_gets_its_name_where_one_cannot() {
        let folder = std::env::temp_dir().join(format!("zt-publish-{}", std::process::id()));
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        for (taken, force) in [("b", false), ("c", false), ("c", true)] {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            if force {
                std::fs::write(folder.join("a"), "old").unwrap();
            }
            let new = |name: &str| {
                let file = NewFile::create(&folder.join(name), force, false).unwrap();
                file.write(name.as_bytes()).unwrap();
                file.close().unwrap();
                file
            };
            let files = ["a", "b", "c"].map(new);
            // While they were written somebody else has made something of that name.
            match force {
                true => std::fs::create_dir(folder.join(taken)).unwrap(),
                false => std::fs::write(folder.join(taken), "precious").unwrap(),
            }
            assert!(NewFile::publish_all(files).is_err(), "{taken}");
            // What was replaced cannot be had again.
            let left: &[&str] = if force { &["a", "c"] } else { &[taken] };
            assert_eq!(names(), left, "{taken}");
            if !force {
                assert_eq!(std::fs::read(folder.join(taken)).unwrap(), b"precious");
            }
        }
        let files = ["d", "e"].map(|name| {
            let file = NewFile::create(&folder.join(name), false, false).unwrap();
            file.close().unwrap();
            file
        });
        NewFile::publish_all(files).unwrap();
        assert_eq!(names(), ["a", "c", "d", "e"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
