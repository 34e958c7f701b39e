//! Jobs whose reads are not coalesced: a long range of stored bytes, a whole component, or a part that needs
//! temporary memory because it is converted in pieces, checked first, or goes to rows with gaps.

use super::component::StoredComponent;
use super::destination::RowsMut;
use super::finish::{declared_digest, decode_part, finish, take_blocks, with_entries, Step};
use super::jobs::{aligned_chunks, checks_digest, split_packed, Finish, Job, OwnWork, Work, MAX_READ_GAP};
use super::request::{BatchOptions, Part, Request};
use super::slab::{StridedBlocks, Taken};
use super::strategy::ReadStrategy;
use crate::codec::{Codec, Decoding, StoredPart};
use crate::convert::{convert, refuse_loss};
use crate::digest;
use crate::error::{fail, Error, Result};
use crate::lock::{Mutex, MutexGuard};
use crate::memory::{in_memory, take_front, zeroed, AlignedBuffer};
use crate::model::dtype::Dtype;
use crate::source::direct::Bounce;
use crate::source::READ_CHUNK;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Condvar;

/// How many bytes are read and hashed at a time through the page cache. They are still in the processor's
/// cache when they are hashed.
const HASH_CHUNK: usize = 256 << 10;

/// If the gap between two blocks in memory has at least this many bytes, each block is read by a call of its
/// own. Copying a gap of this size takes as long as a call.
const MIN_SKIPPED_GAP: u64 = 8 << 10;

/// Reads the bytes of a thread's jobs from one source.
pub struct JobReader<'p, 's> {
    pub strategy: &'p ReadStrategy<'s>,
    pub shared: &'p Shared,
    pub bounce: &'p mut Bounce,
    pub step: &'p Step<'p>,
    pub oversized: &'p [Oversized<'s>],
    pub is_counted: &'p AtomicBool,
}

impl JobReader<'_, '_> {
    /// Runs a job that does its own reads.
    pub fn read(&mut self, job: &mut Job<'_>, request: &Request<'_>) -> Result<()> {
        let Job { offset, dst, work, .. } = job;
        match work {
            Work::Range(finish) => self.read_range(request, *offset, dst, finish),
            Work::Own(OwnWork::Blocks) => self.read_blocks(request, dst),
            Work::Own(OwnWork::Seek(codec)) => self.seek_and_decode(request, *codec, dst),
            Work::Own(OwnWork::Convert { to, range }) => self.convert(request, *to, range, dst),
            Work::Own(OwnWork::Numbers { to, offset, has_digest }) => {
                self.read_numbers(request, *to, *offset, *has_digest, dst)
            }
            Work::Own(OwnWork::Temporary { rows, has_digest }) => {
                self.read_temporary(request, dst, rows.take(), *has_digest)
            }
            Work::Own(OwnWork::Piece { of, offset }) => match self.oversized.get(*of as usize) {
                Some(whole) => whole.fill(self, *offset, dst),
                None => Err(fail!(Internal, "a piece of no request")),
            },
        }
    }

    /// Reads a range of stored bytes for this job alone.
    fn read_range(
        &mut self,
        request: &Request<'_>,
        offset: u64,
        dst: &mut [u8],
        what: &Finish,
    ) -> Result<()> {
        let component = &request.component;
        match what {
            Finish::Copy => {
                let size = dst.len() as u64;
                self.strategy.count_stored(size);
                let route = self.strategy.route(offset, size);
                self.strategy.read(route, offset, dst, self.bounce)?;
                finish(request, offset, dst, what, None, self.step)
            }
            Finish::Hash => {
                self.read_hashed(component, dst)?;
                finish(request, offset, dst, &Finish::Copy, None, self.step)
            }
            Finish::Strided(window) => self.read_strided(window, component, dst),
            Finish::Decode { stored, .. } if component.is_raw() => {
                let _reservation = self.shared.budget.reserve(what.extra_memory(request));
                self.strategy.count_stored(*stored);
                let (strategy, bounce) = (self.strategy, &mut *self.bounce);
                let route = strategy.route(offset, *stored);
                decode_part(request, dst, |_, whole| strategy.read(route, offset, whole, bounce))
            }
            Finish::Frames { stored, .. } | Finish::Decode { stored, .. } => {
                let start = offset.saturating_sub(component.entry.offset);
                let (range, step) = (start..start.saturating_add(*stored), self.step);
                self.with_stored(component, range, what.extra_memory(request), |bytes| {
                    finish(request, offset, dst, what, Some(bytes), step)
                })
            }
        }
    }

