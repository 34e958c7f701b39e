//! Objects: named tensors of an open file. Only the functions that read elements allocate, lock or fail.

use crate::capi::arg;
use crate::capi::attributes::value::{address, zt_value};
use crate::capi::finding::component::zt_component;
use crate::capi::guard::{guard, guard_value};
pub use crate::capi::handle_table::zt_object;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, format_number, zt_dtype, zt_format};
use crate::error::{fail, Result};
use crate::model::manifest;
use crate::reader::{Hyperslab, Object};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

impl zt_object {
    pub(in crate::capi) fn object(&self) -> Result<Object<'_>> {
        let found = self.owner().file().object(self.index());
        found.ok_or_else(|| fail!(Internal, "an object without its entry"))
    }

    fn entry(&self) -> Option<&manifest::Object> {
        self.owner().file().manifest().objects.get(self.index())
    }
}

/// The name as in the file, and a NUL. UTF-8, but GGUF and PyTorch files may have other bytes. It may contain
/// a NUL: zt_object_info has the length. If a PyTorch or npz file has several objects "a.b", the later ones
/// are called "a.b#2", "a.b#3".
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_name(object: Option<&zt_object>) -> *const c_char {
    object.and_then(|o| o.entry().map(|e| o.owner().text(e.name))).unwrap_or(null())
}

/// Number of dimensions; 0 for a scalar.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_rank(object: Option<&zt_object>) -> usize {
    object.and_then(zt_object::entry).map_or(0, |e| e.rank as usize)
}

/// The dimensions, outermost first. Not NULL for a scalar.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_shape(object: Option<&zt_object>) -> *const u64 {
    object.and_then(|o| o.object().ok()).map_or(null(), |o| o.shape().as_ptr())
}

/// Product of the dimensions; 1 for a scalar. UINT64_MAX if it exceeds 64 bits (only sparse and unknown
/// formats).
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_element_count(object: Option<&zt_object>) -> u64 {
    object.and_then(|o| o.object().ok()).map_or(0, |o| o.element_count().unwrap_or(u64::MAX))
}

/// The format; ZT_FORMAT_OTHER if it is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_format(object: Option<&zt_object>) -> zt_format {
    object.and_then(zt_object::entry).map_or(0, |e| format_number(e.format))
}

/// The object's attributes, a map; NULL if absent.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_attributes(object: Option<&zt_object>) -> *const zt_value {
    address(object.and_then(|o| o.object().ok()).and_then(|o| o.attributes()))
}

/// Number of components.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_count(object: Option<&zt_object>) -> usize {
    object.and_then(zt_object::entry).map_or(0, |e| e.component_count as usize)
}

/// The component at index, in file order; NULL if index is not below zt_component_count.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_at(object: Option<&zt_object>, index: usize) -> *const zt_component {
    let Some((object, entry)) = object.and_then(|o| Some((o, o.entry()?))) else { return null() };
    if index >= entry.component_count as usize {
        return null();
    }
    object.owner().component_handle((entry.component_start as usize).saturating_add(index))
}

/// The component of that role ("data", "values", "scales"); NULL if absent, which is not a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_find(
    object: Option<&zt_object>,
    role: *const c_char,
) -> *const zt_component {
    // SAFETY: role ends in a NUL.
    unsafe { arg::bytes(role) }.map_or(null(), |role| find_component(object, role))
}

/// As zt_component_find, for a role of length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_find_n(
    object: Option<&zt_object>,
    role: *const c_char,
    length: usize,
) -> *const zt_component {
    // SAFETY: role has length bytes.
    unsafe { arg::slice(role.cast::<u8>(), length, "role") }
        .map_or(null(), |role| find_component(object, role))
}

fn find_component(object: Option<&zt_object>, role: &[u8]) -> *const zt_component {
    let Some(object) = object else { return null() };
    guard_value(null(), || {
        let Ok(found) = object.object() else { return null() };
        let at = found.components().position(|c| c.role().as_bytes() == role);
        at.map_or(null(), |at| zt_component_at(Some(object), at))
    })
}

