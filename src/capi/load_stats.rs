//! How a load reads each of its files.

use super::arg;
use super::batch::reason_of;
use super::guard::guard;
use super::list::stride;
use super::load::zt_load;
use super::open::zt_file;
use super::sized::{sized_struct, SizedStruct};
use super::status::zt_status;
use crate::error::Result;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// What a load read of one file, or of one part of a model, and how.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_part_stats {
    /// sizeof(zt_load_part_stats)
    pub struct_size: usize,
    /// The file; zt_part_get_info of it and part gives the path.
    pub file: *const zt_file,
    /// Stored bytes that were read of it; zt_read_stats.stored_bytes is the sum.
    pub stored_bytes: u64,
    /// Bytes that were read past the page cache, with those between that nobody asked for.
    pub direct_bytes: u64,
    /// Why they were read so: as zt_read_stats.reason.
    pub reason: *const c_char,
    /// Which of its parts; 0 if it is one file.
    pub part: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers and pointers, all of which may be zero.
sized_struct!(zt_load_part_stats: file, stored_bytes, direct_bytes, reason, part, reserved);

/// Fills a struct for each file, or part of a model, that a load reads, with what was read of it so far: in the order
/// in which the requests name the files, and of parts. After ZT_LOAD_KIND_DONE nothing changes, unless the load was cut short.
///
/// load: not NULL; before zt_load_finish. first: where to begin. stats, count: as many structs, of which the first
/// one's struct_size is set; (NULL, 0) fills nothing. filled: receives how many were filled; not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_STATE in a child of the load's process.
/// Threads: any, at the same time as other calls on load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_get_part_stats(
    load: Option<&zt_load>,
    first: usize,
    stats: *mut zt_load_part_stats,
    count: usize,
    filled: Option<&mut MaybeUninit<usize>>,
) -> zt_status {
    guard(|| {
        let load = arg::required(load, "load")?;
        let filled = arg::required(filled, "filled")?;
        load.check_here()?;
        // SAFETY: passed on.
        filled.write(if count == 0 { 0 } else { unsafe { fill(load, first, stats, count)? } });
        Ok(())
    })
}

/// How many were filled.
///
/// # Safety
/// "count: as many structs"; `stats` is NULL or begins with the size of its struct.
unsafe fn fill(load: &zt_load, first: usize, stats: *mut zt_load_part_stats, count: usize) -> Result<usize> {
    // SAFETY: passed on.
    let stride = unsafe { stride(stats, count)? };
    let mut filled = 0usize;
    for read in load.parts()?.get(first..).unwrap_or_default().iter().take(count) {
        let Some(source) = load.source_stats(read) else { break };
        let reason = source.reason;
        let found = zt_load_part_stats {
            struct_size: stride,
            file: read.file,
            stored_bytes: source.stored_bytes,
            direct_bytes: source.direct_bytes,
            reason: reason_of(reason),
            part: read.part,
            reserved: 0,
        };
        let place = stats.wrapping_byte_add(filled.wrapping_mul(stride));
        // SAFETY: there is room for as many structs of `stride` bytes, and a struct is no larger than its size.
        unsafe {
            let known = stride.min(zt_load_part_stats::SIZE);
            std::ptr::copy_nonoverlapping((&raw const found).cast::<u8>(), place.cast::<u8>(), known);
            arg::zero_unknown(place, stride);
        }
        filled = filled.saturating_add(1);
    }
    Ok(filled)
}
