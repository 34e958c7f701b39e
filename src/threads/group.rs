//! A value, and threads that work on it during its lifetime.

use super::hooks::{mark_worker, ThreadHooks, MAX_THREADS};
#[cfg(not(unix))]
use super::portable::{name_thread, Thread};
#[cfg(unix)]
use super::posix::{name_thread, Thread};
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A value, and the work that threads do on it.
pub struct Work<T> {
    value: T,
    body: fn(&T),
    hooks: ThreadHooks,
    started: AtomicU32,
}

impl<T> Work<T> {
    /// `body` returns when nothing is left to do. It should not panic, because a panic would not be reported.
    pub fn new(value: T, hooks: ThreadHooks, body: fn(&T)) -> Work<T> {
        Work { value, body, hooks, started: AtomicU32::new(0) }
    }
}

/// Threads that share a value. Dropping the group waits for them.
pub struct ThreadGroup<T: Send + Sync + 'static> {
    /// Made from a box, and turned back into the box when no thread is left.
    work: NonNull<Work<T>>,
    threads: Vec<Thread>,
    /// The process that started the threads. A child process has none of them.
    process: u32,
}

// SAFETY: it owns a value that is `Send`, and shares one that is `Sync`; the rest are handles of threads.
unsafe impl<T: Send + Sync + 'static> Send for ThreadGroup<T> {}
// SAFETY: as above, because only the value is borrowed.
unsafe impl<T: Send + Sync + 'static> Sync for ThreadGroup<T> {}

impl<T: Send + Sync + 'static> ThreadGroup<T> {
    /// Starts up to `count` threads, as many as the system provides.
    pub fn start(work: Box<Work<T>>, count: usize) -> ThreadGroup<T> {
        let work = NonNull::from(Box::leak(work));
        let mut group = ThreadGroup { work, threads: Vec::new(), process: std::process::id() };
        let count = count.min(MAX_THREADS);
        if group.threads.try_reserve_exact(count).is_ok() {
            // SAFETY: the data of the threads lives until `drop` has joined them.
            let start = || unsafe { Thread::start(enter::<T>, work.as_ptr().cast()) };
            group.threads.extend(std::iter::repeat_with(start).take(count).map_while(|thread| thread));
        }
        group
    }

    pub fn value(&self) -> &T {
        // SAFETY: it exists until this is dropped, and is only borrowed, here and by the threads.
        &unsafe { self.work.as_ref() }.value
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Waits for all threads, in the process that started them.
    pub fn join(&mut self) {
        std::mem::take(&mut self.threads).into_iter().for_each(Thread::join);
    }

    /// Whether this process started them. A child process must not wait for them, because they do not exist
    /// in it.
    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T: Send + Sync + 'static> Drop for ThreadGroup<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            // Locks that the threads held stay locked, so the value and the handles of the threads are
            // leaked.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        self.join();
        // SAFETY: it is the box of `start`, and no thread uses it any more.
        drop(unsafe { Box::from_raw(self.work.as_ptr()) });
    }
}

extern "C" fn enter<T>(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passed it for a group of this `T`, which waits for this thread before it frees it.
    let work = unsafe { &*argument.cast::<Work<T>>() };
    name_thread();
    mark_worker();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _ended = work.hooks.started(work.started.fetch_add(1, Ordering::Relaxed));
        (work.body)(&work.value);
    }));
    std::mem::forget(outcome); // dropping a payload may panic
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::Arc;

    #[test]
    fn threads_share_a_value_and_are_waited_for() {
        let count = Arc::new(AtomicUsize::new(0));
        let body: fn(&Arc<AtomicUsize>) = |count| {
            assert!(crate::threads::is_worker());
            count.fetch_add(1, Ordering::SeqCst);
        };
        for threads in [0, 1, 5] {
            let work = Work::new(Arc::clone(&count), ThreadHooks::default(), body);
            let group = ThreadGroup::start(Box::new(work), threads);
            assert!(group.threads() == threads && group.is_here());
            assert!(Arc::ptr_eq(group.value(), &count));
            drop(group);
            assert_eq!((count.swap(0, Ordering::SeqCst), Arc::strong_count(&count)), (threads, 1));
        }
    }

    #[test]
    fn a_panic_of_one_ends_just_that_one() {
        let body: fn(&AtomicUsize) = |count| assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "the first");
        let group =
            ThreadGroup::start(Box::new(Work::new(AtomicUsize::new(0), ThreadHooks::default(), body)), 3);
        while group.value().load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
    }
}
