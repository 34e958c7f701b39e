//! The structs for a writer: options, descriptions of objects and components, the summary.

use crate::capi::advanced::hooks::{self, zt_thread_hooks};
use crate::capi::arg;
use crate::capi::attributes::value::{self, zt_value};
use crate::capi::opening::progress::zt_progress_callback;
use crate::capi::sized::sized_struct;
use crate::capi::types::enumerations::{
    self as types, zt_dtype, zt_encoding, zt_format, zt_type, zt_type_value,
};
use crate::container;
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::dtype::Logical;
use crate::model::manifest::Encoding;
use crate::model::value::Attributes;
use crate::writer::{ComponentSpec, LogicalSpec, ObjectSpec, WriterOptions};
use std::ffi::{c_char, c_void};

/// The version of the file to write.
pub type zt_spec = u32;

/// The values of zt_spec.
#[repr(C)]
pub enum zt_spec_value {
    /// 1.2.0.
    ZT_SPEC_DEFAULT = 0,
    /// 0.1.0: dense objects only, no logical types, no attributes of the file.
    ZT_SPEC_0_1_0 = 100,
    /// 1.1.0.
    ZT_SPEC_1_1_0 = 10100,
    /// 1.2.0.
    ZT_SPEC_1_2_0 = 10200,
    /// zTensor 2, another container: components at multiples of 4096, digests of decoded bytes, seekable
    /// zstd.
    ZT_SPEC_2 = 20000,
}

/// A checksum algorithm.
pub type zt_digest = i32;

/// The values of zt_digest.
#[repr(C)]
pub enum zt_digest_value {
    /// In a component: zt_write_options.digest. In zt_write_options: CRC-32C, or XXH3 for zTensor 2.
    ZT_DIGEST_DEFAULT = 0,
    /// No digest.
    ZT_DIGEST_NONE = 1,
    /// CRC-32C (Castagnoli): detects accidental damage.
    ZT_DIGEST_CRC32C = 2,
    /// SHA-256: detects intentional changes, too, if nobody can change the manifest.
    ZT_DIGEST_SHA256 = 3,
    /// XXH3, 64 bits: detects accidental damage. zTensor 2 only, in place of CRC-32C.
    ZT_DIGEST_XXH3 = 4,
}

/// How to write a file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_write_options {
    /// sizeof(zt_write_options)
    pub struct_size: usize,
    /// The version to write. What it cannot represent is ZT_ERROR_UNSUPPORTED. Must be 0 for zt_write_append.
    pub spec: zt_spec,
    /// The encoding of components that do not name one; 0 is raw.
    pub encoding: zt_encoding,
    /// Components start at multiples of this: a power of two from 64 to 2^40; 0 for 64, in zTensor 2 for
    /// 4096.
    pub alignment: u64,
    /// A coarser alignment for components of at least large_size bytes, such as 4096 for direct I/O; 0 for
    /// none.
    pub large_alignment: u64,
    /// A component of this many bytes or more, before encoding, gets large_alignment; 0: 1 MiB. Streamed
    /// components of unknown size count as large.
    pub large_size: u64,
    /// The zstd level, -7 to 22; 0 for 3.
    pub zstd_level: i32,
    /// The digest of components that ask for ZT_DIGEST_DEFAULT, and of copied components that have none.
    pub digest: zt_digest,
    /// Number of threads that compress, hash and write; 0: the library chooses, at most 16. The bytes written
    /// do not depend on it.
    pub threads: u32,
    /// 1: sync the file and its folder to the disk before zt_write_finish returns. Large files then bypass
    /// the page cache.
    pub durable: u32,
    /// Compressed components are split into zstd frames of this many bytes, so that they decode in parallel
    /// and by range: 1024 to 2^30; 0: 1 MiB.
    pub frame_size: u64,
    /// Passed to progress.
    pub context: *mut c_void,
    /// Reports the bytes of the file so far; total is 0. It must not use this writer. If it returns other
    /// than 0, the writer has failed. NULL: not called.
    pub progress: zt_progress_callback,
    /// Called on threads that the writer starts; NULL: none. Copied.
    pub thread_hooks: *const zt_thread_hooks,
    /// 1: canonical form of zTensor 2: equal tensors and attributes give equal files. You have to write
    /// objects in the order of the bytes of their names, and streamed components in the order of their roles.
    /// Another order is ZT_ERROR_INVALID_ARGUMENT.
    pub canonical: u32,
    /// 1: copy components that do not match their digest or CRC-32 and count them in
    /// zt_write_summary.damaged. They get no new digest. 0: such a copy fails.
    pub allow_damaged: u32,
}

