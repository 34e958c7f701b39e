//! Short runs of stored bytes that lie near each other, which one read fetches.

use super::BatchState;
use crate::digest;
use crate::error::{fail, Result};
use crate::reader::batch::job::{Job, JobKind, Request};
use crate::reader::batch::strategy::Coalescing;
use crate::source::direct::Bounce;
use crate::source::{ReadMany, ReadRange};
use std::ops::Range;
use std::sync::atomic::Ordering;

impl<'b> BatchState<'_, 'b> {
    /// Does a short job, and those that `many` lets be done with it.
    pub(super) fn run_coalesced(
        &self,
        first: Job<'b>,
        many: &Coalescing,
        jobs: &mut Vec<Job<'b>>,
        bounce: &mut Bounce,
    ) {
        let start = first.offset;
        jobs.push(first); // within what was reserved
        let end = self.take_adjacent(jobs, many);
        if jobs.len() < 2 || self.fill(jobs, start..end, many.how, bounce).is_err() {
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

    /// Takes the jobs that may be done with the first one, which is there; where the last of their bytes is.
    fn take_adjacent(&self, jobs: &mut Vec<Job<'b>>, many: &Coalescing) -> u64 {
        let (start, mut wanted) = jobs.first().map_or((0, 0), |first| (first.offset, first.bytes()));
        let mut end = start.saturating_add(wanted);
        let mut queue = self.queue.lock();
        while jobs.len() < many.count {
            let next = queue
                .as_slice()
                .first()
                .and_then(|job| Some((job.offset, job.bytes(), job.coalescable_end(many.short)?)));
            let Some((offset, bytes, its_end)) = next else { break };
            let all = its_end.max(end);
            let size = match many.how {
                ReadMany::Anywhere => wanted.saturating_add(bytes),
                ReadMany::OneByOne | ReadMany::Adjacent => all.saturating_sub(start),
            };
            if offset > end.saturating_add(many.gap) || size > many.most {
                break;
            }
            jobs.extend(queue.next()); // within what was reserved
            (end, wanted) = (all, wanted.saturating_add(bytes));
        }
        end
    }

    /// Puts the bytes of all the jobs, which are in `range`, into their places.
    fn fill(
        &self,
        jobs: &mut [Job<'_>],
        range: Range<u64>,
        how: ReadMany,
        bounce: &mut Bounce,
    ) -> Result<()> {
        let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let route = self.strategy.route(range.start, size as u64);
        match how {
            ReadMany::Anywhere => {
                let mut ranges = Vec::new();
                ranges.try_reserve_exact(jobs.len())?;
                ranges.extend(jobs.iter_mut().map(|job| ReadRange { offset: job.offset, dst: job.dst }));
                return self.strategy.read_many(&mut ranges);
            }
            ReadMany::Adjacent if !route.is_direct() => {
                let wanted = jobs.iter().fold(0, |sum: u64, job| sum.saturating_add(job.bytes()));
                let gaps = usize::try_from((size as u64).saturating_sub(wanted)).unwrap_or(usize::MAX);
                let mut done = false;
                let mut scatter = |gaps: &mut [u8]| -> Result<()> {
                    if let Some(mut ranges) = with_gaps(jobs, range.start, gaps)? {
                        self.strategy.read_many(&mut ranges)?;
                        done = true;
                    }
                    Ok(())
                };
                match gaps {
                    0 => scatter(&mut [])?,
                    _ => bounce.fill(gaps, scatter)?,
                }
                if done {
                    return Ok(());
                }
            }
            ReadMany::Adjacent | ReadMany::OneByOne => {}
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

/// The places of the jobs' bytes in the order of the file from `start` on, and parts of `gaps` for what is
/// between them; none where two want the same bytes.
fn with_gaps<'m>(
    jobs: &'m mut [Job<'_>],
    start: u64,
    mut gaps: &'m mut [u8],
) -> Result<Option<Vec<ReadRange<'m>>>> {
    let mut ranges = Vec::new();
    ranges.try_reserve_exact(jobs.len().saturating_mul(2))?;
    let mut at = start;
    for job in jobs {
        let Some(gap) = job.offset.checked_sub(at) else { return Ok(None) };
        if gap > 0 {
            let gap = usize::try_from(gap).unwrap_or(usize::MAX);
            let Some((now, later)) = std::mem::take(&mut gaps).split_at_mut_checked(gap) else {
                return Ok(None);
            };
            ranges.push(ReadRange { offset: at, dst: now });
            gaps = later;
        }
        at = job.offset.saturating_add(job.bytes());
        ranges.push(ReadRange { offset: job.offset, dst: job.dst });
    }
    Ok(Some(ranges))
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
