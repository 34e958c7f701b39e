//! The listing: what the getters of objects and components say, of many objects in one call.

use super::arg;
use super::component::zt_component;
use super::guard::guard;
use super::handle_table::Handle;
use super::object::zt_object;
use super::open::zt_file;
use super::sized::{sized_struct, SizedStruct};
use super::status::{value, zt_status};
use super::types::{
    dtype_number, encoding_number, format_number, logical_number, zt_dtype, zt_encoding, zt_format, zt_type,
    ZT_UNKNOWN_SIZE,
};
use super::value_record::zt_value;
use crate::error::{fail, Result};
use crate::model::manifest::{Component, Manifest, Object};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::{copy_nonoverlapping, null};

/// What is known of an object without touching its bytes, as zt_object_list fills it. The fields from
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
    /// As zt_object_name_length.
    pub name_length: usize,
    /// As zt_object_shape: the dimensions, rank of them, outermost first; not NULL.
    pub shape: *const u64,
    /// As zt_object_rank.
    pub rank: usize,
    /// As zt_object_attributes: NULL if it has none.
    pub attributes: *const zt_value,
    /// As zt_component_count.
    pub component_count: usize,
    /// "data" of a dense object, the first component of any other; NULL if it has none.
    pub component: *const zt_component,
    /// As zt_component_offset.
    pub offset: u64,
    /// As zt_component_stored_size.
    pub stored_size: u64,
    /// As zt_component_size; ZT_UNKNOWN_SIZE where the file does not declare it.
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

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_object_info:
    object, name, name_length, shape, rank, attributes, component_count, component, offset, stored_size, size,
    format, dtype, r#type, encoding
);

/// Fills a struct for each of many objects with what its getters return, in file order. Nothing is
/// allocated, locked or decoded: for a listing of everything, the cheapest way.
///
/// first: where to begin; not below zt_object_count is fine, and fills nothing. infos, count: as many
/// structs, of which the first one's struct_size is set; (NULL, 0) fills nothing. A few dozen at a time
/// stay in the processor's cache. filled: receives how many were filled, count or as many as there are
/// from first on; not NULL. infos and filled are untouched on failure.
/// What the structs point to lives until the last zt_close.
/// Returns ZT_ERROR_INVALID_ARGUMENT for NULL and for a struct_size that is none.
/// Threads: any. Since 0.9. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_list(
    file: Option<&zt_file>,
    first: usize,
    infos: *mut zt_object_info,
    count: usize,
    filled: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    let Some(filled) = filled else { return guard(|| Err(fail!(InvalidArgument, "filled is NULL"))) };
    // No guard around what cannot panic: it would take as long as filling several structs.
    // SAFETY: passed on.
    match unsafe { list(file, first, infos, count) } {
        Ok(listed) => {
            filled.write(listed);
            value::ZT_OK as zt_status
        }
        Err(error) => guard(|| Err(error)),
    }
}

/// How many were filled.
///
/// # Safety
/// "count: as many structs"; `infos` is NULL or begins with the size of its struct.
unsafe fn list(
    file: Option<&zt_file>,
    first: usize,
    infos: *mut zt_object_info,
    count: usize,
) -> Result<usize> {
    let file = arg::required(file, "file")?;
    let objects = file.file().manifest().objects.get(first..).unwrap_or_default();
    let objects = objects.get(..count).unwrap_or(objects);
    if count > 0 {
        // SAFETY: the first struct is of the size that it says, and the others are as far from each other.
        unsafe {
            let stride = stride(infos, count)?;
            match stride >= zt_object_info::SIZE {
                true => fill_newer(file, first, objects, infos, stride),
                false => fill_older(file, first, objects, infos, stride),
            }
        }
    }
    Ok(objects.len())
}

