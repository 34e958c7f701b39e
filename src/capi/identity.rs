//! What tells a file from others.

use super::arg;
use super::guard::guard;
use super::open::zt_file;
use super::sized::sized_struct;
use super::status::zt_status;
use crate::error::Result;
use crate::reader::Identity;

/// What changes when a file does: two files of the same numbers have, but for a forger, the same objects.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_identity {
    /// sizeof(zt_identity)
    pub struct_size: usize,
    /// Bytes of the file.
    pub size: u64,
    /// When it was changed last, at opening: nanoseconds since 1970; 0 where that is not known, as in memory.
    pub modified_ns: i64,
    /// First byte of the manifest.
    pub manifest_offset: u64,
    /// The XXH3 (64 bits) of the manifest at opening.
    pub manifest_hash: u64,
    /// zt_source.identity; of a model a hash of those of all parts. 0 where it is not known.
    pub source_identity: u64,
}

// SAFETY: repr(C); integers, which may be zero.
sized_struct!(zt_identity: size, modified_ns, manifest_offset, manifest_hash, source_identity);

/// The identity of an open file, for caches: another one means another content. A component that was changed in
/// place shows in modified_ns or source_identity alone, or by its digest. Of a model it is that of all parts: their
/// bytes together, the latest change, a hash of their hashes; the index by which it was opened is no part of it.
/// It describes what was opened, also after somebody has appended to the file. May read the manifests' bytes.
///
/// identity: set struct_size; not NULL; filled on success, untouched on failure.
/// Returns ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_file_identity(file: Option<&zt_file>, identity: *mut zt_identity) -> zt_status {
    guard(|| {
        let file = arg::required(file, "file")?.file();
        // SAFETY: identity NULL or of the size it says.
        unsafe { fill(identity, || file.identity()) }
    })
}

/// The identity of one of the files of a model; of a file, its part 0 is the file.
/// part: below zt_part_count, else ZT_ERROR_INVALID_ARGUMENT. identity, statuses: as zt_file_identity.
/// Threads: any.
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