/// A component to write.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_component_desc {
    /// sizeof(zt_component_desc)
    pub struct_size: usize,
    /// The role, UTF-8, not NULL: "data", "values", "scales" or another.
    pub role: *const c_char,
    /// Bytes of the role; 0 if it is NUL-ended.
    pub role_length: usize,
    /// The storage type, not ZT_DTYPE_OTHER.
    pub dtype: zt_dtype,
    /// The logical type; with ZT_TYPE_OTHER set type_name.
    pub r#type: zt_type,
    /// The name of a type that the library does not know; else NULL.
    pub type_name: *const c_char,
    /// The encoding; 0 for the writer's option.
    pub encoding: zt_encoding,
    /// The digest; 0 for the writer's option.
    pub digest: zt_digest,
    /// The elements, in the host's byte order. NULL to stream them with zt_write_data, or if size is 0.
    pub data: *const c_void,
    /// Bytes at data. When streaming: how many will follow, or 0 if that is not known.
    pub size: u64,
    /// Bytes of type_name; 0 if it is NUL-ended.
    pub type_name_length: usize,
}

/// An object to write.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_object_desc {
    /// sizeof(zt_object_desc)
    pub struct_size: usize,
    /// The name, UTF-8, not NULL.
    pub name: *const c_char,
    /// Bytes of the name; 0 if it is NUL-ended.
    pub name_length: usize,
    /// The format; for blocks ZT_FORMAT_OTHER, not ZT_FORMAT_BLOCKS.
    pub format: zt_format,
    /// Must be 0.
    pub reserved: u32,
    /// The name for ZT_FORMAT_OTHER, also of blocks: "gguf.q4_0/1". Else NULL.
    pub format_name: *const c_char,
    /// The dimensions, outermost first.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// The components for zt_write_object; NULL for zt_write_begin.
    pub components: *const zt_component_desc,
    /// Number of components.
    pub component_count: usize,
    /// Attributes to copy from an open file, a map; may be NULL.
    pub attributes: *const zt_value,
    /// More attributes as a JSON object, NUL-ended; may be NULL. A key in both is ZT_ERROR_EXISTS.
    pub attributes_json: *const c_char,
    /// Bytes of format_name; 0 if it is NUL-ended.
    pub format_name_length: usize,
}

/// What a finished writer wrote.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_write_summary {
    /// sizeof(zt_write_summary)
    pub struct_size: usize,
    /// Bytes of the file.
    pub file_size: u64,
    /// Objects in the file.
    pub objects: u64,
    /// Components in the file.
    pub components: u64,
    /// Stored bytes of the components that this writer wrote.
    pub stored_bytes: u64,
    /// Their bytes before encoding.
    pub data_bytes: u64,
    /// Damaged components that were copied (zt_write_options.allow_damaged).
    pub damaged: u64,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct! {
    zt_write_options:
        spec, encoding, alignment, large_alignment, large_size, zstd_level, digest, threads, durable,
        frame_size, context, progress, thread_hooks, canonical, allow_damaged;
    zt_component_desc:
        role, role_length, dtype, r#type, type_name, encoding, digest, data, size, type_name_length;
    zt_object_desc:
        name, name_length, format, reserved, format_name, shape, rank, components, component_count,
        attributes, attributes_json, format_name_length;
    zt_write_summary: file_size, objects, components, stored_bytes, data_bytes, damaged;
}

pub(in crate::capi) fn writer_options(options: &zt_write_options) -> Result<WriterOptions> {
    let version = match options.spec {
        0 => Some(container::NEWEST),
        number => container::version_to_write(number),
    };
    let version = version.ok_or_else(|| arg::unknown("zt_spec that can be written", options.spec))?;
    let default = WriterOptions::default();
    Ok(WriterOptions {
        version,
        encoding: types::encoding(options.encoding)?.unwrap_or(Encoding::Raw),
        alignment: arg::or_default(options.alignment, default.alignment),
        large_alignment: arg::or_default(options.large_alignment, default.large_alignment),
        large_size: arg::or_default(options.large_size, default.large_size),
        zstd_level: if options.zstd_level == 0 { default.zstd_level } else { options.zstd_level },
        digest: digest(options.digest)?.flatten(),
        usual_digest: digest(options.digest)?.is_none(),
        threads: options.threads as usize,
        // SAFETY: thread_hooks is NULL or as its declaration demands.
        thread_hooks: unsafe { hooks::thread_hooks(options.thread_hooks)? },
        durable: arg::flag(options.durable, "zt_write_options.durable")?,
        frame_size: arg::or_default(options.frame_size, default.frame_size),
        canonical: arg::flag(options.canonical, "zt_write_options.canonical")?,
        allow_damaged: arg::flag(options.allow_damaged, "zt_write_options.allow_damaged")?,
    })
}

