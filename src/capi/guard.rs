//! The boundary: nothing unwinds into C, and every failure leaves a status and a message.

use super::status::{self, zt_status};
use crate::error::{fail, Cause, Error, Result};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe, PanicHookInfo};
use std::ptr::null_mut;
use std::sync::{Once, OnceLock};

thread_local! {
    /// The last failure of this thread, NUL-ended. Of a fixed size, so that it takes no memory when that
    /// is what is short, and leaves nothing to do when the thread ends.
    static MESSAGE: RefCell<[u8; MESSAGE_CAPACITY]> = const { RefCell::new([0; MESSAGE_CAPACITY]) };
    /// The rest of it.
    static DETAIL: Cell<Detail> = const { Cell::new(Detail { os_error: 0, rule: c"" }) };
    /// Whether MESSAGE was set by a callback that has not returned, or whose status was not checked.
    static IS_CALLBACK_MESSAGE: Cell<bool> = const { Cell::new(false) };
    /// How many guards are on this thread's stack.
    static GUARD_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// What a failure says beside its status and its text.
#[derive(Clone, Copy)]
pub(super) struct Detail {
    /// The number of the system's error; 0 if it is none of its.
    pub(super) os_error: i32,
    /// The short name of the broken rule, or "".
    pub(super) rule: &'static std::ffi::CStr,
}

/// What `zt_last_error` says before anything failed, and where no memory is left for more.
const NO_ERROR: &std::ffi::CStr = c"no error";
const NO_MEMORY: &str = "could not allocate memory for this message";

/// Bytes of a message with its NUL.
const MESSAGE_CAPACITY: usize = crate::error::MESSAGE_LIMIT + 1;

/// Runs `body`; a panic or an error becomes a status, and its text this thread's message.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> zt_status {
    match catch_panic(body) {
        Ok(()) => status::value::ZT_OK as zt_status,
        Err(error) => set_last_error(&error),
    }
}

/// Writes the handle that `make` gives to `out`, or NULL and why there is none; `what` is what it is a handle
/// of.
pub(super) fn deliver<T>(
    out: Option<&mut MaybeUninit<*mut T>>,
    what: &str,
    make: impl FnOnce() -> Result<*mut T>,
) -> zt_status {
    let Some(out) = out else {
        return guard(|| Err(fail!(InvalidArgument, "the place for the {what} is NULL")));
    };
    out.write(null_mut());
    guard(|| {
        out.write(make()?);
        Ok(())
    })
}

/// Makes it this thread's last failure; its status.
pub(super) fn set_last_error(error: &Error) -> zt_status {
    set_message(error.message());
    DETAIL.set(Detail { os_error: error.os_error().unwrap_or(0), rule: error.rule_name() });
    status::of(error.cause())
}

/// Runs `body`, which gives a value directly; a panic gives `otherwise`.
pub(super) fn guard_value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_panic(|| Ok(body())).unwrap_or(otherwise)
}

fn catch_panic<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    enter();
    let outcome = catch_unwind(AssertUnwindSafe(body));
    leave();
    outcome.unwrap_or_else(|payload| Err(panicked(payload)))
}

fn enter() {
    quiet_hook();
    if GUARD_DEPTH.with(|n| n.replace(n.get().saturating_add(1))) == 0 {
        IS_CALLBACK_MESSAGE.set(false);
    }
}

fn leave() {
    GUARD_DEPTH.with(|n| n.set(n.get().saturating_sub(1)));
}

/// The failure that a panic becomes.
#[cold]
#[inline(never)] // it is the same for every function
fn panicked(payload: Box<dyn Any + Send>) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let error = Error::new(
        Cause::Internal,
        format_args!("a bug of this library, please report it: {}", text.unwrap_or("panic")),
    );
    // A payload may panic when it is dropped; better to leave it.
    std::mem::forget(payload);
    error
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// What is called on a panic of the host's own Rust.
static HOST_HOOK: OnceLock<Hook> = OnceLock::new();

/// The library never prints: panics inside a guard are silent, others go where they went before. A hook
/// that captures nothing takes no memory, which may be short.
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

/// Keeps it as this thread's message.
fn set_message(text: &str) {
    MESSAGE.with(|cell| {
        if let Ok(mut message) = cell.try_borrow_mut() {
            write_message(text, &mut message);
        }
    });
}

/// Keeps what the caller says of its own failure.
pub(super) fn set_callback_message(text: &str) {
    let mut message = [0; MESSAGE_CAPACITY];
    write_message(text, &mut message); // text may be what is there
    MESSAGE.with(|cell| {
        if let Ok(mut place) = cell.try_borrow_mut() {
            *place = message;
        }
    });
    DETAIL.set(Detail { os_error: 0, rule: c"" });
    IS_CALLBACK_MESSAGE.set(true);
}

/// Drops the message that a callback has set, as it did not fail.
pub(super) fn clear_callback_message() {
    IS_CALLBACK_MESSAGE.set(false);
}

/// The failure of a callback: the message that it has set, or `otherwise`.
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

/// Writes as much of it as there is room for: whole characters, in one line, without inner NULs, which would
/// end it early for C. A path, or what the caller says, may have both.
fn write_message(text: &str, message: &mut [u8; MESSAGE_CAPACITY]) {
    let mut length = text.len().min(MESSAGE_CAPACITY.saturating_sub(1));
    while !text.is_char_boundary(length) {
        length = length.saturating_sub(1);
    }
    let text = if text.is_empty() { NO_MEMORY } else { text.get(..length).unwrap_or_default() };
    for (place, byte) in message.iter_mut().zip(text.bytes().chain([0])) {
        *place = if byte.is_ascii_control() { b' ' } else { byte };
    }
    if let Some(end) = message.get_mut(text.len()) {
        *end = 0;
    }
}

/// Calls `body` with the status and the message of a failure, as a callback takes them; the message ends with
/// the call.
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

/// What else this thread's last failure says.
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
