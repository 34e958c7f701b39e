//! The boundary to C: no panic unwinds into C, and every failure sets a status and a message.

use super::status::{self, zt_status};
use crate::error::{boundary, fail, Cause, Error, Result};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe, PanicHookInfo};
use std::ptr::null_mut;
use std::sync::{Once, OnceLock};

thread_local! {
    /// The message of this thread's last failure, with a NUL at the end. Its size is fixed, so setting it
    /// needs no memory, and nothing has to be freed when the thread ends.
    static MESSAGE: RefCell<[u8; MESSAGE_CAPACITY]> = const { RefCell::new([0; MESSAGE_CAPACITY]) };
    /// More about that failure.
    static DETAIL: Cell<Detail> = const { Cell::new(Detail { os_error: 0, rule: c"" }) };
    /// Whether MESSAGE was set by a callback that has not returned, or whose status was not checked.
    static IS_CALLBACK_MESSAGE: Cell<bool> = const { Cell::new(false) };
    /// How many guards are on this thread's stack.
    static GUARD_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// What is known about a failure besides its status and message.
#[derive(Clone, Copy)]
pub(super) struct Detail {
    /// The number of the system's error; 0 if the system did not fail.
    pub(super) os_error: i32,
    /// The short name of the broken rule, or "".
    pub(super) rule: &'static std::ffi::CStr,
}

/// What `zt_last_error` returns before the first failure, and if there is no memory for the message.
const NO_ERROR: &std::ffi::CStr = c"no error";
const NO_MEMORY: &str = "could not allocate memory for this message";

/// The most bytes of a message, including its NUL.
const MESSAGE_CAPACITY: usize = crate::error::MESSAGE_LIMIT + 1;

/// Runs `body`. For a panic or an error, sets this thread's message and returns the status.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> zt_status {
    match catch_panic(body) {
        Ok(()) => status::value::ZT_OK as zt_status,
        Err(error) => set_last_error(&error),
    }
}

/// Writes the handle that `make` returns to `out`, or NULL if it fails. `what` describes the handle in
/// messages.
pub(super) fn deliver<T>(
    out: Option<&mut MaybeUninit<*mut T>>,
    what: &str,
    make: impl FnOnce() -> Result<*mut T>,
) -> zt_status {
    guard(|| {
        let out = out.ok_or_else(|| fail!(InvalidArgument, "the pointer to the {what} is NULL"))?;
        out.write(null_mut());
        out.write(make()?);
        Ok(())
    })
}

/// Makes the error this thread's last failure. Returns its status.
pub(super) fn set_last_error(error: &Error) -> zt_status {
    MESSAGE.with(|cell| {
        if let Ok(mut message) = cell.try_borrow_mut() {
            write_message(error.message(), &mut message);
        }
    });
    DETAIL.set(Detail { os_error: error.os_error().unwrap_or(0), rule: error.rule_name() });
    status::of(error.cause())
}

/// Runs `body`, which returns a value directly. If it panics, returns `otherwise`.
pub(super) fn guard_value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_panic(|| Ok(body())).unwrap_or(otherwise)
}

fn catch_panic<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    quiet_hook();
    if GUARD_DEPTH.replace(GUARD_DEPTH.get().saturating_add(1)) == 0 {
        IS_CALLBACK_MESSAGE.set(false);
    }
    let outcome = catch_unwind(AssertUnwindSafe(body));
    GUARD_DEPTH.set(GUARD_DEPTH.get().saturating_sub(1));
    outcome.unwrap_or_else(|payload| Err(panicked(payload)))
}

/// The error for a panic.
#[cold]
#[inline(never)] // it is the same for every function
fn panicked(payload: Box<dyn Any + Send>) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let error = Error::new(
        Cause::Internal,
        format_args!("a bug of this library, please report it: {}", text.unwrap_or("panic")),
    );
    // Dropping a payload may panic, so leak it.
    std::mem::forget(payload);
    error
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The panic hook that the program had before.
static HOST_HOOK: OnceLock<Hook> = OnceLock::new();

