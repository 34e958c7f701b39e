//! The functions and classes that have a meaning here. They are names for what is done here: nothing is
//! imported, and nothing else is ever resolved. Any other name is kept as a name.

use super::element::Element;
use crate::error::Quoted;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// Makes a dict: `OrderedDict`, `Counter`.
    Dict,
    /// Makes a dict; its argument is what missing values are made of.
    DefaultDict,
    /// Makes a set of a list.
    Set,
    /// Makes a `torch.Size` of a tuple: a tuple.
    Size,
    /// Makes bytes of a text.
    Encode,
    /// Makes a `bytearray` of bytes or of a text.
    ByteArray,
    /// Makes a value that is ignored: `complex`, `torch.device`, a layout.
    Opaque,
    /// A type that makes missing values of a `defaultdict`.
    Factory,
    /// `torch.Tensor`, `torch.nn.Parameter`: what a tensor is rebuilt as.
    TensorType,
    /// `torch.per_tensor_affine` and the like.
    QuantizationScheme,
    /// A dtype.
    Dtype(Element),
    /// A storage of elements.
    Storage(Element),
    /// A storage of bytes.
    UntypedStorage,
    /// Makes a tensor of a storage, an offset, a size and strides.
    RebuildTensor,
    /// As `RebuildTensor`, with `requires_grad` and hooks, and perhaps metadata.
    RebuildTensorV2,
    /// As `RebuildTensorV2`, with a dtype.
    RebuildTensorV3,
    /// Makes a parameter of a tensor: the tensor.
    RebuildParameter,
    /// Calls one of the others.
    RebuildFromType,
    /// Makes a tensor that is not read.
    Rebuild(Unreadable),
}

/// Tensors that have no plain elements.
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
    /// Whatever a later PyTorch rebuilds, by the foreign function at that position.
    Unknown(u32),
}

impl Unreadable {
    /// The name that stands for its dtype where it is listed.
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

/// Finds what a name stands for; none if it has no meaning here.
pub fn find(module: &[u8], name: &[u8]) -> Option<Global> {
    // Texts, because the compiler compares bytes one by one, in 5 KB. No known name is empty.
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

/// Whether a name that has no meaning here is that of a function by which a later PyTorch makes a tensor.
pub fn is_rebuild(module: &[u8], name: &[u8]) -> bool {
    module == b"torch._utils"
        && name.starts_with(b"_rebuild_")
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// A name as a message shows it, without quotes.
pub struct Bare<'b>(pub &'b [u8]);

impl std::fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
            true => write!(f, "{}", self.0.escape_ascii()),
            false => write!(f, "{}", Quoted(self.0)),
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
}
