//! Types of elements by PyTorch's names for them and for their storages.

use crate::model::dtype::{Block, Dtype, Logical};
use crate::model::manifest::LogicalType;

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element(&'static Row);

/// A type and its names.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// Its name: `torch.float32` is "float32".
    name: &'static str,
    /// Its other name, or "".
    alias: &'static str,
    /// The class of its storage, or "".
    storage: &'static str,
    read: Read,
}

/// The type here that its elements are read as.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Plain(Dtype),
    Logical(Logical),
    /// It is not read.
    Never,
}

const fn plain(name: &'static str, alias: &'static str, storage: &'static str, dtype: Dtype) -> Row {
    Row { name, alias, storage, read: Read::Plain(dtype) }
}

const fn logical(name: &'static str, alias: &'static str, storage: &'static str, logical: Logical) -> Row {
    Row { name, alias, storage, read: Read::Logical(logical) }
}

/// A type that is not read: it is quantized or has less than a byte, and no text says how its bytes become
/// numbers.
const fn never(name: &'static str, storage: &'static str) -> Row {
    Row { name, alias: "", storage, read: Read::Never }
}

/// All types.
static ROWS: &[Row] = &[
    plain("float32", "float", "FloatStorage", Dtype::F32),
    plain("float16", "half", "HalfStorage", Dtype::F16),
    plain("bfloat16", "", "BFloat16Storage", Dtype::Bf16),
    plain("int64", "long", "LongStorage", Dtype::I64),
    plain("float64", "double", "DoubleStorage", Dtype::F64),
    plain("int32", "int", "IntStorage", Dtype::I32),
    plain("int16", "short", "ShortStorage", Dtype::I16),
    plain("int8", "", "CharStorage", Dtype::I8),
    plain("uint8", "", "ByteStorage", Dtype::U8),
    plain("bool", "", "BoolStorage", Dtype::Bool),
    plain("uint16", "", "", Dtype::U16),
    plain("uint32", "", "", Dtype::U32),
    plain("uint64", "", "", Dtype::U64),
    logical("complex32", "chalf", "", Logical::Complex32),
    logical("complex64", "cfloat", "ComplexFloatStorage", Logical::Complex64),
    logical("complex128", "cdouble", "ComplexDoubleStorage", Logical::Complex128),
    logical("float8_e4m3fn", "", "", Logical::F8E4m3fn),
    logical("float8_e5m2", "", "", Logical::F8E5m2),
    logical("float8_e4m3fnuz", "", "", Logical::F8E4m3fnuz),
    logical("float8_e5m2fnuz", "", "", Logical::F8E5m2fnuz),
    logical("float8_e8m0fnu", "", "", Logical::F8E8m0),
    logical("float4_e2m1fn_x2", "", "", Logical::F4E2m1),
    never("quint8", "QUInt8Storage"),
    never("qint8", "QInt8Storage"),
    never("qint32", "QInt32Storage"),
    never("quint4x2", "QUInt4x2Storage"),
    never("quint2x4", "QUInt2x4Storage"),
    never("bits8", "Bits8Storage"),
    never("bits16", "Bits16Storage"),
    never("bits1x8", "Bits1x8Storage"),
    never("bits2x4", "Bits2x4Storage"),
    never("bits4x2", "Bits4x2Storage"),
    never("uint1", ""),
    never("uint2", ""),
    never("uint3", ""),
    never("uint4", ""),
    never("uint5", ""),
    never("uint6", ""),
    never("uint7", ""),
    never("int1", ""),
    never("int2", ""),
    never("int3", ""),
    never("int4", ""),
    never("int5", ""),
    never("int6", ""),
    never("int7", ""),
    never("float6_e2m3fn", ""),
    never("float6_e3m2fn", ""),
];

/// A type that has no row.
static UNKNOWN: Row = never("unknown", "");

fn find(is: impl Fn(&Row) -> bool) -> Option<Element> {
    ROWS.iter().find(|row| is(row)).map(Element)
}

impl Element {
    /// By the name of the dtype in the module `torch`.
    pub fn from_name(name: &[u8]) -> Option<Element> {
        let is = |known: &str| known.as_bytes() == name;
        find(|row| !name.is_empty() && (is(row.name) || is(row.alias)))
    }

    /// By the class of the storage in the module `torch`.
    pub fn from_storage(name: &[u8]) -> Option<Element> {
        find(|row| !name.is_empty() && row.storage.as_bytes() == name)
    }

    /// A type that is not in the table.
    pub fn unknown() -> Element {
        Element(&UNKNOWN)
    }

    /// The name that stands for the dtype of a tensor whose elements are not read.
    pub fn reason(self) -> &'static str {
        match self == Element::unknown() {
            true => "torch.unknown",
            false => "torch.quantized",
        }
    }

    /// PyTorch's name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The storage type and the logical type; none where it is not read.
    pub fn types(self) -> Option<(Dtype, LogicalType)> {
        match self.0.read {
            Read::Plain(dtype) => Some((dtype, LogicalType::Absent)),
            Read::Logical(logical) => Some((logical.dtype(), LogicalType::Known(logical))),
            Read::Never => None,
        }
    }

    /// Bytes of what PyTorch counts as one element: of `float4_e2m1fn_x2` a byte with two numbers. None if it
    /// is not read.
    pub fn size(self) -> Option<u64> {
        match self.0.read {
            Read::Plain(dtype) => Some(dtype.size() as u64),
            Read::Logical(logical) => Some(logical.block().bytes),
            Read::Never => None,
        }
    }

    /// How many elements a shape of libztensor counts for one of PyTorch's: 2 of `float4_e2m1fn_x2`.
    pub fn elements_per_unit(self) -> u64 {
        match self.0.read {
            Read::Logical(logical) => {
                let Block { elements, .. } = logical.block();
                elements
            }
            Read::Plain(_) | Read::Never => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_each_of_its_names() {
        for row in ROWS {
            let found = Element::from_name(row.name.as_bytes()).unwrap();
            assert_eq!(found.name(), row.name);
            for other in [row.alias].into_iter().filter(|name| !name.is_empty()) {
                assert_eq!(Element::from_name(other.as_bytes()), Some(found), "{other}");
            }
            if !row.storage.is_empty() {
                assert_eq!(Element::from_storage(row.storage.as_bytes()), Some(found), "{}", row.storage);
            }
            assert_eq!(found.size().is_some(), found.types().is_some());
        }
        assert_eq!((Element::from_name(b""), Element::from_storage(b"")), (None, None));
        assert_eq!(Element::from_storage(b"Float128Storage"), None);
        assert_eq!(Element::from_name(b"float4_e2m1fn_x2").map(Element::elements_per_unit), Some(2));
    }
}
