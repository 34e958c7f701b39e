//! Statistics of a load for each of its files.

use crate::capi::arg;
use crate::capi::finding::list::fill_array;
use crate::capi::guard::guard;
use crate::capi::opening::open::zt_file;
use crate::capi::reading::batch::reason_of;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::streaming::load::zt_load;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// What a load read of one part.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_part_stats {
    /// sizeof(zt_load_part_stats)
    pub struct_size: usize,
    /// The file.
    pub file: *const zt_file,
    /// Stored bytes that were read.
    pub stored_bytes: u64,
    /// Bytes that were read past the page cache, including gaps.
    pub direct_bytes: u64,
    /// Why the page cache was used or bypassed, as zt_read_stats.reason.
    pub reason: *const c_char,
    /// The part of the file.
    pub part: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct!(zt_load_part_stats: file, stored_bytes, direct_bytes, reason, part, reserved);

/// Fills a struct for each part that a load reads, with what was read so far.
/// load: before zt_load_finish. first, stats, count, filled: as for zt_object_list. Returns ZT_ERROR_STATE in
/// a forked child.
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
        arg::put(filled, "filled", || {
            load.check_here()?;
            let parts = load.parts()?.get(first..).unwrap_or_default().iter();
            let found = parts.map_while(|read| Some((read, load.source_stats(read)?)));
            // SAFETY: stats has count structs; the first begins with its size.
            unsafe {
                fill_array(stats, count, found, |(read, source)| zt_load_part_stats {
                    struct_size: 0,
                    file: read.file,
                    stored_bytes: source.stored_bytes,
                    direct_bytes: source.direct_bytes,
                    reason: reason_of(source.reason),
                    part: read.part,
                    reserved: 0,
                })
            }
        })
    })
}
