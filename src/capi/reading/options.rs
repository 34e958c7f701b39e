//! Options for reading many bytes in one call.

use crate::capi::arg;
use crate::capi::guard::with_failure;
use crate::capi::opening::progress::{zt_progress_callback, Context};
use crate::capi::sized::sized_struct;
use crate::capi::status::{value, zt_status};
use crate::error::Result;
use crate::reader::{BatchOptions, Direct};
use std::ffi::{c_char, c_void};

/// Whether reads bypass the page cache.
pub type zt_direct = i32;

/// The values of zt_direct.
#[repr(C)]
pub enum zt_direct_value {
    /// Bypass the page cache where that is faster: in a large batch, for bytes that are not in the page
    /// cache.
    ZT_DIRECT_AUTO = 0,
    /// Read through the page cache: for bytes that will be read again.
    ZT_DIRECT_NEVER = 1,
    /// Bypass the page cache; ZT_ERROR_UNSUPPORTED if the file system cannot. A failed direct read is
    /// repeated through the page cache; zt_read_stats.reason says so.
    ZT_DIRECT_ALWAYS = 2,
}

/// Reports that a request is done, with its tag and status. message: as for zt_last_error, valid during the
/// call; "" for ZT_OK.
/// Calls come from one thread at a time, not always the caller's. The callback must not call zt_read_batch on
/// the same file.
pub type zt_done_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, tag: u64, status: zt_status, message: *const c_char)>;

/// How to read a batch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_read_options {
    /// sizeof(zt_read_options)
    pub struct_size: usize,
    /// Number of threads; 1: the caller's only. 0: the library chooses, at most 16.
    pub threads: u32,
    /// Whether to bypass the page cache.
    pub direct: zt_direct,
    /// Bytes that a thread reads at a time, at least 4096; 0: 4 MiB.
    pub chunk_size: u64,
    /// Largest temporary memory of all threads together in bytes; 0: 256 MiB. One request may use more if it
    /// needs it.
    pub in_flight: u64,
    /// 1: check the digest of every component that is read whole and has one.
    pub verify: u32,
    /// 1: your memory at every dst is page-locked (CUDA: pinned) or on huge pages. Direct reads then go
    /// straight into it.
    pub pinned: u32,
    /// Passed to the callbacks.
    pub context: *mut c_void,
    /// Called for every request that is done; may be NULL.
    pub on_done: zt_done_callback,
    /// Reports the bytes delivered; may be NULL.
    pub progress: zt_progress_callback,
    /// 1: go on past requests that fail, but wrong arguments still refuse all. on_done gets every status,
    /// zt_read_stats.failed counts the failures.
    pub keep_going: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_read_options:
    threads, direct, chunk_size, in_flight, verify, pinned, context, on_done, progress,
    keep_going, reserved
);

/// The options of a batch, of a struct that has them. `$name` is its name in messages.
macro_rules! batch_fields {
    ($options:expr, $name:literal) => {{
        let (given, default) = ($options, BatchOptions::default());
        let direct = [Direct::Auto, Direct::Never, Direct::Always];
        BatchOptions {
            threads: given.threads as usize,
            direct: arg::by_number("zt_direct", given.direct, &direct)?,
            chunk_size: arg::or_default(given.chunk_size, default.chunk_size),
            in_flight: arg::or_default(given.in_flight, default.in_flight),
            verify: arg::flag(given.verify, concat!($name, ".verify"))?,
            pinned: arg::flag(given.pinned, concat!($name, ".pinned"))?,
            keep_going: arg::flag(given.keep_going, concat!($name, ".keep_going"))?,
        }
    }};
}

pub(in crate::capi) use batch_fields;

pub(in crate::capi) fn batch_options(options: &zt_read_options) -> Result<BatchOptions> {
    arg::zero(options.reserved, "zt_read_options.reserved")?;
    Ok(batch_fields!(options, "zt_read_options"))
}

/// The callback for requests that are done.
pub(in crate::capi) fn on_done(options: &zt_read_options) -> impl Fn(u64, &Result<()>) + Send + Sync {
    let (callback, context) = (options.on_done, Context(options.context));
    move |tag, outcome| {
        let Some(callback) = callback else { return };
        // SAFETY: the caller's function, called as declared.
        let call = |status, message| unsafe { callback(context.get(), tag, status, message) };
        match outcome {
            Ok(()) => call(value::ZT_OK as zt_status, c"".as_ptr()),
            Err(error) => with_failure(error, call),
        }
    }
}
