//! The listing: what the getters of objects and components say, of many objects in one call.

use super::arg::{self, SizedStruct};
use super::component::zt_component;
use super::guard::guard;
use super::object::zt_object;
use super::open::zt_file;
use super::status::zt_status;
use super::types::{
    dtype_number, encoding_number, format_number, logical_number, zt_dtype, zt_encoding, zt_format, zt_type,
};
use crate::error::{fail, Result};
use crate::model::manifest::{Component, Encoding, Format, Manifest, Object};
use crate::model::value::Value;
use std::ffi::c_char;
use std::mem::{offset_of, MaybeUninit};
use std::ptr::null;

/// What is known of an object without touching its bytes, as zt_object_list tells it. The fields from
/// offset on are of component.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_object_info {
    /// sizeof (zt_object_info): set by the caller in the first struct of an array, filled in the others.
    pub struct_size: usize,
    /// The object.
    pub object: *const zt_object,
    /// As zt_object_name: NUL-ended, not NULL.
    pub name: *const c_char,
    /// As zt_object_name_len.
    pub name_len: usize,
    /// As zt_object_shape: the dimensions, rank of them, outermost first; not NULL.
    pub shape: *const u64,
    /// As zt_object_rank.
    pub rank: usize,
    /// As zt_object_attributes: NULL if it has none.
    pub attributes: *const Value,
    /// As zt_object_component_count.
    pub component_count: usize,
    /// "data" of a dense object, the first component of any other; NULL if it has none.
    pub component: *const zt_component,
    /// As zt_component_offset.
    pub offset: u64,
    /// As zt_component_stored_size.
    pub stored_size: u64,
    /// As zt_component_size, but UINT64_MAX where that would have to read the stored bytes to find out.
    pub size: u64,
    /// As zt_object_format.
    pub format: zt_format,
    /// As zt_component_dtype.
    pub dtype: zt_dtype,
    /// As zt_component_type.
    pub r#type: zt_type,
    /// As zt_component_encoding.
    pub encoding: zt_encoding,
}

// SAFETY: repr(C), begins with its size, plain integers and pointers.
unsafe impl SizedStruct for zt_object_info {
    const NAME: &'static str = "zt_object_info";
    const SIZE: usize = offset_of!(zt_object_info, encoding) + size_of::<zt_encoding>();
}

/// Tells of many objects at once what their getters would tell one by one, in file order. Nothing is
/// allocated, locked or decoded: for a listing of everything, the cheapest way.
///
/// first: where to begin; not below zt_object_count is fine, and fills nothing. infos, count: as many
/// structs, of which the first one's struct_size is set; (NULL, 0) fills nothing. A few dozen at a time
/// stay in the processor's cache. filled: receives how many were filled, count or as many as there are
/// from first on; not NULL. infos and filled are untouched on failure.
/// What the structs point to lives until the last zt_close.
/// Returns ZT_ERROR_INVALID_ARGUMENT for NULL and for a struct_size that is none.
/// Threads: any. Since 1.0. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_list(
    file: Option<&zt_file>,
    first: usize,
    infos: *mut zt_object_info,
    count: usize,
    filled: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let file = arg::required(file, "file")?;
        let filled = arg::required(filled, "filled")?;
        let objects = file.file().manifest().objects.get(first..).unwrap_or_default();
        let listed = objects.len().min(count);
        if count > 0 {
            // SAFETY: the first struct is of the size that it says.
            let stride = unsafe { stride(infos, count)? };
            let mut place = infos;
            for (index, object) in (first..).zip(objects.iter().take(listed)) {
                let info = info(file, index, object, stride);
                // SAFETY: "count: as many structs", each as far from the next as the first one says.
                unsafe {
                    fill(place, stride, &info);
                    place = place.cast::<u8>().add(stride).cast();
                }
            }
        }
        filled.write(listed);
        Ok(())
    })
}

/// How far the caller's structs are apart.
///
/// # Safety
/// `infos` is NULL or begins with the size of its struct.
unsafe fn stride(infos: *const zt_object_info, count: usize) -> Result<usize> {
    // SAFETY: passed on.
    let stride = unsafe { arg::struct_size(infos)? };
    match stride.checked_mul(count) {
        _ if stride == 0 => Err(fail!(InvalidArgument, "infos is NULL, but {count} are said to be there")),
        Some(size) if isize::try_from(size).is_ok() => Ok(stride),
        _ => Err(fail!(InvalidArgument, "infos: {count} structs do not fit in memory")),
    }
}

/// Fills as much of a struct as the caller has.
///
/// # Safety
/// `place` has `stride` writable bytes.
#[inline(always)]
unsafe fn fill(place: *mut zt_object_info, stride: usize, info: &zt_object_info) {
    if stride >= zt_object_info::SIZE {
        // SAFETY: there is room for all of it, which has no padding.
        unsafe { place.write_unaligned(*info) };
    } else {
        // SAFETY: there is room for that much.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::from_ref(info).cast::<u8>(), place.cast::<u8>(), stride);
        }
    }
}

#[inline(always)]
fn info(file: &zt_file, index: usize, object: &Object, struct_size: usize) -> zt_object_info {
    let manifest = file.file().manifest();
    let told = told_component(manifest, object);
    let component = told.and_then(|at| manifest.components.get(at));
    zt_object_info {
        struct_size,
        object: file.object_place(index),
        name: manifest.texts.get_c_bytes(object.name).as_ptr().cast(),
        name_len: object.name.size(),
        shape: manifest.shape(object).as_ptr(),
        rank: object.rank as usize,
        attributes: super::value::lend(manifest.object_attributes(object)),
        component_count: object.component_count as usize,
        component: told.map_or(null(), |at| file.component_place(at)),
        offset: component.map_or(0, |c| c.offset),
        stored_size: component.map_or(0, |c| c.stored_size),
        size: component.map_or(0, known_size),
        format: format_number(object.format),
        dtype: component.map_or(0, |c| dtype_number(c.dtype)),
        r#type: component.map_or(0, |c| logical_number(c.logical)),
        encoding: component.map_or(0, |c| encoding_number(c.encoding)),
    }
}

/// Which component of all is told of.
#[inline(always)]
fn told_component(manifest: &Manifest, object: &Object) -> Option<usize> {
    let first = object.component_start as usize;
    match object.component_count {
        0 => None,
        1 => Some(first),
        _ => Some(first.saturating_add(dense_data(manifest, object).unwrap_or(0))),
    }
}

/// Where among its components the data of a dense object is.
#[cold]
fn dense_data(manifest: &Manifest, object: &Object) -> Option<usize> {
    let mut components = manifest.components(object).iter();
    components.position(|c| object.format == Format::Dense && manifest.texts.get_bytes(c.role) == b"data")
}

/// The decoded size as far as the manifest tells.
#[inline(always)]
fn known_size(component: &Component) -> u64 {
    match component.size {
        Some(size) => size,
        None if component.encoding == Encoding::Zstd && component.dtype.is_some() => u64::MAX,
        None => 0,
    }
}
