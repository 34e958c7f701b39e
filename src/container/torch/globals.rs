//! The functions and classes with a known meaning. Their names select code in this folder: nothing is
//! imported, and no other name is ever resolved. Other names are only kept as names. Element types have
//! PyTorch's names for dtypes and storages.

use crate::error::Quoted;
use crate::model::dtype::{Block, Dtype, Logical};
use crate::model::manifest::LogicalType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// Makes a dict: `OrderedDict`, `Counter`.
    Dict,
    /// Makes a dict. Its argument makes missing values.
    DefaultDict,
    /// Makes a set from a list.
    Set,
    /// Makes a `torch.Size` from a tuple: it becomes a tuple.
    Size,
    /// Makes bytes from a text.
    Encode,
    /// Makes a `bytearray` from bytes or a text.
    ByteArray,
    /// Makes a value that is ignored: `complex`, `torch.device`, a layout.
    Opaque,
    /// A type that makes the missing values of a `defaultdict`.
    Factory,
    /// `torch.Tensor` or `torch.nn.Parameter`: the class of a rebuilt tensor.
    TensorType,
    /// `torch.per_tensor_affine` and similar values.
    QuantizationScheme,
    Dtype(Element),
    /// A storage of elements of this type.
    Storage(Element),
    /// A storage that counts bytes.
    UntypedStorage,
    /// Makes a tensor from a storage, an offset, a size and strides.
    RebuildTensor,
    /// Like `RebuildTensor`, with `requires_grad`, hooks, and possibly metadata.
    RebuildTensorV2,
    /// Like `RebuildTensorV2`, with a dtype.
    RebuildTensorV3,
    /// Makes a parameter from a tensor: it becomes the tensor.
    RebuildParameter,
    /// Calls another of these functions.
    RebuildFromType,
    /// Makes a tensor that is not read.
    Rebuild(Unreadable),
}

impl Global {
    /// Whether it makes a tensor from a storage.
    pub fn rebuilds_from_storage(self) -> bool {
        matches!(self, Global::RebuildTensor | Global::RebuildTensorV2 | Global::RebuildTensorV3)
    }
}

/// Tensors without plain elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Numbers with scales.
    Quantized,
    /// Positions and values.
    Sparse,
    /// A shape without elements.
    Meta,
    /// Several tensors of different shapes.
    Nested,
    /// A tensor of a later PyTorch, which the foreign function at this position rebuilds.
    Unknown(u32),
}

impl Unreadable {
    /// The name that is listed instead of its dtype.
    pub fn name(self) -> &'static str {
        match self {
            Unreadable::Quantized => "torch.quantized",
            Unreadable::Sparse => "torch.sparse",
            Unreadable::Meta => "torch.meta",
            Unreadable::Nested => "torch.nested",
            Unreadable::Unknown(_) => "torch.unknown",
        }
    }
}

/// The meaning of a name; `None` if it has none here.
pub fn find(module: &[u8], name: &[u8]) -> Option<Global> {
    // No known name is this long. A few bytes of a pickle can repeat a long name.
    if module.len().max(name.len()) > 64 {
        return None;
    }
    // Compare texts, because the compiler compares bytes one by one, which takes 5 KB of code. No known name
    // is empty.
    let text = |name| std::str::from_utf8(name).unwrap_or_default();
    match (text(module), text(name)) {
        ("collections", "OrderedDict" | "Counter") => Some(Global::Dict),
        ("collections", "defaultdict") => Some(Global::DefaultDict),
        ("builtins" | "__builtin__", name) => builtin(name),
        ("_codecs", "encode") => Some(Global::Encode),
        ("torch", name) => of_torch(name),
        ("torch.storage", "UntypedStorage") => Some(Global::UntypedStorage),
        ("torch.nn.parameter", "Parameter" | "Buffer") => Some(Global::TensorType),
        ("torch.serialization", "_get_layout") => Some(Global::Opaque),
        ("torch._tensor", "_rebuild_from_type_v2") => Some(Global::RebuildFromType),
        ("torch._utils", name) => of_utils(name),
        _ => None,
    }
}

