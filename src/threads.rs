//! A few threads for one call: started, waited for, gone. No pool, no globals.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
#[allow(unsafe_code)] // starts threads of the platform
mod posix;

#[cfg(not(unix))]
use portable as platform;
#[cfg(unix)]
use posix as platform;

use std::cell::Cell;

/// More threads than this do not help any of the work here.
const MOST: usize = 256;

thread_local! {
    /// Whether this thread is one of ours.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// How many threads a caller means: 0 is as many as there are processors.
pub fn count(wanted: usize) -> usize {
    match wanted {
        0 => platform::processors().clamp(1, 16),
        n => n.min(MOST),
    }
}

/// Whether the caller is a thread that [`run`] started.
pub fn is_ours() -> bool {
    OURS.with(Cell::get)
}

/// Runs `body` on `count` threads, the caller's among them, and waits for all. Where the system gives
/// fewer threads, fewer run: the body takes its work from a queue, so that all of it gets done.
pub fn run(count: usize, body: &(dyn Fn() + Sync)) {
    platform::run(count.min(MOST).saturating_sub(1), &ours(body), body);
}

/// What a thread of ours runs: the body, on a thread that [`is_ours`] knows.
fn ours<'b>(body: &'b (dyn Fn() + Sync)) -> impl Fn() + Sync + 'b {
    move || {
        OURS.with(|ours| ours.set(true));
        body();
    }
}

/// Runs `mine` on the caller's thread and `theirs` on `more` others meanwhile, as far as the system gives them, and
/// waits for all.
pub fn around(more: usize, theirs: &(dyn Fn() + Sync), mine: &(dyn Fn() + Sync)) {
    platform::run(more.min(MOST), &ours(theirs), mine);
}

/// Runs `mine` on the caller's thread and `theirs` on another meanwhile, if the system gives one, and waits for both.
pub fn beside(theirs: &(dyn Fn() + Sync), mine: &(dyn Fn() + Sync)) {
    platform::run(1, &ours(theirs), mine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    #[test]
    fn as_many_threads_run_as_were_asked_for_and_all_are_waited_for() {
        let (ids, together) = (Mutex::new(HashSet::new()), Barrier::new(5));
        run(5, &|| {
            together.wait();
            ids.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
        });
        assert_eq!(ids.lock().unwrap().len(), 5);
        assert!(!is_ours());
        for count in [0, 1] {
            let calls = AtomicUsize::new(0);
            run(count, &|| assert_eq!((calls.fetch_add(1, Ordering::Relaxed), is_ours()), (0, false)));
            assert_eq!(calls.into_inner(), 1, "the caller works, too");
        }
    }

    #[test]
    fn each_of_two_runs_where_it_belongs() {
        let caller = std::thread::current().id();
        let (theirs, mine) = (Mutex::new(None), Mutex::new(None));
        let note = |place: &Mutex<_>| *place.lock().unwrap() = Some((std::thread::current().id(), is_ours()));
        beside(&|| note(&theirs), &|| note(&mine));
        assert_eq!(mine.into_inner().unwrap(), Some((caller, false)));
        assert!(theirs.into_inner().unwrap().is_some_and(|(id, ours)| id != caller && ours));
    }

    #[test]
    fn a_panic_of_any_thread_is_the_callers_after_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(4, &|| {
                ended.fetch_add(1, Ordering::Relaxed);
                if is_ours() {
                    panic!("one of ours");
                }
            });
        }));
        assert!(outcome.is_err());
        assert_eq!(ended.into_inner(), 4);
    }
}
