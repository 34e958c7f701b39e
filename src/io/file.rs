//! Positioned reads from an open file: nothing is read through a map, so a file that is cut short under us is
//! an error and not a signal.

use super::direct::DirectFile;
use super::pages::{page_size, Pages};
use super::path::{Access, SystemPath};
use super::refusal::is_refusal;
use super::stat::{self, Kind};
use super::{Advice, ByteSource};
use crate::error::{fail, Error, Result};
use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};
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

/// The size of an open file, found by asking or, where nobody answers, by seeking.
pub(super) fn size_of(file: &File) -> Result<u64> {
    let stat = match stat::of_file(file) {
        Ok(stat) => stat,
        Err(e) if is_refusal(&e) => return seek_end(file),
        Err(e) => return Err(Error::io("could not ask for its size", &e)),
    };
    match stat.kind {
        Kind::Regular => Ok(stat.size),
        Kind::BlockDevice => seek_end(file),
        Kind::Folder => Err(fail!(Io, "it is a folder")),
        Kind::Other => {
            Err(fail!(Io, "it is a FIFO, a socket or a character device, which cannot be read at an offset"))
        }
    }
}

fn seek_end(file: &File) -> Result<u64> {
    use std::io::Seek;
    let mut seeker: &File = file;
    seeker.seek(std::io::SeekFrom::End(0)).map_err(|e| Error::io("could not find its end", &e))
}

impl FileSource {
    /// The file at `path`, whole.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_for_reading(path)?;
        let size = size_of(&file)?;
        Ok(FileSource { file, base: 0, size, to_end: true })
    }

    /// `length` bytes from `base` on; all to the end where that is `u64::MAX`.
    pub fn from_file(file: File, base: u64, length: u64) -> Result<Self> {
        let end = size_of(&file)?;
        let capacity = end.checked_sub(base).ok_or_else(|| {
            fail!(InvalidArgument, "offset {base} is past the end of the file of {end} bytes")
        })?;
        let size = if length == u64::MAX { capacity } else { length };
        if size > capacity {
            return Err(fail!(
                InvalidArgument,
                "offset {base} and length {length} pass the end of the file of {end} bytes"
            ));
        }
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

/// Fills `dst` from `offset` of `file`; short counts and interruptions are taken up again.
pub fn read_exact_at(file: &File, offset: u64, dst: &mut [u8]) -> Result<()> {
    let size = dst.len();
    exactly(offset, size, |at, done| read_some_at(file, dst.get_mut(done..).unwrap_or_default(), at))
}

/// The same for pieces of memory that are filled one after the other; false, with nothing read, where the system refuses
/// that.
fn read_exact_scattered(file: &File, offset: u64, mut pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
    let size = pieces.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
    let (mut before, mut refused) = (0, false);
    let outcome = exactly(offset, size, |at, done| {
        IoSliceMut::advance_slices(&mut pieces, done.saturating_sub(before));
        before = done;
        let read = super::blocks::read_scattered_at(file, pieces, at);
        refused = done == 0 && read.as_ref().is_err_and(is_refusal);
        read
    });
    if refused {
        return Ok(false);
    }
    outcome.map(|()| true)
}

/// Calls `read` with an offset and how many bytes are done until all `size` are; it says how many it read.
fn exactly(
    mut offset: u64,
    size: usize,
    mut read: impl FnMut(u64, usize) -> std::io::Result<usize>,
) -> Result<()> {
    let mut done = 0;
    while done < size {
        let left = size.saturating_sub(done);
        match read(offset, done) {
            Ok(0) => {
                return Err(fail!(
                    Io,
                    "the file ends at byte {offset}, {left} bytes early: it was cut short while open"
                ));
            }
            Ok(n) => {
                let n = n.min(left);
                done = done.saturating_add(n);
                offset = offset.saturating_add(n as u64);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                return Err(Error::io("", &e).within(format_args!("could not read {left} bytes at {offset}")));
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, dst, offset)
}

#[cfg(windows)]
fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, dst, offset)
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
        if !super::blocks::SCATTERS {
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
