//! Lists components: one call returns what the getters return, for many components.

use crate::capi::arg;
use crate::capi::finding::component::{
    zt_component, zt_component_dtype, zt_component_encoding, zt_component_role, zt_component_size,
    zt_component_type,
};
use crate::capi::finding::list::fill_array;
use crate::capi::finding::object::zt_object;
use crate::capi::guard::guard;
use crate::capi::opening::open::zt_file;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{zt_dtype, zt_encoding, zt_type};
use crate::error::{fail, Result};
use crate::model::manifest::{LogicalType, TextId};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null;

/// Metadata of a component.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_component_info {
    /// sizeof(zt_component_info)
    pub struct_size: usize,
    /// The component.
    pub component: *const zt_component,
    /// Its object.
    pub object: *const zt_object,
    /// The role, NUL-ended, not NULL.
    pub role: *const c_char,
    /// Bytes of the role without the NUL.
    pub role_length: usize,
    /// The digest; NULL if absent.
    pub digest: *const c_char,
    /// First stored byte, counted from the start of its file (zt_part_info); a multiple of 64 in a .zt file.
    pub offset: u64,
    /// Stored bytes: compressed if the encoding compresses.
    pub stored_size: u64,
    /// Decoded bytes, as for zt_component_size.
    pub size: u64,
    /// The storage type.
    pub dtype: zt_dtype,
    /// The logical type.
    pub r#type: zt_type,
    /// The encoding.
    pub encoding: zt_encoding,
    /// The part of the model that has its bytes.
    pub part: u32,
    /// The file's own name of the storage type if dtype is ZT_DTYPE_OTHER, else NULL.
    pub dtype_name: *const c_char,
    /// The file's own name of the logical type if type is ZT_TYPE_OTHER, else NULL.
    pub type_name: *const c_char,
    /// The file's own name of the encoding if encoding is ZT_ENCODING_OTHER, else NULL.
    pub encoding_name: *const c_char,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_component_info:
    component, object, role, role_length, digest, offset, stored_size, size, dtype, r#type, encoding, part,
    dtype_name, type_name, encoding_name
);

/// Fills a struct for each of many components, in file order.
/// object: its components; NULL for those of all objects. The rest as for zt_object_list.
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
        arg::put(filled, "filled", || {
            let file = arg::required(file, "file")?;
            let Range { start, end } = component_range(file, object)?;
            let start = start.saturating_add(first).min(end);
            // SAFETY: infos has count structs; the first begins with its size.
            unsafe { fill_array(infos, count, start..end, |index| info(file, index)) }
        })
    })
}

/// Fills info for a component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_get_info(
    component: Option<&zt_component>,
    info: *mut zt_component_info,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?;
        // SAFETY: info is NULL or has the size it gives.
        unsafe { arg::fill_required(info, || Ok(self::info(component.owner(), component.handle.index()))) }
    })
}

/// The components of the file that are listed.
fn component_range(file: &zt_file, object: Option<&zt_object>) -> Result<Range<usize>> {
    let manifest = file.file().manifest();
    let Some(object) = object else { return Ok(0..manifest.components.len()) };
    if !std::ptr::eq(object.owner(), file) {
        return Err(fail!(InvalidArgument, "the object belongs to another file"));
    }
    let entry = manifest.objects.get(object.index());
    let entry = entry.ok_or_else(|| fail!(Internal, "an object without its entry"))?;
    let start = entry.component_start as usize;
    Ok(start..start.saturating_add(entry.component_count as usize))
}

fn info(file: &zt_file, index: usize) -> zt_component_info {
    let handle = file.component_handle(index);
    // SAFETY: it is NULL or in the file's table.
    let component = unsafe { handle.as_ref() };
    let manifest = file.file().manifest();
    let entry = manifest.components.get(index);
    let rare = entry.map(|entry| manifest.rare(entry)).unwrap_or_default();
    let name = |text: Option<TextId>| text.map_or(null(), |text| file.text(text));
    let unknown = |is_unknown: bool, text: Option<TextId>| name(text.filter(|_| is_unknown));
    zt_component_info {
        struct_size: 0,
        component: handle,
        object: file.object_handle(file.handles().owner_of(index)),
        role: zt_component_role(component),
        role_length: entry.map_or(0, |entry| entry.role.size()),
        digest: name(rare.digest),
        offset: entry.map_or(0, |entry| entry.offset),
        stored_size: entry.map_or(0, |entry| entry.stored_size),
        size: zt_component_size(component),
        dtype: zt_component_dtype(component),
        r#type: zt_component_type(component),
        encoding: zt_component_encoding(component),
        part: u32::try_from(file.file().part_of(index)).unwrap_or(u32::MAX),
        dtype_name: unknown(entry.is_some_and(|entry| entry.dtype.is_none()), rare.dtype),
        type_name: unknown(entry.is_some_and(|entry| entry.logical == LogicalType::Other), rare.logical),
        encoding_name: unknown(entry.is_some_and(|entry| entry.encoding.c_name().is_none()), rare.encoding),
    }
}
