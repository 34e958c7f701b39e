//! A batch of one, on the caller's thread: each job is done when it is cut, so that no queue, no memory and
//! no order of jobs is needed.
//!
//! Fast path: bytes that are stored as they are read, all of a component or a range that it has, are one read
//! into their place. It spares half of the instructions of a short read; where bytes have to be byte-swapped,
//! looked at, decoded, gathered or converted, it does not apply, nor where they do not fit: then the jobs say
//! why.

use super::blob::Blob;
use super::job::Job;
use super::perform::{Performer, Shared};
use super::request::{BatchOptions, Direct, Part, Request};
use super::split;
use super::strategy::ReadStrategy;
use crate::codec::Decoding;
use crate::error::Result;
use crate::model::dtype::Dtype;
use crate::source::direct::{Bounce, BOUNCE_SIZE};

/// Through the page cache, in reads as long as they get.
const OPTIONS: BatchOptions = BatchOptions {
    threads: 1,
    direct: Direct::Never,
    chunk_size: u64::MAX,
    in_flight: u64::MAX,
    verify: false,
    pinned: false,
};

/// Reads a part of a component into the front of `dst`, converted where a dtype is given.
#[inline]
pub fn run_one(blob: &Blob<'_>, part: Part, convert: Option<Dtype>, dst: &mut [u8]) -> Result<()> {
    let outcome = match plain_range(blob, &part, convert, dst) {
        Some((offset, front)) => blob.source.read_at(offset, front),
        None => run_jobs(Request::new(*blob, part, convert, dst, 0)?),
    };
    blob.unless_changed(outcome)
}

/// Where in the source the part begins, and the memory that it fills, if the fast path is for it.
fn plain_range<'d>(
    blob: &Blob<'_>,
    part: &Part,
    convert: Option<Dtype>,
    dst: &'d mut [u8],
) -> Option<(u64, &'d mut [u8])> {
    let (start, size) = match part {
        Part::Whole => (0, blob.size),
        Part::Range { offset, length } => (*offset, *length),
        Part::Slab(_) => return None,
    };
    let plain =
        blob.decoding == Decoding::Raw && convert.is_none() && !blob.entry.swaps() && !blob.strict_bools;
    let front = dst.get_mut(..usize::try_from(size).ok()?)?;
    let fits = plain && start.checked_add(size)? <= blob.size;
    fits.then(|| (blob.entry.offset.saturating_add(start), front))
}

#[inline(never)]
fn run_jobs(mut request: Request<'_>) -> Result<()> {
    let dst = request.take_destination()?;
    let shared = Shared::new(OPTIONS.in_flight);
    let strategy = ReadStrategy::cached(request.blob.source);
    let mut bounce = Bounce::new(BOUNCE_SIZE as u64, 0);
    let capacity = bounce.capacity();
    let step = |_| Ok(());
    let (strategy, shared, bounce) = (&strategy, &shared, &mut bounce);
    let mut performer = Performer { strategy, shared, bounce, step: &step, oversized: &[] };
    let mut perform = |offset, dst, work| {
        performer.perform(&mut Job { source: 0, request: 0, offset, dst, work }, &request)
    };
    split::split(&request, dst, &OPTIONS, capacity, &mut perform).map(drop)
}