fn builtin(name: &str) -> Option<Global> {
    match name {
        "set" | "frozenset" => Some(Global::Set),
        "bytearray" => Some(Global::ByteArray),
        "complex" => Some(Global::Opaque),
        "dict" | "list" | "tuple" | "int" | "float" => Some(Global::Factory),
        _ => None,
    }
}

fn of_torch(name: &str) -> Option<Global> {
    match name {
        "Size" => Some(Global::Size),
        "Tensor" => Some(Global::TensorType),
        "device" => Some(Global::Opaque),
        "per_tensor_affine"
        | "per_tensor_symmetric"
        | "per_channel_affine"
        | "per_channel_symmetric"
        | "per_channel_affine_float_qparams" => Some(Global::QuantizationScheme),
        _ => {
            let dtype = || Element::from_name(name.as_bytes()).map(Global::Dtype);
            Element::from_storage(name.as_bytes()).map(Global::Storage).or_else(dtype)
        }
    }
}

fn of_utils(name: &str) -> Option<Global> {
    match name {
        "_rebuild_tensor" => Some(Global::RebuildTensor),
        "_rebuild_tensor_v2" => Some(Global::RebuildTensorV2),
        "_rebuild_tensor_v3" => Some(Global::RebuildTensorV3),
        "_rebuild_parameter" | "_rebuild_parameter_with_state" => Some(Global::RebuildParameter),
        "_rebuild_qtensor" => Some(Global::Rebuild(Unreadable::Quantized)),
        "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor" => Some(Global::Rebuild(Unreadable::Sparse)),
        "_rebuild_meta_tensor_no_storage" => Some(Global::Rebuild(Unreadable::Meta)),
        "_rebuild_nested_tensor" => Some(Global::Rebuild(Unreadable::Nested)),
        _ => None,
    }
}

/// Whether an unknown name may be a function by which a later PyTorch makes a tensor.
pub fn is_rebuild(module: &[u8], name: &[u8]) -> bool {
    module == b"torch._utils"
        && name.starts_with(b"_rebuild_")
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// A name in a message, without quotes.
pub struct Bare<'b>(pub &'b [u8]);

impl std::fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
            true => write!(f, "{}", self.0.escape_ascii()),
            false => write!(f, "{}", Quoted(self.0)),
        }
    }
}

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element(&'static Row);

#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// Its name: "float32" for `torch.float32`.
    name: &'static str,
    /// Another name, or "".
    alias: &'static str,
    /// The class of its storage, or "".
    storage: &'static str,
    read: Read,
}

/// How its elements are read.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Plain(Dtype),
    Logical(Logical),
    /// Not at all. The storage counts elements of this many bytes; 0 if that is unknown.
    Never(u64),
}

const fn plain(name: &'static str, alias: &'static str, storage: &'static str, dtype: Dtype) -> Row {
    Row { name, alias, storage, read: Read::Plain(dtype) }
}

const fn logical(name: &'static str, alias: &'static str, storage: &'static str, logical: Logical) -> Row {
    Row { name, alias, storage, read: Read::Logical(logical) }
}

/// A type that is not read: it is quantized or smaller than a byte, and no document says how to get numbers
/// from its bytes.
const fn never(name: &'static str, storage: &'static str, size: u64) -> Row {
    Row { name, alias: "", storage, read: Read::Never(size) }
}

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
    never("quint8", "QUInt8Storage", 1),
    never("qint8", "QInt8Storage", 1),
    never("qint32", "QInt32Storage", 4),
    never("quint4x2", "QUInt4x2Storage", 1),
    never("quint2x4", "QUInt2x4Storage", 1),
    never("bits8", "Bits8Storage", 1),
    never("bits16", "Bits16Storage", 2),
    never("bits1x8", "Bits1x8Storage", 1),
    never("bits2x4", "Bits2x4Storage", 1),
    never("bits4x2", "Bits4x2Storage", 1),
    never("uint1", "", 0),
    never("uint2", "", 0),
    never("uint3", "", 0),
    never("uint4", "", 0),
    never("uint5", "", 0),
    never("uint6", "", 0),
    never("uint7", "", 0),
    never("int1", "", 0),
    never("int2", "", 0),
    never("int3", "", 0),
    never("int4", "", 0),
    never("int5", "", 0),
    never("int6", "", 0),
    never("int7", "", 0),
    never("float6_e2m3fn", "", 0),
    never("float6_e3m2fn", "", 0),
];

