//! Destinations of a written file. They get bytes front to back, and know no tensors.

pub mod append_sink;
mod buffered_file;
pub mod direct_sink;
pub mod file_sink;
pub mod held_file;
#[allow(unsafe_code)] // sets the thread's signals
mod write_all;

use crate::error::Result;
use crate::threads::{self, ThreadHooks};

/// The destination of a file's bytes, which are written front to back without seeking.
pub trait ByteSink: Send {
    /// Appends all of `bytes`. After a failure the sink cannot be used any more.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends many bytes, possibly on several threads. Meanwhile, one thread does `other_work`.
    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        threads.write_and_work(|| self.write(bytes))
    }

    /// Ensures that everything written so far reaches its destination before the following bytes, which are a
    /// footer that makes the file valid.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Publishes what was written. The sink cannot be used after that, even if it fails.
    fn publish(&mut self) -> Result<()>;

    /// Restores the destination after writing or publishing failed. An error says what state the destination
    /// has.
    fn roll_back(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The threads that a large write may use.
#[derive(Clone, Copy)]
pub struct WriteThreads<'w> {
    /// The most threads, including the caller's.
    pub count: usize,
    /// The caller's functions for each thread.
    pub hooks: ThreadHooks,
    /// Other work to do meanwhile. Any thread may call it, and the caller's thread calls it last. It runs
    /// only once.
    pub other_work: Option<&'w (dyn Fn() + Sync)>,
}

impl WriteThreads<'_> {
    /// Only the caller's thread, without other work.
    pub(super) fn alone() -> Self {
        WriteThreads { count: 1, hooks: ThreadHooks::default(), other_work: None }
    }

    /// Writes on the caller's thread. If there is other work and another thread is allowed, that thread does
    /// it meanwhile.
    pub(super) fn write_and_work(&self, write: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(other_work) = self.other_work else { return write() };
        threads::with_workers(usize::from(self.count > 1), self.hooks, other_work, || {
            let written = write();
            other_work(); // in case no thread could be started
            written
        })
    }
}
