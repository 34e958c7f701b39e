//! The caller's functions: their context, their return values, and progress reports.

use crate::capi::guard::{callback_error, clear_callback_message};
use crate::capi::status::{self, value, zt_status, NAMES};
use crate::error::{Cause, Result};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reports progress: done of total bytes. Return 0 to go on, anything else to stop the call with
/// ZT_ERROR_CANCELLED.
/// Calls come from one thread at a time, not always the caller's. After a stop no further call comes.
pub type zt_progress_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> i32>;

/// A context pointer. The caller allows any thread to use it.
#[derive(Clone, Copy)]
pub(in crate::capi) struct Context(pub *mut c_void);

// SAFETY: the caller allows any thread to pass it to the functions; this type never dereferences it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(in crate::capi) fn get(self) -> *mut c_void {
        self.0
    }
}

/// Converts a callback's return value to a result.
pub(in crate::capi) fn outcome(status: zt_status, doing: &str) -> Result<()> {
    if status == value::ZT_OK as zt_status {
        clear_callback_message();
        return Ok(());
    }
    use Cause::{Caller, Cancelled, Io, Limit, NoFile, OutOfMemory, Unsupported};
    // The library handles these failures in their own ways. Of any other, only the number counts.
    let handled = [Io, NoFile, OutOfMemory, Unsupported, Limit, Cancelled];
    let cause = handled.into_iter().find(|cause| status::of(*cause) == status);
    let is_status = (0..NAMES.len() as zt_status).contains(&status);
    let cause = cause.unwrap_or(if is_status { Caller(status) } else { Io });
    Err(callback_error(cause, format_args!("the caller's {doing} returned status {status}")))
}

/// Calls a progress callback and returns whether to continue. After it has stopped the call once, it is not
/// called again: other threads may still call this before they notice the stop.
pub(in crate::capi) fn progress(
    callback: zt_progress_callback,
    context: *mut c_void,
) -> impl Fn(u64, u64) -> bool + Send + Sync {
    let (context, stopped) = (Context(context), AtomicBool::new(false));
    move |done, total| {
        let Some(callback) = callback else { return true };
        // SAFETY: the caller's function, called as declared.
        let stops = stopped.load(Ordering::Relaxed) || unsafe { callback(context.get(), done, total) } != 0;
        if stops {
            stopped.store(true, Ordering::Relaxed);
        }
        !stops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn stop_at_100(context: *mut c_void, done: u64, _: u64) -> i32 {
        // SAFETY: context is the address of the number below, which exists during the call.
        unsafe { *context.cast::<u32>() += 1 };
        i32::from(done >= 100)
    }

    #[test]
    fn a_callback_that_stopped_a_call_is_not_called_again() {
        let mut calls = 0u32;
        let continues = progress(Some(stop_at_100), (&raw mut calls).cast());
        assert_eq!([0, 99, 100, 101, 50].map(|done| continues(done, 200)), [true, true, false, false, false]);
        drop(continues);
        assert_eq!(calls, 3);
        assert!(progress(None, std::ptr::null_mut())(1, 1));
    }
}
