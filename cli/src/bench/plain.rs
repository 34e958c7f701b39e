//! The stored bytes of a batch by reads of the system, without the library.

use super::reads::{self, Batch};
use crate::failure::{Failure, Outcome};
use crate::parallel;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use ztensor::reader::File;

/// What a thread reads at a time, as the library does.
const CHUNK: usize = 4 << 20;

/// Reads them into memory that is large enough; how long it took.
pub fn read(file: &File, batch: &Batch, threads: usize, memory: &mut [u8]) -> Outcome<Duration> {
    let paths: Vec<_> = reads::paths(file).collect();
    let mut jobs = Vec::new();
    let mut rest = memory;
    for one in &batch.ranges {
        let Some(path) = paths.get(one.part) else { continue };
        let mut offset = one.offset;
        let (now, after) =
            rest.split_at_mut(usize::try_from(one.stored).unwrap_or(usize::MAX).min(rest.len()));
        rest = after;
        for piece in now.chunks_mut(CHUNK) {
            let size = piece.len() as u64;
            jobs.push((path, offset, Mutex::new(piece)));
            offset += size;
        }
    }
    let started = Instant::now();
    let done = parallel::map(&jobs, threads, |(path, offset, piece)| {
        let mut file = std::fs::File::open(path)?;
        file.seek(SeekFrom::Start(*offset))?;
        file.read_exact(&mut piece.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    });
    let took = started.elapsed();
    for (outcome, (path, ..)) in done.into_iter().zip(&jobs) {
        outcome.map_err(|e| Failure::at(path, e))?;
    }
    Ok(took)
}
