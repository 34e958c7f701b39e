//! The descriptions of a file's tensors, in as many steps as it takes to have their bytes; their types, by
//! their numbers in ggml.

use super::cursor::{Cursor, Read, Stop};
use crate::error::{broken, Error, Quoted, Rule};
use crate::model::dtype::{Block, Dtype, Logical};

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

/// Elements one by one.
const PLAIN: [(u32, Dtype); 8] = [
    (0, Dtype::F32),
    (1, Dtype::F16),
    (24, Dtype::I8),
    (25, Dtype::I16),
    (26, Dtype::I32),
    (27, Dtype::I64),
    (28, Dtype::F64),
    (30, Dtype::Bf16),
];

/// ggml's number of a type, if it has it.
pub fn type_number(dtype: Dtype, logical: Option<Logical>) -> Option<u32> {
    match logical {
        Some(logical) => logical.ggml_type(),
        None => PLAIN.iter().find(|(_, plain)| *plain == dtype).map(|(number, _)| *number),
    }
}

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Elements one by one.
    Plain(Dtype),
    /// Several to a block.
    Blocks(Logical),
    /// Unknown here, or a layout that ggml gave up, such as 4 and 31: nothing says how many bytes a tensor
    /// has.
    Other,
}

impl Type {
    /// By its number.
    fn find(number: u32) -> Type {
        let plain = PLAIN.iter().find(|(plain, _)| *plain == number).map(|(_, dtype)| Type::Plain(*dtype));
        let blocks = || Logical::from_ggml_type(number).map(Type::Blocks);
        plain.or_else(blocks).unwrap_or(Type::Other)
    }

    /// The storage type, if it is known.
    pub fn dtype(self) -> Option<Dtype> {
        match self {
            Type::Plain(dtype) => Some(dtype),
            Type::Blocks(logical) => Some(logical.dtype()),
            Type::Other => None,
        }
    }

    /// How its elements lie in bytes, if that is known.
    pub fn block(self) -> Option<Block> {
        match self {
            Type::Plain(dtype) => Some(Block { elements: 1, bytes: dtype.size() as u64 }),
            Type::Blocks(logical) => Some(logical.block()),
            Type::Other => None,
        }
    }
}

/// Types by number; the one that was looked up last is kept, as neighbours often have the same.
#[derive(Default)]
pub struct Types(Option<(u32, Type)>);

impl Types {
    /// The type of that number.
    #[inline]
    pub fn find(&mut self, number: u32) -> Type {
        match self.0 {
            Some((last, found)) if last == number => found,
            _ => {
                let found = Type::find(number);
                self.0 = Some((number, found));
                found
            }
        }
    }
}
