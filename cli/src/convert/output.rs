//! Where bytes of other containers go: files that grow under another name, or standard output.

use super::{is_standard, Job};
use crate::failure::{Failure, Outcome};
use std::io::Write;
use std::path::{Path, PathBuf};
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::ByteSink;

/// Refuses a path where something is, unless it is to be replaced.
pub fn check_free(path: &Path, force: bool) -> Outcome<()> {
    let exists = !is_standard(path) && path.symlink_metadata().is_ok();
    match exists && !force {
        true if path.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Err(Failure::at(path, "it is there already; --force replaces it")),
        false => Ok(()),
    }
}

/// A file that gets its name when it is whole.
pub struct NewFile {
    sink: FileSink,
    path: PathBuf,
    force: bool,
}

impl NewFile {
    /// A file that will be at `path`.
    pub fn create(path: &Path, force: bool, durable: bool) -> Outcome<NewFile> {
        check_free(path, force)?;
        let sink = FileSink::create(path, durable).map_err(|e| Failure::at(path, e))?;
        Ok(NewFile { sink, path: path.to_owned(), force })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.sink.write(bytes).map_err(|e| Failure::at(&self.path, e))
    }

    /// No more bytes come.
    pub fn close(&mut self) -> Outcome<()> {
        self.sink.flush().map_err(|e| Failure::at(&self.path, e))
    }

    /// Gives it its name.
    pub fn publish(mut self) -> Outcome<PathBuf> {
        check_free(&self.path, self.force)?;
        self.sink.publish().map_err(|e| Failure::at(&self.path, e))?;
        Ok(self.path)
    }
}

/// Bytes of a new file, front to back.
pub struct Sink<'j> {
    job: &'j Job<'j>,
    /// None for standard output.
    file: Option<NewFile>,
    gathered: Vec<u8>,
    /// Bytes that were given.
    pub position: u64,
}

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 20;

impl<'j> Sink<'j> {
    /// The job's output.
    pub fn create(job: &'j Job<'j>) -> Outcome<Sink<'j>> {
        Sink::create_at(job, &job.arguments.output)
    }

    /// One of several files.
    pub fn create_at(job: &'j Job<'j>, path: &Path) -> Outcome<Sink<'j>> {
        let (force, durable) = (job.arguments.force, job.arguments.durable);
        let file = match is_standard(path) {
            true => None,
            false => Some(NewFile::create(path, force, durable)?),
        };
        Ok(Sink { job, file, gathered: Vec::new(), position: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.position += bytes.len() as u64;
        if self.gathered.len() + bytes.len() < GATHERED {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    /// So many zero bytes.
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
        let gathered = std::mem::take(&mut self.gathered);
        self.put(&gathered)?;
        self.gathered = gathered;
        self.gathered.clear();
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.job.interrupt.check()?;
        match &mut self.file {
            Some(file) => file.write(bytes)?,
            None => std::io::stdout().lock().write_all(bytes).map_err(Failure::cut_short)?,
        }
        self.job.bar.inc(bytes.len() as u64);
        Ok(())
    }

    /// All bytes were given; the file still lacks its name.
    pub fn close(mut self) -> Outcome<Option<NewFile>> {
        self.flush()?;
        self.job.interrupt.check()?;
        match &mut self.file {
            Some(file) => file.close()?,
            None => std::io::stdout().lock().flush().map_err(Failure::cut_short)?,
        }
        Ok(self.file.take())
    }

    /// All bytes were given: publishes the file.
    pub fn finish(self) -> Outcome<Vec<PathBuf>> {
        self.close()?.into_iter().map(NewFile::publish).collect()
    }
}
