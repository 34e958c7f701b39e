//! Which of the caller's sinks have a function under way on this thread.

use std::cell::Cell;
use std::ptr::null;

/// A sink whose function runs on this thread right now, and the one around it.
struct Running {
    sink: u64,
    outer: *const Running,
}

thread_local! {
    static RUNNING: Cell<*const Running> = const { Cell::new(null()) };
}

/// Whether a function of that sink is under way on this thread: then its writer must not be used.
pub(in crate::capi) fn is_running(sink: u64) -> bool {
    let mut place = RUNNING.with(Cell::get);
    // SAFETY: each stands on this thread's stack, below us, for as long as its function runs.
    while let Some(running) = unsafe { place.as_ref() } {
        if running.sink == sink {
            return true;
        }
        place = running.outer;
    }
    false
}

/// Calls a function of that sink.
pub(in crate::capi) fn while_running<T>(sink: u64, function: impl FnOnce() -> T) -> T {
    RUNNING.with(|top| {
        let this = Running { sink, outer: top.get() };
        top.set(&raw const this);
        let outcome = function();
        top.set(this.outer);
        outcome
    })
}
