//! The jobs that requests are cut into, and the progress of a request. Everything that can be checked with
//! the manifest alone is checked here, before anything is read.

use super::component::{Owner, StoredComponent};
use super::destination::{Destination, RowsMut};
use super::request::{BatchOptions, Direct, Part, Request};
use super::slab::{Slab, StridedBlocks};
use crate::codec::{Codec, Decoding, EntryRange, FrameRun, KnownSize, Stored};
use crate::convert::converted_size;
use crate::error::{fail, Result};
use crate::memory::{in_memory, push, take_front, with_capacity};
use crate::model::dtype::Dtype;
use crate::source::{ByteSource, Profile};
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The progress of a request.
pub struct Task {
    /// The index of its source in the batch.
    pub source: u32,
    /// Jobs that are not done yet.
    left: AtomicUsize,
    failed: AtomicBool,
    has_digest: AtomicBool,
    /// Set once a job counts the numbers that the whole request loses. That job will fail.
    pub is_counted: AtomicBool,
}

/// Together with its request at most three cache lines, because a batch may have many.
const _: () = assert!(size_of::<Request<'_>>() + size_of::<Task>() <= 192);

/// What the end of a job means for its request.
pub struct JobEnd {
    pub is_last: bool,
    pub is_first_failure: bool,
    /// A job of the request failed.
    pub is_failed: bool,
    /// The jobs check the request's digest.
    pub has_digest: bool,
}

impl Task {
    pub fn new(source: u32) -> Task {
        let (left, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let [has_digest, is_counted] = [AtomicBool::new(false), AtomicBool::new(false)];
        Task { source, left, failed, has_digest, is_counted }
    }

    /// Sets the number of its jobs, and whether they check its digest.
    pub fn set_jobs(&self, count: usize, has_digest: bool) {
        self.left.store(count, Ordering::Relaxed);
        self.has_digest.store(has_digest, Ordering::Relaxed);
    }

    /// Counts a job that ended.
    #[inline]
    pub fn job_ended(&self, outcome: &Result<()>) -> JobEnd {
        // Set `failed` before the count goes down: the thread that ends the last job has to see it.
        let is_first_failure = outcome.is_err() && !self.failed.swap(true, Ordering::Relaxed);
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let is_failed = self.failed.load(Ordering::Relaxed);
        let has_digest = self.has_digest.load(Ordering::Relaxed);
        JobEnd { is_last, is_first_failure, is_failed, has_digest }
    }
}

/// A job reads some bytes of a request. Small, because a batch may have many jobs.
pub struct Job<'a> {
    /// The source that has the stored bytes. Jobs are sorted by source and offset.
    pub source: u32,
    /// Position of the request.
    pub request: u32,
    pub offset: u64,
    pub dst: &'a mut [u8],
    pub work: Work<'a>,
}

pub enum Work<'a> {
    /// The executor reads a range of stored bytes, perhaps coalesced with those of other jobs, and finishes
    /// them.
    Range(Finish),
    /// The job does its own reads.
    Own(OwnWork<'a>),
}

/// What is done with the stored bytes after they were read.
pub enum Finish {
    /// Nothing more: they are the decoded bytes.
    Copy,
    /// They are a whole raw component. Its digest is checked.
    Hash,
    /// They have evenly spaced blocks, which are copied out.
    Strided(StridedBlocks),
    /// They are some frames of a compressed component, which are decoded. `stored` is their size, `entries`
    /// are their rows in the seek table.
    Frames { codec: Codec, stored: u64, entries: EntryRange, decoded_start: u64, borrowed: bool },
    /// They are decoded to the request's part. `has_digest`: their digest is checked.
    Decode { stored: u64, borrowed: bool, has_digest: bool },
}

pub enum OwnWork<'a> {
    /// Reads the blocks of a slab that has too many pieces for jobs.
    Blocks,
    /// Finds the frames for a part of a compressed component.
    Seek(Codec),
    /// Converts a range of the decoded bytes, or all of them.
    Convert { to: Dtype, range: Range<u64> },
    /// Decodes numbers of an object: the request's part, or the numbers from byte `offset` on.
    Numbers { to: Dtype, offset: Option<u64>, has_digest: bool },
    /// Reads into temporary memory, then converts, or copies to rows or `dst`.
    Temporary { rows: Option<RowsMut<'a>>, has_digest: bool },
    /// Copies a piece of oversized request number `of`, from byte `offset` on.
    Piece { of: u32, offset: u64 },
}

/// Stored bytes that will be read: the source's number in the batch, the offset, and the size.
#[derive(Clone, Copy)]
pub struct StoredSpan {
    pub source: u32,
    pub offset: u64,
    pub size: u64,
}

/// Receives each job: the offset of its stored bytes, the memory it fills, and the work.
pub type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], Work<'a>) -> Result<()> + 'p;