    fn convert(
        &mut self,
        request: &Request<'_>,
        to: Dtype,
        range: &Range<u64>,
        dst: &mut [u8],
    ) -> Result<()> {
        let component = &request.component;
        let (memory, stored) = match component.decoding {
            Decoding::Raw => {
                let size = range.end.saturating_sub(range.start);
                (component.unborrowed_size().min(size).min(READ_CHUNK as u64), size)
            }
            Decoding::Frames(_) | Decoding::Array | Decoding::Numbers { .. } => {
                (request.whole_memory(), component.entry.stored_size)
            }
        };
        let _reservation = self.shared.budget.reserve(memory);
        self.strategy.count_stored(stored);
        let lost = component.convert_into(range, to, dst, request.size())?;
        let is_part = range.end.saturating_sub(range.start) < request.covering_size();
        self.refuse_loss(request, to, lost, is_part, || component.count_lost(&request.covering(), to))
    }

    /// Decodes numbers of an object: the request's part, or the numbers from `offset` on.
    fn read_numbers(
        &mut self,
        request: &Request<'_>,
        to: Dtype,
        offset: Option<u64>,
        has_digest: bool,
        dst: &mut [u8],
    ) -> Result<()> {
        let component = &request.component;
        let Range { start, end } = request.covering();
        let first = offset.unwrap_or(start);
        let (stored, memory) = component.owner.cost_of_numbers(component);
        let _reservation = self.shared.budget.reserve(memory);
        if first == start {
            self.strategy.count_stored(stored); // counted once for a request
        }
        if has_digest {
            component.owner.check_digests_of_object(component)?;
        }
        let read =
            |taken: &Taken<'_>, dst: &mut [u8]| component.owner.read_numbers(component, to, taken, dst);
        let lost = match &request.part {
            Part::Slab(slab) => read(&Taken::Slab(slab), dst)?,
            Part::Whole | Part::Range { .. } => read(&Taken::From(first), dst)?,
        };
        self.refuse_loss(request, to, lost, (dst.len() as u64) < request.size(), || {
            component.owner.count_lost_numbers(component, to, start..end)
        })
    }

    /// Refuses a conversion that loses numbers, unless the request accepts that. The first job that loses
    /// some counts the losses of the whole request for the error message, and fails. The other jobs succeed.
    fn refuse_loss(
        &self,
        request: &Request<'_>,
        to: Dtype,
        lost: u64,
        is_part: bool,
        count: impl FnOnce() -> Result<u64>,
    ) -> Result<()> {
        match lost > 0 && !request.wanted.lossy && is_part {
            false => refuse_loss(lost, to, request.wanted.lossy),
            true if self.is_counted.swap(true, Ordering::Relaxed) => Ok(()),
            true => refuse_loss(count()?, to, false),
        }
    }

