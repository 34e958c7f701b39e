//! What a value of GGUF is, by its number in the file.

use crate::model::dtype::Dtype;
use crate::model::value::Element;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number or a bool.
    Number(Dtype),
    /// A string.
    Text,
    /// An array of one kind.
    Array,
}

/// Each at its number.
const KINDS: [Kind; 13] = [
    Kind::Number(Dtype::U8),
    Kind::Number(Dtype::I8),
    Kind::Number(Dtype::U16),
    Kind::Number(Dtype::I16),
    Kind::Number(Dtype::U32),
    Kind::Number(Dtype::I32),
    Kind::Number(Dtype::F32),
    Kind::Number(Dtype::Bool),
    Kind::Text,
    Kind::Array,
    Kind::Number(Dtype::U64),
    Kind::Number(Dtype::I64),
    Kind::Number(Dtype::F64),
];

impl Kind {
    /// By its number in the file.
    #[inline]
    pub fn from_number(number: u32) -> Option<Kind> {
        KINDS.get(usize::try_from(number).ok()?).copied()
    }

    /// Its number in the file; none of a dtype that no value has.
    pub fn number(self) -> Option<u32> {
        KINDS.iter().position(|kind| *kind == self).and_then(|at| u32::try_from(at).ok())
    }

    /// Bytes that one takes at least, where lengths have `size_width` of them.
    #[inline]
    pub fn min_size(self, size_width: u64) -> u64 {
        match self {
            Kind::Number(dtype) => dtype.size() as u64,
            Kind::Text => size_width,
            Kind::Array => size_width.saturating_add(4),
        }
    }

    /// As attributes have it.
    pub fn element(self) -> Element {
        match self {
            Kind::Number(dtype) => Element::Number(dtype),
            Kind::Text => Element::Text,
            Kind::Array => Element::Array,
        }
    }
}
