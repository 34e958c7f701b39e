//! One job: its stored bytes are read, hashed, decoded, taken apart, byte-swapped to the host's order,
//! checked, converted.

use super::blob::Blob;
use super::budget::Budget;
use super::frame_runs::frame_runs;
use super::job::{Finish, Job, OwnWork, Work};
use super::request::{Part, Request};
use super::slab::StridedBlocks;
use super::split::{aligned_chunks, MAX_READ_GAP};
use super::strategy::ReadStrategy;
use crate::codec::{Codec, Decoding, Entries, EntryRange, StoredPart};
use crate::convert::byte_order::swap_in_place;
use crate::digest::{self, Digest};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::memory::{in_memory, zeroed, AlignedBuffer};
use crate::model::dtype::Dtype;
use crate::source::direct::Bounce;
use crate::source::with_range;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Read and hashed at a time through the page cache, so that the bytes are hot when hashed.
const HASH_CHUNK: usize = 256 << 10;

/// Decoded between two steps.
const DECODED_STEP: u64 = 4 << 20;

/// Unwanted bytes between two blocks that are in memory from which on it is a call for each: those bytes
/// would be copied in the time that a call takes.
const MIN_SKIPPED_GAP: u64 = 8 << 10;

/// What all jobs of a batch share.
pub struct Shared {
    pub budget: Budget,
    /// No job is begun any more, and those that go on for long end.
    pub stop: AtomicBool,
}

impl Shared {
    pub const fn new(limit: u64) -> Shared {
        Shared { budget: Budget::new(limit), stop: AtomicBool::new(false) }
    }
}

/// Called with the bytes that came since the last call while a job goes on; an error stops it.
pub type Step<'p> = dyn Fn(u64) -> Result<()> + 'p;

/// Where a thread's jobs of one source get their bytes from.
pub struct Performer<'p, 's> {
    pub strategy: &'p ReadStrategy<'s>,
    pub shared: &'p Shared,
    pub bounce: &'p mut Bounce,
    pub step: &'p Step<'p>,
    /// Requests that are made whole before they are copied piece by piece.
    pub oversized: &'p [Oversized<'s>],
}

impl Performer<'_, '_> {
    /// Does a job by reads of its own.
    pub fn perform(&mut self, job: &mut Job<'_>, request: &Request<'_>) -> Result<()> {
        let Job { offset, dst, work, .. } = job;
        match work {
            Work::Range(finish) => self.perform_range(request, *offset, dst, finish),
            Work::Own(OwnWork::Blocks) => self.read_blocks(request, dst),
            Work::Own(OwnWork::Seek(codec)) => self.seek_and_decode(request, *codec, dst),
            Work::Own(OwnWork::Convert(to)) => self.convert_whole(request, *to, dst),
            Work::Own(OwnWork::Temporary { rows, has_digest }) => {
                self.perform_temporary(request, dst, rows.take(), *has_digest)
            }
            Work::Own(OwnWork::Piece { of, offset }) => match self.oversized.get(*of as usize) {
                Some(whole) => whole.fill(self, *offset, dst),
                None => Err(fail!(Internal, "a piece of no request")),
            },
        }
    }

    /// Reads a range of stored bytes for this job alone.
    fn perform_range(
        &mut self,
        request: &Request<'_>,
        offset: u64,
        dst: &mut [u8],
        what: &Finish,
    ) -> Result<()> {
        let blob = &request.blob;
        match what {
            Finish::Copy => {
                let size = dst.len() as u64;
                self.strategy.count_stored(size);
                let route = self.strategy.route(offset, size);
                self.strategy.read(route, offset, dst, self.bounce)?;
                finish(request, offset, dst, what, None, self.step)
            }
            Finish::Hash => {
                self.read_hashed(blob, dst)?;
                finish(request, offset, dst, &Finish::Copy, None, self.step)
            }
            Finish::Strided(window) => self.read_strided(window, blob, dst),
            Finish::Frames { stored, .. } | Finish::Decode { stored, .. } => {
                let start = offset.saturating_sub(blob.entry.offset);
                let (range, step) = (start..start.saturating_add(*stored), self.step);
                self.with_stored(blob, range, what.extra_memory(request), |bytes| {
                    finish(request, offset, dst, what, Some(bytes), step)
                })
            }
        }
    }

