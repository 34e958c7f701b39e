//! The door to a file's bytes.

use super::advice::{unsupported, Advice};
use super::pages::Pages;
use super::profile::{PageCache, Profile, ReadRange};
use crate::error::Result;
use std::ops::Range;

/// Where a file's bytes come from. Any number of threads may read at once.
pub trait ByteSource: Send + Sync {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// These bytes, if they can be looked at without copying.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]>;

    /// These bytes for the caller to keep, if they can be borrowed: those of [`ByteSource::slice`], or a view that the
    /// caller may change.
    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Fills `dst` with the bytes from `offset` on: all of it, or an error.
    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()>;

    /// Fills all of `ranges`; how is in the profile. After an error any of them may be undefined.
    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.dst))
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

    /// What reading costs.
    fn profile(&self) -> Profile {
        Profile::calls()
    }

    /// Another number where the bytes are others; 0 where that is not known.
    fn identity(&self) -> u64 {
        0
    }

    /// What the page cache has of them; none where they are in no file of this system.
    fn page_cache(&self) -> Option<&dyn PageCache> {
        None
    }
}
