//! The enumerations of the interface: a fixed-width integer in signatures, a companion enum for
//! the values, and the way into the library's own types. No Rust enum is ever received from C.

use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, Format, LogicalType};

/// A size that the file does not declare and that nobody found out yet.
pub const ZT_UNKNOWN_SIZE: u64 = 0xFFFF_FFFF_FFFF_FFFF;
/// As the length of a range: all from its offset to the end. A length of 0 is an empty range.
pub const ZT_WHOLE: u64 = 0xFFFF_FFFF_FFFF_FFFF;

/// A storage type: one of the ZT_DTYPE_ values. Spec 1.2 section 2.
pub type zt_dtype = i32;

/// The values of zt_dtype. 0.1 and 1.0 files name them differently ("float32"); they are given here
/// in their 1.2 meaning.
#[repr(C)]
pub enum zt_dtype_value {
    /// A name that this version does not know; zt_component_dtype_name returns it.
    ZT_DTYPE_OTHER = 0,
    /// IEEE 754 double precision, 8 bytes.
    ZT_DTYPE_F64 = 1,
    /// IEEE 754 single precision, 4 bytes.
    ZT_DTYPE_F32 = 2,
    /// IEEE 754 half precision, 2 bytes.
    ZT_DTYPE_F16 = 3,
    /// bfloat16, 2 bytes.
    ZT_DTYPE_BF16 = 4,
    /// Two's complement, 8 bytes.
    ZT_DTYPE_I64 = 5,
    /// Two's complement, 4 bytes.
    ZT_DTYPE_I32 = 6,
    /// Two's complement, 2 bytes.
    ZT_DTYPE_I16 = 7,
    /// Two's complement, 1 byte.
    ZT_DTYPE_I8 = 8,
    /// Unsigned, 8 bytes.
    ZT_DTYPE_U64 = 9,
    /// Unsigned, 4 bytes.
    ZT_DTYPE_U32 = 10,
    /// Unsigned, 2 bytes.
    ZT_DTYPE_U16 = 11,
    /// Unsigned, 1 byte.
    ZT_DTYPE_U8 = 12,
    /// 1 byte: 0 is false, 1 is true. Bytes are handed out as they are; only verification checks them.
    ZT_DTYPE_BOOL = 13,
}

/// A logical type: one of the ZT_TYPE_ values. Spec 1.2 section 2.
pub type zt_type = i32;

