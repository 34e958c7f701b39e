//! The pieces of a load: requests, and the parts of requests that are larger than a slot of the ring.

use super::destination::{Ring, PAGE};
use super::executor::Executor;
use super::job_reader::Oversized;
use super::jobs::{self, Job, StoredSpan, Task};
use super::request::{BatchOptions, Part, Request};
use crate::convert::converted_size;
use crate::error::{fail, Error, Result};
use crate::memory::{collected, push, with_capacity};
use crate::model::dtype::Dtype;
use crate::model::sort::sort_by_key;
use std::cmp::Reverse;
use std::ops::Range;

/// The order in which requests are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By file, then by offset: the fastest order for disks.
    #[default]
    Position,
    /// In the given order.
    Given,
    /// The largest first.
    Largest,
}

/// A request, or a part of one that fits a slot: its position in the request and in memory.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// The number of the request's first piece. That piece has the state of the request.
    pub first: u32,
    /// The position of the first byte in the request.
    pub offset: u64,
    /// The number of the oversized request that this piece is copied from, if any.
    pub oversized: Option<u32>,
    /// The slot, once it has one.
    pub slot: Option<u32>,
    /// The address of its bytes.
    pub address: usize,
    /// Whether the consumer has it, and has not given it back.
    pub is_held: bool,
    /// Only in a request's first piece: how many pieces of the request are not done.
    pub undone: u32,
    /// Only in a request's first piece: for how many pieces no consumer has taken an event yet.
    pub unreported: u32,
    /// Only in a request's first piece: the request failed, and there is an event with the error.
    pub failed: bool,
}

/// Requests from this size on are placed so that whole disk blocks are read into whole pages.
const MIN_ALIGNED: u64 = 64 << 10;

/// Pieces are not smaller than this, unless the slots are.
const MIN_PIECE: u64 = 64 << 10;

/// The size of the largest first piece. Each following piece is about as large as all before it. Small pieces
/// come first, because the consumer is idle until the first one is ready.
const FIRST_PIECE: u64 = 512 << 10;

/// Pieces of an oversized request begin at multiples of this in its temporary memory.
const ALIGNMENT: u64 = 64;

/// Splits the requests that do not fit in a slot.
pub fn split_requests<'a>(
    originals: Vec<Request<'a>>,
    slot_size: usize,
    options: &BatchOptions,
) -> Result<SplitRequests<'a>> {
    let (mut requests, mut pieces) = (with_capacity(originals.len())?, with_capacity(originals.len())?);
    let mut oversized = Vec::new();
    for request in originals {
        let (first, before, in_ring) = (requests.len(), oversized.len(), request.in_ring);
        match in_ring && request.size() > slot_size as u64 {
            false => push(&mut requests, request)?,
            true => {
                let component = request.component;
                split_to_slots(request, slot_size, options, &mut requests, &mut oversized)
                    .map_err(|e| component.named(e))?;
            }
        }
        let of_this = requests.get(first..).unwrap_or_default();
        let too_many = |_| fail!(Limit, "a load of more than 2^32 pieces");
        let (first, count) = (u32::try_from(first).map_err(too_many)?, of_this.len());
        u32::try_from(requests.len()).map_err(too_many)?;
        pieces.try_reserve(count)?;
        // Fits in 32 bits, because the number of pieces does.
        let oversized = (oversized.len() > before).then(|| u32::try_from(before).unwrap_or(u32::MAX));
        let mut offset = 0u64;
        for request in of_this {
            let undone = if offset == 0 { u32::try_from(count).unwrap_or(u32::MAX) } else { 0 };
            let state = Piece { undone, unreported: undone, ..Piece::default() };
            pieces.push(Piece { first, offset, oversized, address: request.address(), ..state });
            offset = offset.saturating_add(request.size());
        }
    }
    Ok(SplitRequests { requests, pieces, oversized })
}

/// The requests of a load, split into pieces. Each piece is a request of its own; `pieces` has its state. The
/// requests in `oversized` are first completed in temporary memory.
pub struct SplitRequests<'a> {
    pub requests: Vec<Request<'a>>,
    pub pieces: Vec<Piece>,
    pub oversized: Vec<Oversized<'a>>,
}

