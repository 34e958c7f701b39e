//! Components: one blob each. Metadata first, then the ways to its bytes, cheapest first.

use crate::capi::arg;
use crate::capi::guard::guard;
pub use crate::capi::handle_table::zt_component;
use crate::capi::opening::options::{self, zt_advice};
use crate::capi::opening::progress::{progress as progress_of, zt_progress_callback};
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{
    dtype_number, logical_number, zt_dtype, zt_encoding, zt_type, ZT_UNKNOWN_SIZE,
};
use crate::model::manifest;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// zt_component_ptr works.
pub const ZT_CAP_MAP: u32 = 1;
/// zt_component_read and zt_component_load work.
pub const ZT_CAP_READ: u32 = 2;
/// A range can be read without decoding everything.
pub const ZT_CAP_RANGE: u32 = 4;
/// The stored bytes are the decoded bytes and start at a multiple of 4096 in a real file: they can go from
/// disk to memory without a copy.
pub const ZT_CAP_DIRECT: u32 = 8;
/// There is a digest, or the CRC-32 of an archive, that this version can check.
pub const ZT_CAP_VERIFY: u32 = 16;
/// No other bytes are in the component's pages: ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach all of it and
/// nothing else.
pub const ZT_CAP_PAGE_EXCLUSIVE: u32 = 32;

impl zt_component {
    fn entry(&self) -> Option<&manifest::Component> {
        self.owner().file().manifest().components.get(self.handle.index())
    }
}

/// The component's name within its object, UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_role(component: Option<&zt_component>) -> *const c_char {
    component.and_then(|c| c.entry().map(|e| c.owner().text(e.role))).unwrap_or(null())
}

/// The storage type; ZT_DTYPE_OTHER if it is unknown. Spec 1.2 section 2.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_dtype(component: Option<&zt_component>) -> zt_dtype {
    component.and_then(zt_component::entry).map_or(0, |e| dtype_number(e.dtype))
}

/// The logical type; ZT_TYPE_NONE if the elements are what the dtype says, ZT_TYPE_OTHER if it is unknown.
/// Spec 1.2 section 2.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_type(component: Option<&zt_component>) -> zt_type {
    component.and_then(zt_component::entry).map_or(0, |e| logical_number(e.logical))
}

/// The encoding; ZT_ENCODING_OTHER if it is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_encoding(component: Option<&zt_component>) -> zt_encoding {
    component.and_then(zt_component::entry).map_or(0, |e| e.encoding.number())
}

/// Decoded bytes: the memory that zt_component_read needs. ZT_UNKNOWN_SIZE if the file does not declare it
/// (some compressed components before 1.2, unknown encodings); see zt_component_measure.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_size(component: Option<&zt_component>) -> u64 {
    let Some(component) = component else { return 0 };
    match component.entry().and_then(|e| e.size()) {
        Some(size) => size,
        None => lazy_size(component),
    }
}

/// A separate function, so that the getter stays short: it is called for every component.
#[cold]
#[inline(never)]
fn lazy_size(component: &zt_component) -> u64 {
    component.component().ok().and_then(|c| c.known_size()).unwrap_or(ZT_UNKNOWN_SIZE)
}

/// Finds the decoded size of a component that does not declare it, from the headers of its frames or by
/// decoding it once. zt_component_size returns it from then on.
/// progress, context: may be NULL.
/// Returns ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_UNSUPPORTED (unknown dtype or encoding),
/// ZT_ERROR_CANCELLED, ZT_ERROR_IO.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_measure(
    component: Option<&zt_component>,
    progress: zt_progress_callback,
    context: *mut c_void,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        arg::put(size, "size", || component.measure(&progress_of(progress, context)))
    })
}

/// The digest as in the file, "sha256:8f4a..." or "crc32c:0x449BD6A9"; NULL if absent. In zTensor 2 it covers
/// the decoded bytes, else the stored bytes.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_digest(component: Option<&zt_component>) -> *const c_char {
    let file = component.map(zt_component::owner);
    let digest = component
        .and_then(zt_component::entry)
        .zip(file)
        .and_then(|(e, f)| f.file().manifest().rare(e).digest);
    digest.zip(file).map_or(null(), |(digest, file)| file.text(digest))
}

