//! Remembers which of the caller's sinks are running a function on this thread.

use std::cell::Cell;
use std::ptr::null;

/// A sink that is running a function on this thread, and the sink that was running before.
struct Running {
    sink: u64,
    outer: *const Running,
}

thread_local! {
    static RUNNING: Cell<*const Running> = const { Cell::new(null()) };
}

/// Whether a function of this sink is running on this thread. Its writer must not be used then.
pub(in crate::capi) fn is_running(sink: u64) -> bool {
    let mut place = RUNNING.with(Cell::get);
    // SAFETY: each is on this thread's stack, below this frame, while its function runs.
    while let Some(running) = unsafe { place.as_ref() } {
        if running.sink == sink {
            return true;
        }
        place = running.outer;
    }
    false
}

/// Calls a function of a sink. Meanwhile, the sink counts as running.
pub(in crate::capi) fn while_running<T>(sink: u64, function: impl FnOnce() -> T) -> T {
    RUNNING.with(|top| {
        let this = Running { sink, outer: top.get() };
        top.set(&raw const this);
        let outcome = function();
        top.set(this.outer);
        outcome
    })
}
