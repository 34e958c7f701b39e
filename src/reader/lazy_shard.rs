//! A shard is a file that a manifest lists, and that has no objects itself. It is opened when it is first
//! read.

use super::manifest::{read_after_ends, ReadEnds};
use super::store::{Opened, Store};
use crate::container::{Frame, Limits};
use crate::error::{broken, fail, try_format, Cause, Error, Result, Rule};
use crate::io::path;
use crate::lock::Mutex;
use crate::memory::Budget;
use crate::model::manifest::{Container, Position};
use crate::source::{Advice, ByteSource};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub struct LazyShard {
    /// Its position in the table of shards.
    pub at: Position,
    /// The path that is tried first. `None` if the file that lists the shard has no path.
    pub path: Option<PathBuf>,
    /// Whether to try other names in the folder if there is no file at `path`.
    pub tries_other_names: bool,
    opened: OnceLock<OpenedFile>,
    /// The error, once it is certain that the shard cannot be opened. While a thread opens the shard, it
    /// holds this lock.
    failure: Mutex<Option<Error>>,
}

/// An [`Opened`] file with a known container. If a shard is not open, the size and container are those in the
/// table of shards.
pub struct OpenedFile {
    pub source: Box<dyn ByteSource>,
    pub frame: Frame,
    pub label: String,
    pub path: Vec<u8>,
    pub modified: i64,
}

pub struct ShardOpener {
    /// Opens files. `None` if shards must not be opened, or the store exists no longer.
    pub store: Option<Box<dyn Store + Send>>,
    pub limits: Limits,
    /// The memory of the file and its open shards. A thread locks it while it reads a shard's manifest, so
    /// that reading several manifests takes no more memory than the largest needs.
    pub budget: Mutex<Budget>,
    pub advice: Advice,
}

/// What the table of shards says about a shard.
pub struct ExpectedShard<'m> {
    pub name: &'m str,
    pub size: u64,
    pub digest: &'m str,
    pub container: Container,
}

impl OpenedFile {
    /// The memory that the shard takes while it is open.
    fn memory(&self) -> u64 {
        let texts = self.label.capacity().saturating_add(self.path.capacity());
        texts.saturating_add(size_of_val(self.source.as_ref())) as u64
    }
}

impl ShardOpener {
    /// The frame of a shard. Its manifest, if it has one, is checked, then dropped.
    fn frame_of(&self, source: &dyn ByteSource) -> Result<Frame> {
        // Without the lock, because these reads may wait for a network.
        let ends = ReadEnds::read(source, &self.limits)?;
        let budget = self.budget.lock();
        let before = budget.held();
        let read = read_after_ends(source, ends, &self.limits, &budget, &|e| e, None).map(|(frame, _)| frame);
        budget.give_back(budget.held().saturating_sub(before));
        read
    }
}

impl LazyShard {
    pub fn new(at: Position, path: Option<PathBuf>, tries_other_names: bool) -> LazyShard {
        LazyShard { at, path, tries_other_names, opened: OnceLock::new(), failure: Mutex::default() }
    }

    pub fn opened(&self) -> Option<&OpenedFile> {
        self.opened.get()
    }

    /// Opens the shard, unless another thread does it meanwhile. Returns whether this call did it. Without a
    /// store, it returns the failure from the time when there was one.
    pub fn open(
        &self,
        store: Option<&dyn Store>,
        expected: &ExpectedShard<'_>,
        opener: &ShardOpener,
    ) -> Result<bool> {
        let failure = self.failure.lock();
        if self.opened().is_some() {
            return Ok(false);
        }
        let Some(store) = store else {
            return Err(failure.as_ref().map_or_else(shards_disabled, Error::again));
        };
        let opened = self.read(store, expected, opener)?;
        opener.budget.lock().charge(opened.memory(), "an open shard")?;
        drop(self.opened.set(opened)); // it was empty: this thread holds the lock
        Ok(true)
    }

    /// Keeps a failure, which is returned when the shard is read after the store is gone.
    pub fn fail(&self, error: Error) {
        *self.failure.lock() = Some(error);
    }

    fn read(
        &self,
        store: &dyn Store,
        expected: &ExpectedShard<'_>,
        opener: &ShardOpener,
    ) -> Result<OpenedFile> {
        let (opened, found) = self.find(store, expected)?;
        let label = match opened.label {
            Some(label) => label,
            None => try_format(format_args!("{}", found.display()))?,
        };
        let source = opened.source;
        let size = source.size();
        if size != expected.size {
            return Err(broken!(
                Rule::Zt2ShardIdentity,
                "{label} has {size} bytes, but the table of shards says {}",
                expected.size
            ));
        }
        let frame = opener.frame_of(source.as_ref()).map_err(|e| invalid_shard(&label, e))?;
        if frame.container != expected.container {
            return Err(broken!(
                Rule::Zt2ShardIdentity,
                "{label} is a file of {}, but one of {} needs shards of the same container",
                frame.container.name(),
                expected.container.name()
            ));
        }
        Ok(OpenedFile { source, frame, label, path: opened.path, modified: opened.modified })
    }

    /// Finds the shard's file. Returns it with the path where it was found.
    fn find(&self, store: &dyn Store, expected: &ExpectedShard<'_>) -> Result<(Opened, PathBuf)> {
        let Some(first) = &self.path else {
            return Err(fail!(
                Unsupported,
                "it would be beside the file that lists it, but that file was not opened by a path"
            ));
        };
        let open = |path: &Path| {
            let opened = store.open(path).map_err(|e| e.within(format_args!("{}", path.display())))?;
            Ok((opened, path::copy(path)?))
        };
        let is_missing = |e: &Error| e.cause() == Cause::NoFile;
        let missing = match open(first) {
            Err(e) if self.tries_other_names && is_missing(&e) => e,
            outcome => return outcome,
        };
        let folder = first.parent().unwrap_or(Path::new(""));
        let (algorithm, hex) = expected.digest.split_once(':').unwrap_or_default();
        let others = [
            try_format(format_args!("{}.zt", expected.name))?,
            try_format(format_args!("blobs/{algorithm}/{hex:.128}"))?,
        ];
        for name in others {
            match open(&path::join(folder, Path::new(&name))?) {
                Err(e) if is_missing(&e) => {}
                outcome => return outcome,
            }
        }
        Err(missing)
    }
}

/// The failure for a shard if the file was opened without a way to open shards.
#[cold]
fn shards_disabled() -> Error {
    fail!(
        Unsupported,
        "it is a separate file, which is not open: zt_open_model opens it, and zt_open_options.shards says \
         when"
    )
}

/// The error for a shard that is not a valid file. If the cause is another one (I/O, memory, a limit), that
/// cause is kept.
#[cold]
fn invalid_shard(label: &str, error: Error) -> Error {
    match error.cause() {
        Cause::Broken(_) | Cause::NotZtensor | Cause::Unsupported => {
            broken!(Rule::Zt2ShardIdentity, "{label} is not a complete file: {error}")
        }
        _ => error.within(format_args!("{label}")),
    }
}