impl Job<'_> {
    /// How many bytes the job delivers.
    pub fn bytes(&self) -> u64 {
        match &self.work {
            Work::Own(OwnWork::Temporary { rows: Some(rows), .. }) => rows.size(),
            _ => self.dst.len() as u64,
        }
    }

    /// How many stored bytes the executor reads for the job from `offset` on. `None` if it reads nothing.
    pub fn stored(&self) -> Option<u64> {
        match &self.work {
            Work::Range(Finish::Copy | Finish::Hash) => Some(self.dst.len() as u64),
            Work::Range(Finish::Strided(blocks)) => Some(blocks.source_size()),
            Work::Range(Finish::Frames { borrowed: true, .. } | Finish::Decode { borrowed: true, .. })
            | Work::Own(_) => None,
            Work::Range(Finish::Frames { stored, .. } | Finish::Decode { stored, .. }) => Some(*stored),
        }
    }

    pub fn stored_bytes(&self) -> u64 {
        self.stored().unwrap_or(0)
    }

    /// The stored bytes that the executor reads for the job.
    pub fn span(&self) -> StoredSpan {
        StoredSpan { source: self.source, offset: self.offset, size: self.stored_bytes() }
    }

    /// Whether `dst` receives the stored bytes.
    pub fn is_in_place(&self) -> bool {
        matches!(self.work, Work::Range(Finish::Copy | Finish::Hash))
    }
}

/// A read of at most this size is not split among threads, and may be coalesced with its neighbours. Reads
/// that bypass the page cache may be coalesced above this size, too.
pub(super) const MAX_SHORT_READ: usize = 64 << 10;

/// If a slab has more pieces than this, one thread reads them all.
const MAX_PIECES: u64 = 1 << 14;

/// A gap of at most this size between two blocks is read rather than skipped.
pub(super) const MAX_READ_GAP: u64 = 64 << 10;

/// A source of a batch.
pub struct Source<'s> {
    pub bytes: &'s dyn ByteSource,
    pub owner: &'s dyn Owner,
    pub profile: Profile,
    /// The size of the bounce buffer: reads of several blocks or frames are at most this long.
    pub capacity: usize,
}

/// The sources of the requests, and for each request a task with the number of its source.
pub fn sources<'a>(requests: &[Request<'a>]) -> Result<(Vec<Source<'a>>, Vec<Task>)> {
    let (mut sources, mut tasks) = (Vec::new(), with_capacity(requests.len())?);
    let mut numbers = SourceNumbers::new();
    for request in requests {
        let bytes = request.component.source;
        let number = numbers.number_of(std::ptr::from_ref(bytes).addr())?;
        if number as usize == sources.len() {
            push(
                &mut sources,
                Source { bytes, owner: request.component.owner, profile: bytes.profile(), capacity: 0 },
            )?;
        }
        tasks.push(Task::new(number)); // within what was reserved
    }
    Ok((sources, tasks))
}

/// Gives addresses numbers from 0, in the order in which they first appear.
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
            // Most requests have the file of the request before.
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

/// Cuts a request into the jobs that fill `dst`. Returns whether they check its digest. Reads that are
/// gathered from have at most `capacity` bytes.
pub fn split<'a>(
    request: &Request<'a>,
    dst: Destination<'a>,
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<bool> {
    let (start, has_digest) = (request.component.entry.offset, checks_digest(request, options)?);
    let (dst, rows) = match (dst, request.wanted.convert) {
        (Destination::Bytes(dst), None) => {
            split_packed(request, dst, has_digest, options, capacity, push)?;
            return Ok(has_digest);
        }
        (Destination::Bytes(dst), Some(to)) if !has_digest && converts_while_read(request) => {
            convert_jobs(request, to, dst, options, push)?;
            return Ok(false);
        }
        (Destination::Rows(rows), None)
            if !has_digest && request.component.is_raw() && rows.row_count() as u64 <= MAX_PIECES =>
        {
            row_jobs(request, rows, options, push)?;
            return Ok(false);
        }
        (Destination::Bytes(dst), Some(_)) => (dst, None),
        (Destination::Rows(rows), _) => (&mut [][..], Some(rows)),
    };
    push(start, dst, Work::Own(OwnWork::Temporary { rows, has_digest }))?;
    Ok(has_digest)
}

pub fn checks_digest(request: &Request<'_>, options: &BatchOptions) -> Result<bool> {
    match &request.part {
        Part::Whole if options.verify || request.wanted.verify => match request.component.decoding {
            Decoding::Array => Ok(false),
            Decoding::Numbers { .. } => request.component.owner.object_has_digest(&request.component),
            Decoding::Raw | Decoding::Frames(_) => Ok(request.component.expected_digest()?.is_some()),
        },
        _ => Ok(false),
    }
}