/// Reads all numbers of an object as elements of another dtype, row-major.
///
/// dtype: the target. dst, dst_size: memory for at least the bytes that zt_object_size_as gives; a smaller
/// dst_size is ZT_ERROR_BUFFER_SIZE. written: receives the bytes written; may be NULL. The rest of dst stays
/// unchanged. On failure the content of dst is undefined.
/// Each number is rounded once, to the nearest value of dtype, ties to even. As an integer, 1.5 and 2.5
/// become 2. Float types keep infinity and NaN. With ZT_DTYPE_BOOL any nonzero number becomes true. A complex
/// element becomes two numbers. Elements that a sparse object does not have are 0. Blocks of GGUF are first
/// decoded to f32 by ggml's scalar formula. Quantized weights are decoded as docs/quantised.md and
/// docs/formats.md define. From blocks and quantized weights, dtype must be a float type. Returns
/// ZT_ERROR_LIMIT if a finite number is too large for a float type, or an integer type cannot hold a number,
/// infinity or NaN; the message gives the count. To accept such loss, use zt_read_batch with
/// zt_read_request.lossy. Otherwise returns what zt_object_size_as and zt_component_read return.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_read_as(
    object: Option<&zt_object>,
    dtype: zt_dtype,
    dst: *mut c_void,
    dst_size: usize,
    written: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        let dtype = types::dtype(dtype)?;
        // SAFETY: dst has dst_size bytes.
        let size = object.read_as(dtype, unsafe { arg::bytes_mut(dst, dst_size, "dst")? })?;
        arg::put_optional(written, size);
        Ok(())
    })
}

/// The bytes that zt_object_read_as writes: elements (complex ones twice) times zt_dtype_size. Reads nothing.
/// Returns ZT_ERROR_UNSUPPORTED if the library cannot convert the numbers; the message names the type or the
/// format (docs/formats.md). ZT_ERROR_CORRUPT if components are missing; ZT_ERROR_LIMIT above 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_size_as(
    object: Option<&zt_object>,
    dtype: zt_dtype,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        arg::put(size, "size", || object.size_as(types::dtype(dtype)?))
    })
}

/// Reads a slice of a dense object: in dimension i the count[i] elements start[i], start[i] + step[i], and so
/// on. Only these bytes are read if the encoding allows it.
///
/// start, count: rank numbers each; NULL only for a scalar. step: likewise; NULL for 1 in every dimension, 0
/// is invalid. dst, dst_size: receives the elements row-major without gaps, in the host's byte order; too
/// little is ZT_ERROR_BUFFER_SIZE.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the slice exceeds the shape, ZT_ERROR_UNSUPPORTED if the object is
/// not dense (zt_read_batch reads slices of the numbers of any object), else as zt_component_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_read_slice(
    object: Option<&zt_object>,
    start: *const u64,
    count: *const u64,
    step: *const u64,
    dst: *mut c_void,
    dst_size: usize,
) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: start, count and step have rank numbers each; dst has dst_size bytes.
        let (slab, dst) =
            unsafe { (hyperslab(&object, start, count, step)?, arg::bytes_mut(dst, dst_size, "dst")?) };
        object.read_slice(&slab, dst)
    })
}

/// Makes a hyperslab from the caller's arrays.
///
/// # Safety
/// Each pointer is NULL or has as many elements as the object has dimensions.
pub(in crate::capi) unsafe fn hyperslab<'a>(
    object: &Object<'_>,
    start: *const u64,
    count: *const u64,
    step: *const u64,
) -> Result<Hyperslab<'a>> {
    let rank = object.shape().len();
    // SAFETY: the caller ensures this.
    unsafe {
        Ok(Hyperslab {
            start: arg::slice(start, rank, "start")?,
            count: arg::slice(count, rank, "count")?,
            step: if step.is_null() { None } else { Some(arg::slice(step, rank, "step")?) },
        })
    }
}
