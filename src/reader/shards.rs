//! The shards of an open file: where they are searched, and when they are opened.

use super::file::File;
use super::lazy_shard::{ExpectedShard, LazyShard, OpenedFile};
use super::open_options::{OpenOptions, Shards};
use super::parts::{FilePart, Parts};
use super::store::{follow, if_readable, threads_to_open, Store, MAX_LINKS};
use crate::container::{Frame, MAX_SHARDS};
use crate::digest::{parse_of, DigestOf};
use crate::error::{broken, fail, try_format, Error, Quoted, Result, Rule};
use crate::io::path;
use crate::memory::{push, try_box, Budget};
use crate::model::manifest::{self, Component, Manifest, Position, Shard};
use crate::source::{for_each_chunk, ByteSource, UnopenedShard};
use crate::threads;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The store that opens shards.
pub enum ShardStore<'s> {
    /// Available as long as the file is open.
    Kept(Box<dyn Store + Send>),
    /// Available only while the file is being opened.
    Borrowed(&'s dyn Store),
}

/// Makes a part for each shard. `path_of` returns the path in `store` of a part that has a manifest.
#[inline(never)] // its stack frame is gone before the next step
pub fn add_shards<'p>(
    store: &dyn Store,
    parts: &mut Parts,
    manifest: &Manifest,
    path_of: &dyn Fn(usize) -> Option<&'p Path>,
    options: &OpenOptions,
    budget: &Budget,
) -> Result<()> {
    let count = manifest.shards.len();
    if count > MAX_SHARDS {
        return Err(fail!(Limit, "it has {count} shards, above the limit of {MAX_SHARDS}"));
    }
    let each = size_of::<FilePart>().saturating_add(size_of::<LazyShard>());
    budget.charge((count as u64).saturating_mul(each as u64), "the shards")?;
    parts.reserve(count)?;
    for number in 0..parts.count() {
        let Some(of) = parts.get(number) else { break };
        let (container, named_by_path) = (of.container(), of.path().is_some());
        let (shards, mut roots) = (of.shards.clone(), Vec::new());
        if let Some(root) = path_of(number).filter(|_| !shards.is_empty()) {
            roots = places(store, root, options.shard_folder.is_none())?;
        }
        for at in shards {
            let Some(entry) = manifest.shards.get(at) else { break };
            let name = manifest.texts.get(entry.name);
            let path = find_path(store, &roots, name, options.shard_folder.as_deref())?;
            let shown = path.as_deref().unwrap_or(Path::new(name));
            let label = try_format(format_args!("{}", shown.display()))?;
            let c_path = match named_by_path {
                true => super::store::c_path(shown)?,
                false => Vec::new(),
            };
            let texts = label.len().saturating_mul(2).saturating_add(c_path.len());
            budget.charge(texts as u64, "the paths of the shards")?;
            let lazy_shard = LazyShard::new(Position::after(at)?, path, options.shard_folder.is_some());
            let (source, frame) =
                (try_box(UnopenedShard)?, Frame::of_unknown_manifest(container, entry.size));
            let file = OpenedFile { source, frame, label, path: c_path, modified: 0 };
            let mut shard = FilePart::new(file, container);
            shard.lazy_shard = Some(try_box(lazy_shard)?);
            parts.push(shard);
        }
    }
    Ok(())
}

/// The path of a file. If it is a symbolic link and links are followed, also the link's target.
fn places(store: &dyn Store, root: &Path, follows_links: bool) -> Result<Vec<PathBuf>> {
    let (mut places, mut next) = (Vec::new(), Some(path::copy(root)?));
    while let Some(place) = next.take() {
        if follows_links && places.len() < MAX_LINKS {
            next = follow(store, &place)?;
        }
        push(&mut places, place)?;
    }
    Ok(places)
}

/// The path of a shard: in the folder of the first of `roots` where it exists, else in the folder of the
/// first root. `None` if there are no roots.
fn find_path(
    store: &dyn Store,
    roots: &[PathBuf],
    name: &str,
    folder: Option<&Path>,
) -> Result<Option<PathBuf>> {
    let Some(first) = roots.first() else { return Ok(None) };
    for root in roots.iter().filter(|_| roots.len() > 1) {
        let path = shard_path(root, name, folder)?;
        // If it cannot be read, opening the shard reports the error.
        if if_readable(store.has(&path))? == Some(true) {
            return Ok(Some(path));
        }
    }
    shard_path(first, name, folder).map(Some)
}

/// The path `STEM-NAME.zt` in the folder of the file that lists the shard, or in another folder.
fn shard_path(root: &Path, name: &str, folder: Option<&Path>) -> Result<PathBuf> {
    let mut file = PathBuf::new();
    let stem = root.file_stem().unwrap_or(OsStr::new(""));
    file.try_reserve(stem.len().saturating_add(name.len()).saturating_add(4))?;
    let text = file.as_mut_os_string(); // pushes stay within what was reserved
    text.push(stem);
    text.push("-");
    text.push(name);
    text.push(".zt");
    path::join(folder.or_else(|| root.parent()).unwrap_or(Path::new("")), &file)
}

impl File {
    /// The file with the bytes of a component that is in a shard. Opens the shard if it is not open.
    #[inline(never)] // only a read that opens a shard pays for that stack frame
    pub(super) fn shard_source(&self, component: &Component) -> Result<&dyn ByteSource> {
        let at = self.manifest.rare(component).shard;
        let part = at.and_then(|at| self.parts.get(self.parts.number_of_shard(at)));
        let part = part.ok_or_else(|| fail!(Internal, "a component in a shard that is not in the table"))?;
        self.open_shard(part)?;
        Ok(part.source())
    }

