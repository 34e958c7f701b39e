//! The door for the bytes of a new file.

use crate::error::Result;
use crate::threads::{self, ThreadHooks};

/// Where a file's bytes go: front to back, never seeking.
pub trait ByteSink: Send {
    /// Appends all of `bytes`, or fails for good.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends many bytes, perhaps on several threads. The other work is done by one of them meanwhile.
    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        threads.write_and_work(|| self.write(bytes))
    }

    /// What was written is to be where it goes before what follows, which says that it is there.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Everything was written: publishes it. The sink is done after that, whatever comes back.
    fn publish(&mut self) -> Result<()>;

    /// Writing or publishing failed: puts the destination back to what it was. A failure says what it is now.
    fn roll_back(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What a call that writes much may use.
#[derive(Clone, Copy)]
pub struct WriteThreads<'w> {
    /// At most so many, the caller's among them.
    pub count: usize,
    /// The host's functions around each.
    pub hooks: ThreadHooks,
    /// What else is to be done, on any thread: called by some of them, and by the caller's at last, it does itself once.
    pub other_work: Option<&'w (dyn Fn() + Sync)>,
}

impl WriteThreads<'_> {
    /// The caller's thread, and nothing else to do.
    pub(super) fn alone() -> Self {
        WriteThreads { count: 1, hooks: ThreadHooks::default(), other_work: None }
    }

    /// Writes on the caller's thread while another does the other work, if there is any and there may be one.
    pub(super) fn write_and_work(&self, write: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(other_work) = self.other_work else { return write() };
        threads::with_workers(usize::from(self.count > 1), self.hooks, other_work, || {
            let written = write();
            other_work(); // where there was no thread to be had
            written
        })
    }
}