    /// Fills `dst` in small reads, hashes what was read, and compares the digest.
    fn read_hashed(&mut self, component: &StoredComponent<'_>, dst: &mut [u8]) -> Result<()> {
        let (offset, expected) = (component.entry.offset, declared_digest(component)?);
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

    /// Reads evenly spaced blocks. If the source's bytes are in memory, copies the blocks; else reads them
    /// with the gaps between them, then copies the blocks.
    fn read_strided(
        &mut self,
        window: &StridedBlocks,
        component: &StoredComponent<'_>,
        mut dst: &mut [u8],
    ) -> Result<()> {
        let place = |window: &StridedBlocks| component.entry.offset.saturating_add(window.source_offset);
        let route = self.strategy.route(place(window), window.source_size());
        if let Some(bytes) = self.strategy.borrow_resident(route, place(window), window.source_size()) {
            self.strategy.count_stored(window.dest_size());
            return take_blocks(component, window, bytes, dst);
        }
        // Bytes in memory are gathered in small pieces that stay in the processor's cache. Blocks that are
        // far apart in memory are read one by one.
        let at_once = self.strategy.worth_a_read(route, HASH_CHUNK) as u64;
        let piece_limit = if route.is_direct() { window.source_size() } else { at_once };
        let gap = if route.in_memory { MIN_SKIPPED_GAP } else { u64::MAX };
        for window in window.split_for_reads(piece_limit, gap) {
            let now = take_front(&mut dst, window.dest_size())?;
            self.strategy.count_stored(window.source_size());
            let size = usize::try_from(window.source_size()).unwrap_or(usize::MAX);
            if window.count == 1 {
                self.strategy.read(route, place(&window), now, self.bounce)?;
                component.finish(now, |at| window.place(at))?;
            } else {
                let bytes = self.strategy.fetch(route, place(&window), size, self.bounce)?;
                take_blocks(component, &window, bytes, now)?;
            }
        }
        Ok(())
    }

    /// Calls `body` with some of a component's stored bytes, borrowed or in temporary memory. `body` itself
    /// needs `extra_memory` more bytes.
    fn with_stored<T>(
        &mut self,
        component: &StoredComponent<'_>,
        range: Range<u64>,
        extra_memory: u64,
        body: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let offset = component.entry.offset.saturating_add(range.start);
        let size = range.end.saturating_sub(range.start);
        self.strategy.count_stored(size);
        if let Some(bytes) = component.source.slice(offset..offset.saturating_add(size)) {
            let _reservation = self.shared.budget.reserve(extra_memory);
            return body(bytes);
        }
        let count = in_memory(size)?;
        let is_small = count <= self.bounce.capacity();
        // Reserve both at once. A thread that waits for memory must not hold some that another thread waits
        // for.
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

    /// Reads all blocks of a slab, piece by piece.
    fn read_blocks(&mut self, request: &Request<'_>, mut dst: &mut [u8]) -> Result<()> {
        let Part::Slab(slab) = &request.part else { return Err(fail!(Internal, "blocks of no slab")) };
        let limit = self.bounce.capacity() as u64;
        slab.windows().flat_map(|window| window.split_for_reads(limit, MAX_READ_GAP)).try_for_each(|piece| {
            let now = take_front(&mut dst, piece.dest_size())?;
            self.read_strided(&piece, &request.component, now)
        })
    }

    /// Finds the frames that have the request's part, reads and decodes them.
    fn seek_and_decode(&mut self, request: &Request<'_>, codec: Codec, dst: &mut [u8]) -> Result<()> {
        let (component, covering) = (&request.component, request.covering());
        let seek = component.seek(codec, covering.start, covering.end.saturating_sub(covering.start))?;
        let needed = seek.needed(in_memory(component.entry.stored_size)?);
        let (from, range) = (needed.start, needed.start as u64..needed.end as u64);
        with_entries(component, seek.entries, |entries| {
            self.with_stored(component, range, request.extra_memory(), |bytes| {
                decode_part(request, dst, |offset, dst| {
                    let stored = StoredPart { bytes, from, entries };
                    codec.decode_range(stored, seek, component.size, offset, dst)
                })
            })
        })
    }

    /// Reads into temporary memory, then fills the rows, or `dst` if there are no rows.
    fn read_temporary(
        &mut self,
        request: &Request<'_>,
        dst: &mut [u8],
        rows: Option<RowsMut<'_>>,
        has_digest: bool,
    ) -> Result<()> {
        let size = request.decoded_size();
        let _reservation = self.shared.budget.reserve(size.saturating_add(request.whole_memory()));
        let mut decoded = zeroed(in_memory(size)?)?;
        self.read_packed(request, &mut decoded, has_digest)?;
        let mut lost = 0u64;
        let mut store = |decoded: &[u8], dst: &mut [u8]| -> Result<()> {
            lost = lost.saturating_add(store(request, decoded, dst, request.size())?);
            Ok(())
        };
        match rows {
            None => store(&decoded, dst)?,
            Some(rows) => {
                let row_size = decoded.len().checked_div(rows.row_count()).unwrap_or(0).max(1);
                rows.zip(decoded.chunks(row_size)).try_for_each(|(row, decoded)| store(decoded, row))?;
            }
        }
        request.wanted.convert.map_or(Ok(()), |to| refuse_loss(lost, to, request.wanted.lossy))
    }

    /// Fills `dst` for a request without rows, on this thread.
    fn read_whole(&mut self, request: &Request<'_>, dst: &mut [u8]) -> Result<()> {
        let has_digest = checks_digest(request, &BatchOptions::ONE_THREAD)?;
        match request.wanted.convert {
            None => {
                let _reservation = self.shared.budget.reserve(request.whole_memory());
                self.read_packed(request, dst, has_digest)
            }
            Some(_) => self.read_temporary(request, dst, None, has_digest),
        }
    }

    /// Fills `dst` with the request's decoded bytes without gaps, on this thread.
    fn read_packed(&mut self, request: &Request<'_>, dst: &mut [u8], has_digest: bool) -> Result<()> {
        // The caller has reserved the memory for bytes that were not requested, so nothing needs to wait
        // here.
        let (shared, capacity) = (Shared::new(BatchOptions::ONE_THREAD.in_flight), self.bounce.capacity());
        let (outer, strategy, oversized) = (self.step, self.strategy, self.oversized);
        // Report 0 bytes: none is at its destination before all are decoded.
        let step = |_| outer(0);
        let (bounce, is_counted) = (&mut *self.bounce, self.is_counted);
        let mut inner = JobReader { strategy, shared: &shared, bounce, step: &step, oversized, is_counted };
        let mut do_job = |offset, dst, work| {
            step(0)?;
            inner.read(&mut Job { source: 0, request: 0, offset, dst, work }, request)
        };
        split_packed(request, dst, has_digest, &BatchOptions::ONE_THREAD, capacity, &mut do_job)
    }
}

/// A request of a load that is larger than a slot and cannot be read slot by slot, because it is compressed,
/// checked, converted or strided. It is completed in temporary memory, then copied piece by piece.
pub struct Oversized<'a> {
    request: Request<'a>,
    state: Mutex<WholeBytes>,
}

struct WholeBytes {
    bytes: Option<AlignedBuffer>,
    /// Pieces that have not been copied.
    left: usize,
    /// Why the bytes could not be made. Every piece fails with this error.
    failure: Option<Error>,
}

impl<'a> Oversized<'a> {
    pub fn new(request: Request<'a>, pieces: usize) -> Oversized<'a> {
        Oversized { request, state: Mutex::new(WholeBytes { bytes: None, left: pieces, failure: None }) }
    }

    /// Makes all of its bytes. They count as temporary memory until they are dropped.
    fn make(&self, reader: &mut JobReader<'_, '_>) -> Result<AlignedBuffer> {
        let size = self.request.size();
        let mut bytes = AlignedBuffer::zeroed(in_memory(size)?)?;
        reader.shared.budget.add_held(size);
        let outcome = reader.read_whole(&self.request, bytes.as_mut_slice());
        if outcome.is_err() {
            reader.shared.budget.release_held(size);
        }
        outcome.map(|()| bytes)
    }

    /// Fills `dst` with its bytes from `offset` on. The first piece makes all bytes; the other pieces wait
    /// for it.
    pub fn fill(&self, reader: &mut JobReader<'_, '_>, offset: u64, dst: &mut [u8]) -> Result<()> {
        let (mut state, size) = (self.state.lock(), self.request.size());
        if let Some(error) = &state.failure {
            return Err(error.again());
        }
        if state.bytes.is_none() {
            let made = self.make(reader);
            state.failure = made.as_ref().err().map(Error::again);
            state.bytes = Some(made?);
        }
        let bytes = state.bytes.as_ref().map_or(&[][..], AlignedBuffer::as_slice);
        let now = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)?.get(..dst.len()));
        dst.copy_from_slice(now.ok_or_else(|| fail!(Internal, "a piece is outside its request"))?);
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            state.bytes = None;
            reader.shared.budget.release_held(size);
        }
        Ok(())
    }
}

