//! The file system as it will be when new files have their names.

use super::NewFile;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{ByteSource, Opened, Store};
use ztensor::source::file::FileSource;
use ztensor::source::map::MapSource;

pub struct View<'n> {
    /// Paths that will lead to new files, and where these are now.
    new: HashMap<&'n Path, PathBuf>,
    /// Paths of files that will be gone.
    gone: &'n [PathBuf],
}

impl<'n> View<'n> {
    pub fn new(files: &[&'n NewFile], gone: &'n [PathBuf]) -> View<'n> {
        View { new: files.iter().map(|file| (file.path(), file.temporary_path())).collect(), gone }
    }

    fn is_gone(&self, path: &Path) -> bool {
        self.gone.iter().any(|gone| gone == path)
    }
}

impl Store for View<'_> {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(false) };
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("could not list all of it", &e))?;
            let (name, path) = (entry.file_name(), path.join(entry.file_name()));
            if !self.is_gone(&path) && !self.new.contains_key(path.as_path()) {
                body(&name)?;
            }
        }
        let new = self.new.keys().filter(|new| new.parent() == Some(path));
        new.filter_map(|new| new.file_name()).try_for_each(body)?;
        Ok(true)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        if self.is_gone(path) {
            return Err(Error::new(Cause::NoFile, format_args!("it is there no more")));
        }
        let file = FileSource::open(self.new.get(path).map_or(path, PathBuf::as_path))?;
        let source: Box<dyn ByteSource> = match MapSource::new(file, false) {
            Ok(mapped) => Box::new(mapped),
            Err((file, _)) => Box::new(file),
        };
        let path = [path.as_os_str().as_encoded_bytes(), b"\0"].concat();
        Ok(Opened { source, label: None, path, modified: 0 })
    }

    fn threads(&self, _: usize) -> usize {
        1
    }
}

/// A path that [`View`] gave to the library.
#[cfg(unix)]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

#[cfg(not(unix))]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(bytes)).into_owned())
}
