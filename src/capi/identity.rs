//! What tells a file from others.

use super::arg;
use super::guard::guard;
use super::open::zt_file;
use super::sized::sized_struct;
use super::status::zt_status;
use crate::error::Result;
use crate::reader::Identity;

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
        // SAFETY: identity NULL or of the size it says.
        unsafe { fill(identity, || file.identity()) }
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
        // SAFETY: identity NULL or of the size it says.
        unsafe { fill(identity, || part.identity()) }
    })
}

/// # Safety
/// `identity` is NULL or of the size it says.
unsafe fn fill(identity: *mut zt_identity, find: impl FnOnce() -> Result<Identity>) -> Result<()> {
    let filled = || {
        let found = find()?;
        Ok(zt_identity {
            struct_size: 0,
            size: found.size,
            modified_ns: found.modified,
            manifest_offset: found.manifest_offset,
            manifest_hash: found.manifest_hash,
            source_identity: found.source,
        })
    };
    // SAFETY: passed on.
    unsafe { arg::fill_required(identity, filled) }
}
