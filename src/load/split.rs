//! Requests cut into jobs. All that a manifest can say of a request is checked here, before anything is read.

use super::aligned_chunks::aligned_chunks;
use super::blob::Blob;
use super::job::JobKind;
use super::request::{BatchOptions, Direct, Part, Request};
use super::slab::Slab;
use crate::codec::{Codec, Coding, FrameRun, KnownSize};
use crate::error::{fail, Result};

/// A read of so few bytes is not shared by threads, and may be done together with its neighbours: past the page cache
/// longer ones may, too.
pub(super) const MAX_SHORT_READ: usize = 64 << 10;

/// More pieces than this of one slab are left to one thread.
const MAX_PIECES: u64 = 1 << 14;

/// Unwanted bytes between two blocks that are rather read than skipped.
pub(super) const MAX_READ_GAP: u64 = 64 << 10;

/// Receives jobs: where their stored bytes are, what they fill, and how.
pub type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], JobKind) -> Result<()> + 'p;

/// Checks a request; the front of its destination, which it fills.
pub fn check<'a>(request: &mut Request<'a>) -> Result<&'a mut [u8]> {
    let size = request.size()?;
    // A range of all is all of it, and has a digest that can be checked.
    if matches!(request.part, Part::Range { offset: 0, length } if length == request.blob.size) {
        request.part = Part::Whole;
    }
    front(std::mem::take(&mut request.dst), size)
}

/// The first `size` bytes of a destination.
pub fn front(dst: &mut [u8], size: u64) -> Result<&mut [u8]> {
    let capacity = dst.len();
    let front = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
    front.ok_or_else(|| fail!(BufferSize, "it takes {size} bytes, the memory for it has {capacity}"))
}

/// Cuts a request that was checked into the jobs that fill `dst`; whether they check its digest. What is read together
/// and taken apart has at most `capacity` bytes.
pub fn split<'a>(
    request: &Request<'_>,
    dst: &'a mut [u8],
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<bool> {
    let blob = &request.blob;
    let start = blob.entry.offset;
    let expected = match &request.part {
        Part::Whole if options.verify => blob.expected_digest()?,
        _ => None,
    };
    let has_digest = expected.is_some();
    match (&request.part, blob.coding) {
        _ if request.convert.is_some() => push(start, dst, JobKind::Serial)?,
        (Part::Whole, Coding::Raw) => match expected {
            Some(expected) => push(start, dst, JobKind::Hash(expected))?,
            None => copy_jobs(start, dst, options, push)?,
        },
        (Part::Range { offset, .. }, Coding::Raw) if !blob.swaps() => {
            copy_jobs(start.saturating_add(*offset), dst, options, push)?;
        }
        (Part::Slab(slab), Coding::Raw) if piece_count(slab, capacity) <= MAX_PIECES => {
            strided_jobs(start, slab, dst, options, capacity, push)?;
        }
        (Part::Range { .. } | Part::Slab(_), Coding::Raw) => push(start, dst, JobKind::Serial)?,
        (part, Coding::Compressed(codec)) => {
            let stored = blob.entry.stored_size;
            let borrowed = blob.stored().borrow().is_some();
            let runs = match part {
                Part::Whole if expected.is_none() => frame_runs(blob, codec, options.chunk_size)?,
                Part::Whole | Part::Range { .. } | Part::Slab(_) => None,
            };
            match (part, runs) {
                (_, Some(runs)) => frame_jobs(blob, codec, &runs, borrowed, dst, push)?,
                (Part::Range { .. } | Part::Slab(_), None) if !blob.is_read_whole() => {
                    push(start, dst, JobKind::Serial)?;
                }
                (_, None) => push(start, dst, JobKind::Decode { codec, stored, borrowed, expected })?,
            }
        }
    }
    Ok(has_digest)
}

fn chunk(options: &BatchOptions) -> usize {
    usize::try_from(options.chunk_size).unwrap_or(usize::MAX)
}

fn copy_jobs<'a>(
    start: u64,
    dst: &'a mut [u8],
    options: &BatchOptions,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    if dst.len() <= MAX_SHORT_READ.min(chunk(options)) {
        return push(start, dst, JobKind::Copy);
    }
    // Past the page cache, no block of the disk is read for two pieces. Through it, no huge page of fresh
    // memory is filled by two: one of the threads would wait for the other to clear it.
    let counted_from = match options.direct {
        Direct::Never => dst.as_ptr().addr() as u64,
        Direct::Auto | Direct::Always => start,
    };
    aligned_chunks(counted_from, start, dst, chunk(options))
        .try_for_each(|(offset, dst)| push(offset, dst, JobKind::Copy))
}

/// Into how many pieces a slab is cut; all of its windows have as many, so the first is counted.
fn piece_count(slab: &Slab, capacity: usize) -> u64 {
    let of_one =
        slab.windows().next().map_or(0, |window| window.pieces(capacity as u64, MAX_READ_GAP).size_hint().0);
    slab.window_count().saturating_mul(of_one as u64)
}

/// A slab, window by window: blocks that lie together are copies, the rest is read with what is between.
fn strided_jobs<'a>(
    start: u64,
    slab: &Slab,
    mut dst: &'a mut [u8],
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    if dst.is_empty() {
        return push(start, dst, JobKind::Copy);
    }
    for window in slab.windows().flat_map(|window| window.pieces(capacity as u64, MAX_READ_GAP)) {
        let now = window.take_front(&mut dst)?;
        let offset = start.saturating_add(window.source_offset);
        match window.count == 1 || window.stride == window.block {
            true => copy_jobs(offset, now, options, push)?,
            false => push(offset, now, JobKind::Strided(window))?,
        }
    }
    Ok(())
}

/// A job for each run of frames.
fn frame_jobs<'a>(
    blob: &Blob<'_>,
    codec: Codec,
    runs: &[FrameRun],
    borrowed: bool,
    mut dst: &'a mut [u8],
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    for run in runs {
        let size = usize::try_from(run.size()).unwrap_or(usize::MAX);
        let (now, later) = std::mem::take(&mut dst)
            .split_at_mut_checked(size)
            .ok_or_else(|| fail!(Internal, "the frames pass the declared size"))?;
        dst = later;
        let offset = blob.entry.offset.saturating_add(run.stored.start as u64);
        let (stored, decoded_start) = (run.stored.len() as u64, run.decoded.start);
        push(offset, now, JobKind::Frames { codec, stored, decoded_start, borrowed })?;
    }
    Ok(())
}

/// The frames of a compressed component in runs of some decoded bytes, if there are several. What would have to be
/// read for the headers alone is rather read once, by one thread.
fn frame_runs(blob: &Blob<'_>, codec: Codec, least: u64) -> Result<Option<Vec<FrameRun>>> {
    let size = blob.size;
    if size <= least || !blob.stored().is_cached() {
        return Ok(None);
    }
    let (known, runs) = codec.runs(blob.stored().reader()?, least, size)?;
    blob.check_size(codec, known)?;
    let several = matches!(known.check(codec, size)?, KnownSize::Exact(_)) && runs.len() > 1;
    // Where elements have to be turned, a run must not cut one.
    let width = blob.width() as u64;
    let splits_element = blob.swaps() && runs.iter().any(|run| run.decoded.end.checked_rem(width) != Some(0));
    Ok(Some(runs).filter(|_| several && !splits_element))
}