/// Splits a request into parts that each fit in a slot and are read by one thread. All parts but the first
/// begin at a disk block.
fn split_to_slots<'a>(
    whole: Request<'a>,
    slot_size: usize,
    options: &BatchOptions,
    requests: &mut Vec<Request<'a>>,
    oversized: &mut Vec<Oversized<'a>>,
) -> Result<()> {
    let component = whole.component;
    let has_digest = jobs::checks_digest(&whole, options)?;
    let is_plain = component.is_raw() && !has_digest && whole.wanted.convert.is_none();
    if let (Some(to), false, true) = (whole.wanted.convert, has_digest, jobs::is_divisible(&whole)) {
        if !matches!(whole.part, Part::Slab(_)) {
            return convert_in_slots(&whole, to, slot_size, options, requests);
        }
    }
    let start = match &whole.part {
        Part::Whole if is_plain => 0,
        Part::Range { offset, .. } if is_plain => *offset,
        _ => {
            let mut whole = whole;
            whole.wanted.verify = has_digest;
            return add_oversized(whole, slot_size, options, requests, oversized);
        }
    };
    let page = PAGE as u64;
    // A piece is at most as large as one read of a thread, so that it is still in the processor's cache when
    // it is copied.
    let most = (slot_size.saturating_sub(PAGE) as u64).min(options.chunk_size.max(MIN_PIECE));
    let most = (most / page).max(1).saturating_mul(page);
    let end = start.saturating_add(whole.size());
    let mut at = start;
    while at < end {
        // Small pieces first: the consumer waits for them.
        let before = at.saturating_sub(start).max(FIRST_PIECE);
        let step = before.checked_next_power_of_two().unwrap_or(most).min(most);
        let phase = component.entry.offset.saturating_add(at).checked_rem(step).unwrap_or(0);
        let length = step.saturating_sub(phase).min(end.saturating_sub(at));
        let mut part =
            Request::new(component, Part::Range { offset: at, length }, None, &mut [], whole.wanted.tag)?;
        part.in_ring = true;
        push(requests, part)?;
        at = at.saturating_add(length);
    }
    Ok(())
}

/// Splits a request that is converted into parts of whole elements or blocks that each fit in a slot.
fn convert_in_slots<'a>(
    whole: &Request<'a>,
    to: Dtype,
    slot_size: usize,
    options: &BatchOptions,
    requests: &mut Vec<Request<'a>>,
) -> Result<()> {
    let (component, Range { start, end }) = (whole.component, whole.covering());
    let unit = component.element_size();
    let converted_unit = converted_size(unit, component.entry.element_type()?, to)?;
    let most = usable(slot_size).min(options.chunk_size.max(MIN_PIECE));
    let (mut at, mut before) = (start, 0u64);
    while at < end {
        // Small pieces first: the consumer waits for them.
        let size = before.max(FIRST_PIECE).min(most);
        let units = size.checked_div(converted_unit).unwrap_or(1).max(1);
        let length = units.saturating_mul(unit).min(end.saturating_sub(at));
        let part = Part::Range { offset: at, length };
        let mut part = Request::new(component, part, Some(to), &mut [], whole.wanted.tag)?;
        part.wanted.lossy = whole.wanted.lossy;
        part.in_ring = true;
        before = before.saturating_add(part.size());
        push(requests, part)?;
        at = at.saturating_add(length);
    }
    Ok(())
}

/// How many bytes of a slot a piece can use, wherever it begins at a multiple of [`ALIGNMENT`].
fn usable(slot_size: usize) -> u64 {
    (slot_size as u64).next_multiple_of(ALIGNMENT).saturating_sub(ALIGNMENT).max(ALIGNMENT)
}

/// Adds the pieces of a request that is completed in temporary memory. It has to fit in `in_flight`.
fn add_oversized<'a>(
    whole: Request<'a>,
    slot_size: usize,
    options: &BatchOptions,
    requests: &mut Vec<Request<'a>>,
    oversized: &mut Vec<Oversized<'a>>,
) -> Result<()> {
    let (size, most) = (whole.size(), options.in_flight);
    if size > most {
        return Err(fail!(
            Limit,
            "it takes {size} bytes, more than a slot of {slot_size} and more than the {most} that in_flight \
             allows"
        ));
    }
    // A multiple of every element size.
    let step = usable(slot_size);
    let count = usize::try_from(size.div_ceil(step)).unwrap_or(usize::MAX);
    requests.try_reserve(count)?;
    oversized.try_reserve(1)?;
    let mut at = 0u64;
    while at < size {
        let length = step.min(size.saturating_sub(at));
        requests.push(Request::piece(&whole, length));
        at = at.saturating_add(length);
    }
    oversized.push(Oversized::new(whole, count));
    Ok(())
}

/// The offset in the slot, `used` or more, where the request's bytes go; `None` if they do not fit.
pub fn place_in_slot(ring: &Ring<'_>, slot: usize, used: usize, request: &Request<'_>) -> Option<usize> {
    let size = usize::try_from(request.size()).ok()?;
    let next = ring.address(slot, used, 0)?.as_ptr().addr();
    let is_stored = request.component.is_raw() && request.wanted.convert.is_none();
    let from_page = match &request.part {
        Part::Whole if is_stored => Some(0),
        Part::Range { offset, .. } if is_stored => Some(*offset),
        Part::Whole | Part::Range { .. } | Part::Slab(_) => None,
    };
    let in_page = from_page
        .filter(|_| request.size() >= MIN_ALIGNED)
        .map(|start| (PAGE, request.component.entry.offset.saturating_add(start)));
    let aligned = [in_page, Some((64, 0)), Some((1, 0)).filter(|_| used == 0)];
    aligned.into_iter().flatten().find_map(|(unit, phase)| {
        let skipped = bytes_to_phase(next, unit, phase);
        let at = used.checked_add(skipped)?;
        ring.address(slot, at, size).map(|_| at)
    })
}