/// The values of zt_type. The 1.1 dtypes f8_e4m3, f8_e5m2, complex64 and complex128 are given as
/// dtype and type. ZT_TYPE_GGUF_ are the block types of GGUF, stored as u8; see zt_type_block.
#[repr(C)]
pub enum zt_type_value {
    /// Absent: the elements are what the dtype says.
    ZT_TYPE_NONE = 0,
    /// 8-bit float, 4 exponent bits, finite: stored as u8.
    ZT_TYPE_F8_E4M3FN = 1,
    /// 8-bit float, 5 exponent bits: stored as u8.
    ZT_TYPE_F8_E5M2 = 2,
    /// 8-bit float, 4 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_F8_E4M3FNUZ = 3,
    /// 8-bit float, 5 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_F8_E5M2FNUZ = 4,
    /// Pairs of f32: real, imaginary.
    ZT_TYPE_COMPLEX64 = 5,
    /// Pairs of f64: real, imaginary.
    ZT_TYPE_COMPLEX128 = 6,
    /// A name that this version does not know; zt_component_type_name returns it.
    ZT_TYPE_OTHER = 7,
    /// 8-bit power of two: a scale. Stored as u8.
    ZT_TYPE_F8_E8M0 = 8,
    /// 4-bit float: 2 elements in a byte, the first one in its low bits.
    ZT_TYPE_F4_E2M1 = 9,
    /// 6-bit float, 2 exponent bits: 4 elements in 3 bytes.
    ZT_TYPE_F6_E2M3 = 10,
    /// 6-bit float, 3 exponent bits: 4 elements in 3 bytes.
    ZT_TYPE_F6_E3M2 = 11,
    /// Pairs of f16: real, imaginary.
    ZT_TYPE_COMPLEX32 = 12,
    ZT_TYPE_GGUF_Q4_0 = 32,
    ZT_TYPE_GGUF_Q4_1 = 33,
    ZT_TYPE_GGUF_Q5_0 = 34,
    ZT_TYPE_GGUF_Q5_1 = 35,
    ZT_TYPE_GGUF_Q8_0 = 36,
    ZT_TYPE_GGUF_Q8_1 = 37,
    ZT_TYPE_GGUF_Q2_K = 38,
    ZT_TYPE_GGUF_Q3_K = 39,
    ZT_TYPE_GGUF_Q4_K = 40,
    ZT_TYPE_GGUF_Q5_K = 41,
    ZT_TYPE_GGUF_Q6_K = 42,
    ZT_TYPE_GGUF_Q8_K = 43,
    ZT_TYPE_GGUF_IQ2_XXS = 44,
    ZT_TYPE_GGUF_IQ2_XS = 45,
    ZT_TYPE_GGUF_IQ3_XXS = 46,
    ZT_TYPE_GGUF_IQ1_S = 47,
    ZT_TYPE_GGUF_IQ4_NL = 48,
    ZT_TYPE_GGUF_IQ3_S = 49,
    ZT_TYPE_GGUF_IQ2_S = 50,
    ZT_TYPE_GGUF_IQ4_XS = 51,
    ZT_TYPE_GGUF_IQ1_M = 52,
    ZT_TYPE_GGUF_TQ1_0 = 53,
    ZT_TYPE_GGUF_TQ2_0 = 54,
    ZT_TYPE_GGUF_MXFP4 = 55,
    ZT_TYPE_GGUF_NVFP4 = 56,
    ZT_TYPE_GGUF_Q1_0 = 57,
    ZT_TYPE_GGUF_Q2_0 = 58,
}

/// A layout of components: one of the ZT_FORMAT_ values. Spec 1.2 section 3.
pub type zt_format = i32;

/// The values of zt_format.
#[repr(C)]
pub enum zt_format_value {
    /// A name that this version does not know, or a 0.1 layout that is not dense.
    ZT_FORMAT_OTHER = 0,
    /// One row-major array: component "data".
    ZT_FORMAT_DENSE = 1,
    /// Compressed sparse rows: "values", "indices", "indptr".
    ZT_FORMAT_SPARSE_CSR = 2,
    /// Coordinate list: "values", "coords".
    ZT_FORMAT_SPARSE_COO = 3,
    /// Quantized groups: "packed_weight", "scales" and, if there are zero points, "zeros".
    ZT_FORMAT_QUANTIZED_GROUP = 4,
    /// Blocks of a ZT_TYPE_GGUF_ type: component "data". The shape counts elements, see zt_type_block.
    ZT_FORMAT_BLOCKS = 5,
}

/// How stored bytes become the component's bytes: one of the ZT_ENCODING_ values.
pub type zt_encoding = i32;

/// The values of zt_encoding.
#[repr(C)]
pub enum zt_encoding_value {
    /// When writing: what the writer's options say. Never given for a component of a file.
    ZT_ENCODING_DEFAULT = 0,
    /// As they are.
    ZT_ENCODING_RAW = 1,
    /// Zstandard frames (RFC 8878).
    ZT_ENCODING_ZSTD = 2,
    /// A name that this version does not know; its bytes cannot be read.
    ZT_ENCODING_OTHER = 3,
}

#[cold]
pub(super) fn unknown(what: &str, value: impl std::fmt::Display) -> crate::error::Error {
    fail!(InvalidArgument, "{value} is no {what}")
}

pub(super) fn dtype(value: zt_dtype) -> Result<Dtype> {
    Dtype::from_number(value).ok_or_else(|| unknown("zt_dtype that can be used here", value))
}

