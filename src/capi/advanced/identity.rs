//! Identifies files and their states.

use crate::capi::arg;
use crate::capi::guard::guard;
use crate::capi::opening::open::zt_file;
use crate::capi::opening::options::{self, zt_mode};
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::reader::Identity;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Numbers that change when a file changes, for caches.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_identity {
    /// sizeof(zt_identity)
    pub struct_size: usize,
    /// Bytes of the file.
    pub size: u64,
    /// Time of the last change at opening, in nanoseconds since 1970; 0 if it is not known.
    pub modified_ns: i64,
    /// First byte of the manifest.
    pub manifest_offset: u64,
    /// XXH3 (64 bits) of the manifest at opening.
    pub manifest_hash: u64,
    /// zt_source.identity; for a model a hash of those of all parts; 0 if it is not known.
    pub source_identity: u64,
}

// SAFETY: repr(C); integers, which may be zero.
sized_struct!(zt_identity: size, modified_ns, manifest_offset, manifest_hash, source_identity);

/// Fills identity for an open file; for a model, of all parts together. It describes what was opened, also
/// after an append. A component that was changed in place shows in modified_ns, source_identity or its digest
/// only.
/// May read manifests: ZT_ERROR_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_file_identity(file: Option<&zt_file>, identity: *mut zt_identity) -> zt_status {
    guard(|| {
        let file = arg::required(file, "file")?.file();
        // SAFETY: identity is NULL or has the size it gives.
        unsafe { arg::fill_required(identity, || file.identity().map(for_c)) }
    })
}

/// Fills identity for one part.
/// part: below zt_part_count. Statuses as for zt_file_identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_part_identity(
    file: Option<&zt_file>,
    part: usize,
    identity: *mut zt_identity,
) -> zt_status {
    guard(|| {
        let part = arg::open_part(arg::required(file, "file")?.file(), part)?;
        // SAFETY: identity is NULL or has the size it gives.
        unsafe { arg::fill_required(identity, || part.identity().map(for_c)) }
    })
}

fn for_c(found: Identity) -> zt_identity {
    let Identity { size, modified: modified_ns, manifest_offset, manifest_hash, source } = found;
    let source_identity = source;
    zt_identity { struct_size: 0, size, modified_ns, manifest_offset, manifest_hash, source_identity }
}

/// The file's mode, never ZT_MODE_AUTO: you get the mode that AUTO chose. ZT_MODE_MAP for a file in memory;
/// ZT_MODE_READ for a zt_source, and for a model whose files have different modes.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_mode(file: Option<&zt_file>) -> zt_mode {
    file.map_or(0, |f| options::mode_number(f.file().mode()))
}

/// Borrows all bytes of a part as they are stored: to register the mapping with a device, to lock it in
/// memory, or to send the file.
///
/// ptr: receives a pointer, at a page border if the file was opened by path. zt_component_info.offset counts
/// from it. size: receives the bytes; may be NULL. The bytes are read-only, except in ZT_MODE_PRIVATE.
/// Returns ZT_ERROR_NOT_MAPPABLE if the part is neither mapped nor in memory.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_bytes(
    file: Option<&zt_file>,
    part: usize,
    ptr: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<u64>>,
) -> zt_status {
    guard(|| {
        let file = arg::required(file, "file")?;
        let ptr = arg::required(ptr, "ptr")?;
        let bytes = arg::open_part(file.file(), part)?.borrow()?;
        ptr.write(bytes.as_ptr().cast());
        arg::put_optional(size, bytes.len() as u64);
        Ok(())
    })
}
