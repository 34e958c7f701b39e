//! Threads of the standard library, for platforms without POSIX threads, as Windows: where there is no memory
//! for one, the standard library ends the process.

use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;

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

/// What a thread runs.
pub type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

/// A thread that continues after the call that started it.
pub struct Thread(std::thread::JoinHandle<()>);

impl Thread {
    /// A thread, if the system gives one.
    ///
    /// # Safety
    /// `entry` may be called with `argument` from another thread, until [`Thread::join`] has returned.
    pub unsafe fn start(entry: Entry, argument: *mut c_void) -> Option<Thread> {
        let argument = AtomicPtr::new(argument); // which may go to another thread
        let body = move || _ = entry(argument.into_inner());
        std::thread::Builder::new().spawn(body).ok().map(Thread)
    }

    /// Waits until it has ended.
    pub fn join(self) {
        let _ = self.0.join();
    }
}

/// Names the calling thread, for debuggers.
pub fn name_thread() {}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
