//! What the threads of a batch do: take jobs in the file's order, do them, report to the caller.

mod coalesce;

use super::aligned_chunks::aligned_chunks;
use super::job::{Job, JobKind, Request};
use super::strategy::ReadStrategy;
use super::{BatchOptions, BatchStats, OnDone, Progress, Selection};
use crate::codec::StoredPart;
use crate::digest;
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::reader::stored::zeroed;
use crate::source::direct::{Bounce, BOUNCE_SIZE};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Condvar;

/// Read and hashed at a time through the page cache, so that the bytes are hot when hashed.
const HASH_CHUNK: usize = 256 << 10;

/// Unwanted bytes between two blocks that are in memory from which on it is a call for each: those bytes would be
/// copied in the time that a call takes.
const MIN_SKIPPED_GAP: u64 = 8 << 10;

/// Temporary memory, counted: one job may always have what it alone needs.
struct Budget {
    limit: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    fn take(&self, bytes: u64) -> Reservation<'_> {
        let mut used = self.used.lock();
        while *used > 0 && used.saturating_add(bytes) > self.limit {
            used = used.wait(&self.freed);
        }
        *used = used.saturating_add(bytes);
        Reservation { budget: self, bytes }
    }
}

struct Reservation<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock();
        *used = used.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

/// What the threads of one batch share.
pub struct BatchState<'a, 'b> {
    options: &'a BatchOptions,
    strategy: &'a ReadStrategy<'b>,
    queue: Mutex<std::vec::IntoIter<Job<'b>>>,
    requests: &'a [Request<'a, 'b>],
    budget: Budget,
    stop: AtomicBool,
    failure: Mutex<Option<Error>>,
    stored_bytes: AtomicU64,
    delivered: Mutex<Delivered>,
    total: u64,
    on_done: &'a OnDone<'a>,
    progress: &'a Progress<'a>,
}

/// What the callbacks have received so far; they are called by one thread at a time.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    requests: u64,
    digests: u64,
}

impl<'a, 'b> BatchState<'a, 'b> {
    pub fn new(
        options: &'a BatchOptions,
        strategy: &'a ReadStrategy<'b>,
        requests: &'a [Request<'a, 'b>],
        jobs: Vec<Job<'b>>,
        total: u64,
        on_done: &'a OnDone<'a>,
        progress: &'a Progress<'a>,
    ) -> Self {
        let held = strategy.bounces(options);
        BatchState {
            options,
            strategy,
            queue: Mutex::new(jobs.into_iter()),
            requests,
            budget: Budget {
                limit: options.in_flight.saturating_sub(held),
                used: Mutex::new(0),
                freed: Condvar::new(),
            },
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            stored_bytes: AtomicU64::new(0),
            delivered: Mutex::new(Delivered::default()),
            total,
            on_done,
            progress,
        }
    }

