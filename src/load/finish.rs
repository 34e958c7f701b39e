//! The last step of a job whose stored bytes were read: hash, decode, gather blocks, swap bytes to the host's
//! order, and check.

use super::component::StoredComponent;
use super::jobs::{frame_runs, Finish};
use super::request::{Part, Request};
use super::slab::StridedBlocks;
use crate::codec::{Codec, Decoding, Entries, EntryRange, StoredPart};
use crate::convert::swap_in_place;
use crate::digest::{self, Digest};
use crate::error::{fail, Result};
use crate::memory::{in_memory, take_front, zeroed};
use crate::source::with_range;
use std::ops::Range;

/// How many bytes are decoded between two calls of [`Step`].
const DECODED_STEP: u64 = 4 << 20;

/// Called with the number of new bytes while a job runs. An error stops the job.
pub type Step<'p> = dyn Fn(u64) -> Result<()> + 'p;

impl Finish {
    /// The [`Request::extra_memory`] that finishing a job takes after its stored bytes were read.
    pub fn extra_memory(&self, request: &Request<'_>) -> u64 {
        match self {
            Finish::Decode { .. } => request.extra_memory(),
            _ => 0,
        }
    }
}

/// Finishes a job whose stored bytes were read. They are in `bytes`, or, if that is `None`, already in `dst`.
pub fn finish(
    request: &Request<'_>,
    offset: u64,
    dst: &mut [u8],
    what: &Finish,
    bytes: Option<&[u8]>,
    step: &Step<'_>,
) -> Result<()> {
    let component = &request.component;
    let start = offset.saturating_sub(component.entry.offset);
    match what {
        Finish::Copy | Finish::Hash => {
            if let Some(bytes) = bytes.filter(|bytes| bytes.len() == dst.len()) {
                dst.copy_from_slice(bytes);
            }
            if let Finish::Hash = what {
                check_digest(component, dst)?;
            }
            component.finish(dst, |at| start.saturating_add(at))
        }
        Finish::Strided(window) => take_blocks(component, window, bytes.unwrap_or_default(), dst),
        Finish::Frames { codec, entries, decoded_start, .. } => {
            let (bytes, from) = (bytes.unwrap_or_default(), usize::try_from(start).unwrap_or(usize::MAX));
            with_entries(component, *entries, |entries| {
                codec.decode_into(StoredPart { bytes, from, entries }, dst)
            })?;
            component.finish(dst, |at| decoded_start.saturating_add(at))
        }
        Finish::Decode { has_digest, .. } => {
            let stored = bytes.unwrap_or_default();
            let of_decoded = component.entry.has_digest_of_decoded();
            if *has_digest && !of_decoded {
                check_digest(component, stored)?;
            }
            match (&request.part, component.decoding) {
                (Part::Whole, Decoding::Frames(codec)) => {
                    decode_all(component, codec, stored, dst, step)?;
                    if *has_digest && of_decoded {
                        check_digest(component, dst)?;
                    }
                    component.finish(dst, |at| at)
                }
                (_, Decoding::Frames(codec)) => {
                    let seek = codec.index(stored)?.seek(request.covering().start, request.covering_size());
                    component.check_size(codec, seek.size)?; // before memory is allocated
                    decode_part(request, dst, |offset, dst| {
                        codec.decode_range(seek.part_of(stored), seek, component.size, offset, dst)
                    })
                }
                (_, Decoding::Array) => {
                    let array = component.array()?;
                    decode_part(request, dst, |offset, dst| array.decode_range(stored, start, offset, dst))
                }
                (_, Decoding::Raw) => decode_part(request, dst, |offset, dst| {
                    let from = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
                    let wanted = stored.get(from..).and_then(|rest| rest.get(..dst.len()));
                    let short = || fail!(Internal, "a range has too few stored bytes");
                    dst.copy_from_slice(wanted.ok_or_else(short)?);
                    Ok(())
                }),
                (_, Decoding::Numbers { .. }) => Err(fail!(Internal, "numbers are decoded by their object")),
            }
        }
    }
}

