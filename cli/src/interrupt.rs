//! Signals that ask to stop are recorded, and checked between pieces of work, so that a half-written file is
//! removed. A second signal ends the program at once.

use crate::failure::{self, Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// If the size of files is limited, a write fails as on a full disk, and does not end the program.
pub fn outlive_the_limit_on_files() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// The signal that was received; 0 for none.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Installs the signal handlers for a command that writes files. The message says that they are
    /// unchanged.
    pub fn listen_and_protect() -> Interrupt {
        failure::keep_files();
        Interrupt::listen()
    }

    /// For a command that writes one file, or standard output, which keeps what was written.
    pub fn of_output(output: &Path) -> Interrupt {
        match output.as_os_str() == "-" {
            true => Interrupt::listen(),
            false => Interrupt::listen_and_protect(),
        }
    }

    /// Installs the signal handlers.
    pub fn listen() -> Interrupt {
        let came = Interrupt::default();
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or(0);
            // In this order: the first signal finds `again` unset, and sets it. If a handler cannot be
            // installed, the signal ends the program.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
            let _ = flag::register(signal, Arc::clone(&again));
            let _ = flag::register_usize(signal, Arc::clone(&came.0), number);
        }
        came
    }

    /// Simulates a signal.
    #[cfg(all(test, unix, feature = "compat"))]
    pub fn come(&self, signal: usize) {
        self.0.store(signal, Ordering::Relaxed);
    }

    /// Fails if a signal was received.
    pub fn check(&self) -> Outcome<()> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::Interrupted(signal)),
        }
    }
}
