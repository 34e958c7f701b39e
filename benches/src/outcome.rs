//! Rows, groups and workloads that could not be measured. Each prints the reason, and the rest of the run
//! continues.

use serde_json::{json, Value};
use std::panic::{catch_unwind, panic_any, set_hook, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// The first reason since the last take. It is global, because threads that `std::thread::scope` joins lose
/// theirs.
static REASON: Mutex<Option<String>> = Mutex::new(None);
/// Failed checks and files that could not be written, for the exit status.
static FAILURES: AtomicUsize = AtomicUsize::new(0);

/// The panic value of `not_measured`.
struct Refused;

fn reason() -> std::sync::MutexGuard<'static, Option<String>> {
    REASON.lock().unwrap_or_else(|e| e.into_inner())
}

/// Ends the current row, group or workload, because this machine cannot run it. It is not an error of the
/// library; a failed check panics instead.
pub fn not_measured(why: impl Into<String>) -> ! {
    reason().get_or_insert(why.into());
    panic_any(Refused)
}

pub fn count_failure() {
    FAILURES.fetch_add(1, Ordering::Relaxed);
}

pub fn failures() -> usize {
    FAILURES.load(Ordering::Relaxed)
}

/// Records panic messages for `attempt`, which prints them with the row.
pub fn keep_reasons() {
    set_hook(Box::new(|info| {
        if info.payload().is::<Refused>() {
            return;
        }
        let said = info.payload();
        let text = said.downcast_ref::<String>().map(String::as_str);
        let text =
            text.or_else(|| said.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
        let place = info.location().map_or(String::new(), |l| format!(" ({}:{})", l.file(), l.line()));
        let line = format!("failed: {}{place}", text.lines().map(str::trim).collect::<Vec<_>>().join(" "));
        let mut first = reason();
        if first.is_none() {
            *first = Some(line);
            count_failure();
        }
    }));
}

/// Runs it. The error is the reason for not finishing, in one line.
pub fn attempt<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    *reason() = None;
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| {
        let why = reason().take();
        why.unwrap_or_else(|| {
            count_failure();
            "failed: no reason was given".into()
        })
    })
}

/// A group of rows, or its replacement if its files could not be prepared or its check fails.
pub fn group(id: &str, f: impl FnOnce() -> Value) -> Value {
    attempt(f).unwrap_or_else(|why| stand_in(id, &why))
}

/// Prints and returns the replacement of a group or a workload that was not measured.
pub fn stand_in(id: &str, why: &str) -> Value {
    println!("\n## {id}: not measured: {why}");
    crate::targets::not_measured(id, why);
    json!({"id": id, "not_measured": why, "results": []})
}

/// This state is global, so its tests run one at a time.
#[cfg(test)]
pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_panic_is_a_failure_also_in_a_thread() {
        let _one = ONE_AT_A_TIME.lock();
        keep_reasons();
        let failed = failures();
        let refused: Result<(), String> = attempt(|| {
            std::thread::scope(|s| drop(s.spawn(|| not_measured("3 pages stay"))));
        });
        assert_eq!(refused, Err("3 pages stay".into()));
        assert_eq!(failures(), failed);
        let broken: Result<(), String> = attempt(|| {
            std::thread::scope(|s| drop(s.spawn(|| assert_eq!(1, 2, "other bytes"))));
        });
        let why = broken.unwrap_err();
        assert!(why.starts_with("failed: ") && why.contains("other bytes") && !why.contains('\n'), "{why}");
        assert_eq!(failures(), failed + 1);
        assert_eq!(attempt(|| 7), Ok(7));
        let stands_for_it = group("W0/none", || not_measured("the file system is missing"));
        assert_eq!(stands_for_it["not_measured"], "the file system is missing");
    }
}
