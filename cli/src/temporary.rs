//! Temporary files and folders. Others may write to the folder for temporary files, too. So names cannot be
//! guessed, existing files are never opened, and nobody else has access.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// How many names are tried.
const TRIES: u32 = 16;

/// Creates something under a free name.
fn make<T>(create: impl Fn(&Path) -> Result<T>) -> Result<(T, PathBuf)> {
    let mut tries = 1;
    loop {
        // RandomState starts with random numbers of the system.
        let path =
            std::env::temp_dir().join(format!(".zt-{:016x}", RandomState::new().build_hasher().finish()));
        match create(&path) {
            Ok(made) => return Ok((made, path)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
            Err(e) => return Err(e),
        }
    }
}

/// A file without a name, which is deleted when it is closed.
pub fn without_name() -> Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let (file, path) = make(|path| options.open(path))?;
    if cfg!(unix) {
        std::fs::remove_file(&path)?;
    }
    Ok(file)
}

/// A folder that is deleted with its contents.
#[cfg(any(feature = "compat", test))]
pub struct Folder(PathBuf);

#[cfg(any(feature = "compat", test))]
impl Folder {
    pub fn new() -> Result<Folder> {
        #[cfg_attr(not(unix), expect(unused_mut))]
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        make(|path| builder.create(path)).map(|((), path)| Folder(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(any(feature = "compat", test))]
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // failures cannot be reported here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_name_of_its_own_and_goes_with_what_is_in_it() {
        let (one, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        assert_ne!(one.path(), other.path());
        std::fs::write(one.path().join("a"), "a").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_made_is_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let folder = Folder::new().unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);
        let file = without_name().unwrap().metadata().unwrap();
        assert_eq!((file.mode() & 0o777, file.nlink()), (0o600, 0), "and a file has no name");
    }

    #[test]
    fn what_is_there_is_not_taken() {
        let tries = std::cell::Cell::new(0);
        let taken = |_: &Path| {
            tries.set(tries.get() + 1);
            Err::<(), _>(ErrorKind::AlreadyExists.into())
        };
        assert_eq!(make(taken).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(tries.get(), TRIES);
    }
}
