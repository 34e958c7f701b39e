//! Threads of the standard library. It asks for their memory in a way that cannot fail but by ending
//! the process, so that they are for platforms without another way.

/// Runs `body` on `more` threads and `own` on the caller's; waits for all.
pub fn run<R>(more: usize, body: &(dyn Fn() + Sync), own: impl FnOnce() -> R) -> R {
    std::thread::scope(|scope| {
        for _ in 0..more {
            if std::thread::Builder::new().spawn_scoped(scope, body).is_err() {
                break;
            }
        }
        own()
    })
}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
