//! The source of a shard that is not opened.

use super::byte_source::ByteSource;
use crate::error::{fail, Result};
use std::ops::Range;

/// Refuses every read.
pub(crate) struct Elsewhere;

impl ByteSource for Elsewhere {
    fn size(&self) -> u64 {
        u64::MAX
    }

    fn slice(&self, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Err(fail!(Unsupported, "its bytes are in another file, a shard, which is not opened here"))
    }
}
