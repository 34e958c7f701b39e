//! How many bytes are read by one call.

use super::arg;
use super::guard::with_failure;
use super::progress::{zt_progress_callback, Context};
use super::sized::sized_struct;
use super::status::{value, zt_status};
use super::types::unknown;
use crate::error::Result;
use crate::reader::{BatchOptions, Direct};
use std::ffi::{c_char, c_void};

/// Whether batch reads go past the page cache: one of the ZT_DIRECT_ values.
pub type zt_direct = i32;

/// The values of zt_direct.
#[repr(C)]
pub enum zt_direct_value {
    /// Past the page cache where that is faster: in a large batch, the parts that are not in memory already, if the
    /// file system says that it has direct reads. What was read so is not in the page cache afterwards.
    ZT_DIRECT_AUTO = 0,
    /// Through the page cache: for what will be read again.
    ZT_DIRECT_NEVER = 1,
    /// Past the page cache; ZT_ERROR_UNSUPPORTED where the file system has no such reads. Where one fails all the
    /// same, that and those after it go through the page cache, and zt_read_stats.reason tells.
    ZT_DIRECT_ALWAYS = 2,
}

/// Called when a request is done, with its tag: ZT_OK and dst is filled, or its failure, whose message is as
/// zt_last_error's, valid during the call, and "" for ZT_OK. Called from one thread at a time, not necessarily the
/// caller's; it must not call zt_read_batch on the same file.
pub type zt_done_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, tag: u64, status: zt_status, message: *const c_char)>;

/// How to read a batch. All fields zero (but struct_size) are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_read_options {
    /// sizeof (zt_read_options)
    pub struct_size: usize,
    /// Threads; 0 for as many as there are processors, within reason. 1 reads on the caller's thread.
    pub threads: u32,
    /// Whether to go past the page cache.
    pub direct: zt_direct,
    /// Bytes that a thread reads at a time, at least 4096; 0 for the default.
    pub chunk_size: u64,
    /// Most bytes of temporary memory in use at once, over all threads; 0 for the default. One request may always use
    /// what it alone needs.
    pub in_flight: u64,
    /// 1: check the digest of every component that is read whole and has one that can be checked.
    pub verify: u32,
    /// 1: the destinations are pinned and physically contiguous (registered with a device, or of a driver's pool), so
    /// that reads past the page cache go straight into them where their address and the offset are aligned: worth it
    /// for memory on huge pages, too. 0: through memory of the library's, quicker for pages that lie anywhere.
    pub pinned: u32,
    /// Passed to the callbacks; may be NULL.
    pub context: *mut c_void,
    /// Called for every request that is done; may be NULL.
    pub on_done: zt_done_callback,
    /// Called with the bytes that were delivered, to ask whether to go on; may be NULL.
    pub progress: zt_progress_callback,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_read_options:
    threads, direct, chunk_size, in_flight, verify, pinned, context, on_done, progress
);

pub(super) fn batch_options(options: &zt_read_options) -> Result<BatchOptions> {
    let default = BatchOptions::default();
    Ok(BatchOptions {
        threads: options.threads as usize,
        direct: direct(options.direct)?,
        chunk_size: arg::or_default(options.chunk_size, default.chunk_size),
        in_flight: arg::or_default(options.in_flight, default.in_flight),
        verify: arg::flag(options.verify, "zt_read_options.verify")?,
        pinned: arg::flag(options.pinned, "zt_read_options.pinned")?,
    })
}

/// What is called when a request is done.
pub(super) fn on_done(options: &zt_read_options) -> impl Fn(u64, &Result<()>) + Send + Sync {
    let (callback, context) = (options.on_done, Context(options.context));
    move |tag, outcome| {
        let Some(callback) = callback else { return };
        // SAFETY: the caller's function, called as its declaration says.
        let call = |status, message| unsafe { callback(context.get(), tag, status, message) };
        match outcome {
            Ok(()) => call(value::ZT_OK as zt_status, c"".as_ptr()),
            Err(error) => with_failure(error, call),
        }
    }
}

pub(super) fn direct(value: zt_direct) -> Result<Direct> {
    match value {
        0 => Ok(Direct::Auto),
        1 => Ok(Direct::Never),
        2 => Ok(Direct::Always),
        other => Err(unknown("zt_direct", other)),
    }
}
