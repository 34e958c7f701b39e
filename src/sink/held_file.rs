//! A file that a writer will change: its lock, and how to detect that somebody else changed or replaced it.

use super::file_sink::FileSink;
use super::{ByteSink, WriteThreads};
use crate::error::{fail, Error, Result};
use crate::io::file_lock::{self, Lock};
use crate::io::files::{self, size_and_time};
use crate::io::path::{Access, SystemPath};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// An open file with its lock, which is released when the file is closed. On a file system without locks,
/// only the checks of [`Place`] protect it.
pub struct HeldFile {
    /// The open file.
    pub file: File,
    /// What was known of it when it was locked.
    pub place: Place,
}

/// The path, size and time of a file when it was locked.
pub struct Place {
    /// Absolute, and without symbolic links.
    path: SystemPath,
    pub(super) size: u64,
    /// In nanoseconds since 1970; 0 if that is unknown.
    pub(super) modified: i64,
}

impl HeldFile {
    /// Opens and locks the file at `path`.
    pub fn open(path: &Path, access: Access) -> Result<HeldFile> {
        let given = SystemPath::new(path)?;
        let failed = match access {
            Access::Read => "could not open it",
            _ => "could not open it for writing",
        };
        let file = given.open(access).map_err(|e| Error::io(failed, &e))?;
        match file_lock::lock(&file) {
            Ok(Lock::Held | Lock::Unavailable) => {}
            Ok(Lock::HeldElsewhere) => return Err(busy()),
            Err(e) => return Err(Error::io("could not lock it", &e)),
        }
        let (size, modified) = size_and_time(&file)?;
        let path = match given.resolved() {
            Ok(resolved) => SystemPath::new(&resolved)?,
            Err(_) => given,
        };
        Ok(HeldFile { file, place: Place { path, size, modified } })
    }
}

#[cold]
fn busy() -> Error {
    fail!(
        Busy,
        "another writer has locked the file: an append, an edit or a repair, in this process, in a forked \
         child or in another process; try again when it has finished"
    )
}

impl Place {
    /// Checks that `file` was not changed since it was locked, and that it is still at its path.
    pub fn check_unchanged(&self, file: &File) -> Result<()> {
        let (size, modified) = size_and_time(file)?;
        let is_same_time = modified == self.modified || modified == 0 || self.modified == 0;
        if size != self.size || !is_same_time {
            let old = self.size;
            return Err(fail!(
                Io,
                "another program has changed the file, which had {old} bytes and has {size}; nothing was \
                 added"
            ));
        }
        self.check_in_place(file)
    }

    /// Checks that `file` is still at its path.
    pub fn check_in_place(&self, file: &File) -> Result<()> {
        match self.path.open(Access::Read) {
            Ok(found) if !files::may_be_one(&found, file) => Err(fail!(
                Io,
                "another file replaced it meanwhile, so the file at this path does not have the new data"
            )),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(fail!(
                Io,
                "the file was removed or renamed meanwhile, so no file at this path has the new data"
            )),
            _ => Ok(()),
        }
    }
}

/// A new file that replaces another one, which stays locked until then.
pub struct ReplacingSink {
    new: FileSink,
    old: Option<HeldFile>,
}

impl ReplacingSink {
    /// Writes to `new`, which will replace `old`.
    pub fn new(new: FileSink, old: HeldFile) -> ReplacingSink {
        ReplacingSink { new, old: Some(old) }
    }
}

impl ByteSink for ReplacingSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.new.write(bytes)
    }

    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        self.new.write_with_threads(bytes, threads)
    }

    fn publish(&mut self) -> Result<()> {
        self.new.complete()?;
        if let Some(HeldFile { file, place }) = &self.old {
            place.check_unchanged(file)?;
        }
        if cfg!(windows) {
            self.old = None; // some systems cannot replace an open file
        }
        self.new.publish()
    }
}
