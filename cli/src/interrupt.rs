//! Signals that ask to stop are noted and looked at between pieces of work, so that a half-written
//! file is taken away. A second one ends the program at once.

use crate::failure::{Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// A limit on the size of files makes a write fail, as a full disk does, and does not end the program.
pub fn outlive_the_limit_on_files() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// The signal that has come; 0 for none.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Begins to listen.
    pub fn listen() -> Interrupt {
        let came = Interrupt::default();
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or(0);
            // In this order: the first signal finds `again` unset and sets it. Where a handler cannot
            // be had the signal simply ends the program.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
            let _ = flag::register(signal, Arc::clone(&again));
            let _ = flag::register_usize(signal, Arc::clone(&came.0), number);
        }
        came
    }

    /// As if a signal had come.
    #[cfg(all(test, unix, feature = "compat"))]
    pub fn come(&self, signal: usize) {
        self.0.store(signal, Ordering::Relaxed);
    }

    /// A failure if a signal has come.
    pub fn check(&self) -> Outcome<()> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::Interrupted(signal)),
        }
    }
}
