//! What the functions that C calls need: texts that come in, and a status for a failure or a panic.

use crate::attempt::without_secrets;
use crate::core::{status, zt_set_last_error, zt_status};
use crate::failure::{invalid, Failure};
use std::cell::Cell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// # Safety
/// `text` is NULL or NUL-ended.
pub unsafe fn text(text: *const c_char, what: &str) -> Result<Option<String>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(|text| Some(text.to_owned())).map_err(|_| invalid(&format!("{what} is not UTF-8")))
}

thread_local! {
    /// How many guards this thread is inside of.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body`; a failure or a panic becomes a status, and its text the thread's last error.
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
        std::mem::forget(payload); // it may panic when it is dropped
        Err(Failure::new(status::INTERNAL, text))
    });
    match outcome {
        Ok(()) => status::OK,
        Err(failure) => {
            let text = CString::new(failure.text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: NUL-ended.
            unsafe { zt_set_last_error(text.as_ptr()) };
            failure.status
        }
    }
}

/// A panic of this library prints nothing; other panics go to the previous hook.
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
