//! Requests cut into jobs that can be done in any order by any thread.

use super::aligned_chunks::aligned_chunks;
use super::{BatchOptions, BatchRequest, Direct, Selection};
use crate::codec::{Codec, Coding, FrameRun, KnownSize};
use crate::convert::byte_order::swap_in_place;
use crate::digest::{self, Digest};
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::reader::slab::{Slab, StridedBlocks};
use crate::reader::Component;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A request while its jobs are done.
pub struct Request<'a, 'r> {
    pub asked: &'a BatchRequest<'r>,
    /// Jobs that are not done yet.
    pub left: AtomicUsize,
    pub failed: AtomicBool,
    /// Its digest is checked.
    pub has_digest: bool,
}

/// Some bytes of a request. Small, as a batch may have a great many.
pub struct Job<'a> {
    /// Where the stored bytes are: what jobs are sorted by.
    pub offset: u64,
    /// Position of the request.
    pub request: usize,
    /// Receives the bytes.
    pub dst: &'a mut [u8],
    pub kind: JobKind<'a>,
}

pub enum JobKind<'a> {
    /// Stored bytes, as they are, to their place.
    Copy,
    /// A whole component, hashed while it is copied; the digest that the manifest declares.
    Hash(Digest),
    /// Some frames of a compressed component, so many stored bytes; they may be lent.
    Frames { codec: Codec, stored: u64, borrowed: Option<&'a [u8]> },
    /// Evenly spaced blocks that are read together and taken apart.
    Strided(StridedBlocks),
    /// All else: one thread does what a single call would.
    Serial,
}

/// A read of so few bytes is not shared by threads, and may be done together with its neighbours: past the page cache
/// longer ones may, too.
pub(super) const MAX_SHORT_READ: usize = 64 << 10;

impl Job<'_> {
    /// Bytes that it delivers.
    pub fn bytes(&self) -> u64 {
        self.dst.len() as u64
    }

    /// How many stored bytes it reads from its place on, if it reads the file itself.
    pub fn stored_bytes(&self) -> u64 {
        match &self.kind {
            JobKind::Copy | JobKind::Hash(_) => self.bytes(),
            JobKind::Strided(window) => window.source_size(),
            JobKind::Frames { stored, borrowed: None, .. } => *stored,
            JobKind::Frames { .. } | JobKind::Serial => 0,
        }
    }

    /// Where a run of at most `most` stored bytes ends that may be read together with its neighbours.
    pub fn coalescable_end(&self, most: u64) -> Option<u64> {
        let short = matches!(self.kind, JobKind::Copy | JobKind::Hash(_)) && self.bytes() <= most;
        short.then(|| self.offset.saturating_add(self.bytes()))
    }
}

/// Requests and their jobs. Sizes are checked here, before anything is read. What is read together and
/// taken apart has at most `capacity` bytes.
#[allow(clippy::type_complexity, reason = "two lists")]
pub fn plan<'a, 'r>(
    requests: &'a mut [BatchRequest<'r>],
    options: &BatchOptions,
    capacity: usize,
) -> Result<(Vec<Request<'a, 'r>>, Vec<Job<'r>>)> {
    let mut plan = Vec::new();
    plan.try_reserve_exact(requests.len())?;
    let mut jobs = Vec::new();
    jobs.try_reserve(requests.len())?;
    for (at, request) in requests.iter_mut().enumerate() {
        let before = jobs.len();
        let component = request.component;
        let has_digest =
            split_request(request, options, capacity, at, &mut jobs).map_err(|e| component.wrap(e))?;
        let left = AtomicUsize::new(jobs.len().saturating_sub(before));
        plan.push(Request { asked: request, left, failed: AtomicBool::new(false), has_digest });
    }
    Ok((plan, jobs))
}

