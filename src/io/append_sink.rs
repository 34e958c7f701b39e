//! An existing file that grows behind its end, and what it takes that no kill and no power cut loses it.

use super::gather::Gather;
use super::path::{Access, SystemPath};
use super::ByteSink;
use crate::error::{fail, Error, Result};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// The size of a footer.
const FOOTER: usize = 16;

/// An existing file that grows behind its end. Until it is published, what was there is whole:
/// dropping the sink cuts the file back to it.
pub struct AppendSink {
    writer: Option<Gather>,
    /// The last bytes, as many as a footer has: they wait until all in front of them is on the disk.
    last: Vec<u8>,
    old_manifest: u64,
    old_end: u64,
    /// Where the next byte goes.
    end: u64,
    /// How long the file is; always past `end`. See [`AppendSink::stretch`].
    stretched: u64,
    durable: bool,
}

impl AppendSink {
    /// Appends to the file at `path`, whose manifest and footer are the bytes `old`.
    pub fn open(path: &Path, old: std::ops::Range<u64>, durable: bool) -> Result<Self> {
        let old_end = old.end;
        let mut file = SystemPath::new(path)?
            .open(Access::ReadWrite)
            .map_err(|e| Error::io("could not open it for writing", &e))?;
        let end = file.seek(SeekFrom::End(0)).map_err(|e| Error::io("could not find its end", &e))?;
        if end != old_end {
            return Err(fail!(Io, "it changed from {old_end} to {end} bytes while it was being opened"));
        }
        let writer = Some(Gather::new(file)?);
        let mut last = Vec::new();
        last.try_reserve_exact(FOOTER)?;
        Ok(AppendSink { writer, last, old_manifest: old.start, old_end, end, stretched: end, durable })
    }

    /// Keeps the file's end ahead of what is written. A process can be killed between any two writes,
    /// and what is appended may end like a file does (a .zt file kept as bytes in a tensor): then the
    /// whole would open as something that it is not. Behind a stretch of zeros nothing ends.
    fn stretch(&mut self, more: usize) -> Result<()> {
        const BEHIND: u64 = 8;
        const AHEAD: u64 = 1 << 20;
        self.end = self.end.saturating_add(more as u64);
        let writer = self.writer.as_ref().ok_or_else(|| fail!(State, "the file is closed"))?;
        if self.stretched < self.end.saturating_add(BEHIND) {
            let length = self.end.saturating_add(BEHIND).saturating_add(AHEAD);
            writer.set_length(length).map_err(|e| Error::io("could not make it longer", &e))?;
            self.stretched = length;
        }
        Ok(())
    }

    /// Writes and syncs the new end; the old one still stands.
    fn complete(&self, writer: &mut Gather) -> Result<()> {
        // A disk writes in any order between two syncs. A footer over bytes that never got there would make
        // a file that opens and is not whole; so there is none before they are.
        writer.flush()?;
        writer.file().sync_all().map_err(|e| Error::io("could not sync what was added", &e))?;
        writer.write(&self.last)?;
        writer.flush()?;
        writer.set_length(self.end).map_err(|e| Error::io("could not set its length", &e))?;
        // The order is the promise: new footer on disk first, old footer gone after, in any mode.
        writer.file().sync_all().map_err(|e| Error::io("could not sync the new end", &e))
    }
}

/// Overwrites a range with zero bytes.
fn zero(file: &File, range: std::ops::Range<u64>) -> Result<()> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let failed = |e: std::io::Error| {
        Error::io("the append is in place, but the old manifest could not be cleared", &e)
    };
    let mut writer: &File = file;
    writer.seek(SeekFrom::Start(range.start)).map_err(failed)?;
    let mut left = range.end.saturating_sub(range.start);
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        std::io::Write::write_all(&mut writer, ZEROS.get(..now).unwrap_or_default()).map_err(failed)?;
        left = left.saturating_sub(now as u64);
    }
    Ok(())
}

impl Drop for AppendSink {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            let _ = writer.file().set_len(self.old_end);
        }
    }
}

impl ByteSink for AppendSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stretch(bytes.len())?;
        let writer = self.writer.as_mut().ok_or_else(|| fail!(State, "the file is closed"))?;
        let kept = bytes.len().min(FOOTER);
        let (front, last) = bytes.split_at(bytes.len().saturating_sub(kept));
        let due = self.last.len().saturating_add(kept).saturating_sub(FOOTER);
        writer.write(self.last.get(..due).unwrap_or_default())?;
        self.last.drain(..due);
        writer.write(front)?; // where there is any, nothing was left in front of it
        self.last.extend_from_slice(last); // within what was reserved
        Ok(())
    }

    /// The new manifest and footer are written: syncs them, then turns those that they replace to
    /// zero padding.
    fn publish(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| fail!(State, "the file is closed"))?;
        if let Err(e) = self.complete(&mut writer) {
            let _ = writer.file().set_len(self.old_end);
            return Err(e);
        }
        // From here on the new state stands; failing to clear the old footer loses nothing.
        zero(writer.file(), self.old_manifest..self.old_end)?;
        if self.durable {
            let synced = writer.file().sync_all();
            synced.map_err(|e| Error::io("the append is in place, but could not be synced", &e))?;
        }
        Ok(())
    }
}