/// Whether the request is converted while it is read. This holds for a whole component and for a range of a
/// raw component.
fn converts_while_read(request: &Request<'_>) -> bool {
    match request.part {
        Part::Whole => true,
        Part::Range { .. } => is_divisible(request),
        Part::Slab(_) => false,
    }
}

/// Whether ranges of the request's elements can be converted independently.
pub(super) fn is_divisible(request: &Request<'_>) -> bool {
    request.component.is_raw() && !request.component.strict_bools
}

/// Makes jobs that convert ranges of whole elements, for several threads.
fn convert_jobs<'a>(
    request: &Request<'a>,
    to: Dtype,
    mut dst: &'a mut [u8],
    options: &BatchOptions,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    let (component, Range { start, end }) = (&request.component, request.covering());
    let (from, unit) = (component.entry.element_type()?, component.element_size());
    let step = if is_divisible(request) { options.chunk_size } else { u64::MAX };
    let step = step.saturating_sub(step.checked_rem(unit).unwrap_or(0)).max(unit);
    let mut at = start;
    loop {
        let next = at.saturating_add(step).min(end);
        let now = take_front(&mut dst, converted_size(next.saturating_sub(at), from, to)?)?;
        let work = Work::Own(OwnWork::Convert { to, range: at..next });
        push(component.entry.offset.saturating_add(at), now, work)?;
        at = next;
        if at == end {
            return Ok(());
        }
    }
}

/// Makes one job for each row. Reads of nearby rows are coalesced later.
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
        copy_jobs(request.component.entry.offset.saturating_add(at), row, options, push)?;
        at = at.saturating_add(stride);
    }
    Ok(())
}

/// Like [`split`], for requests without conversion and rows.
pub fn split_packed<'a>(
    request: &Request<'_>,
    dst: &'a mut [u8],
    has_digest: bool,
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    let component = &request.component;
    let start = component.entry.offset;
    match (&request.part, component.decoding) {
        (Part::Whole, Decoding::Raw) if has_digest => push(start, dst, Work::Range(Finish::Hash))?,
        (Part::Whole, Decoding::Raw) => copy_jobs(start, dst, options, push)?,
        (Part::Range { offset, .. }, Decoding::Raw) if request.has_whole_units() => {
            copy_jobs(start.saturating_add(*offset), dst, options, push)?;
        }
        (Part::Slab(slab), Decoding::Raw) if piece_count(slab, capacity) <= MAX_PIECES => {
            strided_jobs(start, slab, dst, options, capacity, push)?;
        }
        (Part::Slab(_), Decoding::Raw) => push(start, dst, Work::Own(OwnWork::Blocks))?,
        (Part::Range { .. }, Decoding::Raw) | (_, Decoding::Array) => {
            let needed = component.needed(&request.covering())?;
            let (start, end) = (start.saturating_add(needed.start), start.saturating_add(needed.end));
            let stored = end.saturating_sub(start);
            // Bytes that only need a swap are read, not copied from a mapping. If the file is truncated
            // meanwhile, a read returns an error.
            let borrowed = !component.is_raw() && component.source.slice(start..end).is_some();
            push(start, dst, Work::Range(Finish::Decode { stored, borrowed, has_digest }))?;
        }
        (part, Decoding::Numbers { to, in_ranges }) => {
            let first = match part {
                Part::Whole if in_ranges && !has_digest => Some(0),
                Part::Range { offset, .. } if in_ranges => Some(*offset),
                _ => None,
            };
            let Some(mut offset) = first.filter(|_| !dst.is_empty()) else {
                return push(start, dst, Work::Own(OwnWork::Numbers { to, offset: None, has_digest }));
            };
            // Each piece needs all scales, so make only one piece for each thread.
            let threads = crate::threads::count(options.threads).max(1);
            let step = dst.len().div_ceil(threads).max(chunk(options));
            let unit = in_memory(component.element_size())?;
            let step = step.checked_next_multiple_of(unit).unwrap_or(unit);
            for dst in dst.chunks_mut(step) {
                let size = dst.len() as u64;
                push(start, dst, Work::Own(OwnWork::Numbers { to, offset: Some(offset), has_digest }))?;
                offset = offset.saturating_add(size);
            }
        }
        (part, Decoding::Frames(codec)) => {
            let stored = component.entry.stored_size;
            let borrowed = component.stored().borrow().is_some();
            let headers = match part {
                Part::Whole if !has_digest && codec.has_table() => Some(component.stored().reader()?),
                // If the headers are not in memory, finding them would read everything twice. One thread
                // decodes all then.
                Part::Whole if !has_digest => component.stored().cached_reader()?,
                Part::Whole | Part::Range { .. } | Part::Slab(_) => None,
            };
            // A run should fit a thread's bounce buffer: allocating memory for each run took a sixth of the
            // time.
            let most = if borrowed { u64::MAX } else { capacity as u64 };
            let runs = match headers {
                Some(headers) => frame_runs(component, codec, headers, options.chunk_size.min(most))?,
                None => None,
            };
            match (part, runs) {
                (_, Some(runs)) => frame_jobs(component, codec, &runs, borrowed, dst, push)?,
                (Part::Range { .. } | Part::Slab(_), None) if !component.is_read_whole() => {
                    push(start, dst, Work::Own(OwnWork::Seek(codec)))?;
                }
                (_, None) => push(start, dst, Work::Range(Finish::Decode { stored, borrowed, has_digest }))?,
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
        return push(start, dst, Work::Range(Finish::Copy));
    }
    // If reads bypass the page cache, cut at multiples of the file offset, so that no disk block is read
    // twice. Else cut at multiples of the address, so that two threads do not share a huge page of fresh
    // memory: one would wait until the other has cleared it.
    let counted_from = match options.direct {
        Direct::Never => dst.as_ptr().addr() as u64,
        Direct::Auto | Direct::Always => start,
    };
    aligned_chunks(counted_from, start, dst, chunk(options))
        .try_for_each(|(offset, dst)| push(offset, dst, Work::Range(Finish::Copy)))
}

/// How many pieces a slab is cut into. All of its windows have equally many, so the first is counted.
fn piece_count(slab: &Slab, capacity: usize) -> u64 {
    let of_one = slab
        .windows()
        .next()
        .map_or(0, |window| window.split_for_reads(capacity as u64, MAX_READ_GAP).size_hint().0);
    slab.window_count().saturating_mul(of_one as u64)
}

/// Makes jobs for a slab, window by window. Contiguous blocks are copied; others are read with the gaps
/// between them.
fn strided_jobs<'a>(
    start: u64,
    slab: &Slab,
    mut dst: &'a mut [u8],
    options: &BatchOptions,
    capacity: usize,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    if dst.is_empty() {
        return push(start, dst, Work::Range(Finish::Copy));
    }
    for window in slab.windows().flat_map(|window| window.split_for_reads(capacity as u64, MAX_READ_GAP)) {
        let now = take_front(&mut dst, window.dest_size())?;
        let offset = start.saturating_add(window.source_offset);
        match window.count == 1 || window.stride == window.block {
            true => copy_jobs(offset, now, options, push)?,
            false => push(offset, now, Work::Range(Finish::Strided(window)))?,
        }
    }
    Ok(())
}

