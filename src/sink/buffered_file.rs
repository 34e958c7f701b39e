//! A file that is written front to back. Small writes are collected in a buffer; large ones go to the file
//! directly, in calls of 4 MiB.
//!
//! The page cache stores a file in pages as large as the calls that wrote it, if these begin at multiples of
//! their size, up to the processor's largest page. Mapping the file later costs time for each page: 2 GB
//! written in calls of 4 MiB are mapped and touched in 14 ms, in calls of 1 MiB in 24 ms, and in calls of 8
//! KiB in 82 ms. So large calls end at multiples of 4 MiB in the file. Collected small writes end at
//! multiples of 1 MiB: 200 MB in tensors of 4 KiB took 49 ms this way, 55 ms with 256 KiB, and 50 ms with 4
//! MiB, which exceed the processor's cache.

use super::write_all::{write_all, WithoutFileSizeSignal};
use crate::error::Result;
use crate::memory::with_capacity;
use std::fs::File;

/// No call crosses a multiple of this in the file.
const CALL: u64 = 4 << 20;
/// The buffer is written when it reaches a multiple of this in the file.
const BUFFER_SIZE: usize = 1 << 20;
/// Writes of at least this size are not copied to the buffer, except less than a page at their end.
const MIN_UNBUFFERED: usize = 256 << 10;
const PAGE: usize = 4 << 10;
/// The buffered bytes begin at a multiple of this. Otherwise the system took a fifth longer to copy them.
const LINE: usize = 64;

/// An open file, and bytes that were not written to it yet. If it is dropped, these bytes are lost.
pub struct BufferedFile {
    pub file: File,
    /// The position in the file, after the written bytes.
    pub position: u64,
    /// Padding, then the collected bytes. They do not reach the next multiple of [`BUFFER_SIZE`] in the file.
    memory: Vec<u8>,
    /// The size of the padding, which aligns the collected bytes to [`LINE`].
    padding: usize,
}

impl BufferedFile {
    /// Writes to `file` from its current position on, which is `position`.
    pub fn new(file: File, position: u64) -> Result<BufferedFile> {
        let mut memory: Vec<u8> = with_capacity(BUFFER_SIZE.saturating_add(LINE))?;
        let padding = memory.as_ptr().align_offset(LINE).min(LINE);
        memory.resize(padding, 0);
        Ok(BufferedFile { file, position, memory, padding })
    }

    /// Writes all of `bytes`, at once or later.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        let mut due = self.due(bytes.len());
        while due > 0 {
            let call = due.min(CALL.saturating_sub(self.position % CALL));
            let more = usize::try_from(call).unwrap_or(usize::MAX).saturating_sub(self.gathered().len());
            let (front, rest) = bytes.split_at(more.min(bytes.len()));
            let written = write_all(&self.file, self.gathered(), front);
            self.memory.truncate(self.padding);
            written?;
            self.position = self.position.saturating_add(call);
            (bytes, due) = (rest, due.saturating_sub(call));
        }
        self.memory.extend_from_slice(bytes); // within what was reserved
        Ok(())
    }

    /// How many bytes have to be written now if `more` are added.
    fn due(&self, more: usize) -> u64 {
        let step = if more >= MIN_UNBUFFERED { PAGE } else { BUFFER_SIZE };
        let pending = (self.gathered().len() as u64).saturating_add(more as u64);
        let end = self.position.saturating_add(pending);
        let border = end.saturating_sub(end % step as u64);
        border.saturating_sub(self.position)
    }

    /// Whether adding `more` bytes would write to the file.
    pub fn would_write(&self, more: usize) -> bool {
        self.due(more) > 0
    }

    /// The bytes that are not written yet.
    pub fn gathered(&self) -> &[u8] {
        self.memory.get(self.padding..).unwrap_or_default()
    }

    /// Writes the collected bytes.
    pub fn flush(&mut self) -> Result<()> {
        let done = write_all(&self.file, self.gathered(), &[]);
        self.position = self.position.saturating_add(self.gathered().len() as u64);
        self.memory.truncate(self.padding);
        done
    }

    /// Makes the file longer or shorter.
    pub fn set_length(&self, length: u64) -> std::io::Result<()> {
        let _quiet = WithoutFileSizeSignal::new();
        self.file.set_len(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};

    /// A file without a name, which is deleted when it is closed.
    fn nameless() -> File {
        let path = std::env::temp_dir().join(format!("ztensor-buffered-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn the_file_has_the_bytes_that_came_and_calls_end_where_they_should() {
        let data: Vec<u8> = (0..15_u32 << 20).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let (mut expected, mut state) = (b"old content".to_vec(), 1_u64);
        let mut file = nameless();
        file.write_all(&expected).unwrap();
        let mut writer = BufferedFile::new(file, expected.len() as u64).unwrap();
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let size = [100, 5000, 200 << 10, 300 << 10, 3 << 20, 9 << 20][(state >> 33) as usize % 6];
            let part = &data[(state >> 40) as usize % 1000..][..size + (state >> 50) as usize % 5000];
            expected.extend_from_slice(part);
            let (before, would_write) = (writer.position, writer.would_write(part.len()));
            writer.write(part).unwrap();
            assert_eq!(would_write, writer.position > before);
            assert_eq!(writer.gathered().as_ptr() as usize % LINE, 0, "it did not grow");
            assert_eq!(writer.position as usize + writer.gathered().len(), expected.len());
            let step = if part.len() < MIN_UNBUFFERED { BUFFER_SIZE } else { PAGE };
            assert!(!would_write || writer.position as usize % step == 0, "{}", writer.position);
        }
        writer.flush().unwrap();
        assert_eq!(writer.position as usize, expected.len());
        let (mut file, mut bytes) = (&writer.file, Vec::new());
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert!(bytes == expected);
    }
}
