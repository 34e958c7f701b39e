//! The threads that run requests: a pool for the process, which the first request starts and which never
//! ends.

use crate::core::status;
use crate::failure::Failure;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// The most threads. Each of them can transfer gigabytes per second.
const MAX_THREADS: usize = 4;

static POOL: OnceLock<Result<Runtime, String>> = OnceLock::new();
/// The process that owns the pool; 0 if there is no pool yet.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Fails in a child process: it has none of the pool's threads, and locks that they held stay locked.
pub fn check_process() -> Result<(), Failure> {
    match PROCESS.load(Ordering::Relaxed) {
        process if process == 0 || process == std::process::id() => Ok(()),
        _ => Err(Failure::new(
            status::UNSUPPORTED,
            "after fork, a process has to call exec before it opens remote files",
        )),
    }
}

/// The pool of this process.
pub fn pool() -> Result<&'static Runtime, Failure> {
    check_process()?;
    let made = POOL.get_or_init(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // Sets the provider for this library's copy of rustls. It fails if another part of the program has
        // done so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_THREADS);
        let pool =
            Builder::new_multi_thread().worker_threads(threads).thread_name("zt-remote").enable_all().build();
        pool.map_err(|e| e.to_string())
    });
    made.as_ref()
        .map_err(|e| Failure::new(status::IO, format_args!("could not start threads for requests: {e}")))
}
