//! Coalesces short jobs that are near each other: chooses the jobs, and fetches the stored bytes of all of
//! them with one read.

use super::jobs::Job;
use super::strategy::{Coalescing, ReadStrategy};
use crate::error::{fail, Result};
use crate::memory::{take_front, with_capacity};
use crate::source::direct::Bounce;
use crate::source::{ReadMany, ReadRange};

/// The next jobs that run together: how many they are, and what has to be read for them.
pub struct Extent {
    pub count: usize,
    /// Where their stored bytes begin in the source.
    start: u64,
    end: u64,
    /// The sum of their stored bytes.
    pub stored: u64,
    /// The stored bytes that do not go to a destination and so need temporary memory.
    temporary: u64,
    read_many: ReadMany,
}

impl Extent {
    /// The extent of a job that is not coalesced.
    pub fn of_one(offset: u64) -> Extent {
        Extent {
            count: 1,
            start: offset,
            end: offset,
            stored: 0,
            temporary: 0,
            read_many: ReadMany::OneByOne,
        }
    }
}

/// Counts the next jobs, beginning with `first`, that may run together.
pub fn adjacent<'j, 'a: 'j>(
    first: &Job<'a>,
    next: impl Iterator<Item = &'j Job<'a>>,
    limits: &Coalescing,
) -> Extent {
    let start = first.offset;
    let mut extent =
        Extent { count: 0, stored: 0, end: start, read_many: limits.read_many, ..Extent::of_one(start) };
    let (mut last, mut delivered) = (start, 0u64);
    for job in next.take(limits.max_count).take_while(|job| job.source == first.source) {
        let Some(stored) = job.stored().filter(|stored| *stored <= limits.max_short) else { break };
        // Jobs of a load need not be sorted by offset.
        if job.offset < last {
            break;
        }
        last = job.offset;
        let end = extent.end.max(job.offset.saturating_add(stored));
        let all = extent.stored.saturating_add(stored);
        let temporary = extent.temporary.saturating_add(if job.is_in_place() { 0 } else { stored });
        delivered = delivered.saturating_add(job.bytes());
        let fits = delivered <= limits.max_delivered
            && match limits.read_many {
                ReadMany::Anywhere => all <= limits.max_total && temporary <= limits.max_temporary,
                ReadMany::OneByOne | ReadMany::Adjacent => end.saturating_sub(start) <= limits.max_total,
            };
        // The first job is always taken.
        if extent.count > 0 && (!fits || job.offset > extent.end.saturating_add(limits.max_gap)) {
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

/// Where the stored bytes of coalesced jobs are.
pub enum Fetched {
    /// In the bounce buffer: a copy of the source from offset `start` on, which begins at `place`.
    Contiguous { start: u64, place: usize },
    /// In the destinations. If a job's stored bytes do not go to its destination, they are in the bounce
    /// buffer, one job after the other. The number is where the next of these jobs begins there.
    Scattered(usize),
}

impl Fetched {
    /// The stored bytes of the next job, or `None` if they are already in its destination.
    pub fn next<'b>(&mut self, job: &Job<'_>, bounce: &'b Bounce) -> Result<Option<&'b [u8]>> {
        let size = || usize::try_from(job.stored_bytes()).unwrap_or(usize::MAX);
        let from = match self {
            Fetched::Scattered(_) if job.is_in_place() => return Ok(None),
            Fetched::Scattered(next) => std::mem::replace(next, next.saturating_add(size())),
            Fetched::Contiguous { start, place } => {
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
    let Extent { start, end, temporary, read_many, .. } = *extent;
    let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let route = strategy.route(start, size as u64);
    let scatters = match read_many {
        ReadMany::Anywhere => true,
        ReadMany::Adjacent => !route.is_direct(),
        ReadMany::OneByOne => false,
    };
    if scatters {
        let gaps = if read_many == ReadMany::Anywhere { Some(0) } else { gaps_between(jobs, start) };
        if let Some(gaps) = gaps {
            let memory = usize::try_from(temporary.saturating_add(gaps)).unwrap_or(usize::MAX);
            let own = usize::try_from(temporary).unwrap_or(usize::MAX);
            let start = (gaps > 0 || read_many == ReadMany::Adjacent).then_some(start);
            let mut read = |memory: &mut [u8]| strategy.read_many(&mut scatter(jobs, start, memory, own)?);
            match memory {
                0 => read(&mut [])?,
                _ => bounce.fill(memory, read)?,
            }
            return Ok(Fetched::Scattered(0));
        }
    }
    let place = strategy.fetch_place(route, start, size, bounce)?.start;
    Ok(Fetched::Contiguous { start, place })
}

/// The sum of the gaps between the jobs from `start` on, or `None` if two jobs overlap.
fn gaps_between(jobs: &[Job<'_>], start: u64) -> Option<u64> {
    let mut at = start;
    jobs.iter().try_fold(0u64, |sum, job| {
        let gap = job.offset.checked_sub(at)?;
        at = job.offset.saturating_add(job.stored_bytes());
        Some(sum.saturating_add(gap))
    })
}

/// The ranges to read. Stored bytes go to the jobs' destinations, or to the first `own` bytes of `memory`. If
/// `start` is given, the gaps from there on are read, too, into the rest of `memory`.
fn scatter<'m>(
    jobs: &'m mut [Job<'_>],
    start: Option<u64>,
    memory: &'m mut [u8],
    own: usize,
) -> Result<Vec<ReadRange<'m>>> {
    let outside = || fail!(Internal, "coalesced reads take more memory than was counted");
    let mut ranges = with_capacity(jobs.len().saturating_mul(2))?;
    let (mut own, mut gaps) = memory.split_at_mut_checked(own).ok_or_else(outside)?;
    let mut at = start;
    for job in jobs {
        let stored = job.stored_bytes();
        let gap = at.map_or(0, |at| job.offset.saturating_sub(at));
        if gap > 0 {
            let dst = take_front(&mut gaps, gap)?;
            ranges.push(ReadRange { offset: job.offset.saturating_sub(gap), dst });
        }
        at = at.map(|_| job.offset.saturating_add(stored));
        let dst = match job.is_in_place() {
            true => &mut *job.dst,
            false => take_front(&mut own, stored)?,
        };
        ranges.push(ReadRange { offset: job.offset, dst });
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Coding, EntryRange};
    use crate::load::jobs::{Finish, Work};
    use crate::model::manifest::Encoding;

    /// How many of eight neighbouring jobs run together, if each has 100 stored bytes that decode to `size`.
    fn together(size: usize, delivered: u64) -> usize {
        let mut memory = vec![0; 8 * size];
        let Some(Coding::Compressed(codec)) = Coding::of(Encoding::Zstd) else { panic!("it is a codec") };
        let (stored, entries) = (100, EntryRange::default());
        let job = |(at, dst)| {
            let work = Finish::Frames { codec, stored, entries, decoded_start: 0, borrowed: false };
            Job { source: 0, request: 0, offset: 100 * at, dst, work: Work::Range(work) }
        };
        let jobs: Vec<Job<'_>> = (0_u64..).zip(memory.chunks_mut(size)).map(job).collect();
        let max_total = 2 << 20;
        let limits = Coalescing {
            max_short: 64 << 10,
            max_gap: 0,
            max_total,
            max_temporary: max_total,
            max_delivered: delivered,
            max_count: 512,
            read_many: ReadMany::Adjacent,
        };
        adjacent(&jobs[0], jobs.iter(), &limits).count
    }

    /// If all ran together, one thread would decode them all: a page of stored bytes may decode to a hundred
    /// megabytes.
    #[test]
    fn jobs_that_decode_to_many_bytes_are_not_coalesced() {
        assert_eq!(together(100, 2 << 20), 8);
        assert_eq!(together(1 << 20, 2 << 20), 2);
        assert_eq!(together(4 << 20, 2 << 20), 1);
        assert_eq!(together(4 << 20, u64::MAX), 8, "where reads are what takes time");
    }
}
