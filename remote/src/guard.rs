//! Helpers for the functions that C calls: arguments that are texts, and a status for a failure or panic.

use crate::attempt::without_secrets;
use crate::core::{status, zt_set_last_error, zt_status};
use crate::failure::{invalid, Failure};
use std::cell::Cell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// # Safety
/// `text` is NULL or ends in a NUL.
pub unsafe fn text(text: *const c_char, what: &str) -> Result<Option<String>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(|text| Some(text.to_owned())).map_err(|_| invalid(&format!("{what} is not UTF-8")))
}

thread_local! {
    /// How many guards are on this thread's stack.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body`. For a failure or panic, sets the thread's last error and returns a status.
pub fn guard(body: impl FnOnce() -> Result<(), Failure>) -> zt_status {
    quiet_hook();
    INSIDE.set(INSIDE.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(INSIDE.get() - 1);
    let outcome = outcome.unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<&str>().copied();
        let message =
            message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        let text = format!("a bug of libztensor_remote, please report it: {}", without_secrets(message));
        std::mem::forget(payload); // dropping it may panic
        Err(Failure::new(status::INTERNAL, text))
    });
    match outcome {
        Ok(()) => status::OK,
        Err(failure) => {
            let text = CString::new(failure.text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: the text ends in a NUL.
            unsafe { zt_set_last_error(text.as_ptr()) };
            failure.status
        }
    }
}

/// Installs a hook that prints nothing for panics in this library. Other panics go to the previous hook.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_worker = std::thread::current().name() == Some("zt-remote");
            if !is_worker && INSIDE.try_with(Cell::get).unwrap_or(0) == 0 {
                before(info);
            }
        }));
    });
}
