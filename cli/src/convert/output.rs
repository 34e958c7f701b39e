//! Where bytes of other containers go: files that grow under another name, or standard output.

use super::{is_standard, Job};
use crate::failure::{Failure, Outcome};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Refuses a path where something is, unless it is to be replaced.
pub fn check_free(path: &Path, force: bool) -> Outcome<()> {
    let exists = !is_standard(path) && path.symlink_metadata().is_ok();
    match exists && !force {
        true if path.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Err(Failure::at(path, "it is there already; --force replaces it")),
        false => Ok(()),
    }
}

/// A file that is written beside its place.
pub struct NewFile {
    file: Option<File>,
    temporary: PathBuf,
    destination: PathBuf,
    path: PathBuf,
    force: bool,
    durable: bool,
}

impl NewFile {
    /// A file that will be at `path`.
    pub fn create(path: &Path, force: bool, durable: bool) -> Outcome<NewFile> {
        check_free(path, force)?;
        let at = |e: std::io::Error| Failure::at(path, e);
        // Behind a symbolic link its target is replaced, and the link stays.
        let destination = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = destination.metadata().ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
            return Err(Failure::at(path, "it is there already and is no regular file"));
        }
        let name = destination.file_name().ok_or_else(|| Failure::at(path, "the path names no file"))?;
        let mut number = 0;
        let (file, temporary) = loop {
            let hidden = format!(".{}.{}-c{number}.tmp", name.to_string_lossy(), std::process::id());
            let temporary = destination.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => break (file, temporary),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(at(e)),
            }
        };
        let new = NewFile { file: Some(file), temporary, destination, path: path.to_owned(), force, durable };
        if let (Some(meta), Some(file)) = (existing, &new.file) {
            file.set_permissions(meta.permissions()).map_err(at)?;
        }
        Ok(new)
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(bytes).map_err(|e| Failure::at(&self.path, e))
    }

    /// No more bytes come.
    fn close(&mut self) -> Outcome<()> {
        match self.file.take() {
            Some(file) if self.durable => file.sync_all().map_err(|e| Failure::at(&self.path, e)),
            _ => Ok(()),
        }
    }

    /// Gives it its name.
    pub fn publish(mut self) -> Outcome<PathBuf> {
        self.close()?;
        let at = |e: std::io::Error| Failure::at(&self.path, e);
        if self.force {
            std::fs::rename(&self.temporary, &self.destination).map_err(at)?;
        } else {
            // A link is refused where something is by now; not every file system has links.
            match std::fs::hard_link(&self.temporary, &self.destination) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(at(e)),
                Err(_) => {
                    check_free(&self.destination, false)?;
                    std::fs::rename(&self.temporary, &self.destination).map_err(at)?;
                }
            }
        }
        if self.durable {
            let folder = self.destination.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new("."))).and_then(|f| f.sync_all()).map_err(at)?;
        }
        Ok(self.path.clone())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary); // nothing is there any more if it was renamed
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
            None => std::io::stdout().lock().write_all(bytes).map_err(Failure::output)?,
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
            None => std::io::stdout().lock().flush().map_err(Failure::output)?,
        }
        Ok(self.file.take())
    }

    /// All bytes were given: publishes the file.
    pub fn finish(self) -> Outcome<Vec<PathBuf>> {
        self.close()?.into_iter().map(NewFile::publish).collect()
    }
}