/// How many bytes to add to `address` so that it has the same remainder by `unit` as `place`. `unit` is a
/// power of two.
fn bytes_to_phase(address: usize, unit: usize, place: u64) -> usize {
    let mask = unit.saturating_sub(1);
    let phase = usize::try_from(place & mask as u64).unwrap_or(0); // less than `unit`
    phase.wrapping_sub(address) & mask
}

/// The stored bytes of a request.
fn span(request: &Request<'_>, task: &Task) -> StoredSpan {
    let entry = request.component.entry;
    let is_plain = request.component.is_raw();
    let covering = if is_plain { request.covering() } else { 0..entry.stored_size };
    let size = covering.end.saturating_sub(covering.start);
    StoredSpan { source: task.source, offset: entry.offset.saturating_add(covering.start), size }
}

/// The stored bytes that the requests read, sorted by source and offset.
pub fn stored_spans(requests: &[Request<'_>], tasks: &[Task]) -> Result<Vec<StoredSpan>> {
    let mut spans =
        collected(requests.len(), requests.iter().zip(tasks).map(|(request, task)| span(request, task)))?;
    sort_by_key(&mut spans, |span| (span.source, span.offset));
    Ok(spans)
}

/// The pieces that go into the ring, in the order in which they are started.
pub fn ring_order(
    requests: &[Request<'_>],
    tasks: &[Task],
    pieces: &[Piece],
    order: Order,
) -> Result<Vec<u32>> {
    let numbered = || (0u32..).zip(requests);
    let mut sorted = collected(
        numbered().filter(|(_, request)| request.in_ring).count(),
        numbered().filter(|(_, request)| request.in_ring).map(|(number, _)| number),
    )?;
    match order {
        Order::Given => {}
        Order::Position => sort_by_key(&mut sorted, |number| {
            let request = requests.get(*number as usize).zip(tasks.get(*number as usize));
            let place = request.map(|(request, task)| span(request, task));
            (place.map(|place| (place.source, place.offset)), *number)
        }),
        Order::Largest => sort_by_key(&mut sorted, |number| {
            let first = pieces.get(*number as usize).map_or(*number, |piece| piece.first);
            (Reverse(whole_size(requests, pieces, first)), *number)
        }),
    }
    Ok(sorted)
}

/// The size of a request: all of its pieces together.
fn whole_size(requests: &[Request<'_>], pieces: &[Piece], first: u32) -> u64 {
    let count = pieces.get(first as usize).map_or(0, |piece| piece.undone);
    let last = first.saturating_add(count).saturating_sub(1) as usize;
    let end = pieces.get(last).zip(requests.get(last));
    end.map_or(0, |(piece, request)| piece.offset.saturating_add(request.size()))
}

/// A piece that could not be cut into jobs, and why.
pub type Refused = (u32, Error);

/// The jobs of the requests that have their own memory, in the order in which they are started.
pub fn own_jobs<'a>(
    requests: &mut [Request<'a>],
    executor: &Executor<'a>,
    order: Order,
) -> Result<(Vec<Job<'a>>, Vec<Refused>)> {
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    let tasks = (0u32..).zip(requests.iter_mut().zip(&executor.tasks));
    for (number, (request, task)) in tasks.filter(|(_, (request, _))| !request.in_ring) {
        let dst = request.take_destination().map_err(|e| request.component.named(e))?;
        if let Err(error) = executor.add_jobs(&mut jobs, number, request, task, dst) {
            push(&mut refused, (number, error))?;
        }
    }
    let size = |job: &Job<'_>| requests.get(job.request as usize).map_or(0, Request::size);
    match order {
        Order::Given => {}
        Order::Position => sort_by_key(&mut jobs, |job| (job.source, job.offset, job.request)),
        Order::Largest => sort_by_key(&mut jobs, |job| (Reverse(size(job)), job.request, job.offset)),
    }
    Ok((jobs, refused))
}

#[cfg(test)]
mod tests {
    use super::{bytes_to_phase, PAGE};

    /// Tests places above 32 bits, too.
    #[test]
    fn an_address_is_moved_to_the_remainder_of_a_place() {
        for place in [0, 64, 4095, 4096, u64::from(u32::MAX), (5 << 32) + 1000, u64::MAX] {
            for address in [0, 1, 4000, 4096, 123_456_789] {
                let at = address + bytes_to_phase(address, PAGE, place);
                assert_eq!(at as u64 % PAGE as u64, place % PAGE as u64, "{address} for {place}");
                assert!(at - address < PAGE);
            }
        }
    }
}
