//! Threads of the standard library, for platforms without POSIX threads, such as Windows. If there is no
//! memory for a thread, the standard library aborts.

use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;

/// Runs `body` on `more` threads and `own` on the caller's thread. Waits for all.
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

/// The function that a thread runs.
pub type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

/// A thread that continues after the call that started it.
pub struct Thread(std::thread::JoinHandle<()>);

impl Thread {
    /// Starts a thread, if the system provides one.
    ///
    /// # Safety
    /// Another thread may call `entry` with `argument` until [`Thread::join`] has returned.
    pub unsafe fn start(entry: Entry, argument: *mut c_void) -> Option<Thread> {
        let argument = AtomicPtr::new(argument); // may be sent to another thread
        let body = move || _ = entry(argument.into_inner());
        std::thread::Builder::new().spawn(body).ok().map(Thread)
    }

    /// Waits until the thread has ended.
    pub fn join(self) {
        let _ = self.0.join();
    }
}

/// Names the calling thread, for debuggers.
pub fn name_thread() {}

/// The number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
