//! The files that a command writes. They have temporary names until all are complete. Then they are opened as
//! if they had their names, and published: all of them or none.

mod names;
mod new_file;
mod place;
mod view;

pub use names::{check_is_zt, check_whole, stem, without_root, Members};
pub use new_file::NewFile;
pub use place::{check_free, identity, Identity};

use crate::failure::{report, Failure, Outcome};
use place::folder_of;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use view::{plain, View};
use ztensor::io::file_lock::{self, Lock};
use ztensor::reader::{File, OpenOptions, Shards};

/// The files of one command.
#[derive(Default)]
pub struct NewFiles {
    pub files: Vec<NewFile>,
    /// The file that names the others: an index, or the file that lists them as shards. It is renamed last.
    pub root: Option<NewFile>,
    /// Files that only the old root names. They are removed when the new root has its name.
    pub obsolete: Vec<PathBuf>,
    /// The file that the root or the only file replaces, when the names of the other files were chosen or, if
    /// it is an input, before it was read. `None` if another program may have written it meanwhile.
    pub old_root: Option<Identity>,
}

impl NewFiles {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn count(&self) -> usize {
        self.files.len() + usize::from(self.root.is_some())
    }

    /// The path of the root or of the only file.
    pub fn entry(&self) -> Option<&Path> {
        let only = self.files.first().filter(|_| self.count() == 1);
        self.root.as_ref().or(only).map(NewFile::path)
    }

    /// Opens all of them as one model, under their future names. Fails if other files would be read with
    /// them.
    pub fn open(&self) -> Outcome<File> {
        let Some(entry) = self.root.as_ref().or(self.files.first()) else {
            return Err(Failure::Message(String::from("internal error: no file was written")));
        };
        let all: Vec<&NewFile> = self.files.iter().chain(&self.root).collect();
        let file = open_as_named(entry, &View::new(&all, &self.obsolete))?;
        let found: BTreeSet<_> = parts(&file).collect();
        let written: BTreeSet<_> = all.iter().map(|new| plain(&new.path)).collect();
        if let Some(other) = found.iter().find(|path| !written.contains(path.as_path())) {
            let why = format!("under this name it would be read together with {}", other.display());
            return Err(Failure::at(&entry.path, why));
        }
        match self.files.iter().find(|new| !found.contains(plain(&new.path))) {
            Some(lost) => {
                let why = format!("under this name it would be read without {}", lost.path.display());
                Err(Failure::at(&entry.path, why))
            }
            None => Ok(file),
        }
    }

    /// Opens each file alone, under its future name.
    pub fn open_each(&self) -> Outcome<()> {
        self.files.iter().try_for_each(|new| {
            let file = open_as_named(new, &View::new(&[new], &[]))?;
            let is_alone = parts(&file).all(|path| path == plain(&new.path));
            match is_alone {
                true => Ok(()),
                false => Err(Failure::at(&new.path, "under this name it would be read with other files")),
            }
        })
    }

    /// Gives all files their names, the root last. If one rename fails, the others are undone. Only a root or
    /// a single file may replace a file, and a root only the one that existed at the start. Other instances
    /// of this program wait if they use the same folder.
    pub fn publish(self) -> Outcome<()> {
        let is_one = self.count() == 1;
        let all: Vec<&NewFile> = self.files.iter().chain(&self.root).collect();
        let Some(entry) = all.last() else { return Ok(()) };
        let _lock = if is_one { None } else { lock_folder(&entry.path)? };
        let _old = if self.old_root.is_some() { lock_old(&entry.path)? } else { None };
        if (self.root.is_some() || self.old_root.is_some()) && identity(&entry.path) != self.old_root {
            let why = "another program wrote it meanwhile, so nothing is written";
            return Err(Failure::at(&entry.path, why));
        }
        if self.root.is_none() && !is_one {
            names::check_only_set(&self.files.iter().map(|file| file.path.as_path()).collect::<Vec<_>>())?;
        }
        let replaces = |file: &NewFile| {
            let is_root = self.root.as_ref().is_some_and(|root| root.path == file.path);
            file.force && (is_one || is_root && file.path.symlink_metadata().is_ok())
        };
        all.iter().try_for_each(|file| check_free(&file.path, replaces(file)))?;
        let mut made: Vec<&Path> = Vec::new();
        for file in all {
            let replaces = replaces(file);
            let published = file.publish_as(replaces);
            if !replaces && file.is_named() {
                made.push(&file.path);
            }
            if let Err(why) = published {
                // If the root has its name, and only syncing the folder failed, the new model is valid.
                if !self.root.as_ref().is_some_and(NewFile::is_named) {
                    made.into_iter().for_each(|path| drop(std::fs::remove_file(path)));
                }
                return Err(why);
            }
        }
        for path in &self.obsolete {
            if let Err(why) = std::fs::remove_file(path) {
                report(&format!("{}: could not remove the old file: {why}", path.display()));
            }
        }
        Ok(())
    }
}

/// How long another program may hold the lock of a folder. Renaming a few files takes less.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Locks the folder of a file until the result is dropped. `None` if folders cannot be opened or locked.
fn lock_folder(path: &Path) -> Outcome<Option<std::fs::File>> {
    let Ok(folder) = std::fs::File::open(folder_of(path)) else { return Ok(None) };
    let started = Instant::now();
    loop {
        match file_lock::lock(&folder) {
            Ok(Lock::Held) => return Ok(Some(folder)),
            Ok(Lock::HeldElsewhere) if started.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Ok(Lock::HeldElsewhere) => {
                return Err(Failure::at(path, "another program keeps its folder locked; try again"));
            }
            Ok(Lock::Unavailable) | Err(_) => return Ok(None),
        }
    }
}

/// Locks the file that will be replaced, like a writer does, until the result is dropped. So no append is
/// lost.
fn lock_old(path: &Path) -> Outcome<Option<std::fs::File>> {
    let Ok(old) = std::fs::File::open(path) else { return Ok(None) };
    match file_lock::lock(&old) {
        Ok(Lock::HeldElsewhere) => Err(Failure::at(path, "another program writes to it; try again")),
        _ => Ok(Some(old)),
    }
}

/// The identity of an output that is also a file of an input. `seen` is its identity before it was read.
pub fn of_input(output: &Path, seen: Option<Identity>, inputs: &[&File]) -> Option<Identity> {
    let output = output.canonicalize().ok()?;
    let is_output = |path: PathBuf| path.canonicalize().is_ok_and(|path| path == output);
    inputs.iter().flat_map(|input| parts(input)).any(is_output).then_some(seen).flatten()
}

fn open_as_named(entry: &NewFile, view: &View<'_>) -> Outcome<File> {
    let options = OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() };
    File::open_model_from(view, &entry.path, &options).map_err(|e| entry.unreadable(&e))
}

/// The paths of a model's files.
fn parts(file: &File) -> impl Iterator<Item = PathBuf> + '_ {
    let paths = (0..file.part_count()).filter_map(|at| file.part(at)?.path());
    paths.map(|path| plain(&view::path_of(path)).to_owned())
}
#[cfg(test)]
mod tests;
