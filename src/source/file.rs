//! Reads an open file at offsets. It uses no mapping, so a file that is truncated meanwhile causes an error,
//! not a signal.

use super::advice::Advice;
use super::byte_source::ByteSource;
use super::direct::DirectFile;
use super::profile::{page_size, Change, PageCache, Pages, Profile, ReadMany, ReadRange};
use crate::error::{fail, Error, Result};
use crate::io::files::{read_exact_at, read_exact_scattered, size_and_time};
use crate::io::path::{Access, SystemPath};
use crate::io::{file_lock, files};
use crate::lock::Mutex;
use crate::memory::collected;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// A range of an open file.
pub struct FileSource {
    file: File,
    base: u64,
    size: u64,
    /// Whether the range ends at the end of the file.
    to_end: bool,
    /// Whether there are no duplicates of the handle outside this library.
    is_own: bool,
    /// The last accepted change of the file, and whether a writer held the file then.
    accepted: Mutex<Option<(Change, bool)>>,
    /// The size of the file when it was opened.
    end: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 if that is unknown.
    modified: i64,
    /// Whether a writer held the file when it was opened, or may have held it and had written to it shortly
    /// before.
    had_writer: bool,
    /// Whether the system can fill several pieces of memory with one call, as far as is known.
    scatters: AtomicBool,
}

/// A writer ends an append or rolls it back within this time, in nanoseconds.
const RECENT: i64 = 10_000_000_000;

/// Whether a file that was last written at this time (nanoseconds since 1970) has or may have a writer. If
/// the handle is not only ours, its lock is not checked.
fn may_have_writer(file: &File, is_own: bool, modified: i64) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let age = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX).saturating_sub(modified);
    age < RECENT && (!is_own || file_lock::is_locked(file))
}

impl FileSource {
    fn new(file: File, base: u64, size: u64, (end, modified): (u64, i64), is_own: bool) -> Self {
        let to_end = base.saturating_add(size) == end;
        let (accepted, scatters) = (Mutex::default(), AtomicBool::new(cfg!(target_os = "linux")));
        let had_writer = may_have_writer(&file, is_own, modified);
        FileSource { file, base, size, to_end, is_own, accepted, end, modified, had_writer, scatters }
    }

    /// The whole file or block device at `path`. Never waits for the writer of a FIFO.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = SystemPath::new(path)?.open(Access::Read);
        let file = opened.map_err(|e| Error::io("could not open it", &e))?;
        let (size, modified) = size_and_time(&file)?;
        Ok(FileSource::new(file, 0, size, (size, modified), true))
    }

    /// `length` bytes from `base` on. If `length` is `u64::MAX`, all bytes up to the end.
    pub fn from_file(file: File, base: u64, length: u64) -> Result<Self> {
        let (end, modified) = size_and_time(&file)?;
        let capacity = end.checked_sub(base).ok_or_else(|| {
            fail!(InvalidArgument, "offset {base} is past the end of the file of {end} bytes")
        })?;
        let size = if length == u64::MAX { capacity } else { length };
        if size > capacity {
            return Err(fail!(
                InvalidArgument,
                "offset {base} and length {length} pass the end of the file of {end} bytes"
            ));
        }
        Ok(FileSource::new(file, base, size, (end, modified), false))
    }

    /// Whether the byte at `offset` is in memory. `mapped` is that byte in a mapping, if there is one.
    pub fn resident_in(&self, offset: u64, mapped: Option<&[u8]>) -> Option<bool> {
        let place = self.base.saturating_add(offset);
        let is_inside = offset < self.size;
        is_inside.then(|| super::residence::resident(&self.file, place, mapped)).flatten()
    }

    /// Fills contiguous ranges, in one call if the system supports that.
    fn read_run(&self, run: &mut [ReadRange<'_>]) -> Result<()> {
        if run.len() > 1 && self.scatters.load(Ordering::Relaxed) {
            let start = run.first().map_or(0, |first| first.offset);
            let mut pieces = collected(run.len(), run.iter_mut().map(|range| IoSliceMut::new(range.dst)))?;
            if read_exact_scattered(&self.file, self.base.saturating_add(start), &mut pieces)? {
                return Ok(());
            }
            self.scatters.store(false, Ordering::Relaxed);
        }
        run.iter_mut().try_for_each(|range| self.read_at(range.offset, range.dst))
    }

    /// When the file was last changed before it was opened, in nanoseconds since 1970; 0 if that is unknown.
    pub fn modified(&self) -> i64 {
        self.modified
    }

    /// The open file, and the start and size of the range.
    pub fn parts(&self) -> (&File, u64, u64) {
        (&self.file, self.base, self.size)
    }
}

impl ByteSource for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, self.base.saturating_add(offset), dst)
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        let follows = |one: &ReadRange<'_>, next: &ReadRange<'_>| {
            one.offset.checked_add(one.dst.len() as u64) == Some(next.offset)
        };
        ranges.chunk_by_mut(follows).try_for_each(|run| self.read_run(run))
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<()> {
        super::advice::advise_file(&self.file, self.base, &self.pages(), &range, advice)
    }

    fn pages(&self) -> Pages {
        Pages::new(page_size(), self.base, self.size, self.to_end)
    }

    fn profile(&self) -> Profile {
        match self.scatters.load(Ordering::Relaxed) {
            true => Profile::file(),
            false => Profile { read_many: ReadMany::OneByOne, ..Profile::file() },
        }
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(self)
    }
}

impl PageCache for FileSource {
    fn resident(&self, offset: u64) -> Option<bool> {
        self.resident_in(offset, None)
    }

    fn direct(&self) -> Result<Option<DirectFile>> {
        DirectFile::open(&self.file, self.base)
    }

    fn change(&self) -> Result<Option<Change>> {
        let (end, modified) = size_and_time(&self.file)?;
        let is_same_time = modified == self.modified || modified == 0 || self.modified == 0;
        if end == self.end && is_same_time {
            return Ok(None);
        }
        let change = Change { size: end.saturating_sub(self.base), modified, to_end: self.to_end };
        Ok(Some(change).filter(|change| self.accepted.lock().is_none_or(|(accepted, _)| accepted != *change)))
    }

    fn same_size(&self, change: Change) -> Option<bool> {
        let opened = (Change { size: self.size, modified: self.modified, ..change }, self.had_writer);
        let (known, had_writer) = self.accepted.lock().unwrap_or(opened);
        let is_recent = change.modified.saturating_sub(known.modified) < RECENT;
        (change.size == known.size).then(|| had_writer && is_recent || self.has_writer())
    }

    fn accept(&self, change: Change) {
        let had_writer = may_have_writer(&self.file, self.is_own, change.modified);
        *self.accepted.lock() = Some((change, had_writer));
    }

    fn has_writer(&self) -> bool {
        self.is_own && file_lock::is_locked(&self.file)
    }

    fn is_still(&self, other: &File) -> Result<bool> {
        let (end, modified) = size_and_time(other)?;
        let is_as_it_was = modified == self.modified && end == self.base.saturating_add(self.size);
        Ok(is_as_it_was && files::may_be_one(&self.file, other))
    }
}