/// Copies or converts decoded bytes to their destination. `all` is the size of the whole result. Returns how
/// many numbers the conversion loses.
fn store(request: &Request<'_>, decoded: &[u8], dst: &mut [u8], all: u64) -> Result<u64> {
    match request.wanted.convert {
        Some(to) => convert(decoded, request.component.entry.element_type()?, to, dst, all),
        None if decoded.len() == dst.len() => {
            dst.copy_from_slice(decoded);
            Ok(0)
        }
        None => Err(fail!(Internal, "{} decoded bytes for {}", decoded.len(), dst.len())),
    }
}

/// What all jobs of a batch share.
pub struct Shared {
    pub budget: Budget,
    /// Set to stop: no job is started any more, and long jobs end early.
    pub stop: AtomicBool,
}

impl Shared {
    pub const fn new(limit: u64) -> Shared {
        Shared { budget: Budget::new(limit), stop: AtomicBool::new(false) }
    }
}

/// Limits temporary memory. A single job may exceed the limit if no other job uses any.
pub struct Budget {
    pub limit: u64,
    used: Mutex<Used>,
    freed: Condvar,
}

struct Used {
    by_jobs: u64,
    /// Memory of oversized requests, which outlives a job. No job may wait for it.
    held: u64,
    /// Waiting jobs. If no job waits, nobody is notified, because a notification is always a system call.
    waiting: usize,
}

