//! Short jobs that lie near each other: one read fetches the stored bytes of all.

use super::job::Job;
use super::strategy::{Coalescing, ReadStrategy};
use crate::error::{fail, Result};
use crate::source::direct::Bounce;
use crate::source::{ReadMany, ReadRange};
use std::ops::Range;

/// Takes the jobs from `queue` that may be done with the first one, which is in `jobs` already; where the last of their
/// bytes is.
pub fn take_adjacent<'b>(
    queue: &mut std::vec::IntoIter<Job<'b>>,
    jobs: &mut Vec<Job<'b>>,
    many: &Coalescing,
) -> u64 {
    let Some(first) = jobs.first() else { return 0 };
    let (source, start, mut wanted) = (first.source, first.offset, first.stored_bytes());
    let mut end = start.saturating_add(wanted);
    let mut temporary = temporary(first);
    while jobs.len() < many.count {
        let next = queue.as_slice().first().filter(|job| job.source == source);
        let Some((job, its_end)) = next.and_then(|job| Some((job, job.coalescable_end(many.short)?))) else {
            break;
        };
        let all = its_end.max(end);
        let more = wanted.saturating_add(job.stored_bytes());
        let more_temporary = temporary.saturating_add(self::temporary(job));
        let (size, most_temporary) = match many.how {
            ReadMany::Anywhere => (more, many.capacity),
            ReadMany::OneByOne | ReadMany::Adjacent => (all.saturating_sub(start), u64::MAX),
        };
        if job.offset > end.saturating_add(many.gap) || size > many.most || more_temporary > most_temporary {
            break;
        }
        jobs.extend(queue.next()); // within what was reserved
        (end, wanted, temporary) = (all, more, more_temporary);
    }
    end
}

/// Bytes of memory that its stored bytes take, which are not for its destination.
fn temporary(job: &Job<'_>) -> u64 {
    if job.is_in_place() {
        0
    } else {
        job.stored_bytes()
    }
}

/// Where the stored bytes of jobs were put.
pub enum Fetched {
    /// All in the bounce from `place` on, as they are in the source from `start` on.
    Together { start: u64, place: usize },
    /// In the destinations; those that are for none one after the other in the bounce.
    Apart(usize),
}

impl Fetched {
    /// The stored bytes of the next job, if they are not in its destination.
    pub fn next<'b>(&mut self, job: &Job<'_>, bounce: &'b Bounce) -> Result<Option<&'b [u8]>> {
        let size = usize::try_from(job.stored_bytes()).unwrap_or(usize::MAX);
        let from = match self {
            Fetched::Together { start, place } => {
                let from = usize::try_from(job.offset.saturating_sub(*start)).unwrap_or(usize::MAX);
                place.saturating_add(from)
            }
            Fetched::Apart(_) if job.is_in_place() => return Ok(None),
            Fetched::Apart(next) => std::mem::replace(next, next.saturating_add(size)),
        };
        bounce.part(from..from.saturating_add(size)).map(Some)
    }
}

/// Reads the stored bytes of all the jobs, which are in `range`.
pub fn fetch(
    strategy: &ReadStrategy<'_>,
    jobs: &mut [Job<'_>],
    range: Range<u64>,
    how: ReadMany,
    bounce: &mut Bounce,
) -> Result<Fetched> {
    let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let route = strategy.route(range.start, size as u64);
    let scatters = match how {
        ReadMany::Anywhere => true,
        ReadMany::Adjacent => !route.is_direct(),
        ReadMany::OneByOne => false,
    };
    if scatters {
        let gaps = if how == ReadMany::Anywhere { Some(0) } else { gaps_between(jobs, range.start) };
        if let Some(gaps) = gaps {
            let own = jobs.iter().map(temporary).fold(0, u64::saturating_add);
            let memory = usize::try_from(own.saturating_add(gaps)).unwrap_or(usize::MAX);
            let own = usize::try_from(own).unwrap_or(usize::MAX);
            let start = (gaps > 0 || how == ReadMany::Adjacent).then_some(range.start);
            let mut read = |memory: &mut [u8]| strategy.read_many(&mut scatter(jobs, start, memory, own)?);
            match memory {
                0 => read(&mut [])?,
                _ => bounce.fill(memory, read)?,
            }
            return Ok(Fetched::Apart(0));
        }
    }
    let place = strategy.fetch_place(route, range.start, size, bounce)?.start;
    Ok(Fetched::Together { start: range.start, place })
}

/// Bytes between the jobs from `start` on; none where two want the same bytes.
fn gaps_between(jobs: &[Job<'_>], start: u64) -> Option<u64> {
    let mut at = start;
    jobs.iter().try_fold(0u64, |sum, job| {
        let gap = job.offset.checked_sub(at)?;
        at = job.offset.saturating_add(job.stored_bytes());
        Some(sum.saturating_add(gap))
    })
}

/// The places of the jobs' bytes: their destinations, or the first `own` bytes of `memory`. With what is between them
/// from `start` on, for which the rest of `memory` is, where that is read, too.
fn scatter<'m>(
    jobs: &'m mut [Job<'_>],
    start: Option<u64>,
    memory: &'m mut [u8],
    own: usize,
) -> Result<Vec<ReadRange<'m>>> {
    let outside = || fail!(Internal, "coalesced reads take more memory than was counted");
    let mut ranges = Vec::new();
    ranges.try_reserve_exact(jobs.len().saturating_mul(2))?;
    let (mut own, mut gaps) = memory.split_at_mut_checked(own).ok_or_else(outside)?;
    let mut at = start;
    for job in jobs {
        let stored = job.stored_bytes();
        let gap = at.map_or(0, |at| job.offset.saturating_sub(at));
        if gap > 0 {
            let dst = split_front(&mut gaps, gap).ok_or_else(outside)?;
            ranges.push(ReadRange { offset: job.offset.saturating_sub(gap), dst });
        }
        at = at.map(|_| job.offset.saturating_add(stored));
        let dst = match job.is_in_place() {
            true => &mut *job.dst,
            false => split_front(&mut own, stored).ok_or_else(outside)?,
        };
        ranges.push(ReadRange { offset: job.offset, dst });
    }
    Ok(ranges)
}

fn split_front<'m>(memory: &mut &'m mut [u8], size: u64) -> Option<&'m mut [u8]> {
    let (front, rest) = std::mem::take(memory).split_at_mut_checked(usize::try_from(size).ok()?)?;
    *memory = rest;
    Some(front)
}
