//! A batch of one, on the caller's thread: each job is done when it is cut, so that no queue, no memory and no order of
//! jobs is needed.
//!
//! Fast path: of a component that is stored as it is read, all or a range is one read into its place. It spares half of
//! the instructions of a short read; where bytes have to be turned, decoded, gathered or converted, it does not apply.

use super::blob::Blob;
use super::perform::{Performer, Shared};
use super::request::{BatchOptions, Direct, Job, Part, Request};
use super::split;
use super::strategy::ReadStrategy;
use crate::codec::Coding;
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
    match (blob.coding, &part, convert) {
        (Coding::Raw, Part::Whole | Part::Range { .. }, None) if !blob.swaps() => run_plain(blob, &part, dst),
        _ => run_jobs(Request::new(*blob, part, dst, 0).converted(convert)),
    }
}

/// The fast path.
fn run_plain(blob: &Blob<'_>, part: &Part, dst: &mut [u8]) -> Result<()> {
    let start = if let Part::Range { offset, .. } = part { *offset } else { 0 };
    let dst = split::front(dst, part.size(blob.size)?)?;
    blob.source.read_at(blob.entry.offset.saturating_add(start), dst)?;
    blob.check_bools(dst, |at| start.saturating_add(at))
}

#[inline(never)]
fn run_jobs(mut request: Request<'_>) -> Result<()> {
    let dst = split::check(&mut request)?;
    let shared = Shared::new(OPTIONS.in_flight);
    let strategy = ReadStrategy::cached(request.blob.source);
    let mut bounce = Bounce::new(BOUNCE_SIZE as u64, 0);
    let capacity = bounce.capacity();
    let mut performer = Performer { strategy: &strategy, shared: &shared, bounce: &mut bounce };
    let mut perform =
        |offset, dst, kind| performer.perform(Job { source: 0, request: 0, offset, dst, kind }, &request);
    split::split(&request, dst, &OPTIONS, capacity, &mut perform).map(drop)
}
