//! The files that a command writes. They have temporary names until all are whole. Then they are opened under the rules of
//! the names that they will have, and published: all of them or none.

mod names;
mod view;

pub use names::{check_is_zt, check_whole, stem, without_root, Members};

use crate::failure::{report, Failure, Outcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use view::{plain, View};
use ztensor::error::Error;
use ztensor::io::file_lock::{self, Lock};
use ztensor::reader::{File, OpenOptions, Shards, VerifyOptions, VerifyReport};
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::{ByteSink, WriteThreads};

/// Refuses the path of an existing file, unless `force` is set.
pub fn check_free(path: &Path, force: bool) -> Outcome<()> {
    let exists = path.as_os_str() != "-" && path.symlink_metadata().is_ok();
    match exists && !force {
        true if path.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Err(Failure::at(path, "it is there already; --force replaces it")),
        false => Ok(()),
    }
}

/// A file under a temporary name; it gets its name when all files of the job are complete.
pub struct NewFile {
    /// Shared with a writer of .zt files.
    sink: Arc<Mutex<FileSink>>,
    path: PathBuf,
    force: bool,
}

impl NewFile {
    /// A file that will be at `path`.
    pub fn create(path: &Path, force: bool, durable: bool) -> Outcome<NewFile> {
        check_free(path, force)?;
        let sink = FileSink::create(path, durable).map_err(|e| Failure::at(path, e))?;
        Ok(NewFile { sink: Arc::new(Mutex::new(sink)), path: path.to_owned(), force })
    }

    pub fn write(&self, bytes: &[u8]) -> Outcome<()> {
        self.with(|sink| sink.write(bytes))
    }

    /// Ends the file; it keeps its temporary name.
    pub fn close(&self) -> Outcome<()> {
        self.with(FileSink::complete)
    }

    /// The path that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn temporary_path(&self) -> PathBuf {
        lock(&self.sink).temporary_path().to_owned()
    }

    /// A sink for a writer. When the writer publishes it, the file is complete, but still has its temporary name.
    pub fn sink(&self) -> Box<dyn ByteSink> {
        Box::new(Unnamed(Arc::clone(&self.sink)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut FileSink) -> Result<T, Error>) -> Outcome<T> {
        act(&mut lock(&self.sink)).map_err(|e| Failure::at(&self.path, e))
    }

    /// Opens it by itself, whatever its name says.
    pub fn open(&self) -> Outcome<File> {
        let options = OpenOptions { name: Some(self.path.display().to_string()), ..OpenOptions::default() };
        File::open(self.temporary_path(), &options).map_err(|e| self.unreadable(&e))
    }

    /// Opens it by itself, and checks its digests.
    pub fn open_verified(&self) -> Outcome<File> {
        let digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
        let file = self.open()?;
        file.verify(&digests, &|_, _| true, &mut VerifyReport::default()).map_err(|e| self.unreadable(&e))?;
        Ok(file)
    }

    /// Gives it its name.
    pub fn publish(&self) -> Outcome<()> {
        self.publish_as(self.force)
    }

    /// Gives it its name, also one that is taken if `replaces` is set.
    fn publish_as(&self, replaces: bool) -> Outcome<()> {
        check_free(&self.path, replaces)?;
        self.with(if replaces { FileSink::publish } else { FileSink::publish_new })
    }

    /// Whether it has its name.
    fn is_named(&self) -> bool {
        lock(&self.sink).is_published()
    }

    /// The failure of a file that was written and does not open.
    fn unreadable(&self, why: &Error) -> Failure {
        Failure::at(&self.path, format!("what was written would not open, so nothing is: {why}"))
    }
}

fn lock(sink: &Mutex<FileSink>) -> MutexGuard<'_, FileSink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sink whose file is published by its [`NewFile`].
struct Unnamed(Arc<Mutex<FileSink>>);

impl ByteSink for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        lock(&self.0).write(bytes)
    }

    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<(), Error> {
        lock(&self.0).write_with_threads(bytes, threads)
    }

    fn publish(&mut self) -> Result<(), Error> {
        lock(&self.0).complete()
    }
}

/// The files of one command.
#[derive(Default)]
pub struct NewFiles {
    pub files: Vec<NewFile>,
    /// What names the others: an index, or the file whose shards they are. It gets its name last.
    pub root: Option<NewFile>,
    /// Files that only the old root named. They are removed when the new root has its name.
    pub obsolete: Vec<PathBuf>,
    /// The old root, as it was when the names of the others were chosen.
    pub old_root: Option<Identity>,
}

impl NewFiles {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn count(&self) -> usize {
        self.files.len() + usize::from(self.root.is_some())
    }

    /// Opens all of them as one model, as it will be found under its name. Fails if other files would be read with them.
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

    /// Opens each as a file by itself, as it will be found under its name.
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

    /// Gives all their names, the root last. Where one cannot have its own, those that have theirs go again. Only a root
    /// or a single file takes the place of another file, and a root only that of the one that was there at the beginning.
    /// Other programs that do the same in the folder wait meanwhile.
    pub fn publish(self) -> Outcome<()> {
        let is_one = self.count() == 1;
        let all: Vec<&NewFile> = self.files.iter().chain(&self.root).collect();
        let Some(entry) = all.last() else { return Ok(()) };
        let _lock = if is_one { None } else { lock_folder(&entry.path)? };
        if self.root.is_some() && identity(&entry.path) != self.old_root {
            return Err(Failure::at(
                &entry.path,
                "another program wrote it meanwhile, so nothing is written",
            ));
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
                // If the root has its name, and only the folder could not be synced, the new model stands.
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

/// How long another program may hold the lock of a folder, which takes it as long as a few files get their names.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Locks the folder of a file until what is returned is dropped. None where folders cannot be opened or locked.
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

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Size, time of the last change and inode of a file: they differ if another program has written it.
pub type Identity = (u64, Option<SystemTime>, u64);

/// The identity of the file at a path; none if there is none.
pub fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    Some((found.len(), found.modified().ok(), number))
}

fn open_as_named(entry: &NewFile, view: &View<'_>) -> Outcome<File> {
    let options = OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() };
    File::open_model_from(view, &entry.path, &options).map_err(|e| entry.unreadable(&e))
}

/// The paths of the files that a model has.
fn parts(file: &File) -> impl Iterator<Item = PathBuf> + '_ {
    let paths = (0..file.part_count()).filter_map(|at| file.part(at)?.path());
    paths.map(|path| plain(&view::path_of(path)).to_owned())
}
#[cfg(test)]
mod tests;
