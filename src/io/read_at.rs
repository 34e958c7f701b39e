//! Reads open files at offsets. A read is complete or fails.

use super::stat::{self, Kind};
use crate::error::{fail, is_refusal, Error, Result};
use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};

/// The size of an open file: from its metadata or, if they lack it, by seeking.
pub fn size_of(file: &File) -> Result<u64> {
    size_and_time(file).map(|(size, _)| size)
}

/// The size of an open file, and when it was last changed, in nanoseconds since 1970; 0 if that is unknown.
pub fn size_and_time(file: &File) -> Result<(u64, i64)> {
    let stat = match stat::of_file(file) {
        Ok(stat) => stat,
        Err(e) if is_refusal(&e) => return Ok((seek_end(file)?, 0)),
        Err(e) => return Err(Error::io("could not ask for its size", &e)),
    };
    match stat.kind {
        Kind::Regular => Ok((stat.size, stat.modified)),
        Kind::BlockDevice => Ok((seek_end(file)?, stat.modified)),
        Kind::Folder => Err(fail!(Io, "it is a folder, which only zt_open_model opens")),
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

/// Fills `dst` with the bytes of `file` from `offset` on. Continues after short reads and interruptions.
pub fn read_exact_at(file: &File, offset: u64, dst: &mut [u8]) -> Result<()> {
    let size = dst.len();
    exactly(offset, size, |at, done| read_some_at(file, dst.get_mut(done..).unwrap_or_default(), at))
}

/// Fills pieces of memory one after the other. Returns false without reading if the system refuses that.
pub fn read_exact_scattered(file: &File, offset: u64, mut pieces: &mut [IoSliceMut<'_>]) -> Result<bool> {
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

/// Calls `read` with an offset and the number of bytes read so far, until all `size` bytes were read. `read`
/// returns how many bytes it has read.
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
                    "the file ends at byte {offset}, {left} bytes early: it was truncated while open"
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

/// Reads some bytes from `offset` on. Returns how many.
#[cfg(unix)]
pub fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, dst, offset)
}

/// Reads some bytes from `offset` on. Returns how many.
#[cfg(windows)]
pub fn read_some_at(file: &File, dst: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, dst, offset)
}
