//! Where the files of a model are: on this system, or where functions of the caller reach; and what a
//! download that is not complete looks like.

use super::open_options::Mode;
use crate::container::is_zero;
use crate::error::{Cause, Error, Result};
use crate::io::path::{self, SystemPath};
use crate::io::{folder, stat};
use crate::memory::try_box;
use crate::source::file::FileSource;
use crate::source::map::MapSource;
use crate::source::residence::is_remote;
use crate::source::{with_range, ByteSource};
use crate::threads;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A file of a store.
pub struct Opened {
    /// Its bytes.
    pub source: Box<dyn ByteSource>,
    /// Its name in messages; the path if that is empty.
    pub label: Option<String>,
    /// The path that C is told, with a NUL; empty where it has none.
    pub path: Vec<u8>,
    /// When it was changed last, in nanoseconds since 1970; 0 where that is not known.
    pub modified: i64,
}

/// Files by their paths. Any number of threads may ask at once.
pub trait Store: Sync {
    /// Gives `body` the name of each file in a folder, in no particular order; false where the path is no
    /// folder.
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool>;

    /// The file at a path.
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

    /// Whether its files are on this system, so that a look at one costs next to nothing.
    fn is_near(&self) -> bool {
        false
    }

    /// Threads that open this many files by default.
    fn threads(&self, files: usize) -> usize;
}

/// Threads that open parts where the caller left it to us.
const DEFAULT_THREADS: usize = 4;
/// From this many parts on, opening uses threads.
const MIN_THREADED: usize = 8;

/// Threads that open this many files, if the caller wants this number or 0 (default).
pub fn threads_to_open(store: &dyn Store, wanted: usize, files: usize) -> usize {
    match wanted {
        _ if threads::is_worker() => 1,
        0 => store.threads(files),
        wanted => threads::count(wanted),
    }
}

/// The file system, whose files are reached that way.
#[derive(Clone, Copy)]
pub(super) struct FileSystem(pub(super) Mode);

impl Store for FileSystem {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        folder::for_each_name(path, body)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let file = FileSource::open(path)?;
        let modified = file.modified();
        let source = with_mode(file, self.0)?;
        Ok(Opened { source, label: None, path: c_path(path)?, modified })
    }

    fn has(&self, path: &Path) -> Result<bool> {
        match stat::of_path(&SystemPath::new(path)?) {
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(e) => Err(Error::io("could not look for it", &e)),
        }
    }

    fn link_target(&self, path: &Path) -> Result<Option<PathBuf>> {
        match SystemPath::new(path)?.link_target() {
            Ok(target) => Ok(target),
            Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(Error::io("could not follow it", &e)),
            Err(_) => Ok(None), // whoever opens the path says why it cannot be
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

/// How the bytes of a file are accessed.
pub(super) fn with_mode(file: FileSource, mode: Mode) -> Result<Box<dyn ByteSource>> {
    let auto = mode == Mode::Auto;
    if mode == Mode::Read || (auto && is_remote(file.parts().0)) {
        return Ok(try_box(file)?);
    }
    match MapSource::new(file, mode == Mode::Private) {
        Ok(mapped) => Ok(try_box(mapped)?),
        Err((file, _)) if auto => Ok(try_box(file)?),
        Err((_, e)) => Err(e),
    }
}

/// How many symbolic links are followed from one to the next.
pub(in crate::reader) const MAX_LINKS: usize = 16;

/// What the symbolic link at a path leads to; none if the path is no link.
pub fn follow(store: &dyn Store, path: &Path) -> Result<Option<PathBuf>> {
    let Some(target) = store.link_target(path)? else { return Ok(None) };
    path::join(path.parent().unwrap_or(Path::new("")), &target).map(Some)
}

/// A path as C has it: in the platform's encoding, NUL-ended.
pub fn c_path(path: &Path) -> Result<Vec<u8>> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut text = Vec::new();
    text.try_reserve_exact(bytes.len().saturating_add(1))?;
    text.extend_from_slice(bytes);
    text.push(0);
    Ok(text)
}

/// The extensions of downloads that are not complete.
const UNFINISHED: [&str; 7] = ["incomplete", "part", "partial", "crdownload", "download", "aria2", "tmp"];
/// Whether a file of that name is an unfinished download.
pub fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, end)| UNFINISHED.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// The failure of a file that looks like a download that is not complete, with a word on that.
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
    let start = size.saturating_sub(LOOKED_AT.min(size / 2)); // a small file has its header in front
    let ends_in_zeros = with_range(source, start..size, |end| Ok(is_zero(end)));
    match ends_in_zeros {
        Ok(true) => error.within(format_args!("it ends in zeros, like an incomplete download")),
        _ => error,
    }
}
