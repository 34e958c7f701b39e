//! Reads the stored bytes of a batch with system calls, without the library.

use super::reads::{self, Batch};
use crate::failure::{Failure, Outcome};
use crate::parallel;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use ztensor::reader::File;

/// How much a thread reads at a time, the same as in the library.
const READ_SIZE: usize = 4 << 20;

/// The open files of a model.
pub struct Parts(Vec<(PathBuf, std::fs::File)>);

impl Parts {
    pub fn open(file: &File) -> Outcome<Parts> {
        let opened = reads::paths(file).map(|path| match std::fs::File::open(&path) {
            Ok(file) => Ok((path, file)),
            Err(e) => Err(Failure::at(&path, e)),
        });
        opened.collect::<Outcome<_>>().map(Parts)
    }

    /// Reads a batch into memory that is large enough. Returns the time.
    pub fn read(&self, batch: &Batch, threads: usize, memory: &mut [u8]) -> Outcome<Duration> {
        let mut jobs = Vec::new();
        let mut rest = memory;
        for one in &batch.ranges {
            let Some((path, file)) = self.0.get(one.part) else { continue };
            let mut offset = one.offset;
            let (now, after) =
                rest.split_at_mut(usize::try_from(one.stored).unwrap_or(usize::MAX).min(rest.len()));
            rest = after;
            for piece in now.chunks_mut(READ_SIZE) {
                let size = piece.len() as u64;
                jobs.push((path, file, offset, Mutex::new(piece)));
                offset += size;
            }
        }
        let started = Instant::now();
        let done = parallel::map(&jobs, threads, |(_, file, offset, piece)| {
            read_at(file, *offset, &mut piece.lock().unwrap_or_else(PoisonError::into_inner))
        });
        let took = started.elapsed();
        for (outcome, (path, ..)) in done.into_iter().zip(&jobs) {
            outcome.map_err(|e| Failure::at(path, e))?;
        }
        Ok(took)
    }
}

#[cfg(unix)]
fn read_at(file: &std::fs::File, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &std::fs::File, mut offset: u64, mut into: &mut [u8]) -> std::io::Result<()> {
    while !into.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        (into, offset) = (&mut into[count..], offset + count as u64);
    }
    Ok(())
}