/// How far the caller's structs are apart.
///
/// # Safety
/// `infos` is NULL or begins with the size of its struct.
pub(super) unsafe fn stride<T: SizedStruct>(infos: *const T, count: usize) -> Result<usize> {
    // SAFETY: passed on.
    let stride = unsafe { arg::struct_size(infos)? };
    match stride.checked_mul(count) {
        _ if stride == 0 => Err(fail!(InvalidArgument, "infos is NULL, but {count} are said to be there")),
        _ if stride % align_of::<T>() != 0 && count > 1 => {
            Err(fail!(InvalidArgument, "{}.struct_size is {stride}: the second is not aligned", T::NAME))
        }
        Some(size) if isize::try_from(size).is_ok() => Ok(stride),
        _ => Err(fail!(InvalidArgument, "infos: {count} structs do not fit in memory")),
    }
}

/// Fills the structs, of which the first is of the object at `first`.
///
/// # Safety
/// `infos` has as many structs of `stride` bytes as there are objects; a struct is not larger.
#[inline(never)] // so that it has the registers for itself
unsafe fn fill_all(
    file: &zt_file,
    first: usize,
    objects: &[Object],
    infos: *mut zt_object_info,
    stride: usize,
) {
    const PREFETCH_DISTANCE: usize = 160; // objects; in less time than those take, memory answers
    let writer = InfoWriter::new(file);
    let mut handle = writer.handles.wrapping_add(first);
    let mut place = infos;
    // Component n is of object n, and no object has attributes: so are most files, of which there is less to ask.
    let plain = file.handles().is_one_each() && !writer.has_values;
    let alone = writer.components.get(first..).filter(|_| plain).unwrap_or_default();
    for (object, component) in objects.iter().zip(alone) {
        prefetch(std::ptr::from_ref(object).wrapping_add(PREFETCH_DISTANCE));
        prefetch(std::ptr::from_ref(component).wrapping_add(PREFETCH_DISTANCE));
        // SAFETY: there is room for all of it, aligned, and every value of every field is valid.
        let info = unsafe { &mut *place };
        info.struct_size = stride;
        writer.fill_object(info, handle.cast(), object);
        (info.attributes, info.component_count) = (null(), 1);
        fill_component(info, handle.cast(), component);
        handle = handle.wrapping_add(1);
        place = place.wrapping_byte_add(stride);
    }
    for object in objects.get(alone.len()..).unwrap_or_default() {
        prefetch(std::ptr::from_ref(object).wrapping_add(PREFETCH_DISTANCE));
        prefetch(
            writer
                .components
                .as_ptr()
                .wrapping_add(object.component_start as usize)
                .wrapping_add(PREFETCH_DISTANCE),
        );
        // SAFETY: likewise.
        let info = unsafe { &mut *place };
        info.struct_size = stride;
        writer.fill(info, handle.cast(), object);
        handle = handle.wrapping_add(1);
        place = place.wrapping_byte_add(stride);
    }
}

/// Prefetches memory that is read next, where the processor can be asked; it may be nobody's memory.
#[inline(always)]
fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only a hint: nothing is read, and nothing faults.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same for structs that may be larger, of a newer header: what is not known here is zeroed.
///
/// # Safety
/// As [`fill_all`].
unsafe fn fill_newer(
    file: &zt_file,
    first: usize,
    objects: &[Object],
    infos: *mut zt_object_info,
    stride: usize,
) {
    // SAFETY: passed on.
    unsafe { fill_all(file, first, objects, infos, stride) };
    if stride > zt_object_info::SIZE {
        for at in 0..objects.len() {
            // SAFETY: there are as many structs of `stride` bytes.
            unsafe { arg::zero_unknown(infos.wrapping_byte_add(at.wrapping_mul(stride)), stride) };
        }
    }
}

/// Fills structs of an older header, which are smaller.
///
/// # Safety
/// `infos` has as many structs of `stride` bytes as there are objects; a struct is larger.
#[cold]
unsafe fn fill_older(
    file: &zt_file,
    first: usize,
    objects: &[Object],
    infos: *mut zt_object_info,
    stride: usize,
) {
    let writer = InfoWriter::new(file);
    let mut place = infos.cast::<u8>();
    for (object, index) in objects.iter().zip(first..) {
        let mut info = zt_object_info { struct_size: stride, ..EMPTY_INFO };
        writer.fill(&mut info, writer.handles.wrapping_add(index).cast(), object);
        // SAFETY: there is room for that much of it, by this function's contract.
        unsafe { copy_nonoverlapping((&raw const info).cast::<u8>(), place, stride) };
        place = place.wrapping_add(stride);
    }
}

