//! Requests cut into jobs that can be done in any order by any thread.

use super::pieces::pieces;
use super::{BatchOptions, BatchRequest, Direct, Part};
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::Encoding;
use crate::payload::byte_order::swap_in_place;
use crate::payload::digest::{self, Claim};
use crate::payload::slice::{Slab, Window};
use crate::payload::zstd::{self, KnownSize, Run};
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
    pub place: u64,
    /// Position of the request.
    pub request: usize,
    /// Receives the bytes.
    pub dst: &'a mut [u8],
    pub work: Work<'a>,
}

pub enum Work<'a> {
    /// Stored bytes, as they are, to their place.
    Copy,
    /// The same for a whole component, hashed on the way, of which the manifest claims this.
    Hash(Claim),
    /// Some frames of a compressed component, so many stored bytes; they may be lent.
    Frames { stored: u64, lent: Option<&'a [u8]> },
    /// Evenly spaced blocks that are read together and taken apart.
    Spaced(Window),
    /// All else: one thread does what a single call would.
    Other,
}

/// A read of so few bytes is not shared by threads, and may be done together with its neighbours: past the page cache
/// longer ones may, too.
pub(super) const SHORT: usize = 64 << 10;

impl Job<'_> {
    /// Bytes that it delivers.
    pub fn bytes(&self) -> u64 {
        self.dst.len() as u64
    }

    /// How many stored bytes it reads from its place on, if it reads the file itself.
    pub fn stored_bytes(&self) -> u64 {
        match &self.work {
            Work::Copy | Work::Hash(_) => self.bytes(),
            Work::Spaced(window) => window.source_size(),
            Work::Frames { stored, lent: None } => *stored,
            Work::Frames { .. } | Work::Other => 0,
        }
    }

    /// Where a run of at most `most` stored bytes ends that may be read together with its neighbours.
    pub fn short_end(&self, most: usize) -> Option<u64> {
        let short = matches!(self.work, Work::Copy | Work::Hash(_)) && self.dst.len() <= most;
        short.then(|| self.place.saturating_add(self.bytes()))
    }
}

/// Requests and their jobs. Sizes are checked here, before anything is read. What is read together and
/// taken apart has at most `room` bytes.
#[allow(clippy::type_complexity, reason = "two lists")]
pub fn plan<'a, 'r>(
    requests: &'a mut [BatchRequest<'r>],
    options: &BatchOptions,
    room: usize,
) -> Result<(Vec<Request<'a, 'r>>, Vec<Job<'r>>)> {
    let mut plan = Vec::new();
    plan.try_reserve_exact(requests.len())?;
    let mut jobs = Vec::new();
    jobs.try_reserve(requests.len())?;
    for (at, request) in requests.iter_mut().enumerate() {
        let before = jobs.len();
        let component = request.component;
        let has_digest = cut(request, options, room, at, &mut jobs).map_err(|e| component.wrap(e))?;
        let left = AtomicUsize::new(jobs.len().saturating_sub(before));
        plan.push(Request { asked: request, left, failed: AtomicBool::new(false), has_digest });
    }
    Ok((plan, jobs))
}

