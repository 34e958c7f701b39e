//! Functions of the caller: their context, what they return, and reports of progress.

use crate::capi::guard::{callback_error, clear_callback_message};
use crate::capi::status::{value, zt_status, NAMES};
use crate::error::{Cause, Result};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reports progress: done of total bytes. Return 0 to go on, anything else to stop the call with
/// ZT_ERROR_CANCELLED.
/// Calls come from one thread at a time, which need not be the caller's. After a stop no further call comes.
pub type zt_progress_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> i32>;

/// A context pointer that the caller allows to be used from any thread.
#[derive(Clone, Copy)]
pub(in crate::capi) struct Context(pub *mut c_void);

// SAFETY: "called with context, from any thread"; this type never looks behind the pointer.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(in crate::capi) fn get(self) -> *mut c_void {
        self.0
    }
}

/// What a callback returned, as a result.
pub(in crate::capi) fn outcome(status: zt_status, doing: &str) -> Result<()> {
    if status == value::ZT_OK as zt_status {
        clear_callback_message();
        return Ok(());
    }
    let known: [(value, Cause); 10] = [
        (value::ZT_ERROR_INVALID_ARGUMENT, Cause::InvalidArgument),
        (value::ZT_ERROR_NOT_FOUND, Cause::NotFound),
        (value::ZT_ERROR_CANCELLED, Cause::Cancelled),
        (value::ZT_ERROR_OUT_OF_MEMORY, Cause::OutOfMemory),
        (value::ZT_ERROR_UNSUPPORTED, Cause::Unsupported),
        (value::ZT_ERROR_LIMIT, Cause::Limit),
        (value::ZT_ERROR_EXISTS, Cause::Exists),
        (value::ZT_ERROR_STATE, Cause::State),
        (value::ZT_ERROR_NO_FILE, Cause::NoFile),
        (value::ZT_ERROR_TIMEOUT, Cause::Timeout),
    ];
    let found = known.into_iter().find(|(v, _)| status == *v as zt_status);
    let cause = match found {
        Some((_, cause)) => cause,
        // What these mean of a file is not for a callback to say, so they are carried through as they are.
        None if (0..NAMES.len() as zt_status).contains(&status)
            && status != value::ZT_ERROR_IO as zt_status =>
        {
            Cause::Caller(status)
        }
        None => Cause::Io,
    };
    Err(callback_error(cause, format_args!("the caller's {doing} returned status {status}")))
}

/// A progress callback as a question: go on? Once it said no it is not called again: other threads may ask
/// before they have heard of it.
pub(in crate::capi) fn progress(
    callback: zt_progress_callback,
    context: *mut c_void,
) -> impl Fn(u64, u64) -> bool + Send + Sync {
    let (context, stopped) = (Context(context), AtomicBool::new(false));
    move |done, total| {
        let Some(callback) = callback else { return true };
        // SAFETY: the caller's function, called as its declaration says.
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
        // SAFETY: the number below, which is there during the call.
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