/// What works on the component: a set of ZT_CAP_ bits.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_caps(component: Option<&zt_component>) -> u32 {
    let Some(caps) = component.and_then(|c| c.component().ok()).map(|c| c.caps()) else { return 0 };
    let bit = |yes: bool, bit: u32| if yes { bit } else { 0 };
    bit(caps.map, ZT_CAP_MAP)
        | bit(caps.read, ZT_CAP_READ)
        | bit(caps.range, ZT_CAP_RANGE)
        | bit(caps.direct, ZT_CAP_DIRECT)
        | bit(caps.verify, ZT_CAP_VERIFY)
        | bit(caps.page_exclusive, ZT_CAP_PAGE_EXCLUSIVE)
}

/// Borrows the component's bytes without copying. They are read-only, except in ZT_MODE_PRIVATE.
///
/// ptr: receives a pointer, not NULL even for 0 bytes. In a .zt file that was opened by path it is 64-byte
/// aligned. size: receives the number of bytes; may be NULL.
/// Returns ZT_ERROR_NOT_MAPPABLE if the component is compressed, of the other byte order, not aligned for its
/// elements, or in a file that is neither mapped nor in memory. Then use zt_component_read.
/// ZT_ERROR_UNSUPPORTED for an unknown dtype or encoding. Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_ptr(
    component: Option<&zt_component>,
    ptr: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        let ptr = arg::required(ptr, "ptr")?;
        let bytes = component.borrow()?;
        ptr.write(bytes.as_ptr().cast());
        arg::put_optional(size, bytes.len());
        Ok(())
    })
}

/// Reads the component's decoded bytes into the caller's memory, in the host's byte order.
///
/// dst, dst_size: memory for at least zt_component_size bytes, of any alignment; a smaller dst_size is
/// ZT_ERROR_BUFFER_SIZE. The rest of dst stays unchanged. On failure the content of dst is undefined.
/// Does not check digests: see zt_verify, zt_read_options.verify and zt_open_options.verify.
/// Returns ZT_ERROR_CORRUPT (compressed bytes are damaged or have another size than declared),
/// ZT_ERROR_UNSUPPORTED (unknown dtype or encoding), ZT_ERROR_LIMIT, ZT_ERROR_IO.
/// For a large component the call may start threads (zt_open_options.threads). Spec 1.2 section 5.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read(
    component: Option<&zt_component>,
    dst: *mut c_void,
    dst_size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: dst has dst_size bytes.
        component.read(unsafe { arg::bytes_mut(dst, dst_size, "dst")? })
    })
}

/// Copies the component's stored bytes: compressed, of an unknown encoding, in the file's byte order.
/// dst, dst_size: memory for zt_component_info.stored_size bytes; less is ZT_ERROR_BUFFER_SIZE. Returns
/// ZT_ERROR_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read_stored(
    component: Option<&zt_component>,
    dst: *mut c_void,
    dst_size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: dst has dst_size bytes.
        component.read_stored(unsafe { arg::bytes_mut(dst, dst_size, "dst")? })
    })
}

/// Reads size decoded bytes from offset on. Of zstd data only the frames that the range touches are decoded,
/// if the frames declare their sizes.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the range exceeds zt_component_size, ZT_ERROR_UNSUPPORTED for zstd
/// frames that do not declare their size and have a window above 128 MiB, else as zt_component_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read_range(
    component: Option<&zt_component>,
    offset: u64,
    dst: *mut c_void,
    size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: dst has size bytes.
        component.read_range(offset, unsafe { arg::bytes_mut(dst, size, "dst")? })
    })
}

/// Advises the system what will be done with the component's stored bytes.
///
/// ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach only whole pages of the component: see ZT_CAP_PAGE_EXCLUSIVE.
/// Other advice reaches every page that the bytes touch. In ZT_MODE_READ, ZT_ADVICE_SEQUENTIAL and
/// ZT_ADVICE_NONE count for the whole file.
/// Returns ZT_ERROR_UNSUPPORTED if the system or the mode does not have the advice (docs/big_models.md),
/// ZT_ERROR_IO if the system fails.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_advise(component: Option<&zt_component>, advice: zt_advice) -> zt_status {
    guard(|| arg::required(component, "component")?.component()?.advise(options::advice(advice)?))
}
