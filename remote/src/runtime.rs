//! The threads that requests run on: one pool for the process, started by the first request and never ended.

use crate::core::status;
use crate::failure::Failure;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Threads at most: each of them keeps gigabytes a second going.
const MOST_THREADS: usize = 4;

/// The pool, and the process that it is of: a child that was forked has none of its threads.
static POOL: OnceLock<Result<(Runtime, u32), String>> = OnceLock::new();

/// The pool of this process.
pub fn pool() -> Result<&'static Runtime, Failure> {
    let made = POOL.get_or_init(|| {
        // Of this library's own copy of rustls; somebody else in the same program may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS);
        let pool =
            Builder::new_multi_thread().worker_threads(threads).thread_name("zt-remote").enable_all().build();
        pool.map(|pool| (pool, std::process::id())).map_err(|e| e.to_string())
    });
    match made {
        Ok((pool, process)) if *process == std::process::id() => Ok(pool),
        Ok(_) => Err(Failure::new(
            status::UNSUPPORTED,
            "a process that was forked has to open remote files anew, by exec",
        )),
        Err(e) => Err(Failure::new(status::IO, format_args!("could not start threads for requests: {e}"))),
    }
}
