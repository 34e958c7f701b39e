//! Types of tensors, by their numbers in ggml.

use crate::model::dtype::{Block, Dtype, Logical};

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