pub(super) fn dtype_number(dtype: Option<Dtype>) -> zt_dtype {
    dtype.map_or(zt_dtype_value::ZT_DTYPE_OTHER as zt_dtype, Dtype::number)
}

/// None for absent; OTHER needs a name, which the caller of this knows.
pub(super) fn logical(value: zt_type) -> Result<Option<Logical>> {
    if value == zt_type_value::ZT_TYPE_NONE as zt_type {
        return Ok(None);
    }
    Logical::from_number(value).map(Some).ok_or_else(|| unknown("zt_type that can be used here", value))
}

#[inline(always)]
pub(super) fn logical_number(logical: LogicalType) -> zt_type {
    // Called for every object of a listing, of which next to none has one.
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

pub(super) fn format_number(format: Format) -> zt_format {
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

/// A format that this version knows.
pub(super) fn format(value: zt_format) -> Option<Format> {
    Format::KNOWN.into_iter().find(|format| format_number(*format) == value)
}

/// The spec's name of a format; none for OTHER.
pub(super) fn format_name(value: zt_format) -> Result<Option<&'static str>> {
    if value == zt_format_value::ZT_FORMAT_OTHER as zt_format {
        return Ok(None);
    }
    format(value).map(Format::name).ok_or_else(|| unknown("zt_format", value))
}

pub(super) fn encoding_number(encoding: Encoding) -> zt_encoding {
    encoding.number()
}

/// An encoding to write with; none for the default.
pub(super) fn encoding(value: zt_encoding) -> Result<Option<Encoding>> {
    if value == zt_encoding_value::ZT_ENCODING_DEFAULT as zt_encoding {
        return Ok(None);
    }
    let known = Encoding::from_number(value);
    known.map(Some).ok_or_else(|| unknown("zt_encoding that can be written", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header's enumerations are written out for cbindgen; these are the model's numbers.
    #[test]
    fn the_header_has_the_numbers_of_the_model() {
        use zt_dtype_value::*;
        use zt_encoding_value::*;
        use zt_type_value::*;
        let dtypes = [
            ZT_DTYPE_F64 as i32,
            ZT_DTYPE_F32 as i32,
            ZT_DTYPE_F16 as i32,
            ZT_DTYPE_BF16 as i32,
            ZT_DTYPE_I64 as i32,
            ZT_DTYPE_I32 as i32,
            ZT_DTYPE_I16 as i32,
            ZT_DTYPE_I8 as i32,
            ZT_DTYPE_U64 as i32,
            ZT_DTYPE_U32 as i32,
            ZT_DTYPE_U16 as i32,
            ZT_DTYPE_U8 as i32,
            ZT_DTYPE_BOOL as i32,
        ];
        assert_eq!(Dtype::ALL.map(Dtype::number), dtypes);
        let logical = [
            ZT_TYPE_F8_E4M3FN as i32,
            ZT_TYPE_F8_E5M2 as i32,
            ZT_TYPE_F8_E4M3FNUZ as i32,
            ZT_TYPE_F8_E5M2FNUZ as i32,
            ZT_TYPE_COMPLEX64 as i32,
            ZT_TYPE_COMPLEX128 as i32,
            ZT_TYPE_F8_E8M0 as i32,
            ZT_TYPE_F4_E2M1 as i32,
            ZT_TYPE_F6_E2M3 as i32,
            ZT_TYPE_F6_E3M2 as i32,
            ZT_TYPE_COMPLEX32 as i32,
        ];
        let blocks = ZT_TYPE_GGUF_Q4_0 as i32..=ZT_TYPE_GGUF_Q2_0 as i32;
        let logical: Vec<i32> = logical.into_iter().chain(blocks).collect();
        assert_eq!(Logical::ALL.map(Logical::number).to_vec(), logical);
        assert_eq!(Encoding::KNOWN.map(Encoding::number), [ZT_ENCODING_RAW as i32, ZT_ENCODING_ZSTD as i32]);
        assert_eq!(Encoding::Other.number(), ZT_ENCODING_OTHER as i32);
    }
}
