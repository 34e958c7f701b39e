//! Where a written file goes: bytes front to back, never tensors.

pub mod append_sink;
mod buffered_file;
pub mod direct_sink;
pub mod file_sink;
pub mod held_file;
#[allow(unsafe_code)] // sets the thread's signals
mod write_all;

use crate::error::Result;
use crate::threads::{self, ThreadHooks};

/// Where a file's bytes go: front to back, never seeking.
pub trait ByteSink: Send {
    /// Appends all of `bytes`, or fails for good.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends many bytes, perhaps on several threads; one does `other_work` meanwhile.
    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        threads.write_and_work(|| self.write(bytes))
    }

    /// What was written has to reach its destination before what follows: a footer, which makes the file
    /// valid.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Publishes what was written. The sink cannot be used after that, even if it fails.
    fn publish(&mut self) -> Result<()>;

    /// After writing or publishing failed: restores the destination. The error of a failure says what state
    /// it is in.
    fn roll_back(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The threads that a large write may use.
#[derive(Clone, Copy)]
pub struct WriteThreads<'w> {
    /// The most threads, the caller's among them.
    pub count: usize,
    /// The host's functions around each.
    pub hooks: ThreadHooks,
    /// Other work to be done meanwhile. Any thread may call it, and the caller's calls it last; it runs only
    /// once.
    pub other_work: Option<&'w (dyn Fn() + Sync)>,
}

impl WriteThreads<'_> {
    /// Only the caller's thread, and no other work.
    pub(super) fn alone() -> Self {
        WriteThreads { count: 1, hooks: ThreadHooks::default(), other_work: None }
    }

    /// Writes on the caller's thread while another does the other work, if there is any and there may be one.
    pub(super) fn write_and_work(&self, write: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(other_work) = self.other_work else { return write() };
        threads::with_workers(usize::from(self.count > 1), self.hooks, other_work, || {
            let written = write();
            other_work(); // if no thread could be started
            written
        })
    }
}
