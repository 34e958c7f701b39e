//! The door to a file's bytes.

use super::advice::{unsupported, Advice};
use super::direct::DirectFile;
use super::pages::Pages;
use crate::error::Result;
use std::io::IoSliceMut;
use std::ops::Range;

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
            _ => Err(unsupported(advice, "the bytes are not those of a file that this library opened")),
        }
    }

    /// How the bytes lie in pages.
    fn pages(&self) -> Pages {
        Pages::new(crate::io::page_size() as u64, 0, self.size(), true)
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
    fn direct(&self) -> Result<Option<DirectFile>> {
        Ok(None)
    }
}
