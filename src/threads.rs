//! A few threads for one call: started, waited for, gone. No pool, no globals.

use std::num::NonZero;

/// What our threads are called.
pub(crate) const NAME: &str = "ztensor";

/// More threads than this do not help any of the work here.
const MOST: usize = 16;

/// How many threads a caller means: 0 is as many as there are processors.
pub fn count(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST),
        n => n.min(256),
    }
}

/// Runs `body` on `count` threads, the caller's among them, and waits for all. Where the system gives
/// fewer threads, fewer run: the body takes its work from a queue, so that all of it gets done.
///
/// Scoped threads are crossbeam's: those of std leave 48 bytes in the thread-local memory of a host's
/// main thread, which leak checkers then report to the host.
pub fn run(count: usize, body: &(dyn Fn() + Sync)) {
    let ended = crossbeam_utils::thread::scope(|scope| {
        for _ in 1..count {
            let started = scope.builder().name(String::from(NAME)).spawn(|_| body());
            if started.is_err() {
                break;
            }
        }
        body();
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic); // a bug; the guard at the boundary makes it a status
    }
}
