//! Short jobs that lie near each other: which are done together, and the one read that fetches the stored bytes of all.

use super::request::Job;
use super::strategy::{Coalescing, ReadStrategy};
use crate::error::{fail, Result};
use crate::source::direct::Bounce;
use crate::source::{ReadMany, ReadRange};

/// Jobs that are done together: how many, and what they read.
pub struct Extent {
    pub count: usize,
    /// Where their stored bytes are in the source.
    start: u64,
    end: u64,
    /// Stored bytes of all of them.
    pub stored: u64,
    /// Those of them that are not for a destination, and take memory.
    temporary: u64,
    how: ReadMany,
}

impl Extent {
    /// A job that reads for itself.
    pub fn of_one(offset: u64) -> Extent {
        Extent { count: 1, start: offset, end: offset, stored: 0, temporary: 0, how: ReadMany::OneByOne }
    }
}

/// Which of the jobs that come next, `first` and those behind it, may be done together.
pub fn adjacent<'j, 'a: 'j>(
    first: &Job<'a>,
    next: impl Iterator<Item = &'j Job<'a>>,
    many: &Coalescing,
) -> Extent {
    let start = first.offset;
    let mut extent = Extent { count: 0, stored: 0, end: start, how: many.how, ..Extent::of_one(start) };
    let (mut last, mut delivered) = (start, 0u64);
    for job in next.take(many.count).take_while(|job| job.source == first.source) {
        let Some(stored) = job.coalescable(many.short) else { break };
        // Not always by place: a load may have an order of its own.
        if job.offset < last {
            break;
        }
        last = job.offset;
        let end = extent.end.max(job.offset.saturating_add(stored));
        let all = extent.stored.saturating_add(stored);
        let temporary = extent.temporary.saturating_add(if job.is_in_place() { 0 } else { stored });
        delivered = delivered.saturating_add(job.bytes());
        let fits = delivered <= many.delivered
            && match many.how {
                ReadMany::Anywhere => all <= many.most && temporary <= many.capacity,
                ReadMany::OneByOne | ReadMany::Adjacent => end.saturating_sub(start) <= many.most,
            };
        // The first is done in any case.
        if extent.count > 0 && (!fits || job.offset > extent.end.saturating_add(many.gap)) {
            break;
        }
        extent.count = extent.count.saturating_add(1);
        (extent.end, extent.stored, extent.temporary) = (end, all, temporary);
    }
    match extent.count {
        0 => Extent::of_one(start),
        _ => extent,
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
        let size = || usize::try_from(job.stored_bytes()).unwrap_or(usize::MAX);
        let from = match self {
            Fetched::Apart(_) if job.is_in_place() => return Ok(None),
            Fetched::Apart(next) => std::mem::replace(next, next.saturating_add(size())),
            Fetched::Together { start, place } => {
                let from = usize::try_from(job.offset.saturating_sub(*start)).unwrap_or(usize::MAX);
                place.saturating_add(from)
            }
        };
        bounce.part(from..from.saturating_add(size())).map(Some)
    }
}

/// Reads the stored bytes of all the jobs.
pub fn fetch(
    strategy: &ReadStrategy<'_>,
    jobs: &mut [Job<'_>],
    extent: &Extent,
    bounce: &mut Bounce,
) -> Result<Fetched> {
    let Extent { start, end, temporary, how, .. } = *extent;
    let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let route = strategy.route(start, size as u64);
    let scatters = match how {
        ReadMany::Anywhere => true,
        ReadMany::Adjacent => !route.is_direct(),
        ReadMany::OneByOne => false,
    };
    if scatters {
        let gaps = if how == ReadMany::Anywhere { Some(0) } else { gaps_between(jobs, start) };
        if let Some(gaps) = gaps {
            let memory = usize::try_from(temporary.saturating_add(gaps)).unwrap_or(usize::MAX);
            let own = usize::try_from(temporary).unwrap_or(usize::MAX);
            let start = (gaps > 0 || how == ReadMany::Adjacent).then_some(start);
            let mut read = |memory: &mut [u8]| strategy.read_many(&mut scatter(jobs, start, memory, own)?);
            match memory {
                0 => read(&mut [])?,
                _ => bounce.fill(memory, read)?,
            }
            return Ok(Fetched::Apart(0));
        }
    }
    let place = strategy.fetch_place(route, start, size, bounce)?.start;
    Ok(Fetched::Together { start, place })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Coding, EntryRange};
    use crate::load::request::JobKind;
    use crate::model::manifest::Encoding;

    /// How many of eight neighbours are done together: each 100 stored bytes that decode to `size`.
    fn together(size: usize, delivered: u64) -> usize {
        let mut memory = vec![0; 8 * size];
        let Some(Coding::Compressed(codec)) = Coding::of(Encoding::Zstd) else { panic!("it is a codec") };
        let (stored, entries) = (100, EntryRange::default());
        let job = |(at, dst)| {
            let kind = JobKind::Frames { codec, stored, entries, decoded_start: 0, borrowed: false };
            Job { source: 0, request: 0, offset: 100 * at, dst, kind }
        };
        let jobs: Vec<Job<'_>> = (0_u64..).zip(memory.chunks_mut(size)).map(job).collect();
        let (short, most, how) = (64 << 10, 2 << 20, ReadMany::Adjacent);
        let many = Coalescing { short, gap: 0, most, capacity: most, delivered, count: 512, how };
        adjacent(&jobs[0], jobs.iter(), &many).count
    }

    /// One thread would do the work of all: a page of stored bytes may be a hundred megabytes of decoded ones.
    #[test]
    fn what_decodes_to_many_bytes_is_not_all_done_by_who_reads_it() {
        assert_eq!(together(100, 2 << 20), 8);
        assert_eq!(together(1 << 20, 2 << 20), 2);
        assert_eq!(together(4 << 20, 2 << 20), 1);
        assert_eq!(together(4 << 20, u64::MAX), 8, "where reads are what takes time");
    }
}
