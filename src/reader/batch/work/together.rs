//! Short runs of stored bytes that lie near each other, which one read fetches.

use super::Shared;
use crate::error::{fail, Result};
use crate::io::direct::Bounce;
use crate::payload::digest;
use crate::reader::batch::job::{Job, Request, Work};
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Most short reads that are done as one: with what lies between them, as many pieces as one call of Linux takes.
pub(super) const TOGETHER: usize = 512;

/// Unwanted bytes between two short reads that are rather read than skipped.
const GAP: u64 = 16 << 10;

impl<'b> Shared<'_, 'b> {
    /// Does a short job that ends at `end`, and its neighbours with it.
    pub(super) fn perform_near(
        &self,
        first: Job<'b>,
        end: u64,
        jobs: &mut Vec<Job<'b>>,
        bounce: &mut Bounce,
    ) {
        let start = first.place;
        jobs.push(first); // within what was reserved
        let end = self.take_near(jobs, start, end, bounce.room());
        if jobs.len() < 2 || self.fill(jobs, start..end, bounce).is_err() {
            // Where one read for all fails, each for itself says why.
            return jobs.drain(..).for_each(|job| self.perform(job, bounce));
        }
        for job in jobs.drain(..) {
            let Some(request) = self.requests.get(job.request) else { continue };
            let size = job.bytes();
            self.note_stored(size);
            let outcome = delivered(job, request).map_err(|e| request.asked.component.wrap(e));
            self.finish(request, size, outcome);
            if self.stop.load(Ordering::Relaxed) {
                return; // those that are left go with the drain
            }
        }
    }

    /// Takes the jobs that follow as long as one read of at most `room` bytes covers them all; where it ends.
    fn take_near(&self, jobs: &mut Vec<Job<'b>>, start: u64, mut end: u64, room: usize) -> u64 {
        let mut queue = self.queue.hold();
        while jobs.len() < TOGETHER {
            let next =
                queue.as_slice().first().and_then(|job| Some((job.place, job.short_end(self.short())?)));
            let Some((place, its_end)) = next else { break };
            let all = its_end.max(end);
            if place > end.saturating_add(GAP) || all.saturating_sub(start) > room as u64 {
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
        let way = self.road.way(range.start, size as u64);
        if !way.is_direct() {
            let wanted = jobs.iter().fold(0, |sum: u64, job| sum.saturating_add(job.bytes()));
            let between = usize::try_from((size as u64).saturating_sub(wanted)).unwrap_or(usize::MAX);
            let mut done = false;
            let mut scatter = |between: &mut [u8]| -> Result<()> {
                if let Some(mut pieces) = scattered(jobs, range.start, between)? {
                    done = self.road.scatter(range.start, &mut pieces)?;
                }
                Ok(())
            };
            match between {
                0 => scatter(&mut [])?,
                _ => bounce.fill(between, scatter)?,
            }
            if done {
                return Ok(());
            }
        }
        let bytes = self.road.fetch(way, range.start, size, bounce)?;
        for job in jobs {
            let from = usize::try_from(job.place.saturating_sub(range.start)).unwrap_or(usize::MAX);
            let found = bytes.get(from..).and_then(|rest| rest.get(..job.dst.len()));
            job.dst
                .copy_from_slice(found.ok_or_else(|| fail!(Internal, "a short read is not in its range"))?);
        }
        Ok(())
    }
}

/// The places of the jobs' bytes in the order of the file from `start` on, and parts of `between` for what is
/// between them; none where two want the same bytes.
fn scattered<'m>(
    jobs: &'m mut [Job<'_>],
    start: u64,
    mut between: &'m mut [u8],
) -> Result<Option<Vec<IoSliceMut<'m>>>> {
    let mut pieces = Vec::new();
    pieces.try_reserve_exact(jobs.len().saturating_mul(2))?;
    let mut at = start;
    for job in jobs {
        let Some(gap) = job.place.checked_sub(at) else { return Ok(None) };
        if gap > 0 {
            let gap = usize::try_from(gap).unwrap_or(usize::MAX);
            let Some((now, later)) = std::mem::take(&mut between).split_at_mut_checked(gap) else {
                return Ok(None);
            };
            pieces.push(IoSliceMut::new(now));
            between = later;
        }
        at = job.place.saturating_add(job.bytes());
        pieces.push(IoSliceMut::new(job.dst));
    }
    Ok(Some(pieces))
}

/// What is left to do for a job whose bytes are in their place.
fn delivered(job: Job<'_>, request: &Request<'_, '_>) -> Result<()> {
    if let Work::Hash(claim) = job.work {
        let mut hasher = claim.hasher()?;
        hasher.update(job.dst);
        digest::check(&claim, &hasher.finish())?;
    }
    request.asked.component.finish_piece(job.dst)
}