/// The logical type, by number or name.
///
/// # Safety
/// As for [`component_spec`].
unsafe fn logical<'a>(desc: &zt_component_desc) -> Result<Option<LogicalSpec<'a>>> {
    let number = desc.r#type;
    if number == zt_type_value::ZT_TYPE_OTHER as zt_type {
        // SAFETY: type_name is as documented.
        let name = unsafe { arg::sized_text(desc.type_name, desc.type_name_length, "type_name")? };
        return Ok(Some(Logical::from_name(name).map_or(LogicalSpec::Other(name), LogicalSpec::Known)));
    }
    if !desc.type_name.is_null() {
        return Err(fail!(InvalidArgument, "type_name is given, but type is {number}, not ZT_TYPE_OTHER"));
    }
    Ok(types::logical(number)?.map(LogicalSpec::Known))
}

/// The description of a component, and its data if the description has it.
///
/// # Safety
/// The pointers of the description are as documented, and do not change for `'a`.
pub(in crate::capi) unsafe fn component_spec<'a>(
    desc: &zt_component_desc,
) -> Result<(ComponentSpec<'a>, Option<&'a [u8]>)> {
    // SAFETY: the caller ensures this.
    unsafe {
        let spec = ComponentSpec {
            role: arg::sized_text(desc.role, desc.role_length, "role")?,
            dtype: types::dtype(desc.dtype)?,
            logical: logical(desc)?,
            encoding: types::encoding(desc.encoding)?,
            digest: digest(desc.digest)?,
            size: Some(desc.size).filter(|s| *s != 0),
        };
        let data = if desc.data.is_null() {
            None
        } else {
            let size = arg::to_usize(desc.size, "the component's data")?;
            Some(arg::slice(desc.data.cast::<u8>(), size, "data")?)
        };
        Ok((spec, data))
    }
}

/// The description of an object.
///
/// # Safety
/// The pointers of the description are as documented, and do not change for `'a`.
pub(in crate::capi) unsafe fn object_spec<'a>(desc: &zt_object_desc) -> Result<ObjectSpec<'a>> {
    arg::zero(desc.reserved, "zt_object_desc.reserved")?;
    // SAFETY: the caller ensures this.
    unsafe {
        let format = match types::format_name(desc.format)? {
            Some(_) if !desc.format_name.is_null() => {
                return Err(fail!(
                    InvalidArgument,
                    "format_name is given, but format is not ZT_FORMAT_OTHER"
                ));
            }
            Some(name) => name,
            None => arg::sized_text(desc.format_name, desc.format_name_length, "format_name")?,
        };
        Ok(ObjectSpec {
            name: arg::sized_text(desc.name, desc.name_length, "name")?,
            format,
            shape: arg::slice(desc.shape, desc.rank, "shape")?,
        })
    }
}

/// The attributes that the description has.
///
/// # Safety
/// As for [`object_spec`].
pub(in crate::capi) unsafe fn attributes(desc: &zt_object_desc) -> Result<Attributes> {
    let mut attributes = Attributes::default();
    // SAFETY: it is NULL or a value of an open file.
    if let Some(value) = unsafe { value::at(desc.attributes) } {
        if value.as_map().is_none() {
            return Err(fail!(InvalidArgument, "attributes is not a map"));
        }
        attributes.extend(value)?;
    }
    if !desc.attributes_json.is_null() {
        // SAFETY: the caller ensures this.
        let text = unsafe { arg::text(desc.attributes_json, "attributes_json")? };
        let parsed = container::json::parse(text)?;
        if parsed.get().as_map().is_none() {
            return Err(fail!(InvalidArgument, "attributes_json is not a JSON object"));
        }
        attributes.extend(parsed.get())?;
    }
    Ok(attributes)
}

/// The digest to write. The outer `None` is the default, the inner one means no digest.
pub(in crate::capi) fn digest(value: zt_digest) -> Result<Option<Option<Algorithm>>> {
    let known = [Algorithm::Crc32c, Algorithm::Sha256, Algorithm::Xxh3].map(|known| Some(Some(known)));
    let [crc32c, sha256, xxh3] = known;
    arg::by_number("zt_digest", value, &[None, Some(None), crc32c, sha256, xxh3])
}
