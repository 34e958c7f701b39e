//! Lists objects: one call returns what the getters of objects and components return, for many objects.

use crate::capi::arg;
use crate::capi::attributes::value::zt_value;
use crate::capi::finding::component::zt_component;
use crate::capi::finding::object::zt_object;
use crate::capi::guard::guard;
use crate::capi::handle_table::Handle;
use crate::capi::opening::open::zt_file;
use crate::capi::sized::{sized_struct, SizedStruct};
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{
    dtype_number, format_number, logical_number, zt_dtype, zt_encoding, zt_format, zt_type, ZT_UNKNOWN_SIZE,
};
use crate::error::{fail, Result};
use crate::model::manifest::{Component, Format, Manifest, Object};
use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::ptr::{copy_nonoverlapping, null};

/// Metadata of an object. offset, stored_size, size, dtype, type and encoding describe component; they are 0
/// if it is NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_object_info {
    /// sizeof(zt_object_info)
    pub struct_size: usize,
    /// The object.
    pub object: *const zt_object,
    /// The name, NUL-ended, not NULL.
    pub name: *const c_char,
    /// Bytes of the name without the NUL.
    pub name_length: usize,
    /// The dimensions, outermost first, not NULL.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// The attributes, a map; NULL if absent.
    pub attributes: *const zt_value,
    /// Number of components.
    pub component_count: usize,
    /// Component "data" of a dense object or of blocks; NULL for other formats.
    pub component: *const zt_component,
    /// First stored byte, counted from the start of its file (zt_part_info).
    pub offset: u64,
    /// Stored bytes.
    pub stored_size: u64,
    /// Decoded bytes, as for zt_component_size.
    pub size: u64,
    /// The format.
    pub format: zt_format,
    /// The storage type.
    pub dtype: zt_dtype,
    /// The logical type.
    pub r#type: zt_type,
    /// The encoding.
    pub encoding: zt_encoding,
    /// With ZT_FORMAT_OTHER the name in the file, with ZT_FORMAT_BLOCKS a name such as "gguf.q4_0/1", else
    /// NULL.
    pub format_name: *const c_char,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_object_info:
    object, name, name_length, shape, rank, attributes, component_count, component, offset, stored_size, size,
    format, dtype, r#type, encoding, format_name
);

/// Fills a struct for each of many objects, in file order. The fastest way to list a file: it allocates and
/// decodes nothing.
///
/// first: the first object; beyond the last one the call fills nothing and returns ZT_OK. infos, count: an
/// array; set struct_size of the first struct only. filled: receives the number of filled structs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_list(
    file: Option<&zt_file>,
    first: usize,
    infos: *mut zt_object_info,
    count: usize,
    filled: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        arg::put(filled, "filled", || {
            let file = arg::required(file, "file")?;
            let objects = file.file().manifest().objects.get(first..).unwrap_or_default();
            let (writer, found) = (InfoWriter::new(file), objects.iter().zip(first..));
            // SAFETY: infos has count structs; the first begins with its size.
            unsafe { fill_array(infos, count, found, |(object, index)| writer.info(index, object)) }
        })
    })
}

/// Fills info for an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_get_info(
    object: Option<&zt_object>,
    info: *mut zt_object_info,
) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?;
        let (file, index) = (object.owner(), object.index());
        let entry = file.file().manifest().objects.get(index);
        let entry = entry.ok_or_else(|| fail!(Internal, "an object without its entry"))?;
        // SAFETY: info is NULL or has the size it gives.
        unsafe { arg::fill_required(info, || Ok(InfoWriter::new(file).info(index, entry))) }
    })
}

/// Fills the front of an array of `count` structs: `describe` makes one of each that is found. Returns how
/// many.
///
/// # Safety
/// `infos` is NULL or has `count` structs; the first begins with its size.
#[inline(always)]
pub(in crate::capi) unsafe fn fill_array<T: SizedStruct, I>(
    infos: *mut T,
    count: usize,
    found: impl Iterator<Item = I>,
    describe: impl Fn(I) -> T,
) -> Result<usize> {
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: the first struct has the size that it gives.
    let stride = unsafe { stride(infos, count)? };
    let (mut place, mut filled) = (infos, 0usize);
    let mut whole = MaybeUninit::uninit();
    for one in found.take(count) {
        // `describe` writes the struct to its place. To make it elsewhere and copy it takes longer than
        // everything else. It is called at one place only, so that the compiler inlines it.
        let made: *mut T = if stride >= size_of::<T>() { place } else { whole.as_mut_ptr() };
        // SAFETY: there are `count` structs of `stride` bytes, which begin with their size. Fields of a newer
        // header are set to zero.
        unsafe {
            made.write(describe(one));
            if stride < size_of::<T>() {
                copy_nonoverlapping(made.cast::<u8>(), place.cast(), stride);
            }
            place.cast::<usize>().write(stride);
            // Usually both sizes are equal. Without this check, zeroing no bytes would take half as long as
            // everything else.
            if stride > size_of::<T>() {
                arg::zero_unknown(place, stride);
            }
        }
        place = place.wrapping_byte_add(stride);
        filled = filled.wrapping_add(1);
    }
    Ok(filled)
}

