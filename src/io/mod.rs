//! Bytes and offsets, never tensors: where a file's bytes come from and where they go.
//!
//! [`ByteSource`] and [`ByteSink`] are the one small door to the platform. Everything behind it that
//! is not portable Rust has a portable fallback beside it.

#[allow(unsafe_code)] // views its own memory as bytes
pub mod buffer;
pub mod direct;
pub mod file;
#[allow(unsafe_code)] // maps files, advises the kernel
pub mod map;
pub mod memory;
pub mod sink;

pub use buffer::AlignedBuffer;

use crate::error::Result;
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
    /// Soon: start reading.
    WillNeed,
    /// Not again: the pages may go.
    DontNeed,
    /// Now: read everything before the call returns.
    Populate,
    /// Now, and keep it in memory.
    Lock,
}

/// Where a file's bytes come from. Any number of threads may read at once.
pub trait ByteSource: Send + Sync {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// These bytes, if they can be lent without copying.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]>;

    /// Fills `dst` with the bytes from `offset` on: all of it, or an error.
    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()>;

    /// Says what will be done with the bytes of `range`. A source that cannot use it does nothing.
    fn advise(&self, _range: Range<u64>, _advice: Advice) -> Result<()> {
        Ok(())
    }

    /// Whether the bytes are those of a real file, so that direct reads make sense.
    fn is_file(&self) -> bool {
        false
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

    /// Everything was written: publishes it. The sink is done after that, whatever comes back.
    fn publish(&mut self) -> Result<()>;
}