    /// What was done, once all threads are.
    pub fn report(self, stats: &mut BatchStats) -> Result<()> {
        let delivered = self.delivered.into_inner();
        stats.bytes = delivered.bytes;
        stats.requests = delivered.requests;
        stats.digests_verified = delivered.digests;
        stats.stored_bytes = self.stored_bytes.into_inner();
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// One thread: jobs, until there are no more or one has failed.
    pub fn work(&self) {
        let mut bounce = self.strategy.bounce(self.options);
        let mut jobs = Vec::new();
        let coalescing = self.strategy.coalescing(bounce.capacity());
        // Without that memory each read is its own.
        let coalescing = coalescing.filter(|many| jobs.try_reserve_exact(many.count).is_ok());
        while !self.stop.load(Ordering::Relaxed) {
            let Some(first) = self.queue.lock().next() else { return };
            match coalescing.filter(|many| first.coalescable_end(many.short).is_some()) {
                Some(many) => self.run_coalesced(first, &many, &mut jobs, &mut bounce),
                None => self.run_job(first, &mut bounce),
            }
        }
    }

    /// Books a job, and the request with its last one; calls the callbacks.
    fn finish(&self, request: &Request<'_, '_>, bytes: u64, outcome: Result<()>) {
        let last = request.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let mut delivered = self.delivered.lock();
        if outcome.is_ok() {
            delivered.bytes = delivered.bytes.saturating_add(bytes);
        }
        if (last && !request.failed.load(Ordering::Relaxed)) || outcome.is_err() {
            let first_report = !request.failed.swap(outcome.is_err(), Ordering::Relaxed);
            if outcome.is_ok() {
                delivered.requests = delivered.requests.saturating_add(1);
                delivered.digests = delivered.digests.saturating_add(u64::from(request.has_digest));
            }
            if first_report {
                (self.on_done)(request.asked.tag, &outcome);
            }
        }
        match outcome {
            Err(error) => self.fail(error),
            Ok(()) if !(self.progress)(delivered.bytes, self.total) => {
                self.fail(fail!(Cancelled, "stopped after {} of {} bytes", delivered.bytes, self.total));
            }
            Ok(()) => {}
        }
    }

    fn fail(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        self.failure.lock().get_or_insert(error);
    }

    fn run_job(&self, job: Job<'b>, bounce: &mut Bounce) {
        let Some(request) = self.requests.get(job.request) else { return };
        let bytes = job.bytes();
        let outcome = self.read(job, request, bounce).map_err(|e| request.asked.component.wrap(e));
        self.finish(request, bytes, outcome);
    }

    fn read(&self, job: Job<'_>, request: &Request<'_, '_>, bounce: &mut Bounce) -> Result<()> {
        let component = request.asked.component;
        let Job { offset: job_offset, mut dst, .. } = job;
        match job.kind {
            JobKind::Copy => {
                self.count_stored(dst.len() as u64);
                let route = self.strategy.route(job_offset, dst.len() as u64);
                self.strategy.read(route, job_offset, dst, bounce)?;
                component.finish_piece(dst)
            }
            JobKind::Hash(expected) => {
                self.count_stored(dst.len() as u64);
                let route = self.strategy.route(job_offset, dst.len() as u64);
                let mut hasher = expected.hasher()?;
                for (at, piece) in aligned_chunks(
                    job_offset,
                    job_offset,
                    dst,
                    if route.is_direct() { BOUNCE_SIZE } else { HASH_CHUNK },
                ) {
                    self.strategy.read(route, at, piece, bounce)?;
                    hasher.update(piece);
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(fail!(Cancelled, "stopped"));
                    }
                }
                digest::check(&expected, &hasher.finish())?;
                component.finish_piece(dst)
            }
            JobKind::Strided(window) => {
                let start = component.offset();
                let route = self.strategy.route(job_offset, window.source_size());
                if let Some(bytes) = self.strategy.borrow_resident(route, job_offset, window.source_size()) {
                    window.gather(bytes, dst)?;
                    self.count_stored(window.dest_size());
                    return component.finish_piece(dst);
                }
                // What comes from memory is taken apart while it is hot; from memory what is far apart is
                // rather read block by block.
                let piece_limit = if route.is_direct() { window.source_size() } else { HASH_CHUNK as u64 };
                let gap = if route.in_memory { MIN_SKIPPED_GAP } else { u64::MAX };
                let mut stored = 0u64;
                for window in window.pieces(piece_limit, gap) {
                    stored = stored.saturating_add(window.source_size());
                    let size = usize::try_from(window.source_size()).unwrap_or(usize::MAX);
                    let taken = usize::try_from(window.dest_size()).unwrap_or(usize::MAX);
                    let (now, later) = std::mem::take(&mut dst)
                        .split_at_mut_checked(taken)
                        .ok_or_else(|| fail!(Internal, "a window leaves the slab"))?;
                    dst = later;
                    let offset = start.saturating_add(window.source_offset);
                    match window.count {
                        1 => self.strategy.read(route, offset, now, bounce)?,
                        _ => window.gather(self.strategy.fetch(route, offset, size, bounce)?, now)?,
                    }
                    component.finish_piece(now)?;
                }
                self.count_stored(stored);
                Ok(())
            }
            JobKind::Frames { codec, stored, borrowed } => {
                self.count_stored(stored);
                let route = || self.strategy.route(job_offset, stored);
                let size = usize::try_from(stored).unwrap_or(usize::MAX);
                let from =
                    usize::try_from(job_offset.saturating_sub(component.offset())).unwrap_or(usize::MAX);
                let mut decode = |bytes: &[u8]| codec.decode_into(StoredPart { bytes, from }, dst);
                match borrowed {
                    Some(bytes) => decode(bytes)?,
                    None if size <= bounce.capacity() => {
                        decode(self.strategy.fetch(route(), job_offset, size, bounce)?)?
                    }
                    None => {
                        let _reservation = self.budget.take(stored);
                        let mut bytes = zeroed(size)?;
                        self.strategy.read(route(), job_offset, &mut bytes, bounce)?;
                        decode(&bytes)?;
                    }
                }
                component.finish_piece(dst)
            }
            JobKind::Serial => {
                let part = &request.asked.part;
                let _reservation = self.budget.take(component.temporary_memory(part)?);
                let read = match *part {
                    Selection::Whole => {
                        component.decode_whole(dst, request.has_digest).map(|()| component.stored_size())?
                    }
                    Selection::Range { offset, .. } => component.read_range_inner(offset, dst)?,
                    Selection::Slab(slab) => component.read_slab_inner(&slab, dst)?,
                };
                self.count_stored(read);
                Ok(())
            }
        }
    }

    fn count_stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