    fn convert_whole(&mut self, request: &Request<'_>, to: Dtype, dst: &mut [u8]) -> Result<()> {
        let blob = &request.blob;
        let memory = blob.unborrowed_size().saturating_add(request.extra_memory());
        let _reservation = self.shared.budget.reserve(memory);
        self.strategy.count_stored(blob.entry.stored_size);
        blob.convert_into(to, request.wanted.lossy, dst)
    }

    /// Fills `dst` and compares the digest of what it gets, a little at a time.
    fn read_hashed(&mut self, blob: &Blob<'_>, dst: &mut [u8]) -> Result<()> {
        let (offset, expected) = (blob.entry.offset, declared_digest(blob)?);
        self.strategy.count_stored(dst.len() as u64);
        let route = self.strategy.route(offset, dst.len() as u64);
        let mut hasher = expected.hasher()?;
        let step = self.strategy.worth_a_read(route, HASH_CHUNK);
        let mut before = 0;
        for (at, piece) in aligned_chunks(offset, offset, dst, step) {
            if before > 0 {
                (self.step)(before)?;
            }
            self.strategy.read(route, at, piece, self.bounce)?;
            hasher.update(piece);
            before = piece.len() as u64;
        }
        digest::check(&expected, &hasher.finish())
    }

    /// Evenly spaced blocks: out of the source's memory, or read with what is between them and taken apart.
    fn read_strided(&mut self, window: &StridedBlocks, blob: &Blob<'_>, mut dst: &mut [u8]) -> Result<()> {
        let place = |window: &StridedBlocks| blob.entry.offset.saturating_add(window.source_offset);
        let route = self.strategy.route(place(window), window.source_size());
        if let Some(bytes) = self.strategy.borrow_resident(route, place(window), window.source_size()) {
            self.strategy.count_stored(window.dest_size());
            return take_blocks(blob, window, bytes, dst);
        }
        // What comes from memory is taken apart while it is hot; what is far apart there is rather read block
        // by block.
        let at_once = self.strategy.worth_a_read(route, HASH_CHUNK) as u64;
        let piece_limit = if route.is_direct() { window.source_size() } else { at_once };
        let gap = if route.in_memory { MIN_SKIPPED_GAP } else { u64::MAX };
        for window in window.pieces(piece_limit, gap) {
            let now = window.take_front(&mut dst)?;
            self.strategy.count_stored(window.source_size());
            let size = usize::try_from(window.source_size()).unwrap_or(usize::MAX);
            if window.count == 1 {
                self.strategy.read(route, place(&window), now, self.bounce)?;
                blob.finish(now, |at| window.place(at))?;
            } else {
                let bytes = self.strategy.fetch(route, place(&window), size, self.bounce)?;
                take_blocks(blob, &window, bytes, now)?;
            }
        }
        Ok(())
    }

    /// Gives `body` some of a component's stored bytes, where they are or in temporary memory, of which
    /// `body` takes `extra_memory` bytes more.
    pub(super) fn with_stored<T>(
        &mut self,
        blob: &Blob<'_>,
        range: Range<u64>,
        extra_memory: u64,
        body: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let offset = blob.entry.offset.saturating_add(range.start);
        let size = range.end.saturating_sub(range.start);
        self.strategy.count_stored(size);
        if let Some(bytes) = blob.source.slice(offset..offset.saturating_add(size)) {
            let _reservation = self.shared.budget.reserve(extra_memory);
            return body(bytes);
        }
        let count = in_memory(size)?;
        let is_small = count <= self.bounce.capacity();
        // At once: who waits for more holds nothing that another waits for.
        let _reservation =
            self.shared.budget.reserve(extra_memory.saturating_add(if is_small { 0 } else { size }));
        let route = self.strategy.route(offset, size);
        if is_small {
            return body(self.strategy.fetch(route, offset, count, self.bounce)?);
        }
        let mut bytes = AlignedBuffer::zeroed(count)?; // on huge pages
        self.strategy.read(route, offset, bytes.as_mut_slice(), self.bounce)?;
        body(bytes.as_slice())
    }

    /// All blocks of a slab, piece by piece.
    fn read_blocks(&mut self, request: &Request<'_>, mut dst: &mut [u8]) -> Result<()> {
        let limit = self.bounce.capacity() as u64;
        let windows = request.part.windows(&request.blob);
        windows.flat_map(|window| window.pieces(limit, MAX_READ_GAP)).try_for_each(|piece| {
            let now = piece.take_front(&mut dst)?;
            self.read_strided(&piece, &request.blob, now)
        })
    }

