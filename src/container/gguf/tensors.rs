//! The descriptions of a file's tensors, in as many steps as it takes to have their bytes.

use super::cursor::{Cursor, Read, Stop};
use crate::error::{broken, Error, Quoted, Rule};

/// Most dimensions of a tensor.
///
/// cbindgen:ignore
pub const MAX_RANK: usize = 8;

/// What a file says about a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Info<'a> {
    /// Its name, which need not be UTF-8.
    pub name: &'a [u8],
    dimensions: [u64; MAX_RANK],
    rank: usize,
    /// The number of its type.
    pub kind: u32,
    /// Where its data begins, from the start of all data.
    pub offset: u64,
}

impl Info<'_> {
    /// Its dimensions, the outermost first.
    pub fn shape(&self) -> &[u64] {
        self.dimensions.get(MAX_RANK.saturating_sub(self.rank)..).unwrap_or_default()
    }

    /// Elements that are side by side.
    pub fn row(&self) -> u64 {
        self.shape().last().copied().unwrap_or(1)
    }

    /// Puts its name in front of what is wrong with it.
    #[cold]
    pub fn blame(&self, e: Error) -> Error {
        e.within(format_args!("tensor {}", Quoted(self.name)))
    }
}

/// Bytes of the shortest description: a name of no bytes, no dimensions.
pub fn min_size(size_width: u64) -> u64 {
    size_width.saturating_add(4 + 4 + 8)
}

/// The next description.
#[inline]
pub fn info<'a>(cursor: &mut Cursor<'a>) -> Read<Info<'a>> {
    let name = cursor.string()?;
    let mut info = Info { name, dimensions: [0; MAX_RANK], rank: 0, kind: 0, offset: 0 };
    let rank = cursor.u32()?;
    info.rank = usize::try_from(rank).unwrap_or(usize::MAX);
    if info.rank > MAX_RANK {
        let e = broken!(Rule::ShapeRank, "it has {rank} dimensions, more than {MAX_RANK}");
        return Err(Stop::Failed(info.blame(e)));
    }
    for place in info.dimensions.iter_mut().rev().take(info.rank) {
        *place = cursor.size()?;
    }
    info.kind = cursor.u32()?;
    info.offset = cursor.u64()?;
    Ok(info)
}
