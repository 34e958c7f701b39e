//! Requests cut into jobs. All that a manifest can say of a request is checked here, before anything is read.

use super::blob::Owner;
use super::frame_runs::{frame_jobs, frame_runs};
use super::request::{BatchOptions, Direct, Job, JobKind, Part, Push, Request};
use super::rows::RowsMut;
use super::slab::Slab;
use crate::codec::Coding;
use crate::error::{fail, Result};
use crate::source::{ByteSource, Profile};
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use std::sync::atomic::Ordering;

/// A read of so few bytes is not shared by threads, and may be done together with its neighbours: past the
/// page cache longer ones may, too.
pub(super) const MAX_SHORT_READ: usize = 64 << 10;

/// More pieces than this of one slab are left to one thread.
const MAX_PIECES: u64 = 1 << 14;

/// Unwanted bytes between two blocks that are rather read than skipped.
pub(super) const MAX_READ_GAP: u64 = 64 << 10;

/// A source of a batch.
pub struct Source<'s> {
    pub bytes: &'s dyn ByteSource,
    pub owner: &'s dyn Owner,
    pub profile: Profile,
    /// Bytes that are read together at most.
    pub capacity: usize,
}

/// The sources of the requests; each request has the number of its own.
pub fn sources<'a>(requests: &mut [Request<'a>]) -> Result<Vec<Source<'a>>> {
    let mut sources: Vec<Source<'a>> = Vec::new();
    let mut numbers = SourceNumbers::new();
    for request in requests {
        let bytes = request.blob.source;
        request.source = numbers.number_of(std::ptr::from_ref(bytes).addr())?;
        if request.source as usize == sources.len() {
            sources.try_reserve(1)?;
            sources.push(Source { bytes, owner: request.blob.owner, profile: bytes.profile(), capacity: 0 });
        }
    }
    Ok(sources)
}

/// Addresses, numbered from 0 in the order in which they first come.
struct SourceNumbers {
    last: Option<(usize, u32)>,
    all: HashMap<usize, u32, SeedableRandomState>,
}

impl SourceNumbers {
    fn new() -> SourceNumbers {
        SourceNumbers { last: None, all: HashMap::with_hasher(crate::hash::state()) }
    }

    fn number_of(&mut self, address: usize) -> Result<u32> {
        match self.last {
            // Requests of one file mostly follow each other.
            Some((last, number)) if last == address => return Ok(number),
            _ => self.all.try_reserve(1).map_err(|_| fail!(OutOfMemory, "could not allocate memory"))?,
        }
        let next = u32::try_from(self.all.len())
            .map_err(|_| fail!(Limit, "a batch or load of more than 2^32 sources"))?;
        let number = *self.all.entry(address).or_insert(next); // within what was reserved
        self.last = Some((address, number));
        Ok(number)
    }
}

/// The jobs of all requests, which are checked before.
pub fn plan<'a>(
    requests: &mut [Request<'a>],
    sources: &[Source<'a>],
    options: &BatchOptions,
) -> Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    jobs.try_reserve(requests.len())?;
    for (at, request) in requests.iter_mut().enumerate() {
        let number = u32::try_from(at).map_err(|_| fail!(Limit, "a batch of more than 2^32 requests"))?;
        let dst = take_front(request).map_err(|e| request.blob.named(e))?;
        add_jobs(&mut jobs, number, request, dst, sources, options)?;
    }
    Ok(jobs)
}

/// Adds the jobs that fill `dst` with what a request asks for; it learns how many they are. Where that fails
/// they count as one, which is to fail.
pub fn add_jobs<'a>(
    jobs: &mut Vec<Job<'a>>,
    number: u32,
    request: &Request<'a>,
    dst: &'a mut [u8],
    sources: &[Source<'a>],
    options: &BatchOptions,
) -> Result<()> {
    let source = request.source;
    let capacity = sources.get(source as usize).map_or(0, |source| source.capacity);
    let before = jobs.len();
    let mut push = |offset, dst, kind| -> Result<()> {
        jobs.try_reserve(1)?;
        jobs.push(Job { source, request: number, offset, dst, kind });
        Ok(())
    };
    match split(request, dst, options, capacity, &mut push) {
        Ok(has_digest) => {
            request.has_digest.store(has_digest, Ordering::Relaxed);
            request.left.store(jobs.len().saturating_sub(before), Ordering::Relaxed);
            Ok(())
        }
        Err(error) => {
            jobs.truncate(before);
            request.left.store(1, Ordering::Relaxed);
            Err(request.blob.named(error))
        }
    }
}

