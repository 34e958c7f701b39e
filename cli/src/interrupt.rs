//! Signals that ask to stop are recorded, and checked between pieces of work, so that a half-written file is
//! removed. A second signal ends the program at once.

use crate::failure::{self, Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
#[cfg(feature = "compat")]
use signal_hook::low_level::{emulate_default_handler, unregister};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
#[cfg(feature = "compat")]
use std::sync::LazyLock;

/// If the size of files is limited, a write fails as on a full disk, and does not end the program.
pub fn outlive_the_limit_on_files() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Whether the command listens to signals.
#[cfg(feature = "compat")]
static LISTENS: AtomicBool = AtomicBool::new(false);
/// Whether signals end the command although handlers are installed.
#[cfg(feature = "compat")]
static DEFAULTS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signals that ask to stop, also as numbers that are not negative.
fn signals() -> [(i32, usize); 2] {
    [SIGINT, SIGTERM].map(|signal| (signal, usize::try_from(signal).unwrap_or(0)))
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
        #[cfg(feature = "compat")]
        {
            LISTENS.store(true, Ordering::Relaxed);
            DEFAULTS.store(false, Ordering::Relaxed);
        }
        for (signal, number) in signals() {
            // In this order: the first signal finds `again` unset, and sets it. If a handler cannot be
            // installed, the signal ends the program.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
            let _ = flag::register(signal, Arc::clone(&again));
            let _ = flag::register_usize(signal, Arc::clone(&came.0), number);
        }
        came
    }

    /// Runs `body`, which makes temporary files, with a separate interrupt. So a signal does not end a
    /// command that does not listen before the files are removed, but after that.
    #[cfg(feature = "compat")]
    pub fn protect<T>(body: impl FnOnce(&Interrupt) -> T) -> T {
        let came = Interrupt::default();
        let listens = LISTENS.load(Ordering::Relaxed);
        let registered = signals().map(|(signal, number)| {
            let recorded = flag::register_usize(signal, Arc::clone(&came.0), number);
            // Without this, the signal would be ignored from now on.
            let _ = (!listens).then(|| flag::register_conditional_default(signal, Arc::clone(&DEFAULTS)));
            recorded
        });
        let done = body(&came);
        for id in registered.into_iter().flatten() {
            unregister(id);
        }
        if !listens {
            DEFAULTS.store(true, Ordering::Relaxed);
            if let signal @ 1.. = came.0.load(Ordering::Relaxed) {
                let _ = emulate_default_handler(i32::try_from(signal).unwrap_or(SIGTERM));
            }
        }
        done
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
