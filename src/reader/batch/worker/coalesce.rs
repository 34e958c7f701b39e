//! Short runs of stored bytes that lie near each other, which one read fetches.

use super::BatchState;
use crate::error::{fail, Result};
use crate::payload::digest;
use crate::reader::batch::job::{Job, JobKind, Request};
use crate::source::direct::Bounce;
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Most short reads that are done as one: with what is between them, as many pieces as one call of Linux takes.
pub(super) const MAX_COALESCED: usize = 512;

/// Unwanted bytes between two short reads that are rather read than skipped.
const MAX_COALESCED_GAP: u64 = 16 << 10;

impl<'b> BatchState<'_, 'b> {
    /// Does a short job that ends at `end`, and its neighbours with it.
    pub(super) fn run_coalesced(
        &self,
        first: Job<'b>,
        end: u64,
        jobs: &mut Vec<Job<'b>>,
        bounce: &mut Bounce,
    ) {
        let start = first.offset;
        jobs.push(first); // within what was reserved
        let end = self.take_adjacent(jobs, start, end, bounce.capacity());
        if jobs.len() < 2 || self.fill(jobs, start..end, bounce).is_err() {
            // Where one read for all fails, each for itself says why.
            return jobs.drain(..).for_each(|job| self.run_job(job, bounce));
        }
        for job in jobs.drain(..) {
            let Some(request) = self.requests.get(job.request) else { continue };
            let size = job.bytes();
            self.count_stored(size);
            let outcome = finish_job(job, request).map_err(|e| request.asked.component.wrap(e));
            self.finish(request, size, outcome);
            if self.stop.load(Ordering::Relaxed) {
                return; // those that are left go with the drain
            }
        }
    }

    /// Takes the jobs that follow as long as one read of at most `capacity` bytes covers them all; where it ends.
    fn take_adjacent(&self, jobs: &mut Vec<Job<'b>>, start: u64, mut end: u64, capacity: usize) -> u64 {
        let mut queue = self.queue.lock();
        while jobs.len() < MAX_COALESCED {
            let next = queue
                .as_slice()
                .first()
                .and_then(|job| Some((job.offset, job.coalescable_end(self.max_coalesced_read())?)));
            let Some((offset, its_end)) = next else { break };
            let all = its_end.max(end);
            if offset > end.saturating_add(MAX_COALESCED_GAP) || all.saturating_sub(start) > capacity as u64 {
                break;
            }
            jobs.extend(queue.next()); // within what was reserved
            end = all;
        }
        end
    }

    /// Puts the bytes of all the jobs, which are in `range`, into their places.
    fn fill(&self, jobs: &mut [Job<'_>], range: Range<u64>, bounce: &mut Bounce) -> Result<()> {
        let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let route = self.strategy.route(range.start, size as u64);
        if !route.is_direct() {
            let wanted = jobs.iter().fold(0, |sum: u64, job| sum.saturating_add(job.bytes()));
            let gap_buffer = usize::try_from((size as u64).saturating_sub(wanted)).unwrap_or(usize::MAX);
            let mut done = false;
            let mut scatter = |gap_buffer: &mut [u8]| -> Result<()> {
                if let Some(mut pieces) = scatter_list(jobs, range.start, gap_buffer)? {
                    done = self.strategy.scatter(range.start, &mut pieces)?;
                }
                Ok(())
            };
            match gap_buffer {
                0 => scatter(&mut [])?,
                _ => bounce.fill(gap_buffer, scatter)?,
            }
            if done {
                return Ok(());
            }
        }
        let bytes = self.strategy.fetch(route, range.start, size, bounce)?;
        for job in jobs {
            let from = usize::try_from(job.offset.saturating_sub(range.start)).unwrap_or(usize::MAX);
            let found = bytes.get(from..).and_then(|rest| rest.get(..job.dst.len()));
            job.dst
                .copy_from_slice(found.ok_or_else(|| fail!(Internal, "a short read is not in its range"))?);
        }
        Ok(())
    }
}

/// The places of the jobs' bytes in the order of the file from `start` on, and parts of `gap_buffer` for what is
/// between them; none where two want the same bytes.
fn scatter_list<'m>(
    jobs: &'m mut [Job<'_>],
    start: u64,
    mut gap_buffer: &'m mut [u8],
) -> Result<Option<Vec<IoSliceMut<'m>>>> {
    let mut pieces = Vec::new();
    pieces.try_reserve_exact(jobs.len().saturating_mul(2))?;
    let mut at = start;
    for job in jobs {
        let Some(gap) = job.offset.checked_sub(at) else { return Ok(None) };
        if gap > 0 {
            let gap = usize::try_from(gap).unwrap_or(usize::MAX);
            let Some((now, later)) = std::mem::take(&mut gap_buffer).split_at_mut_checked(gap) else {
                return Ok(None);
            };
            pieces.push(IoSliceMut::new(now));
            gap_buffer = later;
        }
        at = job.offset.saturating_add(job.bytes());
        pieces.push(IoSliceMut::new(job.dst));
    }
    Ok(Some(pieces))
}

/// What is left to do for a job whose bytes are in their place.
fn finish_job(job: Job<'_>, request: &Request<'_, '_>) -> Result<()> {
    if let JobKind::Hash(expected) = job.kind {
        let mut hasher = expected.hasher()?;
        hasher.update(job.dst);
        digest::check(&expected, &hasher.finish())?;
    }
    request.asked.component.finish_piece(job.dst)
}