/// The digest to be checked, if the request reads all that it covers and it can be checked.
fn claim_of(component: &Component<'_>, part: &Part<'_>, verify: bool) -> Result<Option<Claim>> {
    match part {
        Part::Whole if verify => match component.digest() {
            Some(text) => Ok(Some(digest::parse(text)?).filter(|claim| claim.algorithm().is_some())),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

impl Component<'_> {
    /// Decoded bytes that a part of it has, if it has that part.
    pub fn part_size(&self, part: &Part<'_>) -> Result<u64> {
        match part {
            Part::Whole => self.size_inner(),
            Part::Slab(slab) => {
                if self.object().format() != crate::model::manifest::Format::Dense || self.role() != "data" {
                    return Err(fail!(Unsupported, "only the data of a dense object can be sliced"));
                }
                Ok(self.slab(slab)?.size())
            }
            Part::Range { offset, length } => {
                let size = self.size_inner()?;
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
    let room = dst.len();
    let front = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
    front.ok_or_else(|| fail!(BufferSize, "the request reads {size} bytes, the memory for it has {room}"))
}

/// The jobs of one request, which is checked before; whether they check its digest.
fn cut<'r>(
    asked: &mut BatchRequest<'r>,
    options: &BatchOptions,
    room: usize,
    request: usize,
    jobs: &mut Vec<Job<'r>>,
) -> Result<bool> {
    let component = asked.component;
    component.check_known()?;
    let size = component.part_size(&asked.part)?;
    // A range of all is all of it, and has a digest that can be checked.
    if matches!(asked.part, Part::Range { offset: 0, .. }) && component.size_inner()? == size {
        asked.part = Part::Whole;
    }
    let part = asked.part;
    let claim = claim_of(&component, &part, options.verify)?;
    let has_digest = claim.is_some();
    let dst = fit(std::mem::take(&mut asked.dst), size)?;
    let mut push = |place: u64, dst: &'r mut [u8], work: Work<'r>| -> Result<()> {
        jobs.try_reserve(1)?;
        jobs.push(Job { place, request, dst, work });
        Ok(())
    };
    let start = component.offset();
    let raw = component.encoding() == Encoding::Raw;
    match (part, claim) {
        (Part::Whole, Some(claim)) if raw => push(start, dst, Work::Hash(claim))?,
        (Part::Whole, None) if raw => copies(start, dst, options, &mut push)?,
        // Where elements have to be turned, a piece must not cut one: whole components only.
        (Part::Range { offset, .. }, _) if raw && !component.swaps() => {
            copies(start.saturating_add(offset), dst, options, &mut push)?;
        }
        (Part::Slab(slab), _) if raw && !component.swaps() => {
            let slab = component.slab(&slab)?;
            match piece_count(&slab, room) <= MOST_PIECES {
                true => spaced(start, &slab, dst, options, room, &mut push)?,
                false => push(start, dst, Work::Other)?,
            }
        }
        (Part::Whole, None) => match component.frame_runs(dst.len(), options.chunk_size)? {
            Some(runs) => frame_jobs(&component, &runs, dst, &mut push)?,
            None => push(start, dst, Work::Other)?,
        },
        _ => push(start, dst, Work::Other)?,
    }
    Ok(has_digest)
}

type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], Work<'a>) -> Result<()> + 'p;

fn chunk(options: &BatchOptions) -> usize {
    usize::try_from(options.chunk_size).unwrap_or(usize::MAX)
}

fn copies<'a>(start: u64, dst: &'a mut [u8], options: &BatchOptions, push: &mut Push<'_, 'a>) -> Result<()> {
    if dst.len() <= SHORT.min(chunk(options)) {
        return push(start, dst, Work::Copy);
    }
    // Past the page cache, no block of the disk is read for two pieces. Through it, no huge page of fresh
    // memory is filled by two: one of the threads would wait for the other to clear it.
    let counted_from = match options.direct {
        Direct::Never => dst.as_ptr().addr() as u64,
        Direct::Auto | Direct::Always => start,
    };
    pieces(counted_from, start, dst, chunk(options))
        .try_for_each(|(offset, dst)| push(offset, dst, Work::Copy))
}

/// More pieces than this of one slab are left to one thread.
const MOST_PIECES: u64 = 1 << 14;

/// Unwanted bytes between two blocks that are rather read than skipped.
const GAP: u64 = 64 << 10;

/// Into how many pieces a slab is cut; its windows are alike, so the first tells.
fn piece_count(slab: &Slab, room: usize) -> u64 {
    let of_one = slab.windows().next().map_or(0, |window| window.pieces(room as u64, GAP).size_hint().0);
    slab.window_count().saturating_mul(of_one as u64)
}

/// A slab, window by window: those that lie together are copies, the rest is read with what is between.
fn spaced<'a>(
    start: u64,
    slab: &Slab,
    mut dst: &'a mut [u8],
    options: &BatchOptions,
    room: usize,
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    if dst.is_empty() {
        return push(start, dst, Work::Copy);
    }
    for window in slab.windows().flat_map(|window| window.pieces(room as u64, GAP)) {
        let size = usize::try_from(window.dest_size()).unwrap_or(usize::MAX);
        let (now, later) = std::mem::take(&mut dst)
            .split_at_mut_checked(size)
            .ok_or_else(|| fail!(Internal, "a window leaves the slab"))?;
        dst = later;
        let offset = start.saturating_add(window.source_offset);
        match window.count == 1 || window.stride == window.block {
            true => copies(offset, now, options, push)?,
            false => push(offset, now, Work::Spaced(window))?,
        }
    }
    Ok(())
}

/// A job for each run of frames.
fn frame_jobs<'a>(
    component: &Component<'a>,
    runs: &[Run],
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
        let lent = all.map(|all| all.get(run.stored.clone()).unwrap_or_default());
        let place = component.offset().saturating_add(run.stored.start as u64);
        push(place, now, Work::Frames { stored: run.stored.len() as u64, lent })?;
    }
    Ok(())
}

impl Component<'_> {
    /// The frames of a compressed component in runs of some decoded bytes, if there are several. What would have to be
    /// read for the headers alone is rather read once, by one thread.
    fn frame_runs(&self, size: usize, least: u64) -> Result<Option<Vec<Run>>> {
        let size = size as u64;
        if size <= least || !self.is_at_hand() {
            return Ok(None);
        }
        let (known, runs) = zstd::runs(self.headers()?, least, size)?;
        self.check_known_claim(known, size)?;
        let several = matches!(known.check(size)?, KnownSize::Exact(_)) && runs.len() > 1;
        // Where elements have to be turned, a run must not cut one.
        let width = self.width() as u64;
        let cut = self.swaps() && runs.iter().any(|run| run.decoded.end.checked_rem(width) != Some(0));
        Ok(Some(runs).filter(|_| several && !cut))
    }

    /// A piece of whole elements is in its place: turns it to the host's order, checks bools.
    pub fn finish_piece(&self, piece: &mut [u8]) -> Result<()> {
        if self.swaps() {
            swap_in_place(piece, self.dtype().map_or(1, Dtype::size));
        }
        self.check_bool(piece)
    }
}
