//! The cost of reading from a source. Callers use it instead of checking the type of the source.

use super::direct::{DirectFile, BOUNCE_SIZE};
use crate::error::Result;
use std::fs::File;

/// A range of a file, and the memory that receives it.
pub struct ReadRange<'m> {
    /// The offset of the first byte.
    pub offset: u64,
    /// Receives all bytes.
    pub dst: &'m mut [u8],
}

/// How `ByteSource::read_many` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMany {
    /// With a read for each range.
    OneByOne,
    /// With one read for contiguous ranges.
    Adjacent,
    /// With one request for all ranges, wherever they are.
    Anywhere,
}

/// The most reading threads if the caller does not set their number and the source supports many concurrent
/// reads.
const MAX_WAITING_THREADS: usize = 16;

/// The cost of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The largest gap between two wanted ranges that is read rather than skipped.
    pub gap: u64,
    /// The largest useful combined read; 0 if combining reads does not help.
    pub largest_request: u64,
    /// The useful number of concurrent reads; `usize::MAX` means one for each thread.
    pub concurrency: usize,
    /// Whether only threads of the caller may read it.
    pub callers_thread: bool,
    /// How it reads several ranges.
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

    /// The profile of a local file, where a read is a system call.
    pub const fn file() -> Profile {
        let (gap, largest_request, read_many) = (16 << 10, BOUNCE_SIZE as u64, ReadMany::Adjacent);
        Profile { gap, largest_request, read_many, ..Profile::memory() }
    }

    /// The profile of an unknown source, where a read may use a network.
    pub const fn calls() -> Profile {
        Profile { gap: 64 << 10, largest_request: 8 << 20, concurrency: 1, ..Profile::memory() }
    }

    /// The number of reading threads if a caller asks for `wanted`. If that is 0, the useful number of
    /// concurrent reads, or one per processor if that is `usize::MAX`.
    pub fn threads(&self, wanted: usize) -> usize {
        match (self.callers_thread, wanted, self.concurrency) {
            (true, ..) => 1,
            (false, 0, worth) if worth > 1 && worth != usize::MAX => worth.min(MAX_WAITING_THREADS),
            (false, wanted, _) => crate::threads::count(wanted),
        }
    }

    /// Whether a combined request may be larger than a bounce buffer, and therefore than the processor's
    /// cache.
    pub const fn gathers(&self) -> bool {
        self.largest_request > BOUNCE_SIZE as u64
    }

    /// The size of a call that reads ranges anywhere in the file, if `threads` threads read at once.
    pub fn bytes_at_once(&self, threads: usize) -> u64 {
        let requests = self.concurrency.max(1).div_ceil(threads.max(1));
        self.largest_request.saturating_mul(requests as u64)
    }
}

/// The size and time of a file that changed since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// How many bytes are from the source's first byte to the end of the file.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
    /// Whether the source ended at the end of the file.
    pub to_end: bool,
}

/// A source's state in the page cache, and direct reads that bypass it.
pub trait PageCache: Send + Sync {
    /// Whether the byte at `offset` is in memory; `None` if that is unknown.
    fn resident(&self, offset: u64) -> Option<bool>;

    /// A second handle for direct reads.
    fn direct(&self) -> Result<Option<DirectFile>> {
        Ok(None)
    }

    /// The file's current size and time, if they differ from those when it was opened or from the last
    /// accepted change.
    fn change(&self) -> Result<Option<Change>> {
        Ok(None)
    }

    /// `None` if the size differs from the size when the file was opened, or at the last accepted change.
    /// Otherwise, whether a writer has the file now, or had it at that time and may have finished its append
    /// since.
    fn same_size(&self, _change: Change) -> Option<bool> {
        None
    }

    /// Accepts a change: from now on the file counts as unchanged in this state.
    fn accept(&self, _change: Change) {}

    /// Whether a writer is known to hold the file's lock.
    fn has_writer(&self) -> bool {
        false
    }

    /// Whether this is a handle on the same file, which has not changed since it was opened, as far as is
    /// known.
    fn is_still(&self, _other: &File) -> Result<bool> {
        Ok(true)
    }
}