/// Cuts a read from `offset` on at multiples of `size`. `origin` is the position of its first byte for this:
/// the file offset, or the memory address. Elements stay whole, because `origin` and `size` are multiples of
/// the element size. If `origin` is not, pieces are counted from the first byte.
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

/// Makes a job for each run of frames.
pub fn frame_jobs<'a>(
    component: &StoredComponent<'_>,
    codec: Codec,
    runs: &[FrameRun],
    borrowed: bool,
    mut dst: &'a mut [u8],
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    for run in runs {
        let now = take_front(&mut dst, run.size())?;
        let offset = component.entry.offset.saturating_add(run.stored.start as u64);
        let (stored, decoded_start) = (run.stored.len() as u64, run.decoded.start);
        let entries = run.entries;
        let frames = Finish::Frames { codec, stored, entries, decoded_start, borrowed };
        push(offset, now, Work::Range(frames))?;
    }
    Ok(())
}

/// Splits the frames of a compressed component into runs of about `size` decoded bytes, if there are several.
///
/// Fast path: all threads together read and decode a whole compressed component; each takes some of its
/// frames. Two threads take 1.13 to 1.19 times as long as two threads of libzstd; if one thread reads
/// everything first, it is 1.69 times. It does not apply to a component with one frame or less than a chunk,
/// if its digest is checked, or if frames do not give their sizes. It also does not apply if the headers are
/// not in memory and there is no seek table: finding the frames would read everything twice.
pub fn frame_runs(
    component: &StoredComponent<'_>,
    codec: Codec,
    stored: impl Stored,
    least: u64,
) -> Result<Option<Vec<FrameRun>>> {
    let size = component.size;
    if size <= least {
        return Ok(None);
    }
    let (known, runs) = codec.runs(stored, least, size)?;
    component.check_size(codec, known)?;
    let several = matches!(known.check(codec, size)?, KnownSize::Exact(_)) && runs.len() > 1;
    // If elements have to be byte-swapped, a run must not cut one.
    let width = component.entry.width() as u64;
    let splits_element =
        component.entry.swaps() && runs.iter().any(|run| run.decoded.end.checked_rem(width) != Some(0));
    Ok(Some(runs).filter(|_| several && !splits_element))
}

#[cfg(test)]
mod tests {
    use super::{aligned_chunks, SourceNumbers};

    /// There are many sources, and each comes twice. A linear search would take minutes.
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