const EMPTY_INFO: zt_object_info = zt_object_info {
    struct_size: 0,
    object: null(),
    name: null(),
    name_length: 0,
    shape: null(),
    rank: 0,
    attributes: null(),
    component_count: 0,
    component: null(),
    offset: 0,
    stored_size: 0,
    size: 0,
    format: 0,
    dtype: 0,
    r#type: 0,
    encoding: 0,
};

/// What a listing looks at. Kept by itself, as a table's place would be read anew for each object: for all that the
/// compiler knows, it may change when a struct is filled.
struct InfoWriter<'f> {
    manifest: &'f Manifest,
    components: &'f [Component],
    values: *const u8,
    has_values: bool,
    texts: *const u8,
    dimensions: *const u64,
    /// Of both objects and components.
    handles: *const Handle,
}

impl<'f> InfoWriter<'f> {
    fn new(file: &'f zt_file) -> Self {
        let manifest = file.file().manifest();
        InfoWriter {
            manifest,
            components: &manifest.components,
            values: manifest.values.as_ptr(),
            has_values: manifest.values.size() > 0,
            texts: manifest.texts.as_ptr(),
            dimensions: manifest.dimensions.as_ptr(),
            handles: file.handles().address(0),
        }
    }

    /// Fills all but the size. Each field is stored when it is known, which leaves the compiler nothing to remember.
    #[inline(always)]
    fn fill(&self, info: &mut zt_object_info, handle: *const zt_object, object: &Object) {
        self.fill_object(info, handle, object);
        info.attributes = match object.attributes {
            Some(at) => self.values.wrapping_add(at.index()).cast(),
            None => null(),
        };
        info.component_count = object.component_count as usize;
        let primary = self.primary_component(object);
        if let Some((at, component)) = primary.and_then(|at| Some((at, self.components.get(at)?))) {
            fill_component(info, self.handles.wrapping_add(at).cast(), component);
        } else {
            info.component = null();
            (info.offset, info.stored_size, info.size) = (0, 0, 0);
            (info.dtype, info.r#type, info.encoding) = (0, 0, 0);
        }
    }

    /// What is of the object alone, but for its attributes and how many components it has.
    #[inline(always)]
    fn fill_object(&self, info: &mut zt_object_info, handle: *const zt_object, object: &Object) {
        info.object = handle;
        info.name = self.texts.wrapping_add(object.name.start()).cast();
        info.name_length = object.name.size();
        info.shape = self.dimensions.wrapping_add(object.shape_start as usize);
        info.rank = object.rank as usize;
        info.format = format_number(object.format);
    }

    /// The component that a listing describes.
    #[inline(always)]
    fn primary_component(&self, object: &Object) -> Option<usize> {
        let first = object.component_start as usize;
        match object.component_count {
            1 => Some(first),
            0 => None,
            _ => Some(first.saturating_add(dense_data(self.manifest, object).unwrap_or(0))),
        }
    }
}

#[inline(always)]
fn fill_component(info: &mut zt_object_info, handle: *const zt_component, component: &Component) {
    info.component = handle;
    info.offset = component.offset;
    info.stored_size = component.stored_size;
    info.size = known_size(component);
    info.dtype = dtype_number(component.dtype);
    info.r#type = logical_number(component.logical);
    info.encoding = encoding_number(component.encoding);
}

/// Where among its components the data of an array is.
#[cold]
fn dense_data(manifest: &Manifest, object: &Object) -> Option<usize> {
    let mut components = manifest.components(object).iter();
    components.position(|c| object.format.is_array() && manifest.texts.get_bytes(c.role) == b"data")
}

/// The decoded size as far as the manifest declares it.
#[inline(always)]
fn known_size(component: &Component) -> u64 {
    component.size().unwrap_or(ZT_UNKNOWN_SIZE)
}
