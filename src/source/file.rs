//! Positioned reads from an open file: nothing is read through a map, so a file that is cut short under us is
//! an error and not a signal.

use super::advice::Advice;
use super::byte_source::ByteSource;
use super::direct::DirectFile;
use super::pages::{page_size, Pages};
use crate::error::{fail, Error, Result};
use crate::io::path::{Access, SystemPath};
use crate::io::read_at::{read_exact_at, read_exact_scattered, size_of};
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::path::Path;

/// A range of an open file.
pub struct FileSource {
    file: File,
    base: u64,
    size: u64,
    /// Whether the real file ends where ours does.
    to_end: bool,
}

/// Opens a path for reading: a regular file or a block device, never waiting for a FIFO's writer.
pub fn open_for_reading(path: &Path) -> Result<File> {
    SystemPath::new(path)?.open(Access::Read).map_err(|e| Error::io("could not open it", &e))
}

impl FileSource {
    /// The file at `path`, whole.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_for_reading(path)?;
        let size = size_of(&file)?;
        Ok(FileSource { file, base: 0, size, to_end: true })
    }

    /// `length` bytes from `base` on; a length of 0 means to the end.
    pub fn from_file(file: File, base: u64, length: u64) -> Result<Self> {
        let end = size_of(&file)?;
        let capacity = end.checked_sub(base).ok_or_else(|| {
            fail!(InvalidArgument, "offset {base} is past the end of the file of {end} bytes")
        })?;
        if length > capacity {
            return Err(fail!(
                InvalidArgument,
                "offset {base} and length {length} pass the end of the file of {end} bytes"
            ));
        }
        let size = if length == 0 { capacity } else { length };
        Ok(FileSource { file, base, size, to_end: size == capacity })
    }

    /// Whether the byte at `offset` is in memory; `mapped` is that byte in a map, where there is one.
    pub fn resident_in(&self, offset: u64, mapped: Option<&[u8]>) -> Option<bool> {
        let place = self.base.saturating_add(offset);
        let is_inside = offset < self.size;
        is_inside.then(|| super::residence::resident(&self.file, place, mapped)).flatten()
    }

    /// The open file, and the range of it that is ours.
    pub fn parts(&self) -> (&File, u64, u64) {
        (&self.file, self.base, self.size)
    }
}

impl ByteSource for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, self.base.saturating_add(offset), dst)
    }

    fn read_scattered(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
        if !crate::io::blocks::SCATTERS {
            return Ok(false);
        }
        read_exact_scattered(&self.file, self.base.saturating_add(offset), pieces)
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<()> {
        super::advice::advise_file(&self.file, self.base, &self.pages(), &range, advice)
    }

    fn pages(&self) -> Pages {
        Pages::new(page_size(), self.base, self.size, self.to_end)
    }

    fn is_file(&self) -> bool {
        true
    }

    fn resident(&self, offset: u64) -> Option<bool> {
        self.resident_in(offset, None)
    }

    fn direct(&self) -> Result<Option<DirectFile>> {
        DirectFile::open(&self.file, self.base)
    }
}
