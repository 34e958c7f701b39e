//! A file that is written front to back: small writes are buffered, large ones are not.

use super::signals::WithoutFileSizeSignal;
use super::write_all::{write_all, BUFFER_SIZE};
use super::write_behind::WriteBehind;
use crate::error::Result;
use std::fs::File;

/// An open file and what has not been written to it yet. Dropped, it writes nothing more.
pub struct BufferedFile {
    file: File,
    buffered: Vec<u8>,
}

impl BufferedFile {
    /// Writes to `file` from where it stands.
    pub fn new(file: File) -> Result<BufferedFile> {
        let mut buffered = Vec::new();
        buffered.try_reserve_exact(BUFFER_SIZE)?;
        Ok(BufferedFile { file, buffered })
    }

    /// Writes all of `bytes`, now or later.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let spare = BUFFER_SIZE.saturating_sub(self.buffered.len());
        if bytes.len() <= spare {
            self.buffered.extend_from_slice(bytes); // within what was reserved
            return Ok(());
        }
        // Writes of the same size one behind the other lie in the kernel's pages as those do.
        let (front, rest) = bytes.split_at(if self.buffered.is_empty() { 0 } else { spare });
        self.buffered.extend_from_slice(front);
        self.flush()?;
        let (whole, rest) = rest.split_at(rest.len() - rest.len() % BUFFER_SIZE);
        write_all(&self.file, whole)?;
        self.buffered.extend_from_slice(rest);
        Ok(())
    }

    /// Where another thread may write what is full, if that can be had.
    pub fn write_behind_queue(&self) -> Option<WriteBehind> {
        WriteBehind::over(&self.file)
    }

    /// Writes all of `bytes`, now or later, but leaves to `queue` what is full.
    pub fn write_or_submit(&mut self, mut bytes: &[u8], queue: &WriteBehind) -> Result<()> {
        loop {
            let spare = BUFFER_SIZE.saturating_sub(self.buffered.len());
            let (front, rest) = bytes.split_at(bytes.len().min(spare));
            self.buffered.extend_from_slice(front); // within what was reserved
            if rest.is_empty() {
                return Ok(());
            }
            self.buffered = queue.submit(std::mem::take(&mut self.buffered))?;
            bytes = rest;
        }
    }

    /// Whether so many bytes more would have to be written now.
    pub fn would_write(&self, more: usize) -> bool {
        more > BUFFER_SIZE.saturating_sub(self.buffered.len())
    }

    /// What was buffered; it is no longer this one's to write.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffered)
    }

    /// Writes what was buffered.
    pub fn flush(&mut self) -> Result<()> {
        let done = write_all(&self.file, &self.buffered);
        self.buffered.clear();
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
