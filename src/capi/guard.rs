//! The boundary: nothing unwinds into C, and every failure leaves a status and a message.

use super::status::{self, zt_status};
use crate::error::{Cause, Error, Result};
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The last failure of this thread, NUL-ended.
    static MESSAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// How many guards this thread is inside of.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// What `zt_last_error` says before anything failed, and where no memory is left for more.
const NOTHING: &std::ffi::CStr = c"no error";
const NO_MEMORY: &std::ffi::CStr = c"could not allocate memory for this message";

/// Runs `body`; a panic or an error becomes a status, and its text this thread's message.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> zt_status {
    match caught(body) {
        Ok(()) => status::value::ZT_OK as zt_status,
        Err(error) => {
            set_message(error.message());
            status::of(error.cause())
        }
    }
}

/// Runs `body`, which gives a value directly; a panic gives `otherwise`.
pub(super) fn guard_value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    caught(|| Ok(body())).unwrap_or(otherwise)
}

fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    quiet_hook();
    INSIDE.with(|n| n.set(n.get().saturating_add(1)));
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.with(|n| n.set(n.get().saturating_sub(1)));
    outcome.unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let error = Error::new(
            Cause::Internal,
            format_args!("a bug of this library, please report it: {}", said.unwrap_or("panic")),
        );
        // A payload may panic when it is dropped; better to leave it.
        std::mem::forget(payload);
        Err(error)
    })
}

/// The library never prints: panics inside a guard are silent, others go where they went before.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let inside = INSIDE.try_with(|n| n.get() > 0).unwrap_or(false);
            let ours = std::thread::current().name() == Some(crate::threads::NAME);
            if !inside && !ours {
                before(info);
            }
        }));
    });
}

fn set_message(text: &str) {
    MESSAGE.with(|cell| {
        let Ok(mut message) = cell.try_borrow_mut() else { return };
        message.clear();
        if message.try_reserve(text.len().saturating_add(1)).is_ok() {
            // A message is one line of text: an inner NUL would end it early for C.
            message.extend(text.bytes().map(|b| if b == 0 { b' ' } else { b }));
            message.push(0);
        }
    });
}

/// This thread's message; valid until its next failing call.
pub(super) fn message() -> *const std::ffi::c_char {
    MESSAGE.with(|cell| match cell.try_borrow() {
        Ok(message) if !message.is_empty() => message.as_ptr().cast(),
        Ok(message) if message.capacity() > 0 => NO_MEMORY.as_ptr(),
        _ => NOTHING.as_ptr(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_and_a_message() {
        let status = guard(|| panic!("seven {}", 7));
        assert_eq!(status, status::value::ZT_ERROR_INTERNAL as zt_status);
        // SAFETY: zt_last_error is never NULL and NUL-ended.
        let text = unsafe { std::ffi::CStr::from_ptr(message()) }.to_str().unwrap();
        assert!(text.contains("seven 7"), "{text}");
    }

    #[test]
    fn a_value_survives_a_panic() {
        assert_eq!(guard_value(3, || panic!("no")), 3);
        assert_eq!(guard_value(3, || 4), 4);
    }
}