/// The front of a request's destination, which it fills.
pub fn take_front<'a>(request: &mut Request<'a>) -> Result<&'a mut [u8]> {
    let dst = std::mem::take(&mut request.dst);
    if request.rows.is_some() {
        return Ok(dst); // which have its size
    }
    let (size, capacity) = (request.size(), dst.len());
    let front = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
    front.ok_or_else(|| fail!(BufferSize, "it takes {size} bytes, the memory for it has {capacity}"))
}

/// Cuts a request into the jobs that fill `dst`; whether they check its digest. What is read together
/// and taken apart has at most `capacity` bytes.
pub fn split<'a>(
    request: &Request<'a>,
    dst: &'a mut [u8],
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<bool> {
    if let Some((of, offset)) = request.piece {
        push(request.blob.entry.offset, dst, JobKind::Piece { of, offset })?;
        return Ok(request.wanted.verify && offset == 0);
    }
    let (start, has_digest) = (request.blob.entry.offset, checks_digest(request, options)?);
    match (request.wanted.convert, &request.rows, &request.part) {
        (None, None, _) => split_packed(request, dst, has_digest, options, capacity, push)?,
        (Some(to), None, Part::Whole) if !has_digest => push(start, dst, JobKind::Convert(to))?,
        (None, Some(rows), _) if !has_digest && is_plain(request) => {
            let mut rows = rows.lock();
            match rows.take_if(|rows| rows.row_count() as u64 <= MAX_PIECES) {
                Some(rows) => row_jobs(request, rows, options, push)?,
                None => push(start, dst, JobKind::Temporary(request.size()))?,
            }
        }
        _ => push(start, dst, JobKind::Temporary(request.size()))?,
    }
    Ok(has_digest)
}

/// Whether a digest is checked with a request.
pub fn checks_digest(request: &Request<'_>, options: &BatchOptions) -> Result<bool> {
    match &request.part {
        Part::Whole if (options.verify || request.wanted.verify) && !request.blob.is_laid_out => {
            Ok(request.blob.expected_digest()?.is_some())
        }
        _ => Ok(false),
    }
}

/// Whether its bytes are stored as they are, one after the other.
fn is_plain(request: &Request<'_>) -> bool {
    request.blob.coding == Coding::Raw && !request.blob.is_laid_out
}

/// Each row by itself: the reads of those that lie near each other are joined later.
fn row_jobs<'a>(
    request: &Request<'a>,
    rows: RowsMut<'a>,
    options: &BatchOptions,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    let (mut at, stride) = match &request.part {
        Part::Slab(slab) => slab.window(0).map_or((0, 0), |window| (window.source_offset, window.stride)),
        Part::Range { offset, .. } => (*offset, rows.length() as u64),
        Part::Whole => (0, rows.length() as u64),
    };
    for row in rows {
        copy_jobs(request.blob.entry.offset.saturating_add(at), row, options, push)?;
        at = at.saturating_add(stride);
    }
    Ok(())
}

