//! The file system as it will be when new files have their names.

use super::new_file::NewFile;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{ByteSource, Opened, Store};
use ztensor::source::file::FileSource;
use ztensor::source::map::MapSource;

pub struct View<'n> {
    /// The final paths of new files, and their current paths.
    new: HashMap<&'n Path, PathBuf>,
    /// The paths of files that will be removed.
    gone: HashSet<&'n Path>,
}

impl<'n> View<'n> {
    pub fn new(files: &[&'n NewFile], gone: &'n [PathBuf]) -> View<'n> {
        let new = files.iter().map(|file| (plain(file.path()), file.temporary_path())).collect();
        View { new, gone: gone.iter().map(|path| plain(path)).collect() }
    }
}

/// A path without a leading `./`.
pub fn plain(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

impl Store for View<'_> {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(false) };
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("could not list all of it", &e))?;
            let path = path.join(entry.file_name());
            if !self.gone.contains(plain(&path)) && !self.new.contains_key(plain(&path)) {
                body(&entry.file_name())?;
            }
        }
        let new = self.new.keys().filter(|new| new.parent() == Some(plain(path)));
        new.filter_map(|new| new.file_name()).try_for_each(body)?;
        Ok(true)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        if self.gone.contains(plain(path)) {
            return Err(Error::new(Cause::NoFile, format_args!("it no longer exists")));
        }
        let file = FileSource::open(self.new.get(plain(path)).map_or(path, PathBuf::as_path))?;
        let source: Box<dyn ByteSource> = match MapSource::new(file, false) {
            Ok(mapped) => Box::new(mapped),
            Err((file, _)) => Box::new(file),
        };
        let path = [path.as_os_str().as_encoded_bytes(), b"\0"].concat();
        Ok(Opened { source, label: None, path, modified: 0 })
    }

    fn has(&self, path: &Path) -> Result<bool> {
        let is_old = || path.exists() && !self.gone.contains(plain(path));
        Ok(self.new.contains_key(plain(path)) || is_old())
    }

    fn link_target(&self, path: &Path) -> Result<Option<PathBuf>> {
        Ok(std::fs::read_link(path).ok())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn threads(&self, _: usize) -> usize {
        1
    }
}

/// A path that [`View`] passed to the library.
#[cfg(unix)]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

#[cfg(not(unix))]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(bytes)).into_owned())
}
