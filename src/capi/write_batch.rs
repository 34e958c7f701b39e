//! Many dense objects written in one call.

use super::arg;
use super::batch::REQUESTS;
use super::guard::guard;
use super::sized::sized_struct;
use super::status::zt_status;
use super::types::{self, zt_dtype, zt_encoding, zt_type};
use super::writer::{open, zt_writer};
use super::writer_options::{self, zt_digest};
use crate::error::Result;
use crate::writer::DenseSpec;
use std::ffi::{c_char, c_void};

/// One dense object of a batch to be written. Zero in type and in what follows it is the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_write_request {
    /// sizeof (zt_write_request), the same in every request of a call.
    pub struct_size: usize,
    /// The name, UTF-8, not NULL.
    pub name: *const c_char,
    /// The dimensions, rank of them, outermost first; NULL only if rank is 0.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// The elements, row-major, in the host's byte order; NULL only if size is 0.
    pub data: *const c_void,
    /// Bytes at data: what shape, dtype and type make it.
    pub size: usize,
    /// The storage type; one of the 13.
    pub dtype: zt_dtype,
    /// The logical type: ZT_TYPE_NONE or a known one that goes with dtype.
    pub r#type: zt_type,
    /// The encoding; ZT_ENCODING_DEFAULT is what the writer's options say.
    pub encoding: zt_encoding,
    /// The digest; ZT_DIGEST_DEFAULT is what the writer's options say.
    pub digest: zt_digest,
    /// Bytes of the name, which may hold a NUL then; 0 if it is NUL-ended.
    pub name_length: usize,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_write_request: name, shape, rank, data, size, dtype, r#type, encoding, digest, name_length);

/// Writes many dense objects in one call: the file is byte for byte what zt_write_dense, called for each in turn
/// (with the request's encoding and digest as the writer's options), makes it. For small objects it is faster:
/// different ones are compressed side by side, and SHA-256 is computed while others are written.
///
/// requests, count: the objects, used during the call; (NULL, 0) does nothing.
/// All requests are checked before the first byte is written: a call that is refused writes none of them, and the
/// message names the first request that is at fault, by its position from 0 and its name. A name that two requests
/// have is ZT_ERROR_EXISTS. Returns as zt_write_dense.
/// Threads: one at a time; the call starts as many as zt_write_options.threads allows, if there is enough to do, and
/// waits for them. The functions of a zt_sink are called from the caller's thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_batch(
    writer: Option<&mut zt_writer>,
    requests: *const zt_write_request,
    count: usize,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: "requests, count: the objects".
        let objects = unsafe { objects(requests, count)? };
        writer.write_batch(&objects)
    })
}

/// The caller's requests, checked one by one.
///
/// # Safety
/// `requests` has `count` structs, which are as their fields say, and stay for `'a`.
unsafe fn objects<'a>(requests: *const zt_write_request, count: usize) -> Result<Vec<DenseSpec<'a>>> {
    let mut objects = Vec::new();
    objects.try_reserve_exact(count)?;
    let add = |request: &zt_write_request| {
        // SAFETY: passed on.
        objects.push(unsafe { one(request)? });
        Ok(())
    };
    // SAFETY: passed on.
    unsafe { arg::for_each(requests, count, REQUESTS, add)? };
    Ok(objects)
}

unsafe fn one<'a>(request: &zt_write_request) -> Result<DenseSpec<'a>> {
    // SAFETY: as the fields say.
    let name = unsafe { arg::sized_text(request.name, request.name_length, "name")? };
    let of = || {
        Ok(DenseSpec {
            logical: types::logical(request.r#type)?,
            encoding: types::encoding(request.encoding)?,
            digest: writer_options::digest(request.digest)?,
            // SAFETY: as the fields say.
            ..unsafe {
                let shape = arg::slice(request.shape, request.rank, "shape")?;
                let data = arg::slice(request.data.cast::<u8>(), request.size, "data")?;
                DenseSpec::new(name, types::dtype(request.dtype)?, shape, data)
            }
        })
    };
    of().map_err(|e: crate::error::Error| e.within(format_args!("object {name:?}")))
}
