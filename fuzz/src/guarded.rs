//! Calls of released readers. They may fail or panic on any input, which is not a finding.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The result of a released reader; None if it fails or panics.
pub fn guarded<T, E>(call: impl FnOnce() -> Result<T, E>) -> Option<T> {
    report_others();
    INSIDE.set(true);
    let answer = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(false);
    answer.ok()?.ok()
}

/// Panics in a guarded call are not reported. All others go to the previous hook.
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