impl Budget {
    pub const fn new(limit: u64) -> Budget {
        let used = Used { by_jobs: 0, held: 0, waiting: 0 };
        Budget { limit, used: Mutex::new(used), freed: Condvar::new() }
    }

    /// Waits until `bytes` more may be used. Returns at once if that is 0.
    #[inline]
    pub fn reserve(&self, bytes: u64) -> Option<Reservation<'_>> {
        (bytes > 0).then(|| self.wait_for(bytes))
    }

    fn wait_for(&self, bytes: u64) -> Reservation<'_> {
        let mut used = self.used.lock();
        while used.by_jobs > 0 && used.by_jobs.saturating_add(used.held).saturating_add(bytes) > self.limit {
            used.waiting = used.waiting.saturating_add(1);
            used = used.wait(&self.freed);
            used.waiting = used.waiting.saturating_sub(1);
        }
        used.by_jobs = used.by_jobs.saturating_add(bytes);
        Reservation { budget: self, bytes }
    }

    fn add_held(&self, bytes: u64) {
        let mut used = self.used.lock();
        used.held = used.held.saturating_add(bytes);
    }

    fn release_held(&self, bytes: u64) {
        let mut used = self.used.lock();
        used.held = used.held.saturating_sub(bytes);
        self.notify(&used);
    }

    fn notify(&self, used: &MutexGuard<'_, Used>) {
        if used.waiting > 0 {
            self.freed.notify_all();
        }
    }
}

/// Reserved bytes. Dropping this releases them.
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock();
        used.by_jobs = used.by_jobs.saturating_sub(self.bytes);
        self.budget.notify(&used);
    }
}
