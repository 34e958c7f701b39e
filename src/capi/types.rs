//! The enumerations of the interface: a fixed-width integer in signatures, a companion enum for
//! the values, and the way into the library's own types. No Rust enum is ever received from C.

use crate::error::{fail, Result};
use crate::io::Advice;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, Format, LogicalType, Version};
use crate::payload::digest::Algorithm;

/// A storage type: one of the ZT_DTYPE_ values. Spec 1.2 section 2.
pub type zt_dtype = i32;

/// The values of zt_dtype. 0.1 and 1.0 files spell them differently ("float32"); they are given here
/// in their 1.2 meaning.
#[repr(C)]
pub enum zt_dtype_value {
    /// A name that this version does not know; zt_component_dtype_name tells it.
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
/// dtype and type.
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
    /// A name that this version does not know; zt_component_type_name tells it.
    ZT_TYPE_OTHER = 7,
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

/// A checksum algorithm: one of the ZT_DIGEST_ values.
pub type zt_digest = i32;

/// The values of zt_digest.
#[repr(C)]
pub enum zt_digest_value {
    /// What the writer's options say; there: none.
    ZT_DIGEST_DEFAULT = 0,
    /// No digest.
    ZT_DIGEST_NONE = 1,
    /// CRC-32C (Castagnoli): finds accidents.
    ZT_DIGEST_CRC32C = 2,
    /// SHA-256: finds intent, too, if the manifest is trusted.
    ZT_DIGEST_SHA256 = 3,
}

/// How the file's bytes are reached: one of the ZT_MODE_ values.
pub type zt_mode = i32;

/// The values of zt_mode.
#[repr(C)]
pub enum zt_mode_value {
    /// The file is mapped and bytes can be lent. If somebody cuts the file short while it is open,
    /// touching the lost pages raises SIGBUS in the toucher; if somebody writes to it, the bytes change.
    ZT_MODE_MAP = 0,
    /// Positioned reads only, never a mapping: a file cut short while it is open is ZT_ERROR_IO.
    ZT_MODE_READ = 1,
    /// As ZT_MODE_MAP, but as ZT_MODE_READ where the file is on a network file system or one that a program serves
    /// (NFS, SMB, FUSE, 9p, Ceph, Lustre and others; told on Linux and macOS), where the system refuses the mapping,
    /// and where the file does not fit the process's address space. zt_file_mode tells which it is.
    ZT_MODE_AUTO = 2,
    /// As ZT_MODE_MAP, and the caller may write, const cast away, to what is lent (zt_component_ptr, zt_file_bytes,
    /// views, zt_component_load, DLPack): a page that is written to becomes this file handle's own copy, in memory;
    /// neither the file on disk nor anybody else sees it. All that the handle lends shows the change. What copies or
    /// checks (zt_component_read, ranges, slices, batches, conversions, verification, zt_write_copy) sees the file's
    /// bytes. The library writes nothing there. Two threads at the same bytes are the caller's to keep apart.
    ZT_MODE_PRIVATE = 3,
}

/// What will be done with bytes: one of the ZT_ADVICE_ values.
pub type zt_advice = u32;

/// The values of zt_advice.
#[repr(C)]
pub enum zt_advice_value {
    /// Nothing is known.
    ZT_ADVICE_NONE = 0,
    /// Front to back.
    ZT_ADVICE_SEQUENTIAL = 1,
    /// Here and there.
    ZT_ADVICE_RANDOM = 2,
    /// Soon: starts reading and returns at once.
    ZT_ADVICE_WILLNEED = 3,
    /// Now: returns when the bytes are in memory (where the system can; else as WILLNEED).
    ZT_ADVICE_POPULATE = 4,
    /// Now, and keeps the bytes in memory until ZT_ADVICE_UNLOCK or the last zt_close, within the process's limit on
    /// locked memory: just these, with the pages that they touch. Of a mapping only.
    ZT_ADVICE_LOCK = 5,
    /// Not again by anybody, soon: as ZT_ADVICE_RELEASE where the file is mapped, and the page cache gives the pages
    /// back, too, unless another process has them mapped or they were not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// Not again by this process, soon: it gives back its pages of the mapping; the page cache keeps them. They are
    /// mapped anew, with the same content, when they are touched. Of a mapping only, and not in ZT_MODE_PRIVATE, where
    /// it would undo what was changed.
    ZT_ADVICE_RELEASE = 7,
    /// Undoes ZT_ADVICE_LOCK of just these bytes, however often it was given: a page stays locked as long as any byte
    /// of it is.
    ZT_ADVICE_UNLOCK = 8,
}

/// Whether batch reads go past the page cache: one of the ZT_DIRECT_ values.
pub type zt_direct = i32;

/// The values of zt_direct.
#[repr(C)]
pub enum zt_direct_value {
    /// Past the page cache where that is faster: in a batch of at least 16 MiB, the parts that are not in
    /// memory already, if the file system says that it has direct reads. What was read so is not in the page
    /// cache afterwards.
    ZT_DIRECT_AUTO = 0,
    /// Through the page cache: for what will be read again soon.
    ZT_DIRECT_NEVER = 1,
    /// Past the page cache; ZT_ERROR_UNSUPPORTED where the file system has no such reads. Where one fails
    /// all the same, that and those after it go through the page cache, and zt_read_stats.reason tells.
    ZT_DIRECT_ALWAYS = 2,
}

/// A version of the spec to write: one of the ZT_SPEC_ values.
pub type zt_spec_version = u32;

/// The values of zt_spec_version.
#[repr(C)]
pub enum zt_spec_version_value {
    /// The latest: 1.2.0.
    ZT_SPEC_DEFAULT = 0,
    /// 0.1.0: dense only, one dtype, no logical types, no attributes of the file.
    ZT_SPEC_0_1_0 = 100,
    /// 1.1.0.
    ZT_SPEC_1_1_0 = 10100,
    /// 1.2.0.
    ZT_SPEC_1_2_0 = 10200,
}

/// What kind of thing an attribute value is: one of the ZT_VALUE_ values. RFC 7049 section 2.
pub type zt_value_kind_t = i32;

/// The values of zt_value_kind_t.
#[repr(C)]
pub enum zt_value_kind_value {
    /// null; also what zt_value_kind says of NULL.
    ZT_VALUE_NULL = 0,
    /// true or false.
    ZT_VALUE_BOOL = 1,
    /// An integer from -2^64 to 2^64-1.
    ZT_VALUE_INT = 2,
    /// A float.
    ZT_VALUE_FLOAT = 3,
    /// UTF-8 text.
    ZT_VALUE_STRING = 4,
    /// A byte string.
    ZT_VALUE_BYTES = 5,
    /// A sequence of values.
    ZT_VALUE_ARRAY = 6,
    /// Pairs of key and value; keys may be of any kind.
    ZT_VALUE_MAP = 7,
    /// A number and one value, at index 0.
    ZT_VALUE_TAG = 8,
    /// CBOR's undefined, or a simple value without a meaning of its own.
    ZT_VALUE_OTHER = 9,
}

/// The component's decoded bytes can be lent: zt_component_ptr works.
pub const ZT_CAP_MAP: u32 = 1;
/// The component's decoded bytes can be had: zt_component_read and zt_component_load work.
pub const ZT_CAP_READ: u32 = 2;
/// A range of the decoded bytes can be had without decoding all of them.
pub const ZT_CAP_RANGE: u32 = 4;
/// The stored bytes are the decoded bytes and start at a multiple of 4096 of a real file, counted from
/// its own start (zt_open_fd's offset included): they can go from the disk to their place without a copy.
pub const ZT_CAP_DIRECT: u32 = 8;
/// There is a digest that this version can check.
pub const ZT_CAP_VERIFY: u32 = 16;
/// It starts at a page boundary of the real file, counted from that file's own start, or of memory, and
/// no byte of another component, nor of what the file is part of, is in its pages: ZT_ADVICE_RELEASE and
/// ZT_ADVICE_EVICT reach all of it and nothing else.
pub const ZT_CAP_PAGE_EXCLUSIVE: u32 = 32;

#[cold]
fn unknown(what: &str, value: impl std::fmt::Display) -> crate::error::Error {
    fail!(InvalidArgument, "{value} is no {what}")
}

pub(super) fn dtype(value: zt_dtype) -> Result<Dtype> {
    let known = Dtype::ALL.into_iter().find(|d| *d as zt_dtype == value);
    known.ok_or_else(|| unknown("zt_dtype that can be used here", value))
}

pub(super) fn dtype_number(dtype: Option<Dtype>) -> zt_dtype {
    dtype.map_or(zt_dtype_value::ZT_DTYPE_OTHER as zt_dtype, |d| d as zt_dtype)
}

/// None for absent; OTHER needs a name, which the caller of this knows.
pub(super) fn logical(value: zt_type) -> Result<Option<Logical>> {
    if value == zt_type_value::ZT_TYPE_NONE as zt_type {
        return Ok(None);
    }
    let known = Logical::ALL.into_iter().find(|t| *t as zt_type == value);
    known.map(Some).ok_or_else(|| unknown("zt_type that can be used here", value))
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
        LogicalType::Known(known) => known as zt_type,
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
        Format::Other(_) => zt_format_value::ZT_FORMAT_OTHER,
    };
    value as zt_format
}