    /// Finds the frames that the request's part is in, reads and decodes them.
    fn seek_and_decode(&mut self, request: &Request<'_>, codec: Codec, dst: &mut [u8]) -> Result<()> {
        let (blob, covering) = (&request.blob, request.covering());
        let seek = blob.seek(codec, covering.start, covering.end.saturating_sub(covering.start))?;
        let needed = seek.needed(in_memory(blob.entry.stored_size)?);
        let (from, range) = (needed.start, needed.start as u64..needed.end as u64);
        with_entries(blob, seek.entries, |entries| {
            self.with_stored(blob, range, request.extra_memory(), |bytes| {
                decode_part(request, dst, |offset, dst| {
                    let stored = StoredPart { bytes, from, entries };
                    codec.decode_range(stored, seek, blob.size, offset, dst)
                })
            })
        })
    }
}

/// A request of a load that is larger than a slot and cannot be read slot by slot: what is compressed, checked,
/// converted or strided. It is made whole in temporary memory, and copied out of it piece by piece.
pub struct Oversized<'a> {
    request: Request<'a>,
    state: Mutex<WholeBytes>,
}

struct WholeBytes {
    bytes: Option<AlignedBuffer>,
    /// Pieces that have not been copied.
    left: usize,
    /// Why there are no bytes, which is the failure of each piece, whichever is taken first.
    failure: Option<Error>,
}

impl<'a> Oversized<'a> {
    pub fn new(request: Request<'a>, pieces: usize) -> Oversized<'a> {
        Oversized { request, state: Mutex::new(WholeBytes { bytes: None, left: pieces, failure: None }) }
    }

    /// All of its bytes, which are counted as long as they are there.
    fn make(&self, performer: &mut Performer<'_, '_>) -> Result<AlignedBuffer> {
        let size = self.request.size();
        let mut bytes = AlignedBuffer::zeroed(in_memory(size)?)?;
        performer.shared.budget.add_held(size);
        let outcome = performer.read_whole(&self.request, bytes.as_mut_slice());
        if outcome.is_err() {
            performer.shared.budget.release_held(size);
        }
        outcome.map(|()| bytes)
    }

    /// Fills `dst` with its bytes from `offset` on. The first piece makes all of them, and no other waits for
    /// anything else.
    pub fn fill(&self, performer: &mut Performer<'_, '_>, offset: u64, dst: &mut [u8]) -> Result<()> {
        let (mut state, size) = (self.state.lock(), self.request.size());
        if let Some(error) = &state.failure {
            return Err(error.again());
        }
        if state.bytes.is_none() {
            let made = self.make(performer);
            state.failure = made.as_ref().err().map(Error::again);
            state.bytes = Some(made?);
        }
        let bytes = state.bytes.as_ref().map_or(&[][..], AlignedBuffer::as_slice);
        let now = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)?.get(..dst.len()));
        dst.copy_from_slice(now.ok_or_else(|| fail!(Internal, "a piece is outside its request"))?);
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            state.bytes = None;
            performer.shared.budget.release_held(size);
        }
        Ok(())
    }
}

/// What is left to do for a job whose stored bytes were read: they are `bytes`, or in their place.
pub fn finish(
    request: &Request<'_>,
    offset: u64,
    dst: &mut [u8],
    what: &Finish,
    bytes: Option<&[u8]>,
    step: &Step<'_>,
) -> Result<()> {
    let blob = &request.blob;
    let start = offset.saturating_sub(blob.entry.offset);
    match what {
        Finish::Copy | Finish::Hash => {
            if let Some(bytes) = bytes.filter(|bytes| bytes.len() == dst.len()) {
                dst.copy_from_slice(bytes);
            }
            if let Finish::Hash = what {
                check_digest(blob, dst)?;
            }
            blob.finish(dst, |at| start.saturating_add(at))
        }
        Finish::Strided(window) => take_blocks(blob, window, bytes.unwrap_or_default(), dst),
        Finish::Frames { codec, entries, decoded_start, .. } => {
            let (bytes, from) = (bytes.unwrap_or_default(), usize::try_from(start).unwrap_or(usize::MAX));
            with_entries(blob, *entries, |entries| {
                codec.decode_run(StoredPart { bytes, from, entries }, dst)
            })?;
            blob.finish(dst, |at| decoded_start.saturating_add(at))
        }
        Finish::Decode { has_digest, .. } => {
            let stored = bytes.unwrap_or_default();
            let of_decoded = blob.entry.has_digest_of_decoded();
            if *has_digest && !of_decoded {
                check_digest(blob, stored)?;
            }
            let (Part::Whole, Decoding::Frames(codec)) = (&request.part, blob.decoding) else {
                return decode_part(request, dst, |offset, dst| {
                    blob.decode_range(stored, start, offset, dst)
                });
            };
            decode_all(blob, codec, stored, dst, step)?;
            if *has_digest && of_decoded {
                check_digest(blob, dst)?;
            }
            blob.finish(dst, |at| at)
        }
    }
}

