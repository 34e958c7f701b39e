//! Where the files of a model come from: this system, or callbacks of the caller. Also: how to recognise an
//! unfinished download.

use super::open_options::Mode;
use crate::container::is_zero;
use crate::error::{Cause, Error, Result};
use crate::io::path::{self, SystemPath};
use crate::io::{files, folder};
use crate::memory::{joined, try_box};
use crate::source::file::FileSource;
use crate::source::map::MapSource;
use crate::source::residence::is_remote;
use crate::source::{with_range, ByteSource};
use crate::threads;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An open file of a store.
pub struct Opened {
    /// Its bytes.
    pub source: Box<dyn ByteSource>,
    /// Its name in messages; `None` for the path.
    pub label: Option<String>,
    /// The path for C callers, with a NUL at the end; empty if there is no path.
    pub path: Vec<u8>,
    /// When it was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
}

/// Finds files by path. Any number of threads may call it at once.
pub trait Store: Sync {
    /// Calls `body` with the name of each file in a folder, in any order. Returns false if the path is not a
    /// folder.
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool>;

    /// Opens the file at a path.
    fn open(&self, path: &Path) -> Result<Opened>;

    /// Whether there is a file at a path.
    fn has(&self, path: &Path) -> Result<bool> {
        match self.open(path) {
            Ok(_) => Ok(true),
            Err(e) if e.cause() == Cause::NoFile => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The unresolved target of a symbolic link; `None` if the path is not a link.
    fn link_target(&self, _path: &Path) -> Result<Option<PathBuf>> {
        Ok(None)
    }

    /// Whether the files are on this system, so that checking for one costs almost nothing.
    fn is_near(&self) -> bool {
        false
    }

    /// The default number of threads to open `files` files.
    fn threads(&self, files: usize) -> usize;
}

/// The number of threads to open parts, if the caller does not set it.
const DEFAULT_THREADS: usize = 4;
/// Opening uses threads from this many parts on.
const MIN_THREADED: usize = 8;

/// The number of threads to open `files` files. If `wanted` is 0, the library decides.
pub fn threads_to_open(store: &dyn Store, wanted: usize, files: usize) -> usize {
    match wanted {
        _ if threads::is_worker() => 1,
        0 => store.threads(files),
        wanted => threads::count(wanted),
    }
}

/// The file system. Its files are accessed in this mode.
#[derive(Clone, Copy)]
pub(super) struct FileSystem(pub(super) Mode);

impl Store for FileSystem {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        folder::for_each_name(path, body)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        opened(FileSource::open(path)?, self.0, c_path(path)?)
    }

    fn has(&self, path: &Path) -> Result<bool> {
        match files::of_path(&SystemPath::new(path)?) {
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(e) => Err(Error::io("could not look for it", &e)),
        }
    }

    fn link_target(&self, path: &Path) -> Result<Option<PathBuf>> {
        match SystemPath::new(path)?.link_target() {
            Ok(target) => Ok(target),
            Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(Error::io("could not follow it", &e)),
            Err(_) => Ok(None), // opening the path reports the error
        }
    }

    fn is_near(&self) -> bool {
        true
    }

    fn threads(&self, files: usize) -> usize {
        match files < MIN_THREADED {
            true => 1,
            false => threads::count(0).min(DEFAULT_THREADS),
        }
    }
}

/// A file whose bytes are accessed in this mode. `path` is the path for C callers.
pub(super) fn opened(file: FileSource, mode: Mode, path: Vec<u8>) -> Result<Opened> {
    let (auto, modified) = (mode == Mode::Auto, file.modified());
    let source: Box<dyn ByteSource> = if mode == Mode::Read || (auto && is_remote(file.parts().0)) {
        try_box(file)?
    } else {
        match MapSource::new(file, mode == Mode::Private) {
            Ok(mapped) => try_box(mapped)?,
            Err((file, _)) if auto => try_box(file)?,
            Err((_, e)) => return Err(e),
        }
    };
    Ok(Opened { source, label: None, path, modified })
}

/// The most symbolic links that are followed in a row.
pub(in crate::reader) const MAX_LINKS: usize = 16;

/// The target of the symbolic link at a path; `None` if the path is not a link.
pub fn follow(store: &dyn Store, path: &Path) -> Result<Option<PathBuf>> {
    let Some(target) = store.link_target(path)? else { return Ok(None) };
    path::join(path.parent().unwrap_or(Path::new("")), &target).map(Some)
}

/// `None` if a file or folder could not be read. Only a lack of memory stays a failure.
pub fn if_readable<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(e) if e.cause() == Cause::OutOfMemory => Err(e),
        outcome => Ok(outcome.ok()),
    }
}

/// A path for C: in the platform's encoding, with a NUL at the end.
pub fn c_path(path: &Path) -> Result<Vec<u8>> {
    joined([path.as_os_str().as_encoded_bytes(), &[0]])
}

const UNFINISHED: [&str; 7] = ["incomplete", "part", "partial", "crdownload", "download", "aria2", "tmp"];
/// Whether a file with that name is an unfinished download.
pub fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, end)| UNFINISHED.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// Adds to an error that the file looks like an unfinished download, if it does.
#[cold]
pub fn unfinished_download(source: &dyn ByteSource, label: &str, error: Error) -> Error {
    const LOOKED_AT: u64 = 4096;
    if !matches!(error.cause(), Cause::Broken(_) | Cause::NotZtensor) {
        return error;
    }
    if is_unfinished(label) {
        return error.within(format_args!("its name is an incomplete download's"));
    }
    let size = source.size();
    let start = size.saturating_sub(LOOKED_AT.min(size / 2)); // skip the header at the front of a small file
    let ends_in_zeros = with_range(source, start..size, |end| Ok(is_zero(end)));
    match ends_in_zeros {
        Ok(true) => error.within(format_args!("it ends in zeros, like an incomplete download")),
        _ => error,
    }
}
