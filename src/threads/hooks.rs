//! Which threads the library has started, how many it may start, and the caller's functions that each calls.

use std::cell::Cell;
use std::ffi::c_void;

/// Called with the caller's context, and the thread's number in its call, counted from 0.
pub type ThreadCallback = unsafe extern "C" fn(context: *mut c_void, index: u32);

/// The caller's functions that a worker calls first and last. By default it calls nothing.
#[derive(Clone, Copy, Debug)]
pub struct ThreadHooks {
    context: *mut c_void,
    on_start: Option<ThreadCallback>,
    on_end: Option<ThreadCallback>,
}

// SAFETY: the contract of `new`; this type never dereferences the pointer.
unsafe impl Send for ThreadHooks {}
// SAFETY: as above.
unsafe impl Sync for ThreadHooks {}

impl Default for ThreadHooks {
    fn default() -> Self {
        ThreadHooks { context: std::ptr::null_mut(), on_start: None, on_end: None }
    }
}

impl ThreadHooks {
    /// # Safety
    /// Any thread may call both with `context`, several at once, as long as a copy of this is used. They
    /// return, and do not unwind.
    pub unsafe fn new(
        context: *mut c_void,
        on_start: Option<ThreadCallback>,
        on_end: Option<ThreadCallback>,
    ) -> ThreadHooks {
        ThreadHooks { context, on_start, on_end }
    }

    /// Calls the caller's function for the start of a thread. When the result is dropped, calls the function
    /// for its end.
    pub(super) fn started(self, index: u32) -> impl Drop {
        self.call(self.on_start, index);
        Ended { hooks: self, index }
    }

    fn call(self, callback: Option<ThreadCallback>, index: u32) {
        if let Some(callback) = callback {
            // SAFETY: the contract of `new`.
            unsafe { callback(self.context, index) };
        }
    }
}

/// Calls the caller's function for the end of a thread when it is dropped, also by a panic.
struct Ended {
    hooks: ThreadHooks,
    index: u32,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.hooks.call(self.hooks.on_end, self.index);
    }
}

/// More threads than this do not help.
pub(super) const MAX_THREADS: usize = 256;

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the library has started the calling thread.
pub fn is_worker() -> bool {
    IS_WORKER.with(Cell::get)
}

pub(super) fn mark_worker() {
    IS_WORKER.with(|is| is.set(true));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::{is_worker, run, with_workers};
    use std::sync::Mutex;

    /// The calls in order, each with its thread.
    type Calls = Mutex<Vec<(&'static str, u32, std::thread::ThreadId)>>;

    unsafe extern "C" fn start(calls: *mut c_void, index: u32) {
        note(calls, "start", index);
    }

    unsafe extern "C" fn end(calls: *mut c_void, index: u32) {
        note(calls, "end", index);
    }

    fn note(calls: *mut c_void, what: &'static str, index: u32) {
        assert!(is_worker());
        // SAFETY: `hooks_to` was given this, and it lives longer than the threads.
        let calls = unsafe { &*calls.cast::<Calls>() };
        calls.lock().unwrap().push((what, index, std::thread::current().id()));
    }

    fn hooks_to(calls: &Calls) -> ThreadHooks {
        // SAFETY: the threads are joined before `calls` is dropped.
        unsafe { ThreadHooks::new(std::ptr::from_ref(calls).cast_mut().cast(), Some(start), Some(end)) }
    }

    /// Checks that each thread has a start and an end, and that none is the caller's thread.
    fn check(calls: Calls, threads: u32) {
        let calls = calls.into_inner().unwrap();
        assert_eq!(calls.len(), threads as usize * 2);
        for index in 0..threads {
            let of: Vec<_> = calls.iter().filter(|(_, i, _)| *i == index).collect();
            assert_eq!((of[0].0, of[1].0), ("start", "end"));
            assert!(of[0].2 == of[1].2 && of[0].2 != std::thread::current().id());
        }
    }

    #[test]
    fn hooks_are_called_on_each_thread_that_is_started_and_not_on_the_callers() {
        let calls = Calls::default();
        run(4, hooks_to(&calls), &|| {});
        check(calls, 3);
        let calls = Calls::default();
        with_workers(2, hooks_to(&calls), &|| {}, || {});
        check(calls, 2);
        let calls = Calls::default();
        with_workers(1, hooks_to(&calls), &|| {}, || {});
        check(calls, 1);
        let calls = Calls::default();
        run(1, hooks_to(&calls), &|| {});
        check(calls, 0);
    }

    #[test]
    fn the_end_is_called_after_a_panic_too() {
        let calls = Calls::default();
        let hooks = hooks_to(&calls);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(3, hooks, &|| assert!(!is_worker(), "one of ours"));
        }));
        assert!(outcome.is_err());
        check(calls, 2);
    }
}
