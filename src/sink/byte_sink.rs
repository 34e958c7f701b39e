//! The door for the bytes of a new file.

use super::direct_sink::WritePieces;
use super::write_behind::WriteBehind;
use crate::error::Result;

/// Where a file's bytes go: front to back, never seeking.
pub trait ByteSink: Send {
    /// Appends all of `bytes`, or fails for good.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends by up to `threads` threads at once, where the sink lets them: see [`WritePieces`].
    fn pieces<'s>(&'s mut self, _bytes: &'s [u8], _threads: usize) -> Result<Option<WritePieces<'s>>> {
        Ok(None)
    }

    /// Where another thread may write what is given to [`ByteSink::write_behind`], if only the caller's may not.
    fn write_behind_queue(&mut self) -> Option<WriteBehind> {
        None
    }

    /// Appends all of `bytes`; the writing may be left to `queue`, which this sink made.
    fn write_behind(&mut self, bytes: &[u8], _queue: &WriteBehind) -> Result<()> {
        self.write(bytes)
    }

    /// Everything was written: publishes it. The sink is done after that, whatever comes back.
    fn publish(&mut self) -> Result<()>;

    /// Writing or publishing failed: puts the destination back to what it was. A failure says what it is now.
    fn roll_back(&mut self) -> Result<()> {
        Ok(())
    }
}