/// As [`split`], without conversion and rows.
pub fn split_packed<'a>(
    request: &Request<'_>,
    dst: &'a mut [u8],
    has_digest: bool,
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    let blob = &request.blob;
    let start = blob.entry.offset;
    match (&request.part, blob.coding) {
        _ if blob.is_laid_out => push(start, dst, JobKind::Serial)?,
        (Part::Whole, Coding::Raw) if has_digest => push(start, dst, JobKind::Hash)?,
        (Part::Whole, Coding::Raw) => copy_jobs(start, dst, options, push)?,
        (Part::Range { offset, .. }, Coding::Raw) if !blob.entry.swaps() => {
            copy_jobs(start.saturating_add(*offset), dst, options, push)?;
        }
        (Part::Slab(slab), Coding::Raw) if piece_count(slab, capacity) <= MAX_PIECES => {
            strided_jobs(start, slab, dst, options, capacity, push)?;
        }
        (Part::Range { .. } | Part::Slab(_), Coding::Raw) => push(start, dst, JobKind::Serial)?,
        (part, Coding::Compressed(codec)) => {
            let stored = blob.entry.stored_size;
            let borrowed = blob.stored().borrow().is_some();
            let headers = match part {
                Part::Whole if !has_digest && codec.has_table() => Some(blob.stored().reader()?),
                // What would have to be read for the headers alone is rather read once, by one thread.
                Part::Whole if !has_digest => blob.stored().cached_reader()?,
                Part::Whole | Part::Range { .. } | Part::Slab(_) => None,
            };
            // What is read of a run mostly fits a thread's bounce: fresh memory for each took a sixth of the
            // time.
            let most = if borrowed { u64::MAX } else { capacity as u64 };
            let runs = match headers {
                Some(headers) => frame_runs(blob, codec, headers, options.chunk_size.min(most))?,
                None => None,
            };
            match (part, runs) {
                (_, Some(runs)) => frame_jobs(blob, codec, &runs, borrowed, dst, push)?,
                (Part::Range { .. } | Part::Slab(_), None) if !blob.is_read_whole() => {
                    push(start, dst, JobKind::Serial)?;
                }
                (_, None) => push(start, dst, JobKind::Decode { codec, stored, borrowed, has_digest })?,
            }
        }
    }
    Ok(())
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

/// Cuts what is read from `offset` on at multiples of `size`, where its first byte counts as `origin`: the
/// file's offset, or the memory's address. Elements stay whole, as both are multiples of theirs; where one is
/// not, pieces are counted from the first byte.
pub fn aligned_chunks(
    origin: u64,
    mut offset: u64,
    dst: &mut [u8],
    size: usize,
) -> impl Iterator<Item = (u64, &mut [u8])> {
    const MAX_ELEMENT: u64 = 16;
    let phase = match origin % MAX_ELEMENT {
        0 => usize::try_from(origin.checked_rem(size as u64).unwrap_or(0)).unwrap_or(0),
        _ => 0,
    };
    let (head, rest) = dst.split_at_mut(dst.len().min(size.saturating_sub(phase)));
    std::iter::once(head).chain(rest.chunks_mut(size)).filter(|p| !p.is_empty()).map(move |chunk| {
        let at = offset;
        offset = offset.saturating_add(chunk.len() as u64);
        (at, chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::{aligned_chunks, SourceNumbers};

    /// Each source comes twice, and a linear search through so many would take minutes.
    #[test]
    fn sources_are_numbered_in_the_order_in_which_they_come() {
        const SOURCES: usize = 300_000;
        let mut numbers = SourceNumbers::new();
        for round in 0..2 {
            for at in 0..SOURCES {
                assert_eq!(numbers.number_of(at << 6).unwrap() as usize, at, "round {round}");
                assert_eq!(numbers.number_of(at << 6).unwrap() as usize, at, "round {round}, once more");
            }
        }
        assert_eq!(numbers.all.len(), SOURCES);
    }

    #[test]
    fn chunks_end_at_multiples_and_cover_all() {
        for (origin, size, step) in [
            (0, 0, 8),
            (64, 100, 64),
            (80, 100, 64),
            (64, 63, 64),
            (7, 200, 64),
            (4096, 4096, 4096),
            (16, 1, 64),
        ] {
            for offset in [origin, 0, 4096] {
                let mut bytes = vec![0u8; size];
                let start = bytes.as_ptr().addr();
                let mut done = 0;
                for (place, chunk) in aligned_chunks(origin, offset, &mut bytes, step) {
                    assert_eq!(place, offset + done);
                    assert_eq!(chunk.as_ptr().addr() - start, usize::try_from(done).unwrap());
                    assert!(!chunk.is_empty() && chunk.len() <= step);
                    done += chunk.len() as u64;
                    let counted = if origin % 16 == 0 { origin + done } else { done };
                    assert!(done == size as u64 || counted % step as u64 == 0);
                }
                assert_eq!(done, size as u64);
            }
        }
    }
}