/// The spec's name of a format; none for OTHER.
pub(super) fn format_name(value: zt_format) -> Result<Option<&'static str>> {
    match value {
        0 => Ok(None),
        1 => Ok(Format::Dense.name()),
        2 => Ok(Format::SparseCsr.name()),
        3 => Ok(Format::SparseCoo.name()),
        4 => Ok(Format::QuantizedGroup.name()),
        other => Err(unknown("zt_format", other)),
    }
}

pub(super) fn encoding_number(encoding: Encoding) -> zt_encoding {
    let value = match encoding {
        Encoding::Raw => zt_encoding_value::ZT_ENCODING_RAW,
        Encoding::Zstd => zt_encoding_value::ZT_ENCODING_ZSTD,
        Encoding::Other => zt_encoding_value::ZT_ENCODING_OTHER,
    };
    value as zt_encoding
}

/// An encoding to write with; none for the default.
pub(super) fn encoding(value: zt_encoding) -> Result<Option<Encoding>> {
    match value {
        0 => Ok(None),
        1 => Ok(Some(Encoding::Raw)),
        2 => Ok(Some(Encoding::Zstd)),
        other => Err(unknown("zt_encoding that can be written", other)),
    }
}

/// A digest to write; the outer none is the default, the inner one no digest.
pub(super) fn digest(value: zt_digest) -> Result<Option<Option<Algorithm>>> {
    match value {
        0 => Ok(None),
        1 => Ok(Some(None)),
        2 => Ok(Some(Some(Algorithm::Crc32c))),
        3 => Ok(Some(Some(Algorithm::Sha256))),
        other => Err(unknown("zt_digest", other)),
    }
}

