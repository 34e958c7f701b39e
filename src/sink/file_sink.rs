//! A new file as the destination. It is written under a temporary name in the folder of its destination, and
//! renamed when it is complete. If the sink is dropped before that, nothing is left.

use super::buffered_file::BufferedFile;
use super::direct_sink::DirectSink;
use super::{ByteSink, WriteThreads};
use crate::error::{fail, try_format, Error, Result};
use crate::io::files::{self, FileKind};
use crate::io::path::{Access, SystemPath};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file. [`ByteSink::publish`] gives it its name.
pub struct FileSink {
    writer: Option<BufferedFile>,
    /// Direct writes, for a large durable file.
    direct: Option<DirectSink>,
    /// Whether to use direct writes is not decided yet.
    undecided: bool,
    temporary: SystemPath,
    destination: SystemPath,
    /// The folder. It is synced at the end if the file is to be durable.
    folder: Option<SystemPath>,
    /// All bytes are in the file; only the rename is left.
    complete: bool,
    published: bool,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl FileSink {
    /// A new file for `path`. An existing file stays unchanged until the new one is published.
    pub fn create(path: &Path, durable: bool) -> Result<Self> {
        let destination = resolve(path)?;
        let folder = folder_of(&destination);
        let name = destination
            .file_name()
            .ok_or_else(|| fail!(InvalidArgument, "the path does not end in a file name"))?;
        let target = SystemPath::new(&destination)?;
        let kept = kept_permissions(&target)?;
        let synced = durable.then(|| SystemPath::new(folder)).transpose()?;
        // If the old file is private, nobody may open the new one before it has the same permissions.
        let access = if kept.is_some() { Access::CreatePrivate } else { Access::CreateNew };
        let (file, temporary) = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let temporary = SystemPath::new(&hidden(folder, name, number)?)?;
            match temporary.open(access) {
                Ok(file) => break (file, temporary),
                // Left by another process with our process number.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("could not create a temporary file in its folder", &e)),
            }
        };
        // From here on, dropping the sink removes the file.
        let mut sink = FileSink {
            writer: None,
            direct: None,
            undecided: durable,
            temporary,
            destination: target,
            folder: synced,
            complete: false,
            published: false,
        };
        sink.writer = Some(BufferedFile::new(file, 0)?);
        if let Some(kept) = &kept {
            sink.temporary.set_permissions(kept).map_err(|e| not_kept(&e))?;
        }
        Ok(sink)
    }

    /// Decides whether to use direct writes, which get a large durable file to the disk sooner. Called before
    /// `more` bytes are written.
    fn decide(&mut self, more: usize) -> Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|w| self.undecided && w.would_write(more)) else {
            return Ok(());
        };
        self.undecided = false;
        self.direct = DirectSink::with_file(&writer.file);
        match self.direct.as_mut() {
            Some(direct) => direct.write(writer.gathered(), &WriteThreads::alone()), // everything so far
            None => Ok(()),
        }
    }

    /// Called after all bytes were written. Ensures that they are in the file, and on the disk if it is to be
    /// durable, and closes it. Only the rename is left, so publishing cannot fail because the disk is full.
    pub fn complete(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| fail!(State, "the file is closed"))?;
        match self.direct.take() {
            Some(mut direct) => direct.finish()?,
            None => writer.flush()?,
        }
        if self.folder.is_some() {
            writer.file.sync_all().map_err(|e| Error::io("could not sync the file", &e))?;
        }
        self.complete = true;
        Ok(())
    }

    /// Like `publish`, but does not replace an existing file. On a file system without hard links, only a
    /// check before the rename ensures that.
    pub fn publish_new(&mut self) -> Result<()> {
        if !self.complete {
            self.complete()?;
        }
        match self.temporary.link_to(&self.destination) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(taken()),
            Err(_) if self.destination.as_path().symlink_metadata().is_ok() => Err(taken()),
            Err(_) => self.publish(),
            Ok(()) => {
                let _ = self.temporary.remove(); // if it stays, it is one more hidden file
                self.is_in_place()
            }
        }
    }

    /// Called when the file has its name.
    fn is_in_place(&mut self) -> Result<()> {
        self.complete = false;
        self.published = true;
        self.folder.as_ref().map_or(Ok(()), sync_folder)
    }

    /// Whether the file has its name.
    pub fn is_published(&self) -> bool {
        self.published
    }

    /// The path of the file until it is published.
    pub fn temporary_path(&self) -> &Path {
        self.temporary.as_path()
    }
}