/// The digest to be checked, if the request reads all that it covers and it can be checked.
fn expected_digest(component: &Component<'_>, part: &Selection<'_>, verify: bool) -> Result<Option<Digest>> {
    match part {
        Selection::Whole if verify => match component.digest() {
            Some(text) => Ok(Some(digest::parse(text)?).filter(|expected| expected.algorithm().is_some())),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

impl Component<'_> {
    /// Decoded bytes that a part of it has, if it has that part.
    pub fn selection_size(&self, part: &Selection<'_>) -> Result<u64> {
        match part {
            Selection::Whole => self.decoded_size(),
            Selection::Slab(slab) => {
                if !self.object().format().is_array() || self.role() != "data" {
                    return Err(fail!(Unsupported, "only the data of a dense object can be sliced"));
                }
                Ok(self.slab(slab)?.size())
            }
            Selection::Range { offset, length } => {
                let size = self.decoded_size()?;
                if offset.checked_add(*length).is_none_or(|end| end > size) {
                    return Err(fail!(
                        InvalidArgument,
                        "the range of {length} bytes at {offset} passes its {size} decoded bytes"
                    ));
                }
                Ok(*length)
            }
        }
    }
}

/// The front of `dst`, which a part of `size` bytes fills.
fn fit(dst: &mut [u8], size: u64) -> Result<&mut [u8]> {
    let capacity = dst.len();
    let front = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
    front.ok_or_else(|| fail!(BufferSize, "the request reads {size} bytes, the memory for it has {capacity}"))
}

/// The jobs of one request, which is checked before; whether they check its digest.
fn split_request<'r>(
    asked: &mut BatchRequest<'r>,
    options: &BatchOptions,
    capacity: usize,
    request: usize,
    jobs: &mut Vec<Job<'r>>,
) -> Result<bool> {
    let component = asked.component;
    let coding = component.coding()?;
    let size = component.selection_size(&asked.part)?;
    // A range of all is all of it, and has a digest that can be checked.
    if matches!(asked.part, Selection::Range { offset: 0, .. }) && component.decoded_size()? == size {
        asked.part = Selection::Whole;
    }
    let part = asked.part;
    let expected = expected_digest(&component, &part, options.verify)?;
    let has_digest = expected.is_some();
    let dst = fit(std::mem::take(&mut asked.dst), size)?;
    let mut push = |offset: u64, dst: &'r mut [u8], kind: JobKind<'r>| -> Result<()> {
        jobs.try_reserve(1)?;
        jobs.push(Job { offset, request, dst, kind });
        Ok(())
    };
    let start = component.offset();
    match (part, coding, expected) {
        (Selection::Whole, Coding::Raw, Some(expected)) => push(start, dst, JobKind::Hash(expected))?,
        (Selection::Whole, Coding::Raw, None) => copy_jobs(start, dst, options, &mut push)?,
        // Where elements have to be turned, a piece must not cut one: whole components only.
        (Selection::Range { offset, .. }, Coding::Raw, _) if !component.swaps() => {
            copy_jobs(start.saturating_add(offset), dst, options, &mut push)?;
        }
        (Selection::Slab(slab), Coding::Raw, _) if !component.swaps() => {
            let slab = component.slab(&slab)?;
            match piece_count(&slab, capacity) <= MAX_PIECES {
                true => strided_jobs(start, &slab, dst, options, capacity, &mut push)?,
                false => push(start, dst, JobKind::Serial)?,
            }
        }
        (Selection::Whole, Coding::Compressed(codec), None) => {
            match component.frame_runs(codec, dst.len(), options.chunk_size)? {
                Some(runs) => frame_jobs(&component, codec, &runs, dst, &mut push)?,
                None => push(start, dst, JobKind::Serial)?,
            }
        }
        _ => push(start, dst, JobKind::Serial)?,
    }
    Ok(has_digest)
}

type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], JobKind<'a>) -> Result<()> + 'p;

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

/// More pieces than this of one slab are left to one thread.
const MAX_PIECES: u64 = 1 << 14;

/// Unwanted bytes between two blocks that are rather read than skipped.
const MAX_READ_GAP: u64 = 64 << 10;

/// Into how many pieces a slab is cut; all of its windows have as many, so the first is counted.
fn piece_count(slab: &Slab, capacity: usize) -> u64 {
    let of_one =
        slab.windows().next().map_or(0, |window| window.pieces(capacity as u64, MAX_READ_GAP).size_hint().0);
    slab.window_count().saturating_mul(of_one as u64)
}

/// A slab, window by window: those that lie together are copies, the rest is read with what is between.
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
        let size = usize::try_from(window.dest_size()).unwrap_or(usize::MAX);
        let (now, later) = std::mem::take(&mut dst)
            .split_at_mut_checked(size)
            .ok_or_else(|| fail!(Internal, "a window leaves the slab"))?;
        dst = later;
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
    component: &Component<'a>,
    codec: Codec,
    runs: &[FrameRun],
    mut dst: &'a mut [u8],
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    let all = component.file.source.slice(component.stored_range());
    for run in runs {
        let size = usize::try_from(run.size()).unwrap_or(usize::MAX);
        let (now, later) = std::mem::take(&mut dst)
            .split_at_mut_checked(size)
            .ok_or_else(|| fail!(Internal, "the frames pass the declared size"))?;
        dst = later;
        let borrowed = all.map(|all| all.get(run.stored.clone()).unwrap_or_default());
        let offset = component.offset().saturating_add(run.stored.start as u64);
        push(offset, now, JobKind::Frames { codec, stored: run.stored.len() as u64, borrowed })?;
    }
    Ok(())
}

impl Component<'_> {
    /// The frames of a compressed component in runs of some decoded bytes, if there are several. What would have to be
    /// read for the headers alone is rather read once, by one thread.
    fn frame_runs(&self, codec: Codec, size: usize, least: u64) -> Result<Option<Vec<FrameRun>>> {
        let size = size as u64;
        if size <= least || !self.is_cached() {
            return Ok(None);
        }
        let (known, runs) = codec.runs(self.stored_reader()?, least, size)?;
        self.check_size_bound(codec, known, size)?;
        let several = matches!(known.check(codec, size)?, KnownSize::Exact(_)) && runs.len() > 1;
        // Where elements have to be turned, a run must not cut one.
        let width = self.width() as u64;
        let splits_element =
            self.swaps() && runs.iter().any(|run| run.decoded.end.checked_rem(width) != Some(0));
        Ok(Some(runs).filter(|_| several && !splits_element))
    }

    /// A piece of whole elements is where it belongs: turns it to the host's order, checks bools.
    pub fn finish_piece(&self, piece: &mut [u8]) -> Result<()> {
        if self.swaps() {
            swap_in_place(piece, self.dtype().map_or(1, Dtype::size));
        }
        self.check_bool(piece)
    }
}
