//! The load plan: many reads at once. Requests become jobs, jobs are sorted by their place in the
//! file, threads take them one by one and fill the caller's memory directly where the encoding allows.

mod aligned_chunks;
mod job;
mod strategy;
mod worker;

use super::slice::Hyperslab;
use super::{Component, File};
use crate::error::{fail, Result};
use crate::memory::HUGE_PAGE;
use crate::source::direct::BLOCK;
use crate::threads;
use std::ffi::CStr;
use std::time::Instant;
use strategy::ReadStrategy;
use worker::BatchState;

/// Whether to go past the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// The library decides.
    #[default]
    Auto,
    /// Through the page cache.
    Never,
    /// Past the page cache.
    Always,
}

/// How to read a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Whether to go past the page cache.
    pub direct: Direct,
    /// Bytes that a thread reads at a time.
    pub chunk_size: u64,
    /// Most bytes of temporary memory at once.
    pub in_flight: u64,
    /// Check the digests of components that are read whole.
    pub verify: bool,
    /// The destinations are pinned and contiguous: no read past the page cache needs a bounce for their pages' sake.
    pub pinned: bool,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            threads: 0,
            direct: Direct::Auto,
            chunk_size: 4 << 20,
            in_flight: 256 << 20,
            verify: false,
            pinned: false,
        }
    }
}

/// What of a component is read.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All of it.
    Whole,
    /// A range of its decoded bytes.
    Range {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A hyperslab of a dense object's data.
    Slab(Hyperslab<'a>),
}

/// One read.
pub struct BatchRequest<'a> {
    /// What to read.
    pub component: Component<'a>,
    /// Which part of it.
    pub part: Selection<'a>,
    /// Where it goes.
    pub dst: &'a mut [u8],
    /// The caller's name for it.
    pub tag: u64,
}

/// Called with the bytes done and in all; false stops the batch.
pub type Progress<'a> = dyn Fn(u64, u64) -> bool + Sync + 'a;
/// Called for each request that is done.
pub type OnDone<'a> = dyn Fn(u64, &Result<()>) + Sync + 'a;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStats {
    /// Bytes delivered.
    pub bytes: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// Requests done.
    pub requests: u64,
    /// Digests that agree.
    pub digests_verified: u64,
    /// Time.
    pub nanoseconds: u64,
    /// Threads used.
    pub threads: u32,
    /// Reads went past the page cache.
    pub direct: bool,
    /// Why they went the way that they went.
    pub reason: &'static CStr,
}

impl File {
    /// Reads all requests; `stats` is filled also on failure. The first failure stops the rest.
    pub fn read_batch(
        &self,
        requests: &mut [BatchRequest<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        progress: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        let started = Instant::now();
        let outcome = self.run_batch(requests, options, on_done, progress, stats);
        stats.nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        outcome
    }

    fn run_batch(
        &self,
        requests: &mut [BatchRequest<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        progress: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        if options.chunk_size < BLOCK {
            return Err(fail!(InvalidArgument, "a chunk of {} bytes is below {BLOCK}", options.chunk_size));
        }
        let profile = self.source().profile();
        // Whole blocks: a piece never cuts an element.
        let chunk_size = options.chunk_size.checked_next_multiple_of(BLOCK).unwrap_or(options.chunk_size);
        let options = &BatchOptions { chunk_size, threads: profile.threads(options.threads), ..*options };
        let (plan, mut jobs) = job::plan(requests, options, strategy::bounce(options, &profile).capacity())?;
        // The disk likes them in its own order; so does the kernel's readahead.
        jobs.sort_unstable_by_key(|j| (j.offset, j.request));
        let total = jobs.iter().map(|j| j.bytes()).fold(0, u64::saturating_add);
        let strategy = ReadStrategy::new(self.source(), options, &jobs).map_err(|e| self.in_file(e))?;
        let threads = options.threads.min(jobs.len()).max(1);
        stats.threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let state = BatchState::new(options, &strategy, &plan, jobs, total, on_done, progress);
        threads::run(threads, self.thread_hooks, &|| state.work());
        (stats.direct, stats.reason) = (strategy.went_direct(), strategy.reason());
        state.report(stats)
    }
}

impl Component<'_> {
    /// Fills the front of `dst` with this part of it, on several threads.
    pub(super) fn read_on(&self, threads: usize, part: Selection<'_>, dst: &mut [u8]) -> Result<()> {
        // Through the page cache, as every call does unless an option says otherwise. Small chunks, as one
        // component is all there is to share.
        let chunk_size = HUGE_PAGE as u64;
        let options = BatchOptions { threads, direct: Direct::Never, chunk_size, ..BatchOptions::default() };
        let request = BatchRequest { component: *self, part, dst, tag: 0 };
        self.file.read_batch(&mut [request], &options, &|_, _| {}, &|_, _| true, &mut BatchStats::default())
    }
}