/// The permissions of the file that is replaced; the new file gets them. Fails if they cannot be read,
/// because the file may be private.
fn kept_permissions(destination: &SystemPath) -> Result<Option<Permissions>> {
    match files::of_path(destination) {
        Ok(stat) => Ok(Some(stat.permissions)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(not_kept(&e)),
    }
}

#[cold]
fn not_kept(error: &std::io::Error) -> Error {
    Error::io("could not copy the permissions of the replaced file", error)
}

/// The path that will be replaced. For a symbolic link, this is its target, so that the link remains.
fn resolve(path: &Path) -> Result<PathBuf> {
    let given = SystemPath::new(path)?;
    match files::of_path(&given) {
        Ok(stat) if stat.kind == FileKind::Folder => Err(fail!(Io, "it is a folder")),
        Ok(stat) if stat.kind != FileKind::Regular => Err(fail!(Io, "it exists and is not a regular file")),
        Ok(stat) if stat.permissions.readonly() => Err(fail!(Io, "it exists and is read-only")),
        Ok(_) => given.resolved().map_err(|e| Error::io("could not resolve the path", &e)),
        Err(e) if e.kind() == ErrorKind::NotFound => behind_links(path),
        Err(e) => Err(Error::io("could not look at the path", &e)),
    }
}

/// Follows the symbolic links of a path to a file that does not exist yet.
fn behind_links(path: &Path) -> Result<PathBuf> {
    /// More links can only be a cycle, which `stat` has already refused.
    const MAX_LINKS: usize = 40;
    let mut end = crate::io::path::copy(path)?;
    for _ in 0..MAX_LINKS {
        match SystemPath::new(&end)?
            .link_target()
            .map_err(|e| Error::io("could not read a symbolic link", &e))?
        {
            Some(target) => end = crate::io::path::join(folder_of(&end), &target)?,
            None => return Ok(end),
        }
    }
    Err(fail!(Io, "more than {MAX_LINKS} symbolic links follow each other"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The temporary name of the file: hidden, in the folder of its destination.
fn hidden(folder: &Path, name: &OsStr, number: u64) -> Result<PathBuf> {
    /// File systems allow 255 bytes. If the name of the destination is almost that long, our prefix and
    /// suffix do not fit.
    const MAX_SIZE: usize = 250;
    let process = std::process::id();
    let affix = try_format(format_args!(".{process}-{number}.tmp"))?;
    let name = if name.len().saturating_add(affix.len()) < MAX_SIZE { name } else { OsStr::new("zt") };
    let mut path = PathBuf::new();
    let capacity = [folder.as_os_str().len(), name.len(), affix.len(), 2];
    path.try_reserve(capacity.iter().fold(0, |sum: usize, n| sum.saturating_add(*n)))?;
    path.push(folder); // what follows fits what was reserved
    path.push(".");
    let text = path.as_mut_os_string();
    text.push(name);
    text.push(&affix);
    Ok(path)
}

impl ByteSink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_with_threads(bytes, &WriteThreads::alone())
    }

    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        self.decide(bytes.len())?;
        if let Some(direct) = self.direct.as_mut() {
            return direct.write(bytes, threads);
        }
        let writer = self.writer.as_mut().ok_or_else(|| fail!(State, "the file is closed"))?;
        threads.write_and_work(|| writer.write(bytes))
    }

    fn publish(&mut self) -> Result<()> {
        if !self.complete {
            self.complete()?;
        }
        self.complete = false;
        self.temporary
            .rename_to(&self.destination)
            .map_err(|e| Error::io("could not give the finished file its name", &e))?;
        self.is_in_place()
    }
}

#[cold]
fn taken() -> Error {
    fail!(Io, "another program has created a file with this name meanwhile")
}

#[cfg(unix)]
fn sync_folder(folder: &SystemPath) -> Result<()> {
    let synced = folder.open(Access::Read).and_then(|f| f.sync_all());
    synced.map_err(|e| Error::io("the file is in place, but its folder could not be synced", &e))
}

#[cfg(not(unix))]
fn sync_folder(_folder: &SystemPath) -> Result<()> {
    Ok(())
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if !self.published {
            let _ = self.temporary.remove();
        }
    }
}
