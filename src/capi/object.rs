//! Objects: named tensors of an open file. Nothing here allocates, locks or fails but what reads elements.

use super::arg;
use super::component::zt_component;
use super::guard::{guard, guard_value};
pub use super::handle_table::zt_object;
use super::status::zt_status;
use super::types::{self, format_number, zt_dtype, zt_format};
use super::value_record::{address, zt_value};
use crate::error::{fail, Result};
use crate::model::manifest;
use crate::reader::{Hyperslab, Object};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

impl zt_object {
    pub(super) fn object(&self) -> Result<Object<'_>> {
        let found = self.owner().file().object(self.index());
        found.ok_or_else(|| fail!(Internal, "an object without its entry"))
    }

    fn entry(&self) -> Option<&manifest::Object> {
        self.owner().file().manifest().objects.get(self.index())
    }

    fn text(&self, text: manifest::TextId) -> *const c_char {
        self.owner().file().manifest().texts.get_c_bytes(text).as_ptr().cast()
    }
}

/// Name of the object: the bytes of the file, and a NUL. It may hold a NUL itself (see zt_object_name_length).
/// It is UTF-8, but in GGUF and PyTorch files, where names may be any bytes; zt_object_find finds it by the same bytes.
/// If a PyTorch or npz file has several objects of one name (the keys "a.b" and "a" -> "b"), each but the first has a
/// mark behind its name: "a.b#2", "a.b#3". A marked name that is in the file itself is passed over.
/// Returns a string that lives until the last zt_close; NULL for NULL.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_name(object: Option<&zt_object>) -> *const c_char {
    object.and_then(|o| o.entry().map(|e| o.text(e.name))).unwrap_or(null())
}

/// Number of dimensions; 0 for a scalar, and for NULL.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_rank(object: Option<&zt_object>) -> usize {
    object.and_then(zt_object::entry).map_or(0, |e| e.rank as usize)
}

/// The dimensions, zt_object_rank of them, outermost first.
/// Returns an array that lives until the last zt_close; not NULL for a scalar, NULL for NULL.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_shape(object: Option<&zt_object>) -> *const u64 {
    object.and_then(|o| o.object().ok()).map_or(null(), |o| o.shape().as_ptr())
}

/// Product of the dimensions: 1 for a scalar, 0 for NULL, UINT64_MAX where it leaves 64 bits (sparse and unknown
/// formats may have such shapes). Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_element_count(object: Option<&zt_object>) -> u64 {
    object.and_then(|o| o.object().ok()).map_or(0, |o| o.element_count().unwrap_or(u64::MAX))
}

/// The layout of the components; ZT_FORMAT_OTHER for an unknown one, and for NULL.
/// Threads: any. Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_format(object: Option<&zt_object>) -> zt_format {
    object.and_then(zt_object::entry).map_or(0, |e| format_number(e.format))
}

/// The object's attributes.
/// Returns a map that lives until the last zt_close; NULL if it has none, and for NULL.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_attributes(object: Option<&zt_object>) -> *const zt_value {
    address(object.and_then(|o| o.object().ok()).and_then(|o| o.attributes()))
}

/// Number of components; 0 for NULL. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_count(object: Option<&zt_object>) -> usize {
    object.and_then(zt_object::entry).map_or(0, |e| e.component_count as usize)
}

/// The component at index, in file order.
/// Returns a component that lives until the last zt_close; NULL if index is not below zt_component_count.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_at(object: Option<&zt_object>, index: usize) -> *const zt_component {
    let Some((object, entry)) = object.and_then(|o| Some((o, o.entry()?))) else { return null() };
    if index >= entry.component_count as usize {
        return null();
    }
    object.owner().component_handle((entry.component_start as usize).saturating_add(index))
}

/// The component of that role: "data", "values", "scales" and so on.
/// role: NUL-ended; NULL finds nothing. Returns a component that lives until the last zt_close; NULL if there is
/// none, and for NULL. It is no failure: zt_last_error is left as it was.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_find(
    object: Option<&zt_object>,
    role: *const c_char,
) -> *const zt_component {
    if role.is_null() {
        return null();
    }
    // SAFETY: "role: NUL-ended".
    find_component(object, unsafe { std::ffi::CStr::from_ptr(role) }.to_bytes())
}

