//! A file that a writer is about to change: its lock, and what shows that somebody else has changed or
//! replaced it.

use super::file_sink::FileSink;
use super::{ByteSink, WriteThreads};
use crate::error::{fail, Error, Result};
use crate::io::file_lock::{self, Lock};
use crate::io::path::{Access, SystemPath};
use crate::io::read_at::size_and_time;
use crate::io::stat;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// An open file with its lock, which ends when the file is closed. A file system without locks has the checks
/// of [`Place`] alone.
pub struct HeldFile {
    file: File,
    place: Place,
}

/// Where a file is, its size and its time, as they were when it was locked.
pub struct Place {
    /// Without symbolic links, and absolute.
    path: SystemPath,
    size: u64,
    /// In nanoseconds since 1970; 0 where that is not known.
    modified: i64,
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

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn into_parts(self) -> (File, Place) {
        (self.file, self.place)
    }
}

#[cold]
fn busy() -> Error {
    fail!(
        Busy,
        "another writer has the file: an append, an edit or a repair, of this process, of another one or of a child \
         that it forked; try again when that has ended"
    )
}

impl Place {
    /// Bytes of the file when it was locked.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When the file was changed last, when it was locked.
    pub fn modified(&self) -> i64 {
        self.modified
    }

    /// Checks that `file` was not changed since it was locked, and that it is still at its path.
    pub fn check_unchanged(&self, file: &File) -> Result<()> {
        let (size, modified) = size_and_time(file)?;
        let is_same_time = modified == self.modified || modified == 0 || self.modified == 0;
        if size != self.size || !is_same_time {
            let old = self.size;
            return Err(fail!(
                Io,
                "another program has changed the file, which had {old} bytes and has {size}; nothing was added"
            ));
        }
        self.check_in_place(file)
    }

    /// Checks that `file` is still at its path.
    pub fn check_in_place(&self, file: &File) -> Result<()> {
        match self.path.open(Access::Read) {
            Ok(found) if !stat::may_be_one(&found, file) => Err(fail!(
                Io,
                "another file was put in its place meanwhile, so what was added is in no file of that name"
            )),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(fail!(
                Io,
                "the file was removed or renamed meanwhile, so what was added is in no file of that name"
            )),
            _ => Ok(()),
        }
    }
}

/// A new file that replaces a file that stays locked until then.
pub struct ReplacingSink {
    new: FileSink,
    old: Option<HeldFile>,
}

impl ReplacingSink {
    /// Writes to `new`, which is to take the place of `old`.
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
            self.old = None; // a file that is open cannot be replaced everywhere
        }
        let published = self.new.publish();
        self.old = None;
        published
    }
}