/// Decodes all of a component, some of its frames at a time where there are many.
fn decode_all(
    blob: &Blob<'_>,
    codec: Codec,
    stored: &[u8],
    mut dst: &mut [u8],
    step: &Step<'_>,
) -> Result<()> {
    let Some(runs) = frame_runs(blob, codec, stored, DECODED_STEP)? else {
        blob.check_size(codec, codec.known_size(stored)?)?;
        return codec.decode_into(stored, dst);
    };
    let mut before = 0;
    for run in runs {
        if before > 0 {
            step(before)?;
        }
        let now = run.take_front(&mut dst)?;
        codec.decode_run(run.part_of(stored), now)?;
        before = run.size();
    }
    Ok(())
}

/// Gives `body` some entries of a component's seek table, if there is one.
fn with_entries<T>(
    blob: &Blob<'_>,
    entries: EntryRange,
    body: impl FnOnce(Entries<'_>) -> Result<T>,
) -> Result<T> {
    let Range { start, end } = entries.bytes();
    if start == end {
        return body(Entries::default());
    }
    let [start, end] = [start, end].map(|at| blob.entry.offset.saturating_add(at as u64));
    with_range(blob.source, start..end, |bytes| body(entries.read(bytes)))
}

/// The digest of stored bytes that are checked: whoever made the job has seen that there is one.
fn declared_digest(blob: &Blob<'_>) -> Result<Digest> {
    let digest = blob.expected_digest()?;
    digest.ok_or_else(|| fail!(Internal, "a digest was to be checked, and there is none"))
}

fn check_digest(blob: &Blob<'_>, bytes: &[u8]) -> Result<()> {
    let expected = declared_digest(blob)?;
    let mut hasher = expected.hasher()?;
    hasher.update(bytes);
    digest::check(&expected, &hasher.finish())
}

/// Takes evenly spaced blocks out of the bytes that cover them.
fn take_blocks(blob: &Blob<'_>, window: &StridedBlocks, bytes: &[u8], dst: &mut [u8]) -> Result<()> {
    window.gather(bytes, dst)?;
    blob.finish(dst, |at| window.place(at))
}

/// Decodes the request's part. `decode` fills what it is given with the decoded bytes from a place on.
fn decode_part(
    request: &Request<'_>,
    dst: &mut [u8],
    decode: impl FnOnce(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let (start, size) = (request.covering().start, request.covering_size());
    if !matches!(request.part, Part::Slab(_)) && dst.len() as u64 == size {
        decode(start, dst)?;
        return request.blob.finish(dst, |at| start.saturating_add(at));
    }
    let mut whole = zeroed(in_memory(size)?)?;
    decode(start, &mut whole)?;
    take_part(request, start, &mut whole, dst)
}

/// Takes the part out of the decoded bytes that cover it, the first of which is at `start` of the component.
fn take_part(request: &Request<'_>, start: u64, whole: &mut [u8], mut dst: &mut [u8]) -> Result<()> {
    let blob = &request.blob;
    let from = |place: u64| usize::try_from(place.saturating_sub(start)).unwrap_or(usize::MAX);
    let offset = match &request.part {
        Part::Whole => 0,
        Part::Range { offset, .. } => *offset,
        Part::Slab(slab) => {
            return slab.windows().try_for_each(|window| {
                let now = window.take_front(&mut dst)?;
                take_blocks(blob, &window, whole.get(from(window.source_offset)..).unwrap_or_default(), now)
            });
        }
    };
    // It may begin and end within an element: whole ones are swapped, then cut.
    swap_in_place(whole, if blob.entry.swaps() { blob.entry.width() } else { 1 });
    let wanted = whole.get(from(offset)..).and_then(|rest| rest.get(..dst.len()));
    dst.copy_from_slice(wanted.ok_or_else(|| fail!(Internal, "a range of whole elements is too short"))?);
    Ok(())
}