pub(super) fn mode(value: zt_mode) -> Result<crate::reader::Mode> {
    match value {
        0 => Ok(crate::reader::Mode::Map),
        1 => Ok(crate::reader::Mode::Read),
        2 => Ok(crate::reader::Mode::Auto),
        3 => Ok(crate::reader::Mode::Private),
        other => Err(unknown("zt_mode", other)),
    }
}

pub(super) fn mode_number(mode: crate::reader::Mode) -> zt_mode {
    use crate::reader::Mode;
    let value = match mode {
        Mode::Map => zt_mode_value::ZT_MODE_MAP,
        Mode::Read => zt_mode_value::ZT_MODE_READ,
        Mode::Auto => zt_mode_value::ZT_MODE_AUTO,
        Mode::Private => zt_mode_value::ZT_MODE_PRIVATE,
    };
    value as zt_mode
}

pub(super) fn advice(value: zt_advice) -> Result<Advice> {
    match value {
        0 => Ok(Advice::Normal),
        1 => Ok(Advice::Sequential),
        2 => Ok(Advice::Random),
        3 => Ok(Advice::WillNeed),
        4 => Ok(Advice::Populate),
        5 => Ok(Advice::Lock),
        6 => Ok(Advice::Evict),
        7 => Ok(Advice::Release),
        8 => Ok(Advice::Unlock),
        other => Err(unknown("zt_advice", other)),
    }
}

pub(super) fn direct(value: zt_direct) -> Result<crate::reader::Direct> {
    match value {
        0 => Ok(crate::reader::Direct::Auto),
        1 => Ok(crate::reader::Direct::Never),
        2 => Ok(crate::reader::Direct::Always),
        other => Err(unknown("zt_direct", other)),
    }
}

pub(super) fn spec_version(value: zt_spec_version) -> Result<Version> {
    match value {
        0 | 10200 => Ok(Version::V1_2),
        10100 => Ok(Version::V1_1),
        100 => Ok(Version::V0_1),
        other => Err(unknown("zt_spec_version that can be written", other)),
    }
}
