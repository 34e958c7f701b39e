//! The listing of components: what their getters say, of many in one call.

use super::arg;
use super::component::{
    zt_component, zt_component_digest, zt_component_dtype, zt_component_encoding, zt_component_offset,
    zt_component_part, zt_component_role, zt_component_role_length, zt_component_size,
    zt_component_stored_size, zt_component_type,
};
use super::guard::guard;
use super::list::stride;
use super::object::zt_object;
use super::open::zt_file;
use super::sized::{sized_struct, SizedStruct};
use super::status::zt_status;
use super::types::{zt_dtype, zt_encoding, zt_type};
use crate::error::{fail, Result};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ops::Range;

/// What is known of a component without touching its bytes, as zt_component_list fills it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_component_info {
    /// sizeof (zt_component_info): set by the caller in the first struct of an array, filled in the others.
    pub struct_size: usize,
    /// The component.
    pub component: *const zt_component,
    /// The object that it is part of.
    pub object: *const zt_object,
    /// As zt_component_role: NUL-ended, not NULL.
    pub role: *const c_char,
    /// As zt_component_role_length.
    pub role_length: usize,
    /// As zt_component_digest: NULL if there is none.
    pub digest: *const c_char,
    /// As zt_component_offset.
    pub offset: u64,
    /// As zt_component_stored_size.
    pub stored_size: u64,
    /// As zt_component_size.
    pub size: u64,
    /// As zt_component_dtype.
    pub dtype: zt_dtype,
    /// As zt_component_type.
    pub r#type: zt_type,
    /// As zt_component_encoding.
    pub encoding: zt_encoding,
    /// As zt_component_part.
    pub part: u32,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_component_info:
    component, object, role, role_length, digest, offset, stored_size, size, dtype, r#type, encoding, part
);

/// Fills a struct for each of many components with what its getters return, in file order.
/// object: whose components; of this file. NULL for those of all objects. All else: as zt_object_list.
/// Threads: any. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_list(
    file: Option<&zt_file>,
    object: Option<&zt_object>,
    first: usize,
    infos: *mut zt_component_info,
    count: usize,
    filled: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let filled = arg::required(filled, "filled")?;
        // SAFETY: passed on.
        filled.write(unsafe { list(arg::required(file, "file")?, object, first, infos, count)? });
        Ok(())
    })
}

/// How many were filled.
///
/// # Safety
/// "count: as many structs"; `infos` is NULL or begins with the size of its struct.
unsafe fn list(
    file: &zt_file,
    object: Option<&zt_object>,
    first: usize,
    infos: *mut zt_component_info,
    count: usize,
) -> Result<usize> {
    let Range { start, end } = component_range(file, object)?;
    let start = start.saturating_add(first).min(end);
    let end = start.saturating_add(count).min(end);
    if count > 0 {
        // SAFETY: passed on.
        let stride = unsafe { stride(infos, count)? };
        for (at, index) in (start..end).enumerate() {
            let info = zt_component_info { struct_size: stride, ..info(file, index) };
            let place = infos.wrapping_byte_add(at.wrapping_mul(stride));
            // SAFETY: there is room for as many structs of `stride` bytes, and a struct is no larger than its size.
            unsafe {
                let known = stride.min(zt_component_info::SIZE);
                std::ptr::copy_nonoverlapping((&raw const info).cast::<u8>(), place.cast::<u8>(), known);
                arg::zero_unknown(place, stride);
            }
        }
    }
    Ok(end.saturating_sub(start))
}

/// Which of the file's components are listed.
fn component_range(file: &zt_file, object: Option<&zt_object>) -> Result<Range<usize>> {
    let manifest = file.file().manifest();
    let Some(object) = object else { return Ok(0..manifest.components.len()) };
    if !std::ptr::eq(object.owner(), file) {
        return Err(fail!(InvalidArgument, "the object is of another file"));
    }
    let entry = manifest.objects.get(object.index());
    let entry = entry.ok_or_else(|| fail!(Internal, "an object without its entry"))?;
    let start = entry.component_start as usize;
    Ok(start..start.saturating_add(entry.component_count as usize))
}

fn info(file: &zt_file, index: usize) -> zt_component_info {
    let handle = file.component_handle(index);
    // SAFETY: NULL or a place in the file's table.
    let component = unsafe { handle.as_ref() };
    zt_component_info {
        struct_size: 0,
        component: handle,
        object: file.object_handle(file.handles().owner_of(index)),
        role: zt_component_role(component),
        role_length: zt_component_role_length(component),
        digest: zt_component_digest(component),
        offset: zt_component_offset(component),
        stored_size: zt_component_stored_size(component),
        size: zt_component_size(component),
        dtype: zt_component_dtype(component),
        r#type: zt_component_type(component),
        encoding: zt_component_encoding(component),
        part: u32::try_from(zt_component_part(component)).unwrap_or(u32::MAX),
    }
}
