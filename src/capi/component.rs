//! Components: one blob each. Metadata first, then the ways to its bytes, cheapest first.

use super::arg;
use super::guard::guard;
pub use super::handle_table::zt_component;
use super::mode::{self, zt_advice};
use super::progress::{progress as progress_of, zt_progress_callback};
use super::status::zt_status;
use super::types::{
    dtype_number, encoding_number, logical_number, zt_dtype, zt_encoding, zt_type, ZT_UNKNOWN_SIZE,
};
use crate::model::manifest;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The component's decoded bytes can be lent: zt_component_ptr works.
pub const ZT_CAP_MAP: u32 = 1;
/// The component's decoded bytes can be had: zt_component_read and zt_component_load work.
pub const ZT_CAP_READ: u32 = 2;
/// A range of the decoded bytes can be had without decoding all of them.
pub const ZT_CAP_RANGE: u32 = 4;
/// The stored bytes are the decoded bytes and start at a multiple of 4096 of a real file, counted from its own start
/// (zt_open_fd's offset included): they can go from the disk to their place without a copy.
pub const ZT_CAP_DIRECT: u32 = 8;
/// There is a digest that this version can check, or the CRC-32 that an archive (npz, PyTorch) has of the bytes.
pub const ZT_CAP_VERIFY: u32 = 16;
/// It starts at a page boundary of the real file, counted from that file's own start, or of memory, and no byte of
/// another component, nor of what the file is part of, is in its pages: ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach
/// all of it and nothing else.
pub const ZT_CAP_PAGE_EXCLUSIVE: u32 = 32;

impl zt_component {
    fn entry(&self) -> Option<&manifest::Component> {
        self.owner().file().manifest().components.get(self.handle.index())
    }

    fn text(&self, text: manifest::TextId) -> *const c_char {
        self.owner().file().manifest().texts.get_c_bytes(text).as_ptr().cast()
    }

    fn rare(&self) -> manifest::RareNames {
        self.entry().map(|e| self.owner().file().manifest().rare(e)).unwrap_or_default()
    }

    fn optional(&self, text: Option<manifest::TextId>) -> *const c_char {
        text.map_or(null(), |t| self.text(t))
    }
}

/// The component's name within its object: UTF-8 and NUL-ended.
/// Returns a string that lives until the last zt_close; NULL for NULL.
/// Threads: any. Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_role(component: Option<&zt_component>) -> *const c_char {
    component.and_then(|c| c.entry().map(|e| c.text(e.role))).unwrap_or(null())
}

/// The storage type; ZT_DTYPE_OTHER for an unknown one, and for NULL.
/// Threads: any. Spec 1.2 section 2.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_dtype(component: Option<&zt_component>) -> zt_dtype {
    component.and_then(zt_component::entry).map_or(0, |e| dtype_number(e.dtype))
}

/// The logical type: ZT_TYPE_NONE where the elements are what the dtype says, also where the file writes that out;
/// ZT_TYPE_OTHER for an unknown one; ZT_TYPE_NONE for NULL.
/// Threads: any. Spec 1.2 section 2.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_type(component: Option<&zt_component>) -> zt_type {
    component.and_then(zt_component::entry).map_or(0, |e| logical_number(e.logical))
}

/// The encoding; ZT_ENCODING_OTHER for an unknown one, 0 for NULL.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_encoding(component: Option<&zt_component>) -> zt_encoding {
    component.and_then(zt_component::entry).map_or(0, |e| encoding_number(e.encoding))
}

/// Decoded bytes: what zt_component_read needs room for. 0 for NULL; ZT_UNKNOWN_SIZE where the file does not declare
/// it (some compressed components before 1.2, unknown encodings) and zt_component_measure has not found it yet.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_size(component: Option<&zt_component>) -> u64 {
    let Some(component) = component else { return 0 };
    match component.entry().and_then(|e| e.size()) {
        Some(size) => size,
        None => lazy_size(component),
    }
}

/// Out of the way of the getter, which is called for every component there is.
#[cold]
#[inline(never)]
fn lazy_size(component: &zt_component) -> u64 {
    component.component().ok().and_then(|c| c.known_size()).unwrap_or(ZT_UNKNOWN_SIZE)
}

/// Finds out the decoded bytes that zt_component_size gives from then on: by the headers of the stored bytes or, if
/// they do not say it, by decoding all of them once.
///
/// progress: called with context and the stored bytes that were decoded, where they are; NULL: not called. size:
/// receives the decoded bytes; not NULL, untouched on failure.
/// Returns ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT (max_decoded_size), ZT_ERROR_UNSUPPORTED (unknown dtype or encoding),
/// ZT_ERROR_CANCELLED if progress stops it, ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_measure(
    component: Option<&zt_component>,
    progress: zt_progress_callback,
    context: *mut c_void,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        let size = arg::required(size, "size")?;
        size.write(component.measure(&progress_of(progress, context))?);
        Ok(())
    })
}

/// The digest as the file has it, "sha256:8f4a...": of the stored bytes, in zTensor 2 of the decoded ones.
/// Returns a string that lives until the last zt_close; NULL if there is none, and for NULL.
/// Threads: any. Spec 1.2 section 1.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_digest(component: Option<&zt_component>) -> *const c_char {
    component.map_or(null(), |c| c.optional(c.rare().digest))
}

