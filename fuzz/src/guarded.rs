//! Calls of released readers, which may fail or panic on anything: that is no finding.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The answer of a released reader: none where it fails in whatever way.
pub fn guarded<T, E>(call: impl FnOnce() -> Result<T, E>) -> Option<T> {
    report_others();
    INSIDE.set(true);
    let answer = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(false);
    answer.ok()?.ok()
}

/// Panics in a call that is guarded are not reported; all others go where they went before.
fn report_others() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !INSIDE.get() {
                report(info);
            }
        }));
    });
}