/// The library never prints: panics inside a guard are silent. Other panics go to the program's own hook. The
/// hook captures nothing, so installing it allocates nothing.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = HOST_HOOK.set(std::panic::take_hook());
        std::panic::set_hook(Box::new(|info| {
            let inside = GUARD_DEPTH.try_with(|n| n.get() > 0).unwrap_or(false);
            if let Some(hook) = HOST_HOOK.get().filter(|_| !inside && !crate::threads::is_worker()) {
                hook(info);
            }
        }));
    });
}

/// Keeps the message that a callback sets for its own failure.
pub(super) fn set_callback_message(text: &str) {
    let mut message = [0; MESSAGE_CAPACITY];
    write_message(text, &mut message); // `text` may be in the message itself
    MESSAGE.with(|cell| {
        if let Ok(mut place) = cell.try_borrow_mut() {
            *place = message;
        }
    });
    DETAIL.set(Detail { os_error: 0, rule: c"" });
    IS_CALLBACK_MESSAGE.set(true);
}

/// Drops a message that a callback has set although it did not fail.
pub(super) fn clear_callback_message() {
    IS_CALLBACK_MESSAGE.set(false);
}

/// The error for a failed callback: with the message that it has set, or with `otherwise`.
#[cold]
pub(super) fn callback_error(cause: Cause, otherwise: std::fmt::Arguments<'_>) -> Error {
    MESSAGE.with(|cell| {
        let message = cell.try_borrow().ok().filter(|_| IS_CALLBACK_MESSAGE.take());
        let text =
            message.as_ref().and_then(|bytes| std::ffi::CStr::from_bytes_until_nul(bytes.as_slice()).ok());
        match text.and_then(|text| text.to_str().ok()) {
            Some(text) => Error::new(cause, format_args!("{text}")),
            None => Error::new(cause, otherwise),
        }
    })
}

/// Writes as much of `text` as fits, in whole characters. Line breaks are replaced, because messages have one
/// line, and so are NULs, which would end the message for C. A path or a callback's message may have both.
fn write_message(text: &str, message: &mut [u8; MESSAGE_CAPACITY]) {
    let fits = boundary(text, MESSAGE_CAPACITY.saturating_sub(1));
    let text = if text.is_empty() { NO_MEMORY } else { text.get(..fits).unwrap_or_default() };
    for (place, byte) in message.iter_mut().zip(text.bytes().chain([0])) {
        *place = if byte.is_ascii_control() { b' ' } else { byte };
    }
    if let Some(end) = message.get_mut(text.len()) {
        *end = 0;
    }
}

/// Calls `body` with the status and the message of a failure, in the form for callbacks. The message is valid
/// during the call.
#[cold]
#[inline(never)] // so that what succeeds has not this much on its stack
pub(super) fn with_failure<T>(
    error: &Error,
    body: impl FnOnce(zt_status, *const std::ffi::c_char) -> T,
) -> T {
    let mut message = [0; MESSAGE_CAPACITY];
    write_message(error.message(), &mut message);
    body(status::of(error.cause()), message.as_ptr().cast())
}

/// This thread's message; valid until its next failing call.
pub(super) fn message() -> *const std::ffi::c_char {
    MESSAGE.with(|cell| match cell.try_borrow() {
        Ok(message) if message.first().is_some_and(|b| *b != 0) => message.as_ptr().cast(),
        _ => NO_ERROR.as_ptr(),
    })
}

/// More about this thread's last failure.
pub(super) fn detail() -> Detail {
    DETAIL.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_and_a_message() {
        let status = guard(|| panic!("seven {}", 7));
        assert_eq!(status, status::value::ZT_ERROR_INTERNAL as zt_status);
        // SAFETY: zt_last_error is never NULL, and its text ends in a NUL.
        let text = unsafe { std::ffi::CStr::from_ptr(message()) }.to_str().unwrap();
        assert!(text.contains("seven 7"), "{text}");
    }

    #[test]
    fn a_value_survives_a_panic() {
        assert_eq!(guard_value(3, || panic!("no")), 3);
        assert_eq!(guard_value(3, || 4), 4);
    }
}
