//! What the threads of a batch do: take jobs in the file's order, do them, tell the caller.

mod together;

use super::job::{self, Job, Request, Work};
use super::pieces::pieces;
use super::road::{self, Road};
use super::{BatchOptions, BatchStats, OnDone, Part, Progress};
use crate::error::{fail, Error, Result};
use crate::io::direct::{Bounce, WINDOW};
use crate::lock::Lock;
use crate::payload::{digest, zstd};
use crate::reader::stored::zeroed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Condvar;

/// Read and hashed at a time through the page cache, so that the bytes are hot when hashed.
const HOT: usize = 256 << 10;

/// Unwanted bytes between two blocks that are in memory from which on it is a call for each: those bytes would be
/// copied in the time that a call takes.
const APART: u64 = 8 << 10;

/// Temporary memory, counted: one job may always have what it alone needs.
struct Budget {
    most: u64,
    used: Lock<u64>,
    freed: Condvar,
}

impl Budget {
    fn take(&self, bytes: u64) -> Taken<'_> {
        let mut used = self.used.hold();
        while *used > 0 && used.saturating_add(bytes) > self.most {
            used = used.wait(&self.freed);
        }
        *used = used.saturating_add(bytes);
        Taken { budget: self, bytes }
    }
}

struct Taken<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.used.hold();
        *used = used.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

/// What the threads of one batch share.
pub struct Shared<'a, 'b> {
    options: &'a BatchOptions,
    road: &'a Road<'b>,
    queue: Lock<std::vec::IntoIter<Job<'b>>>,
    requests: &'a [Request<'a, 'b>],
    budget: Budget,
    stop: AtomicBool,
    failure: Lock<Option<Error>>,
    stored_bytes: AtomicU64,
    told: Lock<Told>,
    total: u64,
    on_done: &'a OnDone<'a>,
    go_on: &'a Progress<'a>,
}

/// What the callbacks were told so far; they are called by one thread at a time.
#[derive(Default)]
struct Told {
    bytes: u64,
    requests: u64,
    digests: u64,
}

impl<'a, 'b> Shared<'a, 'b> {
    pub fn new(
        options: &'a BatchOptions,
        road: &'a Road<'b>,
        requests: &'a [Request<'a, 'b>],
        jobs: Vec<Job<'b>>,
        total: u64,
        on_done: &'a OnDone<'a>,
        go_on: &'a Progress<'a>,
    ) -> Self {
        Shared {
            options,
            road,
            queue: Lock::new(jobs.into_iter()),
            requests,
            budget: Budget { most: options.in_flight, used: Lock::new(0), freed: Condvar::new() },
            stop: AtomicBool::new(false),
            failure: Lock::new(None),
            stored_bytes: AtomicU64::new(0),
            told: Lock::new(Told::default()),
            total,
            on_done,
            go_on,
        }
    }

