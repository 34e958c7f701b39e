//! A file that a manifest names and has no objects of its own: a shard, opened when it is first read.

use super::ends::ReadEnds;
use super::manifest::read_between;
use super::store::{Opened, Store};
use crate::container::{Frame, Limits};
use crate::error::{broken, fail, try_format, Cause, Error, Result, Rule};
use crate::io::path;
use crate::lock::Mutex;
use crate::memory::Budget;
use crate::model::manifest::{Container, Position};
use crate::source::{Advice, ByteSource, Elsewhere};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A shard, opened or not.
pub struct Later {
    /// Which one it is in the table of shards.
    pub at: Position,
    /// Where it is looked for first; none where the file that names it has no path.
    pub path: Option<PathBuf>,
    /// Whether it is looked for by other names in that folder, too.
    pub in_folder: bool,
    opened: OnceLock<OpenedShard>,
    /// One thread at a time opens it. Why it cannot be, where that was found out once and for all.
    failure: Mutex<Option<Error>>,
}

/// It is there, and what the table says it is.
pub struct OpenedShard {
    pub source: Box<dyn ByteSource>,
    pub frame: Frame,
    pub label: String,
    /// The path as C gets it, with a NUL; empty where it has none.
    pub path: Vec<u8>,
    pub modified: i64,
}

/// What an open file opens its shards with.
pub struct ShardOpener {
    /// Where they are; none where they are not to be opened, or cannot be any more.
    pub store: Option<Box<dyn Store + Send>>,
    pub limits: Limits,
    /// What the file and its open shards take, and may take. Who reads the manifest of a shard has it: one at a time, so
    /// that together they take no more than the largest.
    pub budget: Mutex<Budget>,
    /// What will be done with all bytes of one.
    pub advice: Advice,
}

/// What the table of shards says.
pub struct Said<'m> {
    pub name: &'m str,
    pub size: u64,
    pub digest: &'m str,
    pub container: Container,
}

impl OpenedShard {
    /// Bytes of memory that it takes while it is open.
    fn memory(&self) -> u64 {
        let texts = self.label.capacity().saturating_add(self.path.capacity());
        texts.saturating_add(size_of_val(self.source.as_ref())) as u64
    }
}

impl ShardOpener {
    /// The frame of a shard whose manifest, if it has one, is sound; nothing of that is kept.
    fn frame_of(&self, source: &dyn ByteSource) -> Result<Frame> {
        let ends = ReadEnds::read(source, &self.limits)?; // by any number of threads: these wait for answers
        let budget = self.budget.lock();
        let before = budget.held();
        let read = read_between(source, ends, &self.limits, &budget, &|e| e).map(|(frame, _)| frame);
        budget.give_back(budget.held().saturating_sub(before));
        read
    }
}

impl Later {
    /// Not opened.
    pub fn new(at: Position, path: Option<PathBuf>, in_folder: bool) -> Later {
        Later { at, path, in_folder, opened: OnceLock::new(), failure: Mutex::default() }
    }

    /// What was opened.
    pub fn opened(&self) -> Option<&OpenedShard> {
        self.opened.get()
    }

    /// Its bytes, none of which can be had before it is opened.
    pub fn source(&self) -> &dyn ByteSource {
        self.opened.get().map_or(&Elsewhere, |opened| opened.source.as_ref())
    }

    /// Opens it, if it is not, and says whether this call did. Without a store nothing is opened any more: the failure is
    /// that of when there was one. `lock` is called with the bytes before anybody has them.
    pub fn open(
        &self,
        store: Option<&dyn Store>,
        said: &Said<'_>,
        by: &ShardOpener,
        lock: &dyn Fn(&dyn ByteSource, u64) -> Result<()>,
    ) -> Result<(&OpenedShard, bool)> {
        if let Some(opened) = self.opened.get() {
            return Ok((opened, false));
        }
        let failure = self.failure.lock();
        if let Some(opened) = self.opened.get() {
            return Ok((opened, false));
        }
        let Some(store) = store else {
            return Err(failure.as_ref().map_or_else(not_opened, Error::again));
        };
        let opened = self.read(store, said, by)?;
        lock(opened.source.as_ref(), said.size)?;
        by.budget.lock().charge(opened.memory(), "an open shard")?;
        drop(self.opened.set(opened)); // no other thread is here
        let opened = self.opened.get();
        opened
            .map(|opened| (opened, true))
            .ok_or_else(|| fail!(Internal, "a shard that was opened is not there"))
    }

    /// Keeps why it could not be opened by a store that is gone when it is read.
    pub fn fail(&self, error: Error) {
        *self.failure.lock() = Some(error);
    }

    fn read(&self, store: &dyn Store, said: &Said<'_>, by: &ShardOpener) -> Result<OpenedShard> {
        let (opened, found) = self.find(store, said)?;
        let label = match opened.label {
            Some(label) => label,
            None => try_format(format_args!("{}", found.display()))?,
        };
        let source = opened.source;
        let size = source.size();
        if size != said.size {
            return Err(broken!(
                Rule::Zt2ShardIdentity,
                "{label} has {size} bytes, but the table of shards says {}",
                said.size
            ));
        }
        let frame = by.frame_of(source.as_ref()).map_err(|e| not_whole(&label, e))?;
        if frame.container != said.container {
            return Err(broken!(
                Rule::Zt2ShardIdentity,
                "{label} is a file of {}, but one of {} has only shards of its own kind",
                frame.container.name(),
                said.container.name()
            ));
        }
        Ok(OpenedShard { source, frame, label, path: opened.path, modified: opened.modified })
    }

    /// The file, and the path that it was found by.
    fn find(&self, store: &dyn Store, said: &Said<'_>) -> Result<(Opened, PathBuf)> {
        let Some(first) = &self.path else {
            return Err(fail!(
                Unsupported,
                "it is looked for beside the file that names it, which was not opened by a path"
            ));
        };
        let open = |path: &Path| {
            let opened = store.open(path).map_err(|e| e.within(format_args!("{}", path.display())))?;
            Ok((opened, path::copy(path)?))
        };
        let is_missing = |e: &Error| e.cause() == Cause::NoFile;
        let missing = match open(first) {
            Err(e) if self.in_folder && is_missing(&e) => e,
            outcome => return outcome,
        };
        let folder = first.parent().unwrap_or(Path::new(""));
        let (algorithm, hex) = said.digest.split_once(':').unwrap_or_default();
        let others = [
            try_format(format_args!("{}.zt", said.name))?,
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

/// Nothing was there to open it with.
#[cold]
fn not_opened() -> Error {
    fail!(
        Unsupported,
        "it is a file of its own, which is not opened here: zt_open_model opens it, and zt_open_options.shards says when"
    )
}

/// The failure of a shard that is no file by itself. What is not the file's fault stays what it is.
#[cold]
fn not_whole(label: &str, error: Error) -> Error {
    match error.cause() {
        Cause::Broken(_) | Cause::NotZtensor | Cause::Unsupported => {
            broken!(Rule::Zt2ShardIdentity, "{label} is no whole file of its own: {error}")
        }
        _ => error.within(format_args!("{label}")),
    }
}
