//! Writes many dense objects in one call.

use crate::capi::arg;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype, zt_encoding, zt_type};
use crate::capi::writing::options::{self, zt_digest};
use crate::capi::writing::writer::{with_writer, zt_writer};
use crate::error::Result;
use crate::memory::with_capacity;
use crate::writer::DenseSpec;
use std::ffi::{c_char, c_void};

/// A dense object of zt_write_batch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_write_request {
    /// sizeof(zt_write_request)
    pub struct_size: usize,
    /// The name, UTF-8, not NULL.
    pub name: *const c_char,
    /// The dimensions, outermost first; NULL only if rank is 0.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// The elements, row-major, in the host's byte order; NULL only if size is 0.
    pub data: *const c_void,
    /// Bytes at data: what shape, dtype and type need.
    pub size: usize,
    /// The storage type, not ZT_DTYPE_OTHER.
    pub dtype: zt_dtype,
    /// The logical type: ZT_TYPE_NONE, or a known type that belongs to dtype.
    pub r#type: zt_type,
    /// The encoding; 0 for the writer's option.
    pub encoding: zt_encoding,
    /// The digest; 0 for the writer's option.
    pub digest: zt_digest,
    /// Bytes of the name; 0 if it is NUL-ended.
    pub name_length: usize,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_write_request: name, shape, rank, data, size, dtype, r#type, encoding, digest, name_length);

/// Writes many dense objects. The file is the same as with zt_write_dense for each, but compression and
/// hashing run in parallel.
///
/// All requests are checked before the first byte is written: if one is refused, none is written, and the
/// message names it. Returns as zt_write_dense.
/// Starts threads and waits for them (zt_write_options.threads).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_batch(
    writer: Option<&mut zt_writer>,
    requests: *const zt_write_request,
    count: usize,
) -> zt_status {
    with_writer(writer, |writer| {
        let mut objects = with_capacity(count)?;
        let add = |request: &zt_write_request| {
            // SAFETY: the request is as documented, and does not change during the call.
            objects.push(unsafe { one(request)? });
            Ok(())
        };
        // SAFETY: requests has count structs.
        unsafe { arg::for_each(requests, count, "request", add)? };
        writer.write_batch(&objects)
    })
}

unsafe fn one<'a>(request: &zt_write_request) -> Result<DenseSpec<'a>> {
    // SAFETY: the fields are as documented.
    let name = unsafe { arg::sized_text(request.name, request.name_length, "name")? };
    let of = || {
        Ok(DenseSpec {
            logical: types::logical(request.r#type)?,
            encoding: types::encoding(request.encoding)?,
            digest: options::digest(request.digest)?,
            // SAFETY: the fields are as documented.
            ..unsafe {
                let shape = arg::slice(request.shape, request.rank, "shape")?;
                let data = arg::slice(request.data.cast::<u8>(), request.size, "data")?;
                DenseSpec::new(name, types::dtype(request.dtype)?, shape, data)
            }
        })
    };
    of().map_err(|e: crate::error::Error| e.within(format_args!("object {name:?}")))
}
