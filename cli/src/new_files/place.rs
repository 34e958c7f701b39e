//! Destinations of new files, and what is at a path.

use crate::failure::{Failure, Outcome};
use std::path::Path;
use std::time::SystemTime;

/// Refuses the path of an existing file, unless `force` is set.
pub fn check_free(path: &Path, force: bool) -> Outcome<()> {
    let exists = path.as_os_str() != "-" && path.symlink_metadata().is_ok();
    match exists && !force {
        true if path.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Err(Failure::at(path, "it exists; --force replaces it")),
        false => Ok(()),
    }
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The size, the time of the last change and the inode of a file. They differ if another program has written
/// it.
pub type Identity = (u64, Option<SystemTime>, u64);

/// The identity of the file at a path; `None` if it does not exist.
pub fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    Some((found.len(), found.modified().ok(), number))
}
