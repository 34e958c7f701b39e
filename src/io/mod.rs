//! Bytes and offsets, never tensors: where a file's bytes come from and where they go.
//!
//! [`ByteSource`] and [`ByteSink`] are the one small door to the platform. Everything behind it that
//! is not portable Rust has a portable fallback beside it.

#[allow(unsafe_code)] // advises the kernel
pub mod advice;
pub mod append_sink;
#[allow(unsafe_code)] // asks the system for what the standard library has no call for
mod blocks;
mod buffered_file;
pub mod decoded_cache;
pub mod direct;
pub mod direct_sink;
pub mod file;
mod locked;
#[allow(unsafe_code)] // maps files
pub mod map;
pub mod memory;
#[allow(unsafe_code)] // asks the kernel which file system it is
pub mod network;
pub mod pages;
#[allow(unsafe_code)] // resolves paths in memory of its own
pub mod path;
mod refusal;
#[allow(unsafe_code)] // asks the kernel what is in memory
pub mod residence;
#[allow(unsafe_code)] // sets the thread's signals
mod signals;
pub mod sink;
#[allow(unsafe_code)] // asks the kernel about files
pub mod stat;
pub mod write_behind;

use crate::error::Result;
use pages::Pages;
use std::io::IoSliceMut;
use std::ops::Range;

/// What will be done with some bytes, so that the system can prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing is known.
    Normal,
    /// Front to back.
    Sequential,
    /// Here and there.
    Random,
    /// Needed next: start reading.
    WillNeed,
    /// Now: read everything before the call returns.
    Populate,
    /// Now, and keep it in memory.
    Lock,
    /// Need not be kept in memory any longer.
    Unlock,
    /// Not again by this process: it gives its pages back.
    Release,
    /// Not again by anybody: the page cache gives them back, too.
    Evict,
}

impl Advice {
    /// As the C interface calls it, behind `ZT_ADVICE_`.
    pub fn name(self) -> &'static str {
        match self {
            Advice::Normal => "NONE",
            Advice::Sequential => "SEQUENTIAL",
            Advice::Random => "RANDOM",
            Advice::WillNeed => "WILLNEED",
            Advice::Populate => "POPULATE",
            Advice::Lock => "LOCK",
            Advice::Unlock => "UNLOCK",
            Advice::Release => "RELEASE",
            Advice::Evict => "EVICT",
        }
    }
}

/// Where a file's bytes come from. Any number of threads may read at once.
pub trait ByteSource: Send + Sync {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// These bytes, if they can be looked at without copying.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]>;

    /// These bytes for the caller to keep, if they can be lent: those of [`ByteSource::slice`], or a view that the
    /// caller may change.
    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Fills `dst` with the bytes from `offset` on: all of it, or an error.
    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()>;

    /// Fills pieces of memory one after the other with the bytes from `offset` on. False, with nothing read, where that
    /// would take a call for each.
    fn read_scattered(&self, _offset: u64, _pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
        Ok(false)
    }

    /// Says what will be done with the bytes of `range`; an error where that cannot be done for them.
    fn advise(&self, _range: Range<u64>, advice: Advice) -> Result<()> {
        match advice {
            Advice::Normal => Ok(()),
            _ => {
                Err(advice::unsupported(advice, "the bytes are not those of a file that this library opened"))
            }
        }
    }

    /// How the bytes lie in pages.
    fn pages(&self) -> Pages {
        Pages::new(pages::page_size(), 0, self.size(), true)
    }

    /// Whether the bytes are those of a real file, so that direct reads make sense.
    fn is_file(&self) -> bool {
        false
    }

    /// Whether the byte at `offset` is in memory already; none where that is not known.
    fn resident(&self, _offset: u64) -> Option<bool> {
        None
    }

    /// A second handle for reads past the page cache, with the offset at which the bytes begin.
    fn direct(&self) -> Result<Option<direct::DirectFile>> {
        Ok(None)
    }
}

/// Where a file's bytes go: front to back, never seeking.
pub trait ByteSink: Send {
    /// Appends all of `bytes`, or fails for good.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends by up to `threads` threads at once, where the sink lets them: see [`direct_sink::WritePieces`].
    fn pieces<'s>(
        &'s mut self,
        _bytes: &'s [u8],
        _threads: usize,
    ) -> Result<Option<direct_sink::WritePieces<'s>>> {
        Ok(None)
    }

    /// Where another thread may write what is given to [`ByteSink::write_behind`], if only the caller's may not.
    fn write_behind_queue(&mut self) -> Option<write_behind::WriteBehind> {
        None
    }

    /// Appends all of `bytes`; the writing may be left to `queue`, which this sink made.
    fn write_behind(&mut self, bytes: &[u8], _queue: &write_behind::WriteBehind) -> Result<()> {
        self.write(bytes)
    }

    /// Everything was written: publishes it. The sink is done after that, whatever comes back.
    fn publish(&mut self) -> Result<()>;

    /// Writing or publishing failed: puts the destination back to what it was. A failure says what it is now.
    fn roll_back(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A value on the heap, in memory that is asked for fallibly. An array of one, because the standard
/// library has such a way for slices alone.
pub fn boxed<T>(value: T) -> Result<Box<[T; 1]>> {
    let mut one = Vec::new();
    one.try_reserve_exact(1)?;
    one.push(value);
    one.into_boxed_slice().try_into().map_err(|_| crate::error::fail!(Internal, "a slice of one is not one"))
}

impl<S: ByteSource> ByteSource for [S; 1] {
    fn size(&self) -> u64 {
        let [source] = self;
        source.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let [source] = self;
        source.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let [source] = self;
        source.read_at(offset, dst)
    }

    fn read_scattered(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
        let [source] = self;
        source.read_scattered(offset, pieces)
    }

    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        let [source] = self;
        source.borrow(range)
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<()> {
        let [source] = self;
        source.advise(range, advice)
    }

    fn pages(&self) -> Pages {
        let [source] = self;
        source.pages()
    }

    fn is_file(&self) -> bool {
        let [source] = self;
        source.is_file()
    }

    fn resident(&self, offset: u64) -> Option<bool> {
        let [source] = self;
        source.resident(offset)
    }

    fn direct(&self) -> Result<Option<direct::DirectFile>> {
        let [source] = self;
        source.direct()
    }
}

impl<S: ByteSink> ByteSink for [S; 1] {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let [sink] = self;
        sink.write(bytes)
    }

    fn pieces<'s>(
        &'s mut self,
        bytes: &'s [u8],
        threads: usize,
    ) -> Result<Option<direct_sink::WritePieces<'s>>> {
        let [sink] = self;
        sink.pieces(bytes, threads)
    }

    fn write_behind_queue(&mut self) -> Option<write_behind::WriteBehind> {
        let [sink] = self;
        sink.write_behind_queue()
    }

    fn write_behind(&mut self, bytes: &[u8], queue: &write_behind::WriteBehind) -> Result<()> {
        let [sink] = self;
        sink.write_behind(bytes, queue)
    }

    fn publish(&mut self) -> Result<()> {
        let [sink] = self;
        sink.publish()
    }

    fn roll_back(&mut self) -> Result<()> {
        let [sink] = self;
        sink.roll_back()
    }
}
