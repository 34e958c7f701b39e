//! The enumerations of the interface, except those of options, which are beside the options. Signatures
//! use an integer of fixed width; a separate enum has the values. Functions here convert to the library's
//! own types. No Rust enum is ever received from C.
//!
//! Values that are in a table of the model are not repeated here: `tests/repository/header/tables.rs` adds
//! them to the header.

use crate::capi::arg;
use crate::error::Result;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, Format, LogicalType};

/// A size that the file does not declare and that is not known yet.
pub const ZT_UNKNOWN_SIZE: u64 = 0xFFFF_FFFF_FFFF_FFFF;
/// The length of a range that goes to the end.
pub const ZT_WHOLE: u64 = 0xFFFF_FFFF_FFFF_FFFF;

/// A storage type: how elements are stored.
pub type zt_dtype = i32;

/// The values of zt_dtype. 0.1 and 1.0 files use other names, such as "float32" for ZT_DTYPE_F32.
#[repr(C)]
pub enum zt_dtype_value {
    /// An unknown name: zt_component_info.dtype_name.
    ZT_DTYPE_OTHER = 0,
}

/// A logical type: what stored elements mean if they are not plain numbers of their dtype.
pub type zt_type = i32;

/// The values of zt_type. An f8 or complex tensor has a dtype and a type, such as ZT_DTYPE_U8 and
/// ZT_TYPE_F8_E4M3FN (a 1.1 file has one name for both). ZT_TYPE_GGUF_ are block types, stored as u8: see
/// zt_type_block.
#[repr(C)]
pub enum zt_type_value {
    /// None: the elements are what the dtype says.
    ZT_TYPE_NONE = 0,
    /// An unknown name: zt_component_info.type_name.
    ZT_TYPE_OTHER = 7,
}

/// Which components an object has.
pub type zt_format = i32;

/// The values of zt_format. Spec 1.2 section 3.
#[repr(C)]
pub enum zt_format_value {
    /// An unknown name (zt_object_info.format_name), or a layout of 0.1 that is not dense.
    ZT_FORMAT_OTHER = 0,
    /// One row-major array: component "data".
    ZT_FORMAT_DENSE = 1,
    /// Compressed sparse rows: "values", "indices", "indptr".
    ZT_FORMAT_SPARSE_CSR = 2,
    /// Coordinate list: "values", "coords".
    ZT_FORMAT_SPARSE_COO = 3,
    /// Quantized groups: "packed_weight", "scales" and optionally "zeros".
    ZT_FORMAT_QUANTIZED_GROUP = 4,
    /// Blocks of a ZT_TYPE_GGUF_ type: component "data". See zt_type_block.
    ZT_FORMAT_BLOCKS = 5,
}

/// How stored bytes are encoded.
pub type zt_encoding = i32;

/// The values of zt_encoding.
#[repr(C)]
pub enum zt_encoding_value {
    /// Only for writing: the writer's option. Components of files never have it.
    ZT_ENCODING_DEFAULT = 0,
    /// An unknown name: zt_component_info.encoding_name. The bytes cannot be decoded.
    ZT_ENCODING_OTHER = 3,
}

pub(in crate::capi) fn dtype(value: zt_dtype) -> Result<Dtype> {
    Dtype::from_number(value).ok_or_else(|| arg::unknown("zt_dtype that can be used here", value))
}

pub(in crate::capi) fn dtype_number(dtype: Option<Dtype>) -> zt_dtype {
    dtype.map_or(zt_dtype_value::ZT_DTYPE_OTHER as zt_dtype, Dtype::number)
}

/// The logical type; `None` for ZT_TYPE_NONE. The caller has handled ZT_TYPE_OTHER, which needs a name.
pub(in crate::capi) fn logical(value: zt_type) -> Result<Option<Logical>> {
    if value == zt_type_value::ZT_TYPE_NONE as zt_type {
        return Ok(None);
    }
    Logical::from_number(value).map(Some).ok_or_else(|| arg::unknown("zt_type that can be used here", value))
}

#[inline(always)]
pub(in crate::capi) fn logical_number(logical: LogicalType) -> zt_type {
    // Called for every object of a listing. Almost none of them has a type.
    match logical == LogicalType::Absent {
        true => zt_type_value::ZT_TYPE_NONE as zt_type,
        false => other_logical_number(logical),
    }
}

#[cold]
fn other_logical_number(logical: LogicalType) -> zt_type {
    match logical {
        LogicalType::Known(known) => known.number(),
        LogicalType::Absent | LogicalType::SameAsDtype => zt_type_value::ZT_TYPE_NONE as zt_type,
        LogicalType::Other => zt_type_value::ZT_TYPE_OTHER as zt_type,
    }
}

pub(in crate::capi) fn format_number(format: Format) -> zt_format {
    let value = match format {
        Format::Dense => zt_format_value::ZT_FORMAT_DENSE,
        Format::SparseCsr => zt_format_value::ZT_FORMAT_SPARSE_CSR,
        Format::SparseCoo => zt_format_value::ZT_FORMAT_SPARSE_COO,
        Format::QuantizedGroup => zt_format_value::ZT_FORMAT_QUANTIZED_GROUP,
        Format::Blocks(_) => zt_format_value::ZT_FORMAT_BLOCKS,
        Format::Other(_) => zt_format_value::ZT_FORMAT_OTHER,
    };
    value as zt_format
}

/// The format with that number, if this version knows it.
pub(in crate::capi) fn format(value: zt_format) -> Option<Format> {
    Format::KNOWN.into_iter().find(|format| format_number(*format) == value)
}

/// The specification's name of a format to write; `None` for ZT_FORMAT_OTHER.
pub(in crate::capi) fn format_name(value: zt_format) -> Result<Option<&'static str>> {
    if value == zt_format_value::ZT_FORMAT_OTHER as zt_format {
        return Ok(None);
    }
    format(value).map(Format::name).ok_or_else(|| arg::unknown("zt_format that can be written", value))
}

/// The encoding to write with; `None` for the default.
pub(in crate::capi) fn encoding(value: zt_encoding) -> Result<Option<Encoding>> {
    if value == zt_encoding_value::ZT_ENCODING_DEFAULT as zt_encoding {
        return Ok(None);
    }
    let known = Encoding::from_number(value);
    known.map(Some).ok_or_else(|| arg::unknown("zt_encoding that can be written", value))
}