    /// Opens this part if it is a shard that is not open.
    pub fn open_part(&self, index: usize) -> Result<()> {
        match self.part(index) {
            Some(part) => self.open_shard(part).map_err(|e| self.in_shard(part, e)),
            None => Ok(()),
        }
    }

    fn open_shard(&self, part: &FilePart) -> Result<()> {
        let store = self.shards.store.as_deref().map(|store| store as &dyn Store);
        self.open_shard_by(store, part)
    }

    fn open_shard_by(&self, store: Option<&dyn Store>, part: &FilePart) -> Result<()> {
        let lazy_shard = part.lazy_shard.as_ref().filter(|shard| shard.opened().is_none());
        let Some((lazy_shard, entry)) = lazy_shard.zip(self.shard_entry(part)) else { return Ok(()) };
        let expected = ExpectedShard {
            name: self.manifest.texts.get(entry.name),
            size: entry.size,
            digest: self.manifest.texts.get(entry.digest),
            container: part.container(),
        };
        if lazy_shard.open(store, &expected, &self.shards)? {
            // The advice may start threads. Their hooks must not run while we hold a lock.
            self.advise_whole(part.source(), expected.size, self.shards.advice)?;
        }
        Ok(())
    }

    /// Sets the store for its shards, and opens the shards now if the options say so.
    #[inline(never)] // its stack frame is gone before the next step
    pub(super) fn open_shards(&mut self, opener: ShardStore<'_>, options: &OpenOptions) -> Result<()> {
        let at_once = options.shards == Shards::AtOpen;
        match opener {
            ShardStore::Borrowed(store) => self.open_all_shards(store, at_once, options),
            ShardStore::Kept(store) => {
                if at_once {
                    self.open_all_shards(store.as_ref(), true, options)?;
                }
                self.shards.store = Some(store);
                Ok(())
            }
        }
    }

    /// Opens all shards. If `are_reported` is set, a failure is returned now; else it is returned when the
    /// shard is read.
    fn open_all_shards(&self, store: &dyn Store, are_reported: bool, options: &OpenOptions) -> Result<()> {
        let count = self.manifest.shards.len();
        let threads = threads_to_open(store, options.threads, count);
        let first = self.part_count().saturating_sub(count);
        let (next, failed_at) = (AtomicUsize::new(first), AtomicUsize::new(usize::MAX));
        threads::run(threads.min(count), self.thread_hooks, &|| loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = self.part(at) else { return };
            if are_reported && at > failed_at.load(Ordering::Relaxed) {
                return; // threads work on all shards before this one
            }
            if let (Err(e), Some(lazy_shard)) = (self.open_shard_by(Some(store), part), &part.lazy_shard) {
                failed_at.fetch_min(at, Ordering::Relaxed);
                lazy_shard.fail(e);
            }
        });
        let failed = self.part(failed_at.into_inner()).filter(|_| are_reported);
        failed.map_or(Ok(()), |part| self.open_shard_by(None, part).map_err(|e| self.in_shard(part, e)))
    }

    /// The name of the shard that a component is in.
    pub(super) fn shard_name(&self, component: &manifest::Component) -> Option<&str> {
        self.manifest.shard(component).map(|shard| self.manifest.texts.get(shard.name))
    }

    /// The entry of a part in the table of shards, if it is a shard.
    fn shard_entry(&self, part: &FilePart) -> Option<&Shard> {
        self.manifest.shards.get(part.lazy_shard.as_ref()?.at.index())
    }

    /// Adds the name of the part to an error. For a shard, also its name in the table of shards.
    #[cold]
    fn in_shard(&self, part: &FilePart, error: Error) -> Error {
        match self.shard_entry(part).map(|entry| self.manifest.texts.get_bytes(entry.name)) {
            Some(name) => self.in_file(error.within(format_args!("shard {}", Quoted(name)))),
            None => part.named(error),
        }
    }

    /// Calls `body` with all bytes of its first part, front to back. Returns how many there are.
    pub(crate) fn for_each_byte(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let part = &self.parts.first;
        let outcome = for_each_chunk(part.source(), 0..part.size(), body);
        self.unless_changed(part, outcome).map_err(|e| part.named(e))?;
        Ok(part.size())
    }

    /// Compares all bytes of a shard with the digest in the table of shards. Returns false if the digest's
    /// algorithm is unknown. `step` is called with the number of bytes that were read.
    #[inline(never)] // its stack frame is gone before the next step
    pub(super) fn verify_shard(
        &self,
        part: &FilePart,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        let named = |e| self.in_shard(part, e);
        let Some(entry) = self.shard_entry(part) else { return Ok(true) };
        self.open_shard(part).map_err(named)?;
        let expected = parse_of(self.manifest.texts.get(entry.digest), DigestOf::Decoded).map_err(named)?;
        let Ok(mut hasher) = expected.hasher() else { return Ok(false) };
        let mut stopped = None;
        let read = for_each_chunk(part.source(), 0..entry.size, &mut |chunk| {
            hasher.update(chunk);
            step(chunk.len() as u64).map_err(|e| {
                let again = e.again();
                stopped = Some(e);
                again
            })
        });
        if let Some(stopped) = stopped {
            return Err(stopped); // this error already says what was stopped
        }
        read.map_err(named)?;
        match hasher.finish() {
            found if found == expected => Ok(true),
            found => Err(named(broken!(
                Rule::Zt2ShardIdentity,
                "its {} bytes have the digest {found}, but the table of shards says {expected}",
                entry.size
            ))),
        }
    }
}