/// What would work on the component: a set of ZT_CAP_ bits. 0 for NULL.
/// Threads: any.
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

/// Lends the component's bytes where they are, without copying.
///
/// ptr: receives a pointer that lives until the last zt_close; not NULL. It is not NULL for a component of no bytes.
/// It is 64-byte aligned in a .zt file that was opened by path (else see zt_open_fd and zt_open_memory); other
/// containers align as they like, and what is not aligned for its elements is ZT_ERROR_NOT_MAPPABLE. size: receives
/// the bytes; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_NOT_MAPPABLE if the component is compressed, of the other byte order, or the file is neither mapped
/// nor in memory (zt_component_read works then); ZT_ERROR_UNSUPPORTED for an unknown dtype or encoding.
/// The bytes are read-only; writing to them is a fault, but in ZT_MODE_PRIVATE. In ZT_MODE_MAP see there what a file
/// that changes under us does. Threads: any. Spec 1.2 section 3 ("SHOULD memory-map").
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
        if let Some(size) = size {
            size.write(bytes.len());
        }
        Ok(())
    })
}

/// Reads the component's decoded bytes straight into the caller's memory.
///
/// dst: receives zt_component_size bytes in the host's byte order, of any alignment; NULL only if there are none.
/// dst_size: its bytes; fewer is ZT_ERROR_BUFFER_SIZE, what is over is left alone. On failure dst is undefined.
/// Returns ZT_ERROR_CORRUPT (the compressed bytes are damaged or of another size than declared), ZT_ERROR_UNSUPPORTED
/// (unknown dtype or encoding), ZT_ERROR_LIMIT, ZT_ERROR_IO. Digests are not checked here: see zt_verify,
/// zt_read_batch, zt_open_options.verify.
/// Threads: any; for a large one the call may start its own (zt_open_options.threads). Spec 1.2 section 5.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read(
    component: Option<&zt_component>,
    dst: *mut c_void,
    dst_size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: "dst_size: its bytes".
        component.read(unsafe { arg::bytes_mut(dst, dst_size, "dst")? })
    })
}

/// Copies the component's stored bytes as they are: compressed, of an unknown encoding, little-endian.
/// dst: receives zt_component_info.stored_size bytes; NULL only if there are none. dst_size: its bytes; fewer is
/// ZT_ERROR_BUFFER_SIZE, what is over is left alone. On failure the content of dst is undefined.
/// Returns ZT_ERROR_IO, ZT_ERROR_BUFFER_SIZE, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read_stored(
    component: Option<&zt_component>,
    dst: *mut c_void,
    dst_size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: "dst_size: its bytes".
        component.read_stored(unsafe { arg::bytes_mut(dst, dst_size, "dst")? })
    })
}

/// Reads a range of the component's decoded bytes. Of a zstd component only the frames that the range touches are
/// decoded, where the frames declare their sizes, as those that this library writes do. Where the file is neither
/// mapped nor in memory, the first range of a component walks the headers of its frames, which is kept for some
/// components; a small component is read whole (docs/tuning.md).
///
/// offset: first decoded byte. dst, size: receives size bytes; NULL only if size is 0.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the range passes zt_component_size, ZT_ERROR_UNSUPPORTED for zstd frames that do
/// not say their sizes with a window over 128 MiB, else as zt_component_read.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_read_range(
    component: Option<&zt_component>,
    offset: u64,
    dst: *mut c_void,
    size: usize,
) -> zt_status {
    guard(|| {
        let component = arg::required(component, "component")?.component()?;
        // SAFETY: "receives size bytes".
        component.read_range(offset, unsafe { arg::bytes_mut(dst, size, "dst")? })
    })
}

/// Advises the system what will be done with the component's stored bytes. To keep bytes in memory, lock what
/// zt_file_bytes returns.
///
/// ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach only pages without bytes of another component or of anything else in the
/// file: all pages of a component with ZT_CAP_PAGE_EXCLUSIVE, the whole pages inside any other component. The others
/// reach every page that the bytes touch. In ZT_MODE_READ on Linux and macOS, ZT_ADVICE_SEQUENTIAL and ZT_ADVICE_NONE
/// count for the whole file.
/// Returns ZT_ERROR_UNSUPPORTED if the advice is not available, and then nothing was done: all but ZT_ADVICE_NONE if
/// the bytes are in memory or of a zt_source, or in ZT_MODE_READ off Linux and macOS; ZT_ADVICE_SEQUENTIAL on Windows;
/// _EVICT off Linux; _RELEASE in ZT_MODE_READ; _RELEASE and _EVICT in ZT_MODE_PRIVATE; an advice that the system
/// refuses. ZT_ERROR_INVALID_ARGUMENT for an unknown advice, ZT_ERROR_IO if the system fails at it.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_advise(component: Option<&zt_component>, advice: zt_advice) -> zt_status {
    guard(|| arg::required(component, "component")?.component()?.advise(mode::advice(advice)?))
}
