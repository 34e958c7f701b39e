//! A file that is written front to back: small writes are gathered, large ones go straight through.

use super::behind::Behind;
use super::signals::WithoutFileSizeSignal;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;

/// Bytes of one write to the page cache: small ones are gathered, large ones cut. The kernel makes pages as large
/// as what comes at once; from megabytes on that was measured to take up to four times as long, and another time
/// in each run.
pub(crate) const GATHER: usize = 256 << 10;

/// An open file and what has not been written to it yet. Dropped, it writes nothing more.
pub struct Gather {
    file: File,
    gathered: Vec<u8>,
}

impl Gather {
    /// Writes to `file` from where it stands.
    pub fn new(file: File) -> Result<Gather> {
        let mut gathered = Vec::new();
        gathered.try_reserve_exact(GATHER)?;
        Ok(Gather { file, gathered })
    }

    /// Writes all of `bytes`, now or later.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let room = GATHER.saturating_sub(self.gathered.len());
        if bytes.len() <= room {
            self.gathered.extend_from_slice(bytes); // within what was reserved
            return Ok(());
        }
        // Writes of the same size one behind the other lie in the kernel's pages as those do.
        let (front, rest) = bytes.split_at(if self.gathered.is_empty() { 0 } else { room });
        self.gathered.extend_from_slice(front);
        self.flush()?;
        let (whole, rest) = rest.split_at(rest.len() - rest.len() % GATHER);
        write_all(&self.file, whole)?;
        self.gathered.extend_from_slice(rest);
        Ok(())
    }

    /// Where another thread may write what is full, if that can be had.
    pub fn behind(&self) -> Option<Behind> {
        Behind::over(&self.file)
    }

    /// Writes all of `bytes`, now or later, but leaves to `behind` what is full.
    pub fn write_behind(&mut self, mut bytes: &[u8], behind: &Behind) -> Result<()> {
        loop {
            let room = GATHER.saturating_sub(self.gathered.len());
            let (front, rest) = bytes.split_at(bytes.len().min(room));
            self.gathered.extend_from_slice(front); // within what was reserved
            if rest.is_empty() {
                return Ok(());
            }
            self.gathered = behind.exchange(std::mem::take(&mut self.gathered))?;
            bytes = rest;
        }
    }

    /// Whether so many bytes more would have to be written now.
    pub fn would_write(&self, more: usize) -> bool {
        more > GATHER.saturating_sub(self.gathered.len())
    }

    /// What was gathered; it is no longer this one's to write.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.gathered)
    }

    /// Writes what was gathered.
    pub fn flush(&mut self) -> Result<()> {
        let done = write_all(&self.file, &self.gathered);
        self.gathered.clear();
        done
    }

    /// Makes the file longer or shorter.
    pub fn set_length(&self, length: u64) -> std::io::Result<()> {
        let _quiet = WithoutFileSizeSignal::new();
        self.file.set_len(length)
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// All of `bytes`; interruptions and short counts are taken up again.
pub(super) fn write_all(mut file: &File, bytes: &[u8]) -> Result<()> {
    let _quiet = WithoutFileSizeSignal::new();
    bytes
        .chunks(GATHER)
        .try_for_each(|part| file.write_all(part))
        .map_err(|e| Error::io("", &e).within(format_args!("could not write {} bytes", bytes.len())))
}
