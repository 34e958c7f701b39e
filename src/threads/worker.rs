//! Which threads were started by this library, and how many there may be.

use std::cell::Cell;

/// More threads than this do not help any of the work here.
pub(super) const MAX_THREADS: usize = 256;

thread_local! {
    /// Whether this thread is one of ours.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller is a thread that was started here.
pub fn is_worker() -> bool {
    IS_WORKER.with(Cell::get)
}

/// The calling thread is one of ours.
pub(super) fn begin() {
    IS_WORKER.with(|is| is.set(true));
}