/// Decodes a whole component. If it has many frames, decodes some of them at a time.
fn decode_all(
    component: &StoredComponent<'_>,
    codec: Codec,
    stored: &[u8],
    mut dst: &mut [u8],
    step: &Step<'_>,
) -> Result<()> {
    let Some(runs) = frame_runs(component, codec, stored, DECODED_STEP)? else {
        component.check_size(codec, codec.known_size(stored)?)?;
        return codec.decode_into(stored, dst);
    };
    let mut before = 0;
    for run in runs {
        if before > 0 {
            step(before)?;
        }
        let now = take_front(&mut dst, run.size())?;
        codec.decode_into(run.part_of(stored), now)?;
        before = run.size();
    }
    Ok(())
}

/// Calls `body` with some entries of a component's seek table, if it has one.
pub fn with_entries<T>(
    component: &StoredComponent<'_>,
    entries: EntryRange,
    body: impl FnOnce(Entries<'_>) -> Result<T>,
) -> Result<T> {
    let Range { start, end } = entries.bytes();
    if start == end {
        return body(Entries::default());
    }
    let [start, end] = [start, end].map(|at| component.entry.offset.saturating_add(at as u64));
    with_range(component.source, start..end, |bytes| body(entries.read(bytes)))
}

/// The digest of a component. It exists: the code that made the job has checked that.
pub fn declared_digest(component: &StoredComponent<'_>) -> Result<Digest> {
    let digest = component.expected_digest()?;
    digest.ok_or_else(|| fail!(Internal, "a request checks a digest that it does not have"))
}

fn check_digest(component: &StoredComponent<'_>, bytes: &[u8]) -> Result<()> {
    let expected = declared_digest(component)?;
    let mut hasher = expected.hasher()?;
    hasher.update(bytes);
    digest::check(&expected, &hasher.finish())
}

/// Copies evenly spaced blocks out of the bytes that cover them.
pub fn take_blocks(
    component: &StoredComponent<'_>,
    window: &StridedBlocks,
    bytes: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    window.gather(bytes, dst)?;
    component.finish(dst, |at| window.place(at))
}

/// Decodes the request's part. `decode` fills its buffer with decoded bytes from a given offset on.
pub fn decode_part(
    request: &Request<'_>,
    dst: &mut [u8],
    decode: impl FnOnce(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let (start, size) = (request.covering().start, request.covering_size());
    request.component.check_array_size(size)?; // before memory is allocated
    if !matches!(request.part, Part::Slab(_)) && dst.len() as u64 == size {
        decode(start, dst)?;
        return request.component.finish(dst, |at| start.saturating_add(at));
    }
    let mut whole = zeroed(in_memory(size)?)?;
    decode(start, &mut whole)?;
    take_part(request, start, &mut whole, dst)
}

/// Copies the part out of the decoded bytes that cover it. These begin at `start` of the component.
fn take_part(request: &Request<'_>, start: u64, whole: &mut [u8], mut dst: &mut [u8]) -> Result<()> {
    let component = &request.component;
    let from = |place: u64| usize::try_from(place.saturating_sub(start)).unwrap_or(usize::MAX);
    let offset = match &request.part {
        Part::Whole => 0,
        Part::Range { offset, .. } => *offset,
        Part::Slab(slab) => {
            return slab.windows().try_for_each(|window| {
                let now = take_front(&mut dst, window.dest_size())?;
                take_blocks(
                    component,
                    &window,
                    whole.get(from(window.source_offset)..).unwrap_or_default(),
                    now,
                )
            });
        }
    };
    // The part may begin and end inside an element, so swap whole elements first, then cut.
    swap_in_place(whole, if component.swaps() { component.entry.width() } else { 1 });
    let wanted = whole.get(from(offset)..).and_then(|rest| rest.get(..dst.len()));
    dst.copy_from_slice(wanted.ok_or_else(|| fail!(Internal, "a range of whole elements is too short"))?);
    Ok(())
}