/// Used for types that have no row.
static UNKNOWN: Row = never("unknown", "", 0);

fn find_row(is: impl Fn(&Row) -> bool) -> Option<Element> {
    ROWS.iter().find(|row| is(row)).map(Element)
}

impl Element {
    /// The type with this name of a dtype in the module `torch`.
    pub fn from_name(name: &[u8]) -> Option<Element> {
        let is = |known: &str| known.as_bytes() == name;
        find_row(|row| !name.is_empty() && (is(row.name) || is(row.alias)))
    }

    /// The type with this class of a storage in the module `torch`.
    pub fn from_storage(name: &[u8]) -> Option<Element> {
        find_row(|row| !name.is_empty() && row.storage.as_bytes() == name)
    }

    /// A type that is not in the table.
    pub fn unknown() -> Element {
        Element(&UNKNOWN)
    }

    /// The name that is listed instead of the dtype of a tensor that is not read.
    pub fn reason(self) -> &'static str {
        match self == Element::unknown() {
            true => "torch.unknown",
            false => "torch.quantized",
        }
    }

    /// PyTorch's name of the type.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The storage type and logical type; `None` if it is not read.
    pub fn types(self) -> Option<(Dtype, LogicalType)> {
        match self.0.read {
            Read::Plain(dtype) => Some((dtype, LogicalType::Absent)),
            Read::Logical(logical) => Some((logical.dtype(), LogicalType::Known(logical))),
            Read::Never(_) => None,
        }
    }

    /// The size in bytes of what PyTorch counts as an element. For `float4_e2m1fn_x2`, this is a byte with
    /// two numbers. `None` if it is not read.
    pub fn size(self) -> Option<u64> {
        self.block().map(|block| block.bytes)
    }

    /// The size in bytes of what a storage counts as an element; `None` if it is unknown.
    pub fn stored_size(self) -> Option<u64> {
        match self.0.read {
            Read::Never(size) => Some(size).filter(|size| *size > 0),
            _ => self.size(),
        }
    }

    /// How many elements of a libztensor shape are one element of PyTorch's shape: 2 for `float4_e2m1fn_x2`.
    pub fn elements_per_unit(self) -> u64 {
        self.block().map_or(1, |block| block.elements)
    }

    fn block(self) -> Option<Block> {
        match self.0.read {
            Read::Plain(dtype) => Some(dtype.block()),
            Read::Logical(logical) => Some(logical.block()),
            Read::Never(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_list_has_no_meaning() {
        let foreign: [(&str, &str); 18] = [
            ("os", "system"),
            ("posix", "system"),
            ("builtins", "eval"),
            ("__builtin__", "exec"),
            ("builtins", "getattr"),
            ("builtins", "set "),
            (" builtins", "set"),
            ("torch", "_utils._rebuild_tensor_v2"),
            ("torch", "load"),
            ("torch", ""),
            ("torch", "Float128Storage"),
            ("torch._utils", "_rebuild_tensor_v2 "),
            ("torch._utils", "_import_dotted_name"),
            ("torch.storage", "_load_from_bytes"),
            ("torch.cuda", "FloatStorage"),
            ("numpy.core.multiarray", "_reconstruct"),
            ("collections", "namedtuple"),
            ("", ""),
        ];
        for (module, name) in foreign {
            assert_eq!(find(module.as_bytes(), name.as_bytes()), None, "{module} {name}");
        }
        assert_eq!(
            (Bare(b"os.path").to_string(), Bare(b"o\ns").to_string()),
            ("os.path".into(), r#""o\ns""#.into())
        );
    }

    #[test]
    fn names_of_checkpoints_are_known() {
        assert_eq!(find(b"torch._utils", b"_rebuild_tensor_v2"), Some(Global::RebuildTensorV2));
        assert_eq!(find(b"__builtin__", b"set"), Some(Global::Set));
        assert!(
            matches!(find(b"torch", b"FloatStorage"), Some(Global::Storage(f32)) if f32.name() == "float32")
        );
        assert!(
            matches!(find(b"torch", b"float8_e5m2"), Some(Global::Dtype(f8)) if f8.name() == "float8_e5m2")
        );
    }

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