/// The component of a role that is given with its length, so that it may hold a NUL.
/// role, length: that many bytes; (NULL, 0) is the empty role. Returns as zt_component_find.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_find_n(
    object: Option<&zt_object>,
    role: *const c_char,
    length: usize,
) -> *const zt_component {
    // SAFETY: "that many bytes".
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
/// Floats become narrower floats by rounding once to nearest, ties to even; infinity and NaN stay what they are. Floats
/// become integers by rounding to nearest even, and integers become floats by rounding once. To bool, all but zero is
/// 1; from bool, all but zero is 1. The four f8 types are read exactly. A complex element becomes two.
/// A number is lost if it is finite and becomes infinite, or if an integer dtype has no value for it. Then the call is
/// ZT_ERROR_LIMIT, and the message gives the object and the count. zt_read_batch with zt_read_request.lossy reads such
/// elements: as infinity, as the nearest integer that the dtype has, and NaN as 0.
/// dtype: what to read as; not ZT_DTYPE_OTHER. dst: receives the bytes that zt_object_size_as gives; NULL only if
/// there are none. dst_size: its bytes; fewer is ZT_ERROR_BUFFER_SIZE, and then dst is not touched.
/// written: receives the bytes that were written; may be NULL, untouched on failure. Memory behind that size stays as it
/// was, also on failure, when the content of dst in front of it is undefined.
/// Returns what zt_object_size_as and zt_component_read return. Threads: any.
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
        // SAFETY: "dst_size: its bytes".
        let size = object.read_as(dtype, unsafe { arg::bytes_mut(dst, dst_size, "dst")? })?;
        if let Some(written) = written {
            written.write(size);
        }
        Ok(())
    })
}

/// The bytes that zt_object_read_as writes: elements (complex ones count twice) times zt_dtype_size (dtype). Reads
/// nothing: they follow from the shape.
/// size: receives them; not NULL, untouched on failure.
/// Returns ZT_ERROR_UNSUPPORTED if the object is not one array of numbers that the library converts; the message names
/// the format or the type. These are sparse objects, quantized groups, block types, packed types such as
/// ZT_TYPE_F4_E2M1, and all that is unknown. No component is read in place of such an object. ZT_ERROR_LIMIT if the size
/// leaves 64 bits. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_size_as(
    object: Option<&zt_object>,
    dtype: zt_dtype,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        let size = arg::required(size, "size")?;
        size.write(object.size_as(types::dtype(dtype)?)?);
        Ok(())
    })
}

/// Reads a hyperslab of a dense object: in each dimension count elements from start, step apart. What tensor-parallel
/// ranks need: only those bytes are read, as far as the encoding allows, or copied out of the mapping in ZT_MODE_MAP
/// where their pages are in memory. Several threads share large slabs: see zt_open_options.threads.
///
/// start, count: zt_object_rank numbers each; NULL only for a scalar. step: likewise, or NULL for 1 in every
/// dimension; a step of 0 is ZT_ERROR_INVALID_ARGUMENT. dst: receives the elements row-major and without gaps, in the
/// host's byte order. dst_size: its bytes, at least the product of the counts times the element size (with the pair
/// of a complex type); fewer is ZT_ERROR_BUFFER_SIZE.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the slab leaves the shape, ZT_ERROR_UNSUPPORTED if the object is not dense,
/// else as zt_component_read. On failure the content of dst is undefined.
/// Threads: any.
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
        // SAFETY: "zt_object_rank numbers each", "dst_size: its bytes".
        let (slab, dst) =
            unsafe { (hyperslab(&object, start, count, step)?, arg::bytes_mut(dst, dst_size, "dst")?) };
        object.read_slice(&slab, dst)
    })
}

/// A hyperslab from the caller's arrays.
///
/// # Safety
/// The pointers are NULL or have as many elements as the object has dimensions.
pub(super) unsafe fn hyperslab<'a>(
    object: &Object<'_>,
    start: *const u64,
    count: *const u64,
    step: *const u64,
) -> Result<Hyperslab<'a>> {
    let rank = object.shape().len();
    // SAFETY: passed on.
    unsafe {
        Ok(Hyperslab {
            start: arg::slice(start, rank, "start")?,
            count: arg::slice(count, rank, "count")?,
            step: if step.is_null() { None } else { Some(arg::slice(step, rank, "step")?) },
        })
    }
}
