//! Starts a few threads for one call, or for the lifetime of a value, and joins them at its end. There is no
//! pool and no global state.

#[allow(unsafe_code)] // shares a value with threads that it waits for
mod group;
#[allow(unsafe_code)] // calls functions of the host's
mod hooks;
#[cfg(not(unix))]
#[allow(unsafe_code)] // as the other
mod portable;
#[cfg(unix)]
#[allow(unsafe_code)] // starts threads of the platform
mod posix;

#[cfg(not(unix))]
use portable as platform;
#[cfg(unix)]
use posix as platform;

pub use group::{ThreadGroup, Work};
pub use hooks::{is_worker, ThreadHooks};

use hooks::{mark_worker, MAX_THREADS};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of threads for a caller's option: 0 means one per processor.
pub fn count(wanted: usize) -> usize {
    match wanted {
        0 => platform::processors().clamp(1, 16),
        n => n.min(MAX_THREADS),
    }
}

/// Runs `body` on `count` threads, including the caller's, and waits for all. If the system provides fewer
/// threads, fewer run. The body takes its work from a queue, so all of it is done anyway.
pub fn run(count: usize, hooks: ThreadHooks, body: &(dyn Fn() + Sync)) {
    with_workers(count.min(MAX_THREADS).saturating_sub(1), hooks, body, body);
}

/// Runs `on_caller` on the caller's thread. Meanwhile, runs `on_workers` on up to `more` other threads, as
/// many as the system provides. Waits for all, and returns the result of `on_caller`.
pub fn with_workers<R>(
    more: usize,
    hooks: ThreadHooks,
    on_workers: &(dyn Fn() + Sync),
    on_caller: impl FnOnce() -> R,
) -> R {
    let started = AtomicU32::new(0);
    let work = || {
        mark_worker();
        let _ended = hooks.started(started.fetch_add(1, Ordering::Relaxed));
        on_workers();
    };
    match more {
        0 => on_caller(),
        more => platform::run(more.min(MAX_THREADS), &work, on_caller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    #[test]
    fn as_many_threads_run_as_were_asked_for_and_all_are_waited_for() {
        let (ids, barrier) = (Mutex::new(HashSet::new()), Barrier::new(5));
        run(5, ThreadHooks::default(), &|| {
            barrier.wait();
            ids.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
        });
        assert_eq!(ids.lock().unwrap().len(), 5);
        assert!(!is_worker());
        for count in [0, 1] {
            let calls = AtomicUsize::new(0);
            run(count, ThreadHooks::default(), &|| {
                assert_eq!((calls.fetch_add(1, Ordering::Relaxed), is_worker()), (0, false))
            });
            assert_eq!(calls.into_inner(), 1, "the caller works, too");
        }
    }

    #[test]
    fn each_of_two_runs_where_it_belongs() {
        let caller = std::thread::current().id();
        let (on_workers, on_caller) = (Mutex::new(None), Mutex::new(None));
        let note =
            |place: &Mutex<_>| *place.lock().unwrap() = Some((std::thread::current().id(), is_worker()));
        let mut made = String::new(); // only the caller's thread uses it, so it need not be `Send`
        let made = with_workers(1, ThreadHooks::default(), &|| note(&on_workers), || {
            note(&on_caller);
            made.push('x');
            made
        });
        assert_eq!(made, "x");
        assert_eq!(on_caller.into_inner().unwrap(), Some((caller, false)));
        assert!(on_workers.into_inner().unwrap().is_some_and(|(id, worker)| id != caller && worker));
    }

    #[test]
    fn a_panic_of_any_thread_is_the_callers_after_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(4, ThreadHooks::default(), &|| {
                ended.fetch_add(1, Ordering::Relaxed);
                if is_worker() {
                    panic!("one of ours");
                }
            });
        }));
        assert!(outcome.is_err());
        assert_eq!(ended.into_inner(), 4);
    }
}
