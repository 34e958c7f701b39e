//! The cost of reading from a source, so that nobody has to check its type.

use super::direct::{DirectFile, BOUNCE_SIZE};
use crate::error::Result;
use std::fs::File;

/// A range of a file, and the memory that receives it.
pub struct ReadRange<'m> {
    /// Where the first one is.
    pub offset: u64,
    /// Receives them, all or an error.
    pub dst: &'m mut [u8],
}

/// How `ByteSource::read_many` is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMany {
    /// By a read for each range.
    OneByOne,
    /// By one read for ranges that follow each other without a gap.
    Adjacent,
    /// By one request for all, wherever they are.
    Anywhere,
}

/// The most threads that read if the caller leaves their number to the library and the source takes many
/// reads at once.
const MAX_WAITING_THREADS: usize = 16;

/// What reads cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The largest gap between two wanted ranges that is read rather than skipped.
    pub gap: u64,
    /// The largest read that is worth making of several; 0 if reads are not worth combining.
    pub largest_request: u64,
    /// The useful number of concurrent reads; `usize::MAX`: one per thread.
    pub concurrency: usize,
    /// Whether only the threads that call the library may read it.
    pub callers_thread: bool,
    /// How several ranges are read.
    pub read_many: ReadMany,
}

impl Profile {
    /// The profile of bytes in memory.
    pub const fn memory() -> Profile {
        Profile {
            gap: 0,
            largest_request: 0,
            concurrency: usize::MAX,
            callers_thread: false,
            read_many: ReadMany::OneByOne,
        }
    }

    /// The profile of a local file: a read is a system call.
    pub const fn file() -> Profile {
        Profile {
            gap: 16 << 10,
            largest_request: BOUNCE_SIZE as u64,
            concurrency: usize::MAX,
            callers_thread: false,
            read_many: ReadMany::Adjacent,
        }
    }

    /// The profile of an unknown source: a read may go over a network.
    pub const fn calls() -> Profile {
        Profile {
            gap: 64 << 10,
            largest_request: 8 << 20,
            concurrency: 1,
            callers_thread: false,
            read_many: ReadMany::OneByOne,
        }
    }

    /// The number of reading threads if a caller wants `wanted`. 0: the useful number of concurrent reads, or
    /// one per processor if that is `usize::MAX`.
    pub fn threads(&self, wanted: usize) -> usize {
        match (self.callers_thread, wanted, self.concurrency) {
            (true, ..) => 1,
            (false, 0, worth) if worth > 1 && worth != usize::MAX => worth.min(MAX_WAITING_THREADS),
            (false, wanted, _) => crate::threads::count(wanted),
        }
    }

    /// Whether a combined request may be larger than a bounce buffer, and so than the processor's cache.
    pub const fn gathers(&self) -> bool {
        self.largest_request > BOUNCE_SIZE as u64
    }

    /// Bytes of one call for ranges anywhere in the file, if `threads` threads read at once.
    pub fn bytes_at_once(&self, threads: usize) -> u64 {
        let requests = self.concurrency.max(1).div_ceil(threads.max(1));
        self.largest_request.saturating_mul(requests as u64)
    }
}

/// How a file is now, where it is not as it was when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Bytes from the source's first one to the end of the file.
    pub size: u64,
    /// When it was changed last, in nanoseconds since 1970; 0 where that is not known.
    pub modified: i64,
    /// Whether the source ended where the file did.
    pub to_end: bool,
}

/// The page cache's view of a source, and direct reads past it.
pub trait PageCache: Send + Sync {
    /// Whether the byte at `offset` is in memory already; none where that is not known.
    fn resident(&self, offset: u64) -> Option<bool>;

    /// A second handle for reads past the page cache, with the offset at which the bytes begin.
    fn direct(&self) -> Result<Option<DirectFile>> {
        Ok(None)
    }

    /// How the file is now, if its size or its time is another one than when it was opened, or than was
    /// accepted since.
    fn change(&self) -> Result<Option<Change>> {
        Ok(None)
    }

    /// None if the size is another one than when the file was opened, or than was accepted since. Otherwise
    /// whether a writer has the file, or had it then and may have ended its append since.
    fn same_size(&self, _change: Change) -> Option<bool> {
        None
    }

    /// From now on the file's state after that change counts as unchanged.
    fn accept(&self, _change: Change) {}

    /// Whether a writer holds the file's lock, as far as that is known.
    fn has_writer(&self) -> bool {
        false
    }

    /// Whether this is a handle on the same file, unchanged since it was opened, as far as that is known.
    fn is_still(&self, _other: &File) -> Result<bool> {
        Ok(true)
    }
}