/// The distance between two of the caller's structs.
///
/// # Safety
/// `infos` is NULL or begins with the size of its struct.
unsafe fn stride<T: SizedStruct>(infos: *const T, count: usize) -> Result<usize> {
    // SAFETY: the caller ensures this.
    let stride = unsafe { arg::struct_size(infos)? };
    match stride.checked_mul(count) {
        _ if stride == 0 => Err(fail!(InvalidArgument, "the array is NULL, but its count is {count}")),
        _ if stride % align_of::<T>() != 0 && count > 1 => {
            Err(fail!(InvalidArgument, "{}.struct_size is {stride}: the second is not aligned", T::NAME))
        }
        Some(size) if isize::try_from(size).is_ok() => Ok(stride),
        _ => Err(fail!(InvalidArgument, "an array of {count} structs does not fit in memory")),
    }
}

/// What is needed to describe objects. It is a copy, because the compiler cannot know that filling a struct
/// does not change the tables. It would read their addresses again for each object.
struct InfoWriter<'f> {
    manifest: &'f Manifest,
    components: &'f [Component],
    values: *const u8,
    texts: *const u8,
    dimensions: *const u64,
    /// The handles of all objects and components.
    handles: *const Handle,
}

impl<'f> InfoWriter<'f> {
    fn new(file: &'f zt_file) -> Self {
        let manifest = file.file().manifest();
        InfoWriter {
            manifest,
            components: &manifest.components,
            values: manifest.values.as_ptr(),
            texts: manifest.texts.as_ptr(),
            dimensions: manifest.dimensions.as_ptr(),
            handles: file.handles().address(0),
        }
    }

    /// The struct for an object.
    #[inline(always)]
    fn info(&self, index: usize, object: &Object) -> zt_object_info {
        let at = self.array_component(object);
        let component = at.and_then(|at| self.components.get(at));
        let handle = at.filter(|_| component.is_some()).map(|at| self.handles.wrapping_add(at).cast());
        zt_object_info {
            struct_size: 0,
            object: self.handles.wrapping_add(index).cast(),
            name: self.texts.wrapping_add(object.name.start()).cast(),
            name_length: object.name.size(),
            shape: self.dimensions.wrapping_add(object.shape_start as usize),
            rank: object.rank as usize,
            attributes: object.attributes.map_or(null(), |at| self.values.wrapping_add(at.index()).cast()),
            component_count: object.component_count as usize,
            component: handle.unwrap_or(null()),
            offset: component.map_or(0, |c| c.offset),
            stored_size: component.map_or(0, |c| c.stored_size),
            size: component.map_or(0, |c| c.size().unwrap_or(ZT_UNKNOWN_SIZE)),
            format: format_number(object.format),
            dtype: component.map_or(0, |c| dtype_number(c.dtype)),
            r#type: component.map_or(0, |c| logical_number(c.logical)),
            encoding: component.map_or(0, |c| c.encoding.number()),
            format_name: match object.format {
                Format::Other(name) => self.texts.wrapping_add(name.start()).cast(),
                // Blocks have a name for each type, which zt_format_name cannot return.
                Format::Blocks(_) => object.format.c_name().map_or(null(), CStr::as_ptr),
                _ => null(),
            },
        }
    }

    /// The position of the component that the listing of an object describes: the data of an array.
    #[inline(always)]
    fn array_component(&self, object: &Object) -> Option<usize> {
        let first = object.component_start as usize;
        if object.format == Format::Dense && object.component_count == 1 {
            return Some(first); // usual; such a component has been checked to be "data"
        }
        let is_data = |at: &usize| {
            let component = self.components.get(first.wrapping_add(*at));
            component.is_some_and(|c| self.manifest.texts.get_bytes(c.role) == b"data")
        };
        let mut places = 0..object.component_count as usize;
        let found = object.format.is_array().then(|| places.find(is_data)).flatten();
        found.map(|at| first.wrapping_add(at))
    }
}