    /// What was done, once all threads are.
    pub fn report(self, stats: &mut BatchStats) -> Result<()> {
        let told = self.told.into_inner();
        stats.bytes = told.bytes;
        stats.requests = told.requests;
        stats.digests_verified = told.digests;
        stats.stored_bytes = self.stored_bytes.into_inner();
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// Up to how many bytes a read may be done together with its neighbours. A disk wants longer ones than memory does,
    /// and where they go past the page cache, most are copied to their place anyway.
    fn short(&self) -> usize {
        match self.road.may_go_direct() {
            true => 1 << 20,
            false => job::SHORT,
        }
    }

    /// One thread: jobs, until there are no more or one has failed.
    pub fn work(&self) {
        let mut bounce = road::bounce(self.options);
        let mut jobs = Vec::new();
        // Without that memory each read is its own.
        let together = jobs.try_reserve_exact(together::TOGETHER).is_ok();
        while !self.stop.load(Ordering::Relaxed) {
            let Some(first) = self.queue.hold().next() else { return };
            match first.short_end(self.short()) {
                Some(end) if together && self.road.is_file() => {
                    self.perform_near(first, end, &mut jobs, &mut bounce);
                }
                _ => self.perform(first, &mut bounce),
            }
        }
    }

    /// Books a job, and the request with its last one; tells the callbacks.
    fn finish(&self, request: &Request<'_, '_>, bytes: u64, outcome: Result<()>) {
        let last = request.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let mut told = self.told.hold();
        if outcome.is_ok() {
            told.bytes = told.bytes.saturating_add(bytes);
        }
        if (last && !request.failed.load(Ordering::Relaxed)) || outcome.is_err() {
            let first_word = !request.failed.swap(outcome.is_err(), Ordering::Relaxed);
            if outcome.is_ok() {
                told.requests = told.requests.saturating_add(1);
                told.digests = told.digests.saturating_add(u64::from(request.has_digest));
            }
            if first_word {
                (self.on_done)(request.asked.tag, &outcome);
            }
        }
        match outcome {
            Err(error) => self.fail(error),
            Ok(()) if !(self.go_on)(told.bytes, self.total) => {
                self.fail(fail!(Cancelled, "stopped after {} of {} bytes", told.bytes, self.total));
            }
            Ok(()) => {}
        }
    }

    fn fail(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        self.failure.hold().get_or_insert(error);
    }

    fn perform(&self, job: Job<'b>, bounce: &mut Bounce) {
        let Some(request) = self.requests.get(job.request) else { return };
        let bytes = job.bytes();
        let outcome = self.read(job, request, bounce).map_err(|e| request.asked.component.wrap(e));
        self.finish(request, bytes, outcome);
    }

    fn read(&self, job: Job<'_>, request: &Request<'_, '_>, bounce: &mut Bounce) -> Result<()> {
        let component = request.asked.component;
        let Job { place, mut dst, .. } = job;
        match job.work {
            Work::Copy => {
                self.note_stored(dst.len() as u64);
                let way = self.road.way(place, dst.len() as u64);
                self.road.read(way, place, dst, bounce)?;
                component.finish_piece(dst)
            }
            Work::Hash(claim) => {
                self.note_stored(dst.len() as u64);
                let way = self.road.way(place, dst.len() as u64);
                let mut hasher = claim.hasher()?;
                for (at, piece) in pieces(place, place, dst, if way.is_direct() { WINDOW } else { HOT }) {
                    self.road.read(way, at, piece, bounce)?;
                    hasher.update(piece);
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(fail!(Cancelled, "stopped"));
                    }
                }
                digest::check(&claim, &hasher.finish())?;
                component.finish_piece(dst)
            }
            Work::Spaced(window) => {
                let start = component.offset();
                let way = self.road.way(place, window.source_size());
                if let Some(bytes) = self.road.lent(way, place, window.source_size()) {
                    window.gather(bytes, dst)?;
                    self.note_stored(window.dest_size());
                    return component.finish_piece(dst);
                }
                // What comes from memory is taken apart while it is hot; from memory what lies far apart is
                // rather read block by block.
                let limit = if way.is_direct() { window.source_size() } else { HOT as u64 };
                let gap = if way.in_memory { APART } else { u64::MAX };
                let mut stored = 0u64;
                for window in window.pieces(limit, gap) {
                    stored = stored.saturating_add(window.source_size());
                    let size = usize::try_from(window.source_size()).unwrap_or(usize::MAX);
                    let taken = usize::try_from(window.dest_size()).unwrap_or(usize::MAX);
                    let (now, later) = std::mem::take(&mut dst)
                        .split_at_mut_checked(taken)
                        .ok_or_else(|| fail!(Internal, "a window leaves the slab"))?;
                    dst = later;
                    let offset = start.saturating_add(window.source_offset);
                    match window.count {
                        1 => self.road.read(way, offset, now, bounce)?,
                        _ => window.gather(self.road.fetch(way, offset, size, bounce)?, now)?,
                    }
                    component.finish_piece(now)?;
                }
                self.note_stored(stored);
                Ok(())
            }
            Work::Frames { stored, lent } => {
                self.note_stored(stored);
                let way = || self.road.way(place, stored);
                let size = usize::try_from(stored).unwrap_or(usize::MAX);
                let from = usize::try_from(place.saturating_sub(component.offset())).unwrap_or(usize::MAX);
                let mut decode = |bytes: &[u8]| zstd::decode_into(zstd::Part { bytes, from }, dst);
                match lent {
                    Some(bytes) => decode(bytes)?,
                    None if size <= bounce.room() => decode(self.road.fetch(way(), place, size, bounce)?)?,
                    None => {
                        let _taken = self.budget.take(stored);
                        let mut bytes = zeroed(size)?;
                        self.road.read(way(), place, &mut bytes, bounce)?;
                        decode(&bytes)?;
                    }
                }
                component.finish_piece(dst)
            }
            Work::Other => {
                let part = &request.asked.part;
                let _taken = self.budget.take(component.temporary_memory(part)?);
                let read = match *part {
                    Part::Whole => {
                        component.decode_whole(dst, request.has_digest).map(|()| component.stored_size())?
                    }
                    Part::Range { offset, .. } => component.read_range_inner(offset, dst)?,
                    Part::Slab(slab) => component.read_slab_inner(&slab, dst)?,
                };
                self.note_stored(read);
                Ok(())
            }
        }
    }

    fn note_stored(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
